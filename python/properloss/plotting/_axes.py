"""The axes a display draws on, and the checks its data go through."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss._docs import documented

#: Colour-blind safe (Okabe and Ito): blue, vermillion, grey.
BLUE, RED, GREY = "#0072B2", "#D55E00", "#999999"
#: One colour a curve, in this order (Okabe and Ito).
CYCLE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


class Display:
    """Something that was drawn: the axes, their figure, and what of it stands there."""

    ax_: Any
    figure_: Any
    line_: Any
    lines_: list[Any]

    def _placed(self, ax: Any) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


@documented
class ForecastDisplay(Display):
    """A picture of probabilities beside labels, of any classifier."""

    name: str | None

    def _named(self, name: str | None) -> Self:
        self.name = name
        return self

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None,
        name: str | None = None, ax: Any = None, **kwargs: Any,
    ) -> Self:
        """Draw it for any fitted classifier of two classes.

        Parameters
        ----------
        estimator : classifier
            Anything fitted with ``predict_proba`` and ``classes_``.
        {held_out}
        {sample_weight}
        name : str, default=None
            The legend's entry; by default the class name.
        {ax}
        **kwargs : dict
            See :meth:`from_predictions`.

        {drawn}
        """
        name = type(estimator).__name__ if name is None else name
        p, positive = estimator.predict_proba(X)[:, 1], estimator.classes_[1]
        display: Self = getattr(cls, "from_predictions")(
            y, p, sample_weight=sample_weight, pos_label=positive, name=name, ax=ax, **kwargs
        )
        return display


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
    """A finite one-dimensional float array, without gaps in memory."""
    column = np.asarray(values, dtype=np.float64, order="C")
    if column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {column.shape}")
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {column[bad[0]]}; every value must be finite")
    return column


def same_length(*columns: NDArray[Any]) -> None:
    """Raise scikit-learn's words if the columns differ in length."""
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {lengths}")


def labelled(
    y_true: ArrayLike, values: ArrayLike, name: str, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
    """Labels, the values beside them, and weights if there are any, checked."""
    y, column = binary_labels(y_true, pos_label), finite_column(values, name)
    same_length(y, column)
    if sample_weight is None:
        return y, column, None
    weight = finite_column(sample_weight, "sample_weight")
    same_length(y, weight)
    return y, column, weight


def forecasts(
    y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Labels, probabilities and weights, checked."""
    y, p, weight = labelled(y_true, y_prob, "y_prob", sample_weight, pos_label)
    return y, p, np.ones(len(p)) if weight is None else weight


def scored(
    y_true: ArrayLike, score: ArrayLike, pos_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[float, float]]:
    """Labels and scores, checked, and the range of the scores, which is never empty."""
    y, z, _ = labelled(y_true, score, "score", None, pos_label)
    low, high = float(z.min()), float(z.max())
    return y, z, (low, high) if low < high else (low - 1.0, high + 1.0)


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


def with_scores(
    estimator: Any, X: Any, y: Any, attribute: str, name: str | None
) -> tuple[str, Any, NDArray[np.float64] | None, Any]:
    """Title, link or loss, scores of the rows if there are labels too, and the positive label."""
    name = type(estimator).__name__ if name is None else name
    estimator, X = unwrapped(estimator, X)
    value = binary_link(estimator, attribute)
    if X is None or y is None:
        return name, value, None, None
    if not hasattr(estimator, "linear_score"):
        raise TypeError(f"{type(estimator).__name__} has no linear_score; use from_predictions")
    return name, value, estimator.linear_score(X), estimator.classes_[1]


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
    if not all(np.isfinite(column).any() for column in columns):
        raise ValueError(f"there is nothing to draw for {name}: no finite value")


def main_curves(ax: Any) -> int:
    """How many curves of displays the axes have, beside lines of reference."""
    return sum(getattr(line, "_properloss_main", False) for line in ax.lines)


def next_color(ax: Any) -> str:
    """The next of the cycle of colours; a second curve in the same axes gets another one."""
    return CYCLE[main_curves(ax) % len(CYCLE)]
