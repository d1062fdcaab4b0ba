"""The part of :class:`properloss.ProperLossClassifier` for three classes or more."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properloss import _core
from properloss._input import Rows

#: Attributes of a fit of two classes that several do not have.
_BINARY = ("_model", "threshold_", "loss_", "slope_ratio_", "history_", "termination_")
#: And the other way round.
_SEVERAL = ("tau_", "stack_share_", "ramp_share_")
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
        **folds,
    )
    estimator.coef_ = fitted.coefficients
    estimator.intercept_ = fitted.intercepts
    estimator.link_ = fitted.link
    _set_results(estimator, fitted.numbers, fitted.path, fitted.ratios)
    estimator.n_iter_ = max(1, round(fitted.passes))
    return fitted.held_out_scores


def _set_results(
    estimator: Any,
    numbers: dict[str, float],
    path: dict[str, NDArray[np.float64]],
    ratios: dict[str, NDArray[np.float64]],
) -> None:
    estimator.C_ = numbers["C"]
    estimator.tau_ = numbers["tau"]
    estimator.guarantee_ = float(np.log(numbers["tau"]))
    estimator.refit_share_ = numbers["refit_share"]
    estimator.stack_share_ = numbers["stack_share"]
    estimator.ramp_share_ = numbers["ramp_share"]
    estimator.path_weights_ = path["weight"]
    estimator.cv_results_ = {
        "C": path["C"],
        "C_scale": path["scale"],
        **{f"C_{name}": path[name] for name in ("log_loss", "score", "weight")},
        "tau": ratios["tau"],
        **{f"tau_{name}": ratios[name] for name in ("log_loss", "score", "weight")},
        **{name: numbers[name] for name in _STAGES},
        "held_out_cost": numbers["held_out_cost"],
        "link_gap": numbers["link_gap"],
        "log_loss_bound": float(np.log(numbers["tau"])),
    }


def learned(estimator: Any) -> str | None:
    """What cross-validation weighed and found, as a model file keeps it; None if that is not known."""
    results = getattr(estimator, "cv_results_", None)
    if results is None:
        return None

    def rows(**columns: Any) -> list[dict[str, Any]]:
        parts = [[_number(value) for value in column] for column in columns.values()]
        return [dict(zip(columns, values, strict=True)) for values in zip(*parts, strict=True)]

    return json.dumps(
        {
            "c": _number(estimator.C_),
            "tau": _number(estimator.tau_),
            "log_loss_bound": _number(results["log_loss_bound"]),
            "refit_share": _number(estimator.refit_share_),
            "stack_share": _number(estimator.stack_share_),
            "ramp_share": _number(estimator.ramp_share_),
            "held_out_log_loss": [_number(results[name]) for name in _STAGES],
            "held_out_cost": _number(results["held_out_cost"]),
            "link_gap": _number(results["link_gap"]),
            "path": rows(
                c=results["C"],
                scale=results["C_scale"],
                **{name: results[f"C_{name}"] for name in ("log_loss", "score", "weight")},
            ),
            "ratios": rows(
                tau=results["tau"],
                **{name: results[f"tau_{name}"] for name in ("log_loss", "score", "weight")},
            ),
        },
        allow_nan=False,
    )


def set_learned(estimator: Any, content: dict[str, Any]) -> None:
    """Set what a model file keeps; the file of a calibration has none of it."""
    if "path" not in content:
        return

    def table(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
        return {name: np.array([float(row[name]) for row in rows]) for name in names}

    path = table(content["path"], ("c", "scale", "log_loss", "score", "weight"))
    path["C"] = path.pop("c")
    numbers = dict(zip(_STAGES, map(float, content["held_out_log_loss"]), strict=True))
    for name in ("tau", "refit_share", "ramp_share", "held_out_cost", "link_gap"):
        numbers[name] = float(content[name])
    # Files of before there was one.
    numbers["stack_share"] = float(content.get("stack_share", 0.0))
    numbers["C"] = float(content["c"])
    ratios = table(content["ratios"], ("tau", "log_loss", "score", "weight"))
    _set_results(estimator, numbers, path, ratios)


def _number(value: Any) -> float | str:
    """A number; JSON has none that is infinite or not a number, so these are words."""
    return float(value) if np.isfinite(value) else str(float(value))


def scores(estimator: Any, rows: Rows) -> NDArray[np.float64]:
    """One column a class."""
    coef = np.ascontiguousarray(estimator.coef_, dtype=np.float64)
    return _core.multiclass_scores(rows, coef, np.ascontiguousarray(estimator.intercept_))
