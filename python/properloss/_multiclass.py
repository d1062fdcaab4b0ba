"""The part of :class:`properloss.ProperLossClassifier` for three classes or more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from properloss import _core
from properloss._input import Rows

#: Attributes of a fit of two classes that several do not have.
_BINARY = ("_model", "threshold_", "loss_", "slope_ratio_", "history_", "termination_")
#: And the other way round.
_SEVERAL = ("tau_", "ramp_share_")


def forget_several(estimator: Any) -> None:
    """Drop what an earlier fit of several classes left."""
    for name in _SEVERAL:
        estimator.__dict__.pop(name, None)


def fit(
    estimator: Any,
    rows: Rows,
    labels: NDArray[np.uint32],
    weights: NDArray[np.float64] | None,
    class_weight: list[float],
    folds: dict[str, Any],
) -> NDArray[np.float64]:
    """Fit, set the attributes and return the held-out scores."""
    for name in _BINARY:
        estimator.__dict__.pop(name, None)
    fitted = _core.fit_multiclass(
        rows,
        labels,
        len(estimator.classes_),
        weights,
        class_weight=class_weight,
        refit=estimator.refit != "none",
        preserve_order=estimator.preserve_order,
        **folds,
    )
    numbers, path, ratios = fitted.numbers, fitted.path, fitted.ratios
    estimator.coef_ = fitted.coefficients
    estimator.intercept_ = fitted.intercepts
    estimator.link_ = fitted.link
    estimator.C_ = numbers["C"]
    estimator.tau_ = numbers["tau"]
    estimator.guarantee_ = float(np.log(numbers["tau"]))
    estimator.refit_share_ = numbers["refit_share"]
    estimator.ramp_share_ = numbers["ramp_share"]
    estimator.path_weights_ = path["weight"]
    estimator.cv_results_ = {
        "C": path["C"],
        "C_scale": path["scale"],
        **{f"C_{name}": path[name] for name in ("log_loss", "score", "weight")},
        "tau": ratios["tau"],
        **{f"tau_{name}": ratios[name] for name in ("log_loss", "score", "weight")},
        **{
            name: numbers[name]
            for name in (
                "log_loss_path",
                "log_loss_link",
                "log_loss_refit",
                "log_loss",
                "held_out_cost",
                "link_gap",
            )
        },
        "log_loss_bound": float(np.log(numbers["tau"])),
    }
    estimator.n_iter_ = max(1, round(fitted.passes))
    return fitted.held_out_scores


def scores(estimator: Any, rows: Rows) -> NDArray[np.float64]:
    """One column a class."""
    coef = np.ascontiguousarray(estimator.coef_, dtype=np.float64)
    return _core.multiclass_scores(rows, coef, np.ascontiguousarray(estimator.intercept_))
