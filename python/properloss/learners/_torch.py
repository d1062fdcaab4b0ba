"""The link as a layer and the loss as a module of PyTorch."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from properloss import _core
from properloss.learners._file import arguments_of
from properloss.learners._objective import Objective, as_link


class LinkLayer(nn.Module):
    """From scores to probabilities: the link as a layer, differentiable, on any device.

    Learned links are tables: the piece of a score is found by ``bucketize``, its line by
    ``gather``. The knots are buffers: ``state_dict`` holds them and ``to(device)`` moves them.

    Parameters
    ----------
    link : InverseLink or str, default="sigmoid"
        The link.
    """

    def __init__(self, link: _core.InverseLink | str = "sigmoid") -> None:
        super().__init__()
        self.link = as_link(link)
        inner: _core.InverseLink | None = self.link
        table = (np.empty(0), np.empty(0))
        if isinstance(inner, _core.RelativeLink):
            table = (inner.p, inner.v)
            inner = inner.base
        elif isinstance(inner, (_core.PiecewiseLink, _core.IsotonicLink)):
            table = (inner.z, inner.u)
            inner = None
        self.formula: Any = None
        self.arguments: list[float] = []
        if inner is not None and inner.name in _FORMULAS:
            self.formula = _FORMULAS[inner.name]
            self.arguments = arguments_of(inner)
        elif inner is not None:
            # A learned link over a learned link.
            self.formula = LinkLayer(inner)
        for name, values in zip(("knots", "values"), table, strict=True):
            self.register_buffer(name, torch.tensor(np.asarray(values), dtype=torch.float64))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Probabilities of the scores."""
        p = z if self.formula is None else self.formula(z, *self.arguments)
        if self.knots.numel() == 0:
            return p
        x, u = self.knots.to(p.dtype), self.values.to(p.dtype)
        piece = torch.bucketize(p.detach(), x, right=True).clamp(1, len(x) - 1) - 1
        slope = (u[1:] - u[:-1]) / (x[1:] - x[:-1])
        inside = torch.minimum(torch.maximum(p, x[0]), x[-1])
        return u[piece] + slope[piece] * (inside - x[piece])


def _clipped_line(z: torch.Tensor, a: float, b: float) -> torch.Tensor:
    return torch.clamp(a * z + b, 0.0, 1.0)


def _matsushita(z: torch.Tensor) -> torch.Tensor:
    # (1 + z / sqrt(1 + z^2)) / 2 without cancellation on the left.
    root = torch.sqrt(1.0 + z * z)
    small = 0.5 / (root * (root + z.abs()))
    return torch.where(z < 0.0, small, 1.0 - small)


def _probit(z: torch.Tensor) -> torch.Tensor:
    return 0.5 * torch.erfc(-z / math.sqrt(2.0))


def _cloglog(z: torch.Tensor) -> torch.Tensor:
    return -torch.expm1(-torch.exp(z.clamp(max=50.0)))


def _loglog(z: torch.Tensor) -> torch.Tensor:
    return torch.exp(-torch.exp((-z).clamp(max=50.0)))


def _cauchy(z: torch.Tensor) -> torch.Tensor:
    return 0.5 + torch.atan(z) / math.pi


_FORMULAS = {
    "sigmoid": torch.sigmoid,
    "clipped-line": _clipped_line,
    "matsushita": _matsushita,
    "probit": _probit,
    "cloglog": _cloglog,
    "loglog": _loglog,
    "cauchy": _cauchy,
}


class _Canonical(torch.autograd.Function):
    """Canonical loss: the value by the engine, the gradient ``u(z) - y`` by the layer."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor, y: torch.Tensor, p: torch.Tensor, objective: Any) -> Any:
        ctx.save_for_backward(p - y)
        value = objective.value(y.detach().cpu().numpy(), z.detach().cpu().numpy())
        return torch.as_tensor(value.reshape(z.shape), dtype=z.dtype, device=z.device)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, upstream: torch.Tensor) -> Any:
        (residual,) = ctx.saved_tensors
        return upstream * residual, None, None, None


class ProperLoss(nn.Module):
    """A proper loss with its link as a criterion: ``ProperLoss(link)(scores, labels)``.

    Parameters
    ----------
    link : InverseLink or str, default="sigmoid"
        From score to probability.
    loss : {"auto", "canonical", "log"}, default="auto"
        As for :class:`Objective`: canonical where it is finite, else log-loss.
    reduction : {"mean", "sum", "none"}, default="mean"
        What to do with the losses of the rows.

    Attributes
    ----------
    probability : LinkLayer
        The link, for predictions.
    """

    def __init__(
        self,
        link: _core.InverseLink | str = "sigmoid",
        loss: Literal["auto", "canonical", "log"] = "auto",
        reduction: Literal["mean", "sum", "none"] = "mean",
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')
        self.probability = LinkLayer(link)
        self.objective = Objective(link, loss)
        self.reduction = reduction

    def forward(
        self, z: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The loss of scores ``z`` at labels ``y`` (0 and 1), with optional weights of the rows."""
        y = y.to(z.dtype).reshape(z.shape)
        if self.objective.loss == "canonical":
            with torch.no_grad():
                p = self.probability(z)
            loss: torch.Tensor = _Canonical.apply(z, y, p, self.objective)
        else:
            p = self.probability(z)
            least = torch.finfo(z.dtype).tiny
            nearest = 1.0 - torch.finfo(z.dtype).eps / 2.0
            p = p.clamp(least, nearest)
            loss = -(y * torch.log(p) + (1.0 - y) * torch.log1p(-p))
        if weight is not None:
            weight = weight.to(loss.dtype).reshape(loss.shape)
            loss = loss * weight
        if self.reduction == "mean":
            return loss.mean() if weight is None else loss.sum() / weight.sum()
        return loss.sum() if self.reduction == "sum" else loss


class LinkProbability:
    """``predict_nonlinearity`` of skorch's ``NeuralNetBinaryClassifier``; it can be pickled.

    Parameters
    ----------
    link : InverseLink or str, default="sigmoid"
        The link of the criterion.
    """

    def __init__(self, link: _core.InverseLink | str = "sigmoid") -> None:
        self.link = as_link(link)

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Probabilities of both classes, a column each."""
        with torch.no_grad():
            p = LinkLayer(self.link).to(z.device)(z)
        return torch.stack((1.0 - p, p), 1)
