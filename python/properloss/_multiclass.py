"""The part of :class:`properloss.ProperLossClassifier` for three classes or more."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properloss import _core
from properloss._input import Rows
from properloss._results import columns_of, held_out_losses, named_columns

#: Attributes of a fit of two classes that several do not have.
_BINARY = ("_model", "threshold_", "loss_", "slope_ratio_", "history_", "termination_")
#: And the other way round.
_SEVERAL = ("tau_", "stack_share_", "ramp_share_", "_learned")
#: Held-out log-losses of the stages.
_STAGES = ("log_loss_path", "log_loss_link", "log_loss_refit", "log_loss")


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
        folds=folds,
    )
    estimator.coef_ = fitted.coefficients
    estimator.intercept_ = fitted.intercepts
    estimator.link_ = fitted.link
    set_learned(estimator, json.loads(fitted.learned))
    estimator.n_iter_ = max(1, round(fitted.passes))
    return fitted.held_out_scores


def set_learned(estimator: Any, content: dict[str, Any]) -> None:
    """Set what cross-validation weighed and found, of a fit or of a file; that of a calibration has no path."""
    estimator._learned = content
    if "path" not in content:
        return
    path, ratios = columns_of(content["path"]), columns_of(content["ratios"])
    estimator.C_ = float(content["c"])
    estimator.tau_ = float(content["tau"])
    estimator.guarantee_ = float(np.log(estimator.tau_))
    # Files of before there was a stacked fit do not have its share.
    for name in ("refit_share", "stack_share", "ramp_share"):
        setattr(estimator, f"{name}_", float(content.get(name, 0.0)))
    estimator.path_weights_ = path["weight"]
    estimator.cv_results_ = {
        "C": path["c"],
        "C_scale": path["scale"],
        **named_columns("C", path),
        "tau": ratios["tau"],
        **named_columns("tau", ratios),
        **held_out_losses(content, *_STAGES),
        "held_out_cost": float(content["held_out_cost"]),
        "link_gap": float(content["link_gap"]),
        "log_loss_bound": estimator.guarantee_,
    }


def learned(estimator: Any) -> str | None:
    """The same as a model file keeps it; None if that is not known."""
    content = estimator.__dict__.get("_learned")
    return None if content is None else json.dumps(content, allow_nan=False)


def scores(estimator: Any, rows: Rows) -> NDArray[np.float64]:
    """One column a class."""
    coef = np.ascontiguousarray(estimator.coef_, dtype=np.float64)
    return _core.multiclass_scores(rows, coef, np.ascontiguousarray(estimator.intercept_))
