"""The inverse link: probability against score."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss._docs import documented
from properloss.plotting import _axes


@documented
@dataclass(eq=False, repr=False)
class LinkDisplay(_axes.Display):
    """An inverse link, and how often positives occur at each score.

    {made_by}
    z : ndarray
        Scores at which the link is drawn.
    u : ndarray
        Its values.
    bin_score, bin_rate, bin_count : ndarray, default=None
        Mean score, share of positives and number of rows of equal-count bins.
    {entry}

    Attributes
    ----------
    {axes}
    line_ : matplotlib Line2D
        The link.
    bins_ : matplotlib PathCollection or None
        The observed shares.

    Examples
    --------
    >>> from properloss import LinkDisplay, Sigmoid
    >>> display = LinkDisplay.from_link(Sigmoid(), z_range=(-2, 2))
    >>> float(display.u[0].round(3)), float(display.u[-1].round(3))
    (0.119, 0.881)
    """

    z: NDArray[np.float64]
    u: NDArray[np.float64]
    _: KW_ONLY
    bin_score: NDArray[np.float64] | None = None
    bin_rate: NDArray[np.float64] | None = None
    bin_count: NDArray[np.int64] | None = None
    name: str | None = None

    def plot(self, ax: Any = None, *, name: str | None = None, **line_kw: Any) -> Self:
        """Draw it.

        {plot}
        """
        _axes.drawable("the link", self.z, self.u)
        ax = _axes.new_axes(self, ax)
        # Blue at first; a second link in the same axes has another colour.
        color = _axes.BLUE if not ax.lines else _axes.next_color(ax)
        style = {"color": color, "label": name or self.name} | line_kw
        (self.line_,) = ax.plot(self.z, self.u, **style)
        self.line_._properloss_main = True
        self.bins_ = None
        if self.bin_score is not None:
            self.bins_ = ax.scatter(
                self.bin_score, self.bin_rate, s=18, color=_axes.GREY, label="observed", zorder=3
            )
        ax.set(xlabel="score z", ylabel="probability u(z)", ylim=(-0.02, 1.02))
        if style["label"] is not None or self.bins_ is not None:
            ax.legend(loc="upper left")
        return self._placed(ax)

    @classmethod
    def from_link(
        cls, link: Any, *, z_range: tuple[float, float] | None = None, name: str | None = None
    ) -> Self:
        """The curve of a link.

        Parameters
        ----------
        link : InverseLink
            The link.
        z_range : (float, float), default=None
            Scores to show; by default all but the last 0.1 % of the way to either end.
        name : str, default=None
            The legend's entry; by default the link's name.

        {not_drawn}
        """
        z = curve_points(link, z_range)
        return cls(z, link.inverse_link(z), name=link.name if name is None else name)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: ArrayLike | None = None, *,
        n_bins: int = 20,
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw the link of a fitted classifier, with observed shares if data are given.

        Parameters
        ----------
        {estimator}
        X, y : data, default=None
            Rows and labels for the observed shares.
        n_bins : int, default=20
            Number of equal-count bins.
        name : str, default=None
            The legend's entry; by default the class name.
        {on_axes}
        """
        name, link, scores, positive = _axes.with_scores(estimator, X, y, "link_", name)
        if y is None or scores is None:
            return cls.from_link(link, name=name).plot(ax, **line_kw)
        line_kw |= {"link": link, "pos_label": positive, "n_bins": n_bins, "name": name, "ax": ax}
        return cls.from_predictions(y, scores, **line_kw)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, score: ArrayLike, *, link: Any, pos_label: Any = None, n_bins: int = 20,
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw a link over the share of positives observed at each score.

        {labels_and_scores_of}
        link : InverseLink
            What to draw.
        n_bins : int, default=20
            Number of equal-count bins.
        name : str, default=None
            The legend's entry; by default the link's name.
        {on_axes}
        """
        y, z, z_range = _axes.scored(y_true, score, pos_label)
        display = cls.from_link(link, z_range=z_range, name=name)
        order = np.argsort(z, kind="stable")
        bins = np.array_split(order, min(n_bins, len(z)))
        display.bin_score = np.array([z[rows].mean() for rows in bins])
        display.bin_rate = np.array([y[rows].mean() for rows in bins])
        display.bin_count = np.array([len(rows) for rows in bins])
        return display.plot(ax, **line_kw)


def link_range(link: Any) -> tuple[float, float]:
    """Scores between which the link goes from its lower to its upper end, but for 0.1 % each.

    The ends are 0 and 1, or the floor and the ceiling of a link that stays away from them.
    """
    low, high = link.support
    bottom, top = link.inverse_link(-np.inf), link.inverse_link(np.inf)
    margin = 0.001 * (top - bottom)
    if low == -np.inf:
        low = float(link.link(bottom + margin))
    if high == np.inf:
        high = float(link.link(top - margin))
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        low, high = -5.0, 5.0
    return low, high


def curve_points(
    link: Any, z_range: tuple[float, float] | None = None, n: int = 400
) -> NDArray[np.float64]:
    """An even grid on a range, by default :func:`link_range`, with the knots of a learned link."""
    low, high = link_range(link) if z_range is None else z_range
    grid = np.linspace(low, high, n)
    knots = getattr(link, "z", None)
    if knots is None or len(knots) > 20 * n:
        return grid
    inside = knots[(knots > low) & (knots < high)]
    return np.unique(np.concatenate([grid, inside]))
