"""The two sides of a loss: what a positive and a negative cost at each score."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss._docs import documented
from properloss.plotting import _axes
from properloss.plotting._link import curve_points


@documented
@dataclass(eq=False, repr=False)
class LossDisplay(_axes.Display):
    """The loss of a positive and of a negative, against the score.

    {made_by}
    z : ndarray
        Scores.
    positive, negative : ndarray
        ``loss(1, z)`` and ``loss(0, z)``.
    scores : (ndarray, ndarray), default=None
        Scores of positives and of negatives, drawn as marks at the foot.
    mean_loss : float, default=None
        Mean loss over these scores.
    {title}

    Attributes
    ----------
    {axes}
    lines_ : list of matplotlib Line2D
        The losses of a positive and of a negative.

    Examples
    --------
    >>> from properloss import CanonicalLoss, LossDisplay
    >>> display = LossDisplay.from_loss(CanonicalLoss("sigmoid"), z_range=(-1, 1))
    >>> float(display.positive[0].round(3)), float(display.negative[0].round(3))
    (1.313, 0.313)
    """

    z: NDArray[np.float64]
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]
    _: KW_ONLY
    scores: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    mean_loss: float | None = None
    name: str | None = None

    def plot(self, ax: Any = None, *, name: str | None = None, **line_kw: Any) -> Self:
        """Draw it.

        {plot}
        """
        _axes.drawable("the loss", self.positive, self.negative)
        ax = _axes.new_axes(self, ax)
        self.lines_ = []
        sides = (_axes.BLUE, "a positive", 0.0), (_axes.RED, "a negative", 0.02)
        for values, (color, label, _) in zip((self.positive, self.negative), sides, strict=True):
            style = {"color": color, "label": label} | line_kw
            self.lines_ += ax.plot(self.z, values, **style)
        for z, (color, _, foot) in zip(self.scores or (), sides, strict=False):
            heights, transform = np.full(len(z), foot), ax.get_xaxis_transform()
            ax.plot(z, heights, "|", color=color, alpha=0.4, transform=transform)
        title = self.name if name is None else name
        if self.mean_loss is not None:
            title = f"{title}: mean loss {self.mean_loss:.4g}"
        ax.set(xlabel="score z", ylabel="loss", title=title)
        ax.legend()
        return self._placed(ax)

    @classmethod
    def from_loss(
        cls, loss: Any, *, z_range: tuple[float, float] | None = None, name: str | None = None
    ) -> Self:
        """The curves of a loss.

        Parameters
        ----------
        loss : CanonicalLoss or CompositeLoss
            The loss.
        z_range : (float, float), default=None
            Scores to show; by default all but the last 0.1 % of the way to either end of the link.
        name : str, default=None
            The title; by default the link's name.

        {not_drawn}
        """
        link = loss.inverse_link
        z = curve_points(link, z_range)
        return cls(z, loss.loss(1, z), loss.loss(0, z), name=link.name if name is None else name)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: ArrayLike | None = None, *,
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw the loss of a fitted classifier, with the scores of data if they are given.

        Parameters
        ----------
        {estimator}
        X, y : data, default=None
            Rows and labels whose scores are marked.
        name : str, default=None
            The title; by default the class name.
        {on_axes}
        """
        name, loss, scores, positive = _axes.with_scores(estimator, X, y, "loss_", name)
        if y is None or scores is None:
            return cls.from_loss(loss, name=name).plot(ax, **line_kw)
        line_kw |= {"loss": loss, "pos_label": positive, "name": name, "ax": ax}
        return cls.from_predictions(y, scores, **line_kw)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, score: ArrayLike, *, loss: Any, pos_label: Any = None,
        name: str | None = None, ax: Any = None, **line_kw: Any,
    ) -> Self:
        """Draw a loss over the range of some scores, which are marked at the foot.

        {labels_and_scores_of}
        loss : CanonicalLoss or CompositeLoss
            What to draw.
        name : str, default=None
            The title; by default the link's name.
        {on_axes}
        """
        y, z, z_range = _axes.scored(y_true, score, pos_label)
        display = cls.from_loss(loss, z_range=z_range, name=name)
        display.scores = (z[y == 1.0], z[y == 0.0])
        display.mean_loss = float(np.mean(loss.loss(y, z)))
        return display.plot(ax, **line_kw)
