"""The learned links and losses: their shape, their asymmetry, how they change over iterations."""

from __future__ import annotations

from typing import Any

import numpy as np

import pool
from data import draw
from methods import build, fit_watched, summary
from properloss import CanonicalLoss
from settings import DATASETS, METHODS, Profile, strict_scaling

VARIANTS = ("bregmantron", "label")
#: logit(0.9) - logit(0.1): the width of the sigmoid's middle.
SIGMOID_WIDTH = float(2 * np.log(9.0))
GRID = np.linspace(-8.0, 8.0, 161)


def width(link: Any) -> float:
    """Length of the scores with probabilities in [0.1, 0.9], in units of the sigmoid's."""
    return float(link.link(0.9) - link.link(0.1)) / SIGMOID_WIDTH


def shape(link: Any) -> dict[str, Any]:
    """Link and losses at ``v = z / width``, and how asymmetric they are.

    ``u(v)`` against ``1 - u(-v)``; ``l(+1, v)`` against ``l(-1, -v)``, in units of the width.
    """
    scale = width(link)
    z = GRID * scale
    u = np.asarray(link(z))
    loss = CanonicalLoss(link)
    positive = np.asarray(loss.loss(np.ones_like(z), z)) / scale
    negative = np.asarray(loss.loss(np.zeros_like(z), z)) / scale
    inside = np.abs(GRID) <= 4.0
    return {
        "width": scale,
        "u": u.tolist(),
        "loss_positive": positive.tolist(),
        "loss_negative": negative.tolist(),
        "u_zero": float(link(0.0)),
        "centred_asymmetry": _centred_asymmetry(link, scale),
        "half_at": float(link.link(0.5)) / scale,
        "link_asymmetry": float(np.max(np.abs(u - (1.0 - u[::-1]))[inside])),
        "loss_asymmetry": float(np.max(np.abs(positive - negative[::-1])[inside])),
    }


def _centred_asymmetry(link: Any, scale: float) -> float:
    """What is left of the link's asymmetry once an intercept has moved u = 1/2 to zero."""
    z = GRID[np.abs(GRID) <= 4.0] * scale + float(link.link(0.5))
    u = np.asarray(link(z))
    return float(np.max(np.abs(u - (1.0 - u[::-1]))))


def cell(directory: str, dataset: str, key: str, seed: int, rows: int, at: tuple[int, ...]):
    """The link at chosen iterations, and the scores of the training rows at the last."""
    kind, options = METHODS[key][2]
    drawn = draw(directory, dataset, seed, rows)
    estimator = build(kind, options, strict_scaling(dataset), "paper", at[-1])
    reached = fit_watched(estimator, drawn.X, drawn.y, at)
    shapes = {count: shape(model.link) for count, model in reached.items()}
    scores = np.asarray(reached[at[-1]].scores(drawn.X)) / shapes[at[-1]]["width"]
    return {"shapes": shapes, "scores": np.quantile(scores, (0.01, 0.5, 0.99)).tolist()}


def evolution_points(iterations: int) -> tuple[int, ...]:
    """Iterations at which links are drawn."""
    return tuple(count for count in (1, 10, 100, 1000) if count < iterations) + (iterations,)


def run(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    """Links of the paper's BregmanTron and of its label variant, strict setting."""
    at = evolution_points(profile.iterations)
    keys = [(dataset, key) for dataset in DATASETS for key in VARIANTS]
    table: dict[str, Any] = {dataset: {} for dataset in DATASETS}
    for dataset, key, cells in pool.by_key(
        cell, directory, keys, profile.seeds, (profile.rows, at), jobs, "links and losses"
    ):
        last = [c["shapes"][at[-1]] for c in cells]
        numbers = (
            "u_zero",
            "half_at",
            "link_asymmetry",
            "centred_asymmetry",
            "loss_asymmetry",
            "width",
        )
        table[dataset][key] = {name: summary(s[name] for s in last) for name in numbers} | {
            # Drawn: the first seed.
            "shapes": {str(count): found for count, found in cells[0]["shapes"].items()},
            "scores": cells[0]["scores"],
        }
    return table
