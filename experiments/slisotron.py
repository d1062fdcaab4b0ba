"""Why the paper's SLIsotron is so low: AUC of scores and of probabilities, ties, PAV and Lipschitz."""

from __future__ import annotations

from typing import Any

import numpy as np

import pool
from data import draw
from methods import build, fit, fit_watched, pair_counts, summary
from settings import DATASETS, IMAGES, METHODS, Profile, checkpoints, strict_scaling

#: Scalings of the sweep; "none" is pixels / 255 as they are.
SWEEP_SCALINGS = ("unit-rows", "none")
FIGURES = ("auc_score", "auc", "auc_ties_lost", "auc_ties_won", "ties", "levels", "extreme")


def tie_figures(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """AUC of the probabilities with tied pairs counted as a half, as lost, as won; what ties there are.

    ``extreme`` is the share of rows with a probability of exactly 0 or 1.
    """
    p = model.predict_proba(X)[:, 1].copy()
    right, tied, wrong = pair_counts(y, p)
    total = right + tied + wrong
    score_right, score_tied, _ = pair_counts(y, model.scores(X))
    return {
        "auc_score": (score_right + score_tied / 2) / total,
        "auc": (right + tied / 2) / total,
        "auc_ties_lost": right / total,
        "auc_ties_won": (right + tied) / total,
        "ties": tied / total,
        "levels": float(len(np.unique(p))),
        "extreme": float(np.mean((p == 0.0) | (p == 1.0))),
    }


def cell(directory: str, dataset: str, key: str, seed: int, rows: int, iterations: int):
    """Tie figures of SLIsotron at every checkpoint."""
    kind, options = METHODS[key][2]
    drawn = draw(directory, dataset, seed, rows)
    estimator = build(kind, options, strict_scaling(dataset), "paper", iterations)
    reached = fit_watched(estimator, drawn.X, drawn.y, checkpoints(iterations))
    return {count: tie_figures(model, drawn.X_test, drawn.y_test) for count, model in reached.items()}


def sweep_cell(directory: str, dataset: str, scaling: str, seed: int, rows: int, iterations: int):
    """Tie figures of SLIsotron (PAV) trained on ``rows`` rows, at the last iteration."""
    drawn = draw(directory, dataset, seed, rows)
    estimator = build("slisotron", {"isotonic": "pav"}, scaling, "paper", iterations)
    return tie_figures(fit(estimator, drawn.X, drawn.y)._model, drawn.X_test, drawn.y_test)


def run(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    """Both kinds of SLIsotron, strict setting; and over the number of training rows."""
    return {"strict": _strict(directory, profile, jobs), "sweep": _sweep(directory, profile, jobs)}


def _sweep(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    keys = [
        (dataset, scaling, rows)
        for dataset in IMAGES
        for scaling in SWEEP_SCALINGS
        for rows in profile.slisotron_rows
    ]
    tasks = [
        (sweep_cell, (directory, dataset, scaling, seed, rows, profile.iterations))
        for dataset, scaling, rows in keys
        for seed in profile.seeds
    ]
    results = iter(pool.run(tasks, jobs, "SLIsotron, sweep of training rows"))
    table: dict[str, Any] = {d: {s: {} for s in SWEEP_SCALINGS} for d in IMAGES}
    for dataset, scaling, rows in keys:
        cells = [next(results) for _ in profile.seeds]
        table[dataset][scaling][str(rows)] = {
            name: summary(c[name] for c in cells) for name in FIGURES
        }
    return table


def _strict(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    keys = [
        (dataset, key) for dataset in DATASETS for key in ("slisotron", "slisotron-lipschitz")
    ]
    rest = (profile.rows, profile.iterations)
    table: dict[str, Any] = {dataset: {} for dataset in DATASETS}
    for dataset, key, cells in pool.by_key(
        cell, directory, keys, profile.seeds, rest, jobs, "SLIsotron"
    ):
        table[dataset][key] = {
            str(count): {name: summary(c[count][name] for c in cells) for name in FIGURES}
            for count in cells[0]
        }
    return table
