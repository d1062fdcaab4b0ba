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


def link_results(links: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    columns = ("slope_ratio", "log_loss", "score", "weight")
    return {"smoothness": links["smoothness"]} | {f"smoothness_{c}": links[c] for c in columns}


def add_cost(results: dict[str, Any], cost: _certificate.LinkCost | None) -> None:
    """What the link cost on held-out rows, beside what it can cost."""
    if cost is not None:
        results["link_cost"], results["link_cost_at_most"] = cost


def two_columns(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column for each class from the probability of the second, both strictly between 0 and 1."""
    p = np.clip(p, SMALLEST, LARGEST)
    return np.column_stack([np.clip(1.0 - p, SMALLEST, LARGEST), p])
