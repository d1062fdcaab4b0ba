"""How a run went: loss and gap against iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss._docs import documented
from properloss.plotting import _axes


@documented
class ConvergenceDisplay(_axes.Display):
    """Quantities of a run against its iterations.

    {made_by}
    history : mapping of str to ndarray
        One array a quantity, as ``history_`` of a classifier.
    quantities : sequence of str, default=("loss", "gap")
        Which of them to draw.
    {title}

    Attributes
    ----------
    {axes}
    lines_ : list of matplotlib Line2D
        One a quantity.

    Examples
    --------
    >>> from properloss import ConvergenceDisplay
    >>> display = ConvergenceDisplay({"loss": [0.7, 0.5, 0.45]}, quantities=["loss"])
    >>> display.history["loss"].tolist()
    [0.7, 0.5, 0.45]
    """

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
        {ax}
        log : bool, default=True
            Whether the vertical axis is logarithmic, if all quantities have positive values.
        {line_kw}

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
        _axes.drawable("the run", *(self.history[key] for key in self.quantities))
        ax = _axes.new_axes(self, ax)
        # A loss that is known up to a constant may be negative throughout.
        log = log and all((self.history[key] > 0.0).any() for key in self.quantities)
        self.lines_ = []
        for key in self.quantities:
            values = self.history[key]
            if log:
                # A gap that is closed is 0, which a logarithmic axis has no place for.
                values = np.where(values > 0.0, values, np.nan)
            iterations = self.history.get("iteration", np.arange(1.0, len(values) + 1.0))
            self.lines_ += ax.plot(iterations, values, **({"label": key} | line_kw))
        ax.set(xlabel="iteration", yscale="log" if log else "linear", title=self.name)
        ax.legend()
        return self._placed(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        quantities: Sequence[str] = ("loss", "gap"),
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw the history of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier, or a pipeline or search that ends in one. Of the default,
            :class:`ProperLossClassifier`, which has no iterations, the held-out log-loss along its
            path of strengths is drawn.
        quantities : sequence of str, default=("loss", "gap")
            Which quantities to draw.
        name : str, default=None
            The title; by default the class name.
        {on_axes}
        """
        name = type(estimator).__name__ if name is None else name
        estimator, _ = _axes.unwrapped(estimator)
        if hasattr(estimator, "path_weights_") or _without_steps(estimator):
            return cls._of_path(estimator, name, ax, line_kw)
        history = _axes.fitted(estimator, "history_")
        if len(history.get("iteration", history.get("loss", ()))) == 0:
            raise ValueError(
                f"{type(estimator).__name__} keeps no history of its run (it was read from a file"
                " without one, or ended before its first iteration): there is nothing to draw"
            )
        return cls(history, quantities=quantities, name=name).plot(ax, **line_kw)

    @classmethod
    def _of_path(cls, estimator: Any, name: str, ax: Any, line_kw: dict[str, Any]) -> Self:
        """Of the default estimator: held-out log-loss along the path of strengths."""
        results = getattr(estimator, "cv_results_", None)
        if results is None:
            raise ValueError(
                f"{type(estimator).__name__} weighs a path of models by cross-validation, and a model"
                " file does not keep the path: draw the classifier that was fitted"
            )
        strength, loss = np.asarray(results["C"]), np.asarray(results["C_log_loss"])
        scaling = np.asarray(results.get("scaling", np.ones_like(strength)))
        drawn = np.isfinite(strength) & (strength > 0.0) & np.isfinite(loss)
        display = cls(
            {"C": strength[drawn], "log_loss": loss[drawn], "scaling": scaling[drawn]},
            quantities=("log_loss",),
            name=name,
        )
        strength, loss, scaling = (display.history[key] for key in ("C", "log_loss", "scaling"))
        _axes.drawable("the path", strength)
        ax = _axes.new_axes(display, ax)
        display.lines_ = []
        words = {1.0: "columns standardised", 0.0: "columns as they are"}
        for value in np.unique(scaling)[::-1]:
            part = np.flatnonzero(scaling == value)
            part = part[np.argsort(strength[part])]
            label = words.get(float(value), f"columns scaled to the power {value:g}")
            style = {"label": label, "marker": "."} | line_kw
            display.lines_ += ax.plot(strength[part], loss[part], **style)
        result = float(results["log_loss"])
        line = ax.axhline(result, color=_axes.GREY, linestyle="--", label="result, held out")
        display.lines_.append(line)
        ax.set(
            xlabel="strength C (in the units of the scaling)",
            ylabel="held-out log-loss",
            xscale="log",
            title=f"{name}: it has no iterations but a path",
        )
        ax.legend()
        return display._placed(ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_prob_by_iteration: Sequence[ArrayLike], *, pos_label: Any = None,
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw the log-loss of the predictions made after each iteration.

        Parameters
        ----------
        {y_true}
        y_prob_by_iteration : sequence of array-like of shape (n_samples,)
            Probabilities of the positive class after each iteration.
        {pos_label}
        {title}
        {on_axes}
        """
        y = _axes.binary_labels(y_true, pos_label)
        losses = []
        for values in y_prob_by_iteration:
            p = _axes.finite_column(values, "y_prob")
            _axes.same_length(y, p)
            chosen = np.where(y == 1.0, p, 1.0 - p)
            # An impossible event that happened costs -log of the smallest double, not infinity.
            losses.append(float(-np.log(np.maximum(chosen, np.finfo(float).tiny)).mean()))
        history: dict[str, ArrayLike] = {
            "iteration": np.arange(1.0, len(losses) + 1.0),
            "log_loss": losses,
        }
        return cls(history, quantities=("log_loss",), name=name).plot(ax, **line_kw)


def _without_steps(estimator: Any) -> bool:
    """The default estimator, also one that was read from a file."""
    return type(estimator).__name__ == "ProperLossClassifier" and hasattr(estimator, "classes_")
