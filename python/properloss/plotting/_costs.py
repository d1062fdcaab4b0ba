"""What forecasts are worth to whom: Murphy diagrams and decision curves."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss._docs import documented
from properloss.plotting import _axes


@documented
@dataclass(eq=False, repr=False)
class _ThresholdDisplay(_axes.ForecastDisplay):
    """A curve over thresholds beside what can be had without a model."""

    _ylabel: ClassVar[str] = ""
    _reference: ClassVar[str] = ""
    #: Largest threshold that can be asked for.
    _limit: ClassVar[float] = 1.0

    threshold: NDArray[np.float64]
    value: NDArray[np.float64]
    reference: NDArray[np.float64]
    _: KW_ONLY
    name: str | None = None

    @staticmethod
    def _value(t: Any, tp: Any, fp: Any, fn: Any) -> Any:
        """The curve at ``t`` from shares of all rows."""
        raise NotImplementedError

    @classmethod
    def _reference_value(cls, t: Any, rate: float) -> Any:
        raise NotImplementedError

    def plot(self, ax: Any = None, *, name: str | None = None, **line_kw: Any) -> Self:
        """Draw it.

        {plot}
        """
        ax = _axes.new_axes(self, ax)
        # Blue at first; a second curve in the same axes has another colour, its reference no name.
        again = _axes.main_curves(ax) > 0
        style = {"color": _axes.GREY, "linewidth": 1, "label": "_nolegend_" if again else self._reference}
        (self.reference_line_,) = ax.plot(self.threshold, self.reference, "--", **style)
        color = _axes.next_color(ax) if again else _axes.BLUE
        style = {"color": color, "label": name or self.name or "model"} | line_kw
        (self.line_,) = ax.plot(self.threshold, self.value, **style)
        self.line_._properloss_main = True
        ax.set(xlabel="threshold", ylabel=self._ylabel, xlim=(0, 1))
        top = max(float(np.nanmax(self.value)), float(np.nanmax(self.reference)), 1e-12)
        low = min(0.0, max(float(np.nanmin(self.value)), -0.2 * top))
        ax.set_ylim(low - 0.02 * top, 1.08 * top)
        ax.legend()
        return self._placed(ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_prob: ArrayLike, *,
        sample_weight: ArrayLike | None = None, pos_label: Any = None,
        thresholds: ArrayLike | None = None,
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw it for predicted probabilities.

        {forecasts}
        thresholds : array-like, default=None
            Where to compute it; by default 500 evenly spaced ones.
        {entry}
        {on_axes}
        """
        display = cls.compute(
            y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, thresholds=thresholds
        )
        return display._named(name).plot(ax, **line_kw)

    @classmethod
    def compute(
        cls, y_true: ArrayLike, y_prob: ArrayLike, *,
        sample_weight: ArrayLike | None = None, pos_label: Any = None,
        thresholds: ArrayLike | None = None,
    ) -> Self:
        """What :meth:`from_predictions` draws, without drawing it (and without matplotlib).

        {as_drawn}
        """
        y, p, weight = _axes.forecasts(y_true, y_prob, sample_weight, pos_label)
        if thresholds is None:
            t = np.linspace(0.0, cls._limit, 500)
        else:
            t = _axes.finite_column(thresholds, "thresholds")
        if t.size == 0 or t.min() < 0.0 or t.max() > cls._limit:
            raise ValueError(f"thresholds must lie in [0, {cls._limit}]")
        order = np.argsort(p, kind="stable")
        share = weight[order] / weight.sum()
        # Below: shares of the rows with a probability of at most t, which are called negative.
        below = np.searchsorted(p[order], t, side="right")
        cut = np.concatenate([[0.0], np.cumsum(share * y[order])])
        cut_negative = np.concatenate([[0.0], np.cumsum(share * (1.0 - y[order]))])
        fn, tn = cut[below], cut_negative[below]
        rate = float(cut[-1])
        value = cls._value(t, rate - fn, cut_negative[-1] - tn, fn)
        return cls(t, value, cls._reference_value(t, rate))


@documented
class MurphyDisplay(_ThresholdDisplay):
    """Murphy diagram: the mean cost of deciding at each threshold.

    At threshold ``t`` a false alarm costs ``2 t`` and a miss ``2 (1 - t)``; the area under the
    curve is the Brier score (Ehm, Gneiting, Jordan and Krüger 2016). A forecast whose curve lies
    below another's everywhere is better for every user.

    {made_by}
    threshold, value, reference : ndarray
        Thresholds, the mean cost there, and that of the base rate alone.
    {threshold_display}

    Examples
    --------
    >>> from properloss import MurphyDisplay
    >>> display = MurphyDisplay.compute([0, 1], [0.25, 0.75], thresholds=[0.1, 0.5, 0.8])
    >>> display.value.round(3).tolist()
    [0.1, 0.0, 0.2]
    """

    _ylabel = "mean cost"
    _reference = "base rate alone"

    @staticmethod
    def _value(t: Any, tp: Any, fp: Any, fn: Any) -> Any:
        return 2.0 * (t * fp + (1.0 - t) * fn)

    @classmethod
    def _reference_value(cls, t: Any, rate: float) -> Any:
        return 2.0 * np.minimum(t * (1.0 - rate), (1.0 - t) * rate)


@documented
class DecisionCurveDisplay(_ThresholdDisplay):
    """Decision curve: the net benefit of acting above each threshold.

    ``TP/n - FP/n t/(1 - t)``: true positives a row, false alarms charged at the odds of the
    threshold (Vickers and Elkin 2006). The forecast is worth using where it lies above acting on
    all rows and above zero.

    {made_by}
    threshold, value, reference : ndarray
        Thresholds, the net benefit there, and that of acting on all rows.
    {threshold_display}

    Examples
    --------
    >>> from properloss import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.compute([0, 1], [0.25, 0.75], thresholds=[0.2, 0.5])
    >>> display.value.round(3).tolist()
    [0.375, 0.5]
    """

    _ylabel = "net benefit"
    _reference = "act on all"
    _limit = 0.99

    @staticmethod
    def _value(t: Any, tp: Any, fp: Any, fn: Any) -> Any:
        return tp - fp * t / (1.0 - t)

    @classmethod
    def _reference_value(cls, t: Any, rate: float) -> Any:
        return rate - (1.0 - rate) * t / (1.0 - t)
