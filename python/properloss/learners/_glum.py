"""A link for glum's generalised linear models."""

from __future__ import annotations

from typing import Any

import numpy as np
from glum import Link
from numpy.typing import ArrayLike, NDArray

from properloss import _core
from properloss.learners._objective import as_link, second_derivative

_Floats = NDArray[np.float64]


class GlumLink(Link):
    """Any link of properloss as a ``Link`` of glum: ``GeneralizedLinearRegressor(link=...)``.

    Where the link has kinks its second derivative jumps; glum's ``irls-ls`` solver does not use it
    and is the one to take.

    Parameters
    ----------
    link : InverseLink or str
        The link.
    """

    def __init__(self, link: _core.InverseLink | str) -> None:
        self.inverse_link = as_link(link)

    def link(self, mu: ArrayLike) -> Any:
        """The linear predictor of a mean."""
        return self.inverse_link.link(np.asarray(mu, dtype=np.float64))

    def derivative(self, mu: ArrayLike) -> Any:
        """``dz / dmu = 1 / u'(z)``."""
        with np.errstate(divide="ignore"):
            return 1.0 / np.asarray(self.inverse_link.derivative(self.link(mu)))

    def inverse(self, lin_pred: ArrayLike) -> Any:
        """The mean of a linear predictor."""
        return self.inverse_link.inverse_link(np.asarray(lin_pred, dtype=np.float64))

    def inverse_derivative(self, lin_pred: ArrayLike) -> Any:
        """``u'(z)``."""
        return self.inverse_link.derivative(np.asarray(lin_pred, dtype=np.float64))

    def inverse_derivative2(self, lin_pred: ArrayLike) -> _Floats:
        """``u''(z)``; at a kink, that of the piece to the right."""
        return second_derivative(self.inverse_link, lin_pred)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlumLink) and other.inverse_link == self.inverse_link

    def __hash__(self) -> int:
        return hash(self.inverse_link)
