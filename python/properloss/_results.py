"""What cross-validation weighed, as the classifier and the calibrators show it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properloss import _certificate

#: The strengths of smoothness that are weighed beside the sigmoid itself.
SMOOTHNESS = (3.0, 0.3, 0.03, 0.003)
#: Probabilities are kept between these two.
SMALLEST = np.finfo(np.float64).tiny
LARGEST = 1.0 - np.finfo(np.float64).epsneg


class Table(dict[str, Any]):
    """``cv_results_``: the names of the time when slope ratios were weighed warn for one release."""

    def __missing__(self, name: str) -> Any:
        new = {"slope_ratio": "smoothness_slope_ratio"} | {
            f"slope_ratio_{part}": f"smoothness_{part}" for part in ("log_loss", "score", "weight")
        }
        if name not in new:
            raise KeyError(name)
        warnings.warn(
            f'cv_results_["{name}"] is now cv_results_["{new[name]}"]: what is weighed is how smooth'
            " the link is. The old name goes in the next release.",
            FutureWarning,
            stacklevel=2,
        )
        return self[new[name]]


def columns_of(rows: list[dict[str, float | str]]) -> dict[str, NDArray[np.float64]]:
    """A table of JSON as columns; what is infinite or not a number stands there as a word."""
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}


def named_columns(
    name: str, table: dict[str, NDArray[np.float64]], *further: str
) -> dict[str, NDArray[np.float64]]:
    """The columns that every table of what was weighed has, under the name of what was weighed."""
    return {f"{name}_{column}": table[column] for column in (*further, "log_loss", "score", "weight")}


def link_results(links: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    return {"smoothness": links["smoothness"], **named_columns("smoothness", links, "slope_ratio")}


def held_out_losses(learned: dict[str, Any], *names: str) -> dict[str, float]:
    """Held-out log-losses of the stages."""
    return dict(zip(names, map(float, learned["held_out_log_loss"]), strict=True))


def cost_results(cost: _certificate.LinkCost | None) -> dict[str, float]:
    """What the link cost on held-out rows, beside what it can cost."""
    return {} if cost is None else {"link_cost": cost.nats, "link_cost_at_most": cost.at_most}


def two_columns(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column for each class from the probability of the second, both strictly between 0 and 1."""
    p = np.clip(p, SMALLEST, LARGEST)
    return np.column_stack([np.clip(1.0 - p, SMALLEST, LARGEST), p])
