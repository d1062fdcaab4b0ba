"""The axes a display draws on, and the checks its data go through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Colour-blind safe (Okabe and Ito): blue, vermillion, grey.
BLUE, RED, GREY = "#0072B2", "#D55E00", "#999999"
#: One colour a curve, in this order (Okabe and Ito).
CYCLE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def new_axes(owner: object, ax: Any) -> Any:
    """``ax``, or the axes of a new figure; an ImportError that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(owner).__name__} requires matplotlib. You can install matplotlib with"
            " `pip install matplotlib`, or properloss with `pip install properloss[plot]`."
        ) from error
    if ax is None:
        _, ax = plt.subplots()
    return ax


def binary_labels(y_true: ArrayLike, pos_label: Any = None) -> NDArray[np.float64]:
    """Labels as 0.0 and 1.0; ``pos_label`` (by default the larger value) is 1."""
    y = np.asarray(y_true).ravel()
    classes = np.unique(y)
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. y_true has {len(classes)} values."
        )
    if pos_label is None:
        if len(classes) == 1 and classes[0] not in (0, 1):
            raise ValueError("y_true has one value only; say which label is positive: pos_label=")
        pos_label = 1 if len(classes) == 1 else classes[-1]
    elif pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not a valid label: {classes.tolist()}")
    positives: NDArray[np.float64] = (y == pos_label).astype(np.float64)
    return positives


def finite_column(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """A finite one-dimensional float array."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {column.shape}")
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {column[bad[0]]}; every value must be finite")
    return column


def same_length(**columns: NDArray[Any]) -> None:
    """Raise scikit-learn's words if the columns differ in length."""
    lengths = [len(column) for column in columns.values()]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {lengths}"
        )


def unwrapped(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """What learned the link inside searches, pipelines and frozen estimators, and its own rows.

    A search gives way to its best estimator, a pipeline to its last step, the rows to what the steps
    before it make of them.
    """
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps") and hasattr(estimator, "named_steps"):
            if X is not None and len(estimator.steps) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator.steps[-1][1]
        elif type(estimator).__name__ == "FrozenEstimator":
            estimator = estimator.estimator
        else:
            return estimator, X


def scores_of(estimator: Any, X: Any) -> NDArray[np.float64]:
    """The scores the link of ``estimator`` takes."""
    if hasattr(estimator, "linear_score"):
        scores: NDArray[np.float64] = estimator.linear_score(X)
        return scores
    raise TypeError(f"{type(estimator).__name__} has no linear_score; use from_predictions")


def fitted(estimator: Any, attribute: str) -> Any:
    """A fitted attribute, or scikit-learn's NotFittedError, or a TypeError that says what is missing."""
    value = getattr(estimator, attribute, None)
    if value is None:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        raise TypeError(
            f"{type(estimator).__name__} has no {attribute}: it takes a classifier of properloss, a"
            " pipeline or search that ends in one, or a ProperCalibratedClassifierCV (calibrate any"
            " other classifier with that)"
        )
    return value


def binary_link(estimator: Any, attribute: str) -> Any:
    """``link_`` or ``loss_`` of an estimator of two classes."""
    value = fitted(estimator, attribute)
    if not hasattr(value, "inverse_link"):
        raise ValueError(
            f"{type(estimator).__name__} was fitted to {len(estimator.classes_)} classes; its"
            " link takes one score a class and has no curve to draw. Two classes have."
        )
    return value


def drawable(name: str, *columns: NDArray[Any]) -> None:
    """Raise if there is nothing to see: an empty picture says less than a sentence."""
    for column in columns:
        if len(column) == 0 or not np.isfinite(column).any():
            raise ValueError(f"there is nothing to draw for {name}: no finite value")


def next_color(ax: Any) -> str:
    """The next of the cycle of colours; a second curve in the same axes gets another one."""
    n = sum(1 for line in ax.lines if getattr(line, "_properloss_main", False))
    return CYCLE[n % len(CYCLE)]
