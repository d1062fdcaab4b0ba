"""A loss with its link as boosters want it: gradient and hessian in the score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss import _core
from properloss._docs import documented

_Floats = NDArray[np.float64]

#: Probabilities where the scale of a link is looked up.
_GRID = np.linspace(0.02, 0.98, 49)
#: The least hessian where the true one may vanish under a gradient that does not, as a share of the
#: largest. It bounds a step where nothing else does.
_SHARE = 1e-3
#: The least hessian elsewhere; XGBoost's logistic objective has the same.
_LEAST = 1e-16
#: The nearest to 0 or 1 that log-loss looks at.
_NEAR = 1e-15


@documented
class Objective:
    """Gradient and hessian of a proper loss in the score: an objective for boosters.

    With ``p = u(z)`` the canonical loss of the link has ``g = p - y`` and ``h = u'(z)``. Log-loss
    under the link has ``g = (p - y) u'(z) / (p (1 - p))``; its second derivative may be negative,
    so that ``h`` is its expectation over ``y``, ``u'(z)^2 / (p (1 - p))`` (Fisher's).

    Where a link has a floor or a ceiling the canonical loss is infinite and boosters that follow its
    gradient run away; log-loss is then bounded, its gradient vanishes far out, and a least hessian
    keeps the steps there small.

    Parameters
    ----------
    link : InverseLink or str, default="sigmoid"
        From score to probability.
    loss : {"auto", "canonical", "log"}, default="auto"
        ``"auto"``: the canonical loss where it is finite, else log-loss.

    Attributes
    ----------
    link : InverseLink
        The link.
    loss : {"canonical", "log"}
        Which loss it is.

    Examples
    --------
    >>> from properloss import RelativeLink
    >>> from properloss.learners import Objective
    >>> noisy = RelativeLink("sigmoid", [0.0, 1.0], [0.1, 0.8])
    >>> Objective(noisy).loss, Objective("probit").loss
    ('log', 'canonical')
    >>> gradient, hessian = Objective("sigmoid")([0.0, 1.0], [0.0, 0.0])
    >>> gradient.tolist(), hessian.tolist()
    ([0.5, -0.5], [0.25, 0.25])
    """

    def __init__(
        self,
        link: _core.InverseLink | str = "sigmoid",
        loss: Literal["auto", "canonical", "log"] = "auto",
    ) -> None:
        self.link = as_link(link)
        if loss not in ("auto", "canonical", "log"):
            raise ValueError(f'loss must be "auto", "canonical" or "log", got {loss!r}')
        if loss == "auto":
            loss = "canonical" if self.link.has_canonical_loss else "log"
        self.loss: Literal["canonical", "log"] = loss
        # Raises where the canonical loss is infinite, and says what to use.
        self._canonical = _core.CanonicalLoss(self.link) if loss == "canonical" else None
        self._least = self._least_hessian()

    def _least_hessian(self) -> float:
        low, high = self.link.support
        if self.loss == "canonical" and np.isinf(low) and np.isinf(high):
            return _LEAST
        z = self.link.link(_GRID)
        return _SHARE * float(np.max(self._hessian(z[np.isfinite(z)])))

    def _hessian(self, z: _Floats) -> _Floats:
        slope = self.link.derivative(z)
        if self.loss == "canonical":
            return slope
        p = _inside(self.link.inverse_link(z))
        return slope * slope / (p * (1.0 - p))

    def value(self, y: ArrayLike, z: ArrayLike) -> _Floats:
        """The loss of each row.

        {labels_and_scores}

        Returns
        -------
        loss : ndarray of shape (n_samples,)
            Not negative.
        """
        y, z = _columns(y, z)
        if self._canonical is not None:
            return self._canonical.loss(y, z)
        p = _inside(self.link.inverse_link(z))
        return np.where(y == 1.0, -np.log(p), -np.log1p(-p))

    def gradient(self, y: ArrayLike, z: ArrayLike) -> _Floats:
        """The derivative of the loss in the score.

        {labels_and_scores}

        {one_a_row}
        """
        y, z = _columns(y, z)
        if self._canonical is not None:
            return self._canonical.gradient(y, z)
        p = _inside(self.link.inverse_link(z))
        # One of the two factors of p (1 - p) cancels against the residual.
        return self.link.derivative(z) * np.where(y == 1.0, -1.0 / p, 1.0 / (1.0 - p))

    def hessian(self, y: ArrayLike, z: ArrayLike) -> _Floats:
        """The second derivative in the score (log-loss: its expectation), positive.

        {labels_and_scores}

        {one_a_row}
        """
        _, z = _columns(y, z)
        return np.maximum(self._hessian(z), self._least)

    def __call__(
        self, y: ArrayLike, z: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[_Floats, _Floats]:
        """Gradient and hessian, weighted: what LightGBM and XGBoost call."""
        g, h = self.gradient(y, z), self.hessian(y, z)
        if sample_weight is not None:
            w = np.asarray(sample_weight, dtype=np.float64)
            g, h = g * w, h * w
        return g, h

    def start(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The score at which the probability is the rate of the labels.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels 0 and 1.
        {sample_weight}

        Returns
        -------
        z : float
            Finite: a rate beyond the floor or the ceiling counts as one near to it.
        """
        rate = _mean(np.asarray(y, dtype=np.float64), sample_weight)
        ends = self.link.inverse_link(np.array([-745.0, 745.0]))
        margin = 0.01 * (ends[1] - ends[0])
        return float(self.link.link(float(np.clip(rate, ends[0] + margin, ends[1] - margin))))

    # -- CatBoost: the same with other names and signs ---------------------------------------

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> list[tuple[float, float]]:
        """CatBoost's form: it maximises, so that both derivatives change their sign."""
        g, h = self(targets, approxes, weights)
        return list(zip((-g).tolist(), (-h).tolist(), strict=True))

    def is_max_optimal(self) -> bool:
        """CatBoost's form: the loss is to be small."""
        return False

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """CatBoost's form: summed loss and weight."""
        loss = self.value(target, approxes[0])
        w = np.ones_like(loss) if weight is None else np.asarray(weight, dtype=np.float64)
        return float(np.sum(w * loss)), float(np.sum(w))

    def get_final_error(self, error: float, weight: float) -> float:
        """CatBoost's form: the mean."""
        return error / (weight + 1e-38)

    # -- identity and pickling ---------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Objective) and (other.loss, other.link) == (self.loss, self.link)

    def __hash__(self) -> int:
        return hash((self.loss, self.link))

    def __reduce__(self) -> tuple[Any, ...]:
        return Objective, (self.link, self.loss)

    def __repr__(self) -> str:
        return f"Objective({self.link!r}, loss={self.loss!r})"


