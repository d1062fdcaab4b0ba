"""How a run went: loss and gap against iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss.plotting import _axes


class ConvergenceDisplay:
    """Quantities of a run against its iterations.

    Use :meth:`from_estimator` or :meth:`from_predictions` to make one.

    Parameters
    ----------
    history : mapping of str to ndarray
        One array a quantity, as ``history_`` of a classifier.
    quantities : sequence of str, default=("loss", "gap")
        Which of them to draw.
    name : str, default=None
        The title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        One a quantity.

    Examples
    --------
    >>> from properloss import ConvergenceDisplay
    >>> display = ConvergenceDisplay({"loss": [0.7, 0.5, 0.45]}, quantities=["loss"])
    >>> display.history["loss"].tolist()
    [0.7, 0.5, 0.45]
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(
        self,
        history: Mapping[str, ArrayLike],
        *,
        quantities: Sequence[str] = ("loss", "gap"),
        name: str | None = None,
    ) -> None:
        self.history: dict[str, NDArray[np.float64]] = {
            key: np.asarray(values, dtype=np.float64) for key, values in history.items()
        }
        self.quantities = quantities
        self.name = name

    def plot(self, ax: Any = None, *, log: bool = True, **line_kw: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; a new figure if None.
        log : bool, default=True
            Whether the vertical axis is logarithmic.
        **line_kw : dict
            Passed to ``ax.plot``.

        Returns
        -------
        self : ConvergenceDisplay
            With ``ax_``, ``figure_``, ``lines_``.
        """
        missing = [key for key in self.quantities if key not in self.history]
        if missing:
            raise ValueError(
                f"the history has no {missing[0]!r}; it has {', '.join(sorted(self.history))}"
            )
        ax = _axes.new_axes(self, ax)
        self.lines_ = []
        for key in self.quantities:
            values = self.history[key]
            iterations = self.history.get("iteration", np.arange(1.0, len(values) + 1.0))
            self.lines_ += ax.plot(iterations, values, **({"label": key} | line_kw))
        ax.set(xlabel="iteration", yscale="log" if log else "linear", title=self.name)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        quantities: Sequence[str] = ("loss", "gap"),
        name: str | None = None,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the history of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier with a ``history_``.
        quantities : sequence of str, default=("loss", "gap")
            Which quantities to draw.
        name : str, default=None
            The title; by default the class name.
        ax : matplotlib Axes, default=None
            Where; a new figure if None.
        **line_kw : dict
            Passed to ``ax.plot``.

        Returns
        -------
        display : ConvergenceDisplay
            Drawn.
        """
        history = _axes.fitted(estimator, "history_")
        name = type(estimator).__name__ if name is None else name
        return cls(history, quantities=quantities, name=name).plot(ax, **line_kw)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob_by_iteration: Sequence[ArrayLike],
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the log-loss of the predictions made after each iteration.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_prob_by_iteration : sequence of array-like of shape (n_samples,)
            Probabilities of the positive class after each iteration.
        pos_label : label, default=None
            The positive label; by default the larger.
        name : str, default=None
            The title.
        ax : matplotlib Axes, default=None
            Where; a new figure if None.
        **line_kw : dict
            Passed to ``ax.plot``.

        Returns
        -------
        display : ConvergenceDisplay
            Drawn.
        """
        y = _axes.binary_labels(y_true, pos_label)
        losses = []
        for values in y_prob_by_iteration:
            p = _axes.finite_column(values, "y_prob")
            _axes.same_length(y_true=y, y_prob=p)
            chosen = np.where(y == 1.0, p, 1.0 - p)
            # An impossible event that happened costs -log of the smallest double, not infinity.
            losses.append(float(-np.log(np.maximum(chosen, np.finfo(float).tiny)).mean()))
        history: dict[str, ArrayLike] = {
            "iteration": np.arange(1.0, len(losses) + 1.0),
            "log_loss": losses,
        }
        return cls(history, quantities=("log_loss",), name=name).plot(ax, **line_kw)
