"""CORP reliability diagrams: isotonic recalibration in place of bins."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss import _core
from properloss._docs import documented
from properloss.plotting import _axes


@documented
@dataclass(eq=False, repr=False)
class ReliabilityDisplay(_axes.ForecastDisplay):
    """Reliability diagram by isotonic regression, with a consistency band.

    The curve is the isotonic regression of the labels on the predicted probabilities (CORP:
    Dimitriadis, Gneiting and Jordan, PNAS 2021), so there are no bins to choose. The band shows
    where the curve lies with the given probability if the predictions *are* calibrated; it comes
    from labels redrawn with the predicted probabilities.

    {made_by}
    probability : ndarray
        The distinct predicted probabilities, in order.
    recalibrated : ndarray
        The isotonic regression at each of them.
    weight : ndarray
        The number (or weight) of rows at each of them.
    band : (ndarray, ndarray, ndarray), default=None
        The consistency band: probabilities, its lower and its upper end there.
    miscalibration, discrimination, uncertainty : float
        The parts of the mean Brier score:
        ``brier = miscalibration - discrimination + uncertainty``.
    {entry}

    Attributes
    ----------
    {axes}
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band.

    Examples
    --------
    >>> import numpy as np
    >>> from properloss import ReliabilityDisplay
    >>> p = np.array([0.1, 0.4, 0.4, 0.8])
    >>> display = ReliabilityDisplay.compute([0, 0, 1, 1], p, n_resamples=0)
    >>> display.recalibrated.tolist()
    [0.0, 0.5, 1.0]
    >>> brier = display.miscalibration - display.discrimination + display.uncertainty
    >>> bool(np.isclose(brier, np.mean((np.array([0, 0, 1, 1]) - p) ** 2)))
    True
    """

    probability: NDArray[np.float64]
    recalibrated: NDArray[np.float64]
    weight: NDArray[np.float64]
    _: KW_ONLY
    band: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None = None
    miscalibration: float
    discrimination: float
    uncertainty: float
    name: str | None = None

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        histogram: bool = True,
        zoom: bool | float | Literal["auto"] = "auto",
        **line_kw: Any,
    ) -> Self:
        """Draw it. A second diagram in the same axes gets the next colour of the cycle.

        Parameters
        ----------
        {ax}
        {entry}
        histogram : bool, default=True
            Whether to show at the foot where the forecasts lie.
        zoom : bool, float or "auto", default="auto"
            The largest probability that is shown. ``"auto"`` leaves 1 unless nearly all forecasts
            (199 in 200) are below 1/4, as those of a rare class; True always fits it to them.
        {line_kw}

        Returns
        -------
        self : ReliabilityDisplay
            With ``ax_``, ``figure_``, ``line_``, ``band_``.
        """
        _axes.drawable("the diagram", self.probability, self.recalibrated)
        ax = _axes.new_axes(self, ax)
        first = not _axes.main_curves(ax)
        if first:
            ax.plot([0, 1], [0, 1], "--", color=_axes.GREY, linewidth=1)
        color = line_kw.get("color", line_kw.get("c", _axes.next_color(ax)))
        self.band_ = None
        if self.band is not None:
            self.band_ = ax.fill_between(*self.band, color=color, alpha=0.15, linewidth=0)
        label = name or self.name
        parts = f"MCB {self.miscalibration:.4f}  DSC {self.discrimination:.4f}"
        label = parts if label is None else f"{label}\n{parts}"
        style: dict[str, Any] = {"label": label} | line_kw
        if "c" not in style:
            style["color"] = color
        (self.line_,) = ax.plot(self.probability, self.recalibrated, **style)
        self.line_._properloss_main = True
        top = self._top(zoom)
        if not first:
            top = max(top, ax.get_xlim()[1])
        ax.set(xlabel="predicted probability", ylabel="recalibrated probability")
        ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
        if histogram:
            self._draw_histogram(ax, top, color)
        ax.legend(loc="upper left", fontsize="small")
        return self._placed(ax)

    def _top(self, zoom: bool | float | str) -> float:
        """The largest probability that is shown."""
        if zoom is False:
            return 1.0
        if not isinstance(zoom, (bool, str)):
            if not 0.0 < zoom <= 1.0:
                raise ValueError(f"zoom is {zoom}; it must be above 0 and at most 1")
            return float(zoom)
        below = np.cumsum(self.weight) <= 0.995 * self.weight.sum()
        last = min(int(below.sum()), len(self.probability) - 1)
        reach = max(float(self.probability[last]), float(self.recalibrated[last]))
        if zoom == "auto" and reach >= 0.25:
            return 1.0
        return min(1.0, max(1.1 * reach, 1e-6))

    def _draw_histogram(self, ax: Any, top: float, color: str) -> None:
        """Bars at the foot: the share of the forecasts in each of 40 bins."""
        counts, edges = np.histogram(
            self.probability, bins=40, range=(0.0, top), weights=self.weight
        )
        if counts.max() > 0.0:
            heights = 0.12 * top * counts / counts.max()
            ax.bar(
                edges[:-1], heights, width=np.diff(edges), align="edge", color=color, alpha=0.25,
                linewidth=0, zorder=0.5,
            )

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_prob: ArrayLike, *,
        sample_weight: ArrayLike | None = None, pos_label: Any = None,
        level: float = 0.9, n_resamples: int = 200, random_state: int | None = 0,
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw the reliability of predicted probabilities.

        {forecasts}
        level : float, default=0.9
            Probability of the band, at each point.
        n_resamples : int, default=200
            Redraws behind the band; 0 for no band.
        random_state : int or None, default=0
            Seed of the redraws.
        {entry}
        {ax}
        **line_kw : dict
            Passed to :meth:`plot`: ``histogram``, ``zoom``, and the style of the curve.

        {drawn}
        """
        display = cls.compute(
            y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label,
            level=level, n_resamples=n_resamples, random_state=random_state,
        )
        return display._named(name).plot(ax, **line_kw)

    @classmethod
    def compute(
        cls, y_true: ArrayLike, y_prob: ArrayLike, *,
        sample_weight: ArrayLike | None = None, pos_label: Any = None,
        level: float = 0.9, n_resamples: int = 200, random_state: int | None = 0,
    ) -> Self:
        """What :meth:`from_predictions` draws, without drawing it (and without matplotlib).

        {as_drawn}
        """
        y, p, weight = _axes.forecasts(y_true, y_prob, sample_weight, pos_label)
        outside = np.flatnonzero((p < 0.0) | (p > 1.0))
        if outside.size:
            raise ValueError(
                f"y_prob[{outside[0]}] is {p[outside[0]]}; probabilities must be in [0, 1]"
            )
        if not 0.0 < level < 1.0:
            raise ValueError(f"level is {level}; it must be between 0 and 1")
        points, group = np.unique(p, return_inverse=True)
        mass = np.bincount(group, weights=weight).astype(np.float64)
        keep = mass > 0.0
        rates = np.bincount(group, weights=weight * y)[keep] / mass[keep]
        points, mass = points[keep], mass[keep]
        curve = _core.isotonic(points, rates, mass).values
        _, mcb, dsc, unc = _core.metric_corp((p, y.astype(np.uint8), weight))
        band = None
        if n_resamples > 0:
            rows, of_kept = keep[group], np.cumsum(keep)[group] - 1
            rng = np.random.default_rng(random_state)
            band = _consistency_band(
                points, p[rows], of_kept[rows], weight[rows], mass, level, n_resamples, rng
            )
        return cls(
            points, curve, mass, band=band, miscalibration=mcb, discrimination=dsc, uncertainty=unc
        )


def _consistency_band(
    points: NDArray[np.float64], p: NDArray[np.float64], group: NDArray[np.int64],
    weight: NDArray[np.float64], mass: NDArray[np.float64],
    level: float, n_resamples: int, rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Pointwise quantiles of the curve when labels are drawn with the predicted probabilities."""
    # More points than a plot can show would only cost memory.
    shown = np.unique(np.linspace(0, len(points) - 1, min(len(points), 1000)).astype(np.intp))
    curves = np.empty((n_resamples, len(shown)))
    for curve in curves:
        drawn = np.bincount(group, weights=weight * (rng.random(len(p)) < p), minlength=len(points))
        curve[:] = _core.isotonic(points, drawn / mass, mass).values[shown]
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(curves, [tail, 1.0 - tail], axis=0)
    return points[shown], low, high