def log_loss_of(link: _core.InverseLink) -> Callable[..., float]:
    """Weighted log-loss of the link's probabilities: what early stopping looks at."""
    objective = Objective(link, "log")

    def log_loss_of_link(y: ArrayLike, z: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return _mean(objective.value(y, z), sample_weight)

    return log_loss_of_link


def as_link(link: _core.InverseLink | str) -> _core.InverseLink:
    """A link, or the one of that name."""
    return _core.link(link) if isinstance(link, str) else link


def _columns(y: ArrayLike, z: ArrayLike) -> tuple[_Floats, _Floats]:
    return np.asarray(y, dtype=np.float64).ravel(), np.asarray(z, dtype=np.float64).ravel()


def _mean(values: _Floats, weights: Any) -> float:
    return float(np.average(values, weights=weights))


def _inside(p: _Floats) -> _Floats:
    return np.clip(p, _NEAR, 1.0 - _NEAR)


def second_derivative(link: _core.InverseLink, z: ArrayLike) -> _Floats:
    """``u''(z)``; at a kink, that of the piece to the right.

    A relative link ``v(base(z))`` has ``v'(base(z)) base''(z)`` between its knots.
    """
    z = np.asarray(z, dtype=np.float64)
    return np.asarray(_curvature(link, z), dtype=np.float64)


def _curvature(link: _core.InverseLink, z: _Floats) -> Any:
    if isinstance(link, (_core.PiecewiseLink, _core.IsotonicLink, _core.ClippedLine)):
        return np.zeros_like(z)
    slope = link.derivative(z)
    if isinstance(link, _core.RelativeLink):
        base = link.base
        under = base.derivative(z)
        ratio = np.divide(slope, under, out=np.zeros_like(z), where=under > 0.0)
        return ratio * _curvature(base, z)
    if isinstance(link, _core.Sigmoid):
        return slope * (1.0 - 2.0 * link.inverse_link(z))
    if isinstance(link, _core.Probit):
        return -z * slope
    if isinstance(link, _core.Cauchy):
        return -2.0 * z / (1.0 + z * z) * slope
    if isinstance(link, _core.Matsushita):
        return -3.0 * z / (1.0 + z * z) * slope
    if isinstance(link, _core.Cloglog):
        return slope * -np.expm1(np.minimum(z, 700.0))
    if isinstance(link, _core.Loglog):
        return slope * np.expm1(np.minimum(-z, 700.0))
    raise TypeError(f"no second derivative is known for the link {link.name!r}")
