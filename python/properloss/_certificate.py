"""What is certified of a fit: numbers with names."""

from __future__ import annotations

from typing import Any, NamedTuple


class FitBound(NamedTuple):
    """How far the probabilities of a fit can be from the true ones, on the rows it was fitted to."""

    #: The fitted model: root mean square distance from ``P(y = 1 | held-out score)``, at most.
    rms: float
    #: The same for the learned link on the held-out scores.
    held_out_rms: float
    #: With this probability.
    confidence: float
    #: Rows that it is about.
    n_rows: int
    #: Folds of the held-out scores; 1 if there is one score for all rows.
    n_folds: int
    #: What is supposed.
    assumption: str
    #: An e-value against the assumption: if it holds, this is 20 or more in one case of twenty.
    against_monotone: float
    #: Whether the evidence suffices: then the bound is void.
    assumption_rejected: bool


class LinkCost(NamedTuple):
    """What the learned link cost on held-out rows beside the sigmoid, in nats over all rows."""

    #: Negative where the link gained.
    nats: float
    #: No data make it larger.
    at_most: float


_RENAMED = {"rows": "n_rows", "folds": "n_folds"}


def parse(content: dict[str, Any]) -> tuple[FitBound | None, LinkCost | None]:
    """The certificates of a fit or of a model file, as numbers with names."""
    bound, cost = content.get("calibration_bound"), content.get("link_cost")
    if bound is not None:
        named = {_RENAMED.get(name, name): value for name, value in bound.items()}
        bound = FitBound(**{name: named[name] for name in FitBound._fields})
    return bound, None if cost is None else LinkCost(cost["nats"], cost["at_most"])
