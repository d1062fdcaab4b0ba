"""The classifiers: the paper's algorithms, and a given loss taken to its minimum."""

from __future__ import annotations

import warnings
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from properloss import _core, _registry
from properloss._base import ProperClassifier
from properloss._docs import documented
from properloss._registry import keep

Scaling = Literal["none", "unit-rows", "max-norm", "standardise"]
Step = Literal["auto", "paper"] | float
Missing = Literal["error", "mean"]
File = str | PathLike[str]


@documented
class BregmanTronClassifier(ProperClassifier):
    """BregmanTron: learn a linear score and its inverse link, and with it the loss, in turns.

    Each iteration makes a gradient step on the weights under the current loss, then fits the
    link anew, piecewise affine with slopes in ``[slope_min, slope_max]``.

    Parameters
    ----------
    certified : bool, default=False
        Deprecated: :class:`CertifiedClassifier` is a class of its own.
    target : {"labels", "previous", "approx", "refit"}, default="labels"
        What the link is fitted to. ``"previous"`` (the predictions of the iteration before) is
        the paper's algorithm: its ranking is good and its probabilities are poorly calibrated.
        ``"labels"`` is the paper's variant that is calibrated. ``"approx"`` fits to nothing,
        ``"refit"`` to the previous link at the new scores.
    objective : {"bregman", "quadratic"}, default=None
        How the distance to the target is measured; by default quadratic for labels, else Bregman.
    slope_min, slope_max : float, default=0.01 and 1.0
        Bounds on the slope of the link.
    kappa : float, default=None
        How much of the way from 0 to 1 the lower slope bound alone may take up, in (0, 1]; by
        default 0.01 for ``"labels"``, 0.1 for ``"refit"``, else 1.
    step : "auto", "paper" or float, default="auto"
        Length of the gradient step: one that is safe for every link within ``slope_max``, 1, or a
        number.
    {scaled}
    end_slope : {"min", "max"}, default="min"
        The slope with which the link is continued beyond the data.
    initial_link : PiecewiseLink, default=None
        The link to start from.
    {max_iter}
    tol : float, default=1e-5
        Stops when loss and weights hardly change; 0 makes ``max_iter`` iterations.
    {to_classes}
    {learned}
    {threshold}
    history_ : dict of str to ndarray
        One entry an iteration: ``iteration``, ``loss``, ``gap``, ``step``, ...
    {course}
    {features}

    {on_cancer}
    >>> from properloss import BregmanTronClassifier
    >>> clf = BregmanTronClassifier(max_iter=300, tol=0).fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    >>> clf.link_
    <PiecewiseLink: ... knots on [...]>
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_registry.constraints("BregmanTronClassifier"),
        "certified": ["boolean"],
        "target": [StrOptions({"previous", "approx", "labels", "refit"})],
    }

    def __init__(
        self,
        *,
        certified: bool = False,
        target: Literal["labels", "previous", "approx", "refit"] = "labels",
        objective: Literal["bregman", "quadratic"] | None = None,
        slope_min: float = 0.01,
        slope_max: float = 1.0,
        kappa: float | None = None,
        step: Step = "auto", alpha: float = 0.0, max_norm: float | None = None,
        scaling: Scaling = "standardise",
        end_slope: Literal["min", "max"] = "min",
        initial_link: _core.PiecewiseLink | None = None,
        max_iter: int = 1000, tol: float = 1e-5, missing: Missing = "error", verbose: int = 0,
        checkpoint: File | None = None, checkpoint_every: float = 60.0,
    ) -> None:
        keep(self, locals())

    def _run(self, task: _core.Task) -> _core.Fit:
        if not self.certified:
            return super()._run(task)
        warnings.warn(
            "certified=True will go in the next release: use CertifiedClassifier, where target is"
            " called candidate.",
            FutureWarning,
            stacklevel=5,
        )
        return _core.fit(task, "certified", self._certified_settings())

    def _run_blocks(self, task: Any, classes: Any, totals: Any) -> _core.Fit:
        if self.certified:
            raise ValueError(
                "certified=True needs all rows in memory at once: its certificates look at every row."
                " Give X and y, or set certified=False"
            )
        return super()._run_blocks(task, classes, totals)

    def _certified_settings(self) -> dict[str, Any]:
        kept = ("slope_max", "scaling", "max_iter", "tol")
        proper = {**_registry.defaults("BregmanTronClassifier"), "slope_min": 0.01}
        for name, default in proper.items():
            if name not in (*kept, *_registry.BESIDE) and getattr(self, name) != default:
                raise ValueError(
                    f"certified=True does not take {name} = {getattr(self, name)!r}: the proof fixes"
                    f" it. Leave it at {default!r}, or set certified=False."
                )
        if self.target == "approx":
            raise ValueError(
                "certified=True cannot fit the link to nothing: target must be 'labels',"
                " 'previous' or 'refit', got 'approx'."
            )
        return {"candidate": self.target, **{name: getattr(self, name) for name in kept}}


@documented
class CertifiedClassifier(ProperClassifier):
    """BregmanTron with a proof: the loss falls at every iteration by an amount known beforehand.

    The step comes from a line search, and the new link is taken only as far as the decrease allows.
    Every iteration leaves a certificate in ``history_``: what was claimed, what was observed, and
    the conditions.

    Parameters
    ----------
    schedule : {"monotone", "repaired", "paper"}, default="monotone"
        Which guarantee: a decrease of the loss at a proved rate; the paper's theorem with its
        conditions repaired; the paper's theorem as stated, which is false (for comparison).
    candidate : {"labels", "previous", "refit"}, default="labels"
        What the next link is fitted to: the labels, the previous predictions, or the old link at
        the new scores.
    theta : float, default=0.5
        How much of a decrease the link may use up, in [0, 1).
    freeze_after : int, default=None
        Keep the link after this many iterations.
    slope_max : float, default=1.0
        The largest slope of a link.
    slope_floor : float, default=0.001
        The least slope of a link is this over the range of the scores.
    scaling : {"standardise", "none", "unit-rows", "max-norm"}, default="standardise"
        How features are scaled; part of the model.
    {max_iter}
    tol : float, default=1e-9
        Stops when ``gap`` is at most ``tol`` times the largest norm of a row.
    {to_classes}
    {learned}
    {threshold}
    history_ : dict of str to ndarray
        One entry an iteration: ``iteration``, ``loss``, ``gap``, ``step``, ... and the certificate.
        Numbers: ``claimed`` and ``observed`` decrease of the loss, ``loss_before`` and
        ``loss_after``, ``step_decrease`` (by the weights) and ``link_cost`` (what the new link
        adds), ``damping`` (how much of it was taken), ``eta``, ``halvings``, ``least_gap`` so far
        and its proved ``gap_bound``. Conditions, as bools: ``step_held``, ``in_range``, ``nested``,
        ``close``. ``p_star``, ``delta``, ``epsilon``, ``alpha`` and ``beta`` belong to the schedules
        of the paper and are NaN under ``"monotone"``.
    {course}
    {features}

    {on_cancer}
    >>> from properloss import CertifiedClassifier
    >>> clf = CertifiedClassifier(max_iter=100, tol=0).fit(X, y)
    >>> bool((clf.history_["observed"] >= clf.history_["claimed"]).all())
    True
    """

    _parameter_constraints = _registry.constraints("CertifiedClassifier")

    def __init__(
        self,
        *,
        schedule: Literal["monotone", "repaired", "paper"] = "monotone",
        candidate: Literal["labels", "previous", "refit"] = "labels",
        theta: float = 0.5,
        freeze_after: int | None = None,
        slope_max: float = 1.0,
        slope_floor: float = 1e-3,
        scaling: Scaling = "standardise",
        max_iter: int = 1000, tol: float = 1e-9, missing: Missing = "error", verbose: int = 0,
        checkpoint: File | None = None, checkpoint_every: float = 60.0,
    ) -> None:
        keep(self, locals())


@documented
class SlisotronClassifier(ProperClassifier):
    """SLIsotron: a linear score, and the isotonic regression of the labels on it.

    Parameters
    ----------
    isotonic : {"pav", "lipschitz"}, default="pav"
        Plain isotonic regression, or isotonic regression with slopes at most 1.
    step : "auto", "paper" or float, default="auto"
        Length of the gradient step: 1 over the largest curvature, 1, or a number.
    {scaled}
    {max_iter}
    {tol}
    {to_classes}
    link_ : IsotonicLink
        The learned link; it takes ``linear_score(X)``.
    loss_ : CanonicalLoss
        The learned loss.
    {short_course}

    {on_cancer}
    >>> from properloss import SlisotronClassifier
    >>> SlisotronClassifier(max_iter=300, tol=0).fit(X, y).score(X, y) > 0.97
    True
    """

    _parameter_constraints = _registry.constraints("SlisotronClassifier")

    def __init__(
        self,
        *,
        isotonic: Literal["pav", "lipschitz"] = "pav",
        step: Step = "auto", alpha: float = 0.0, max_norm: float | None = None,
        scaling: Scaling = "standardise",
        max_iter: int = 1000, tol: float = 1e-6, missing: Missing = "error", verbose: int = 0,
        checkpoint: File | None = None, checkpoint_every: float = 60.0,
    ) -> None:
        keep(self, locals())


@documented
class GlmtronClassifier(ProperClassifier):
    """GLMTron: gradient steps on the weights under a fixed inverse link.

    Parameters
    ----------
    link : InverseLink or str, default="sigmoid"
        The link, or the name of a built-in one (see :func:`properloss.links`).
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    step : "auto", "paper" or float, default="auto"
        Length of the gradient step: a line search, 1, or a number.
    {scaled}
    {max_iter}
    {tol}
    {to_classes}
    link_ : InverseLink
        The link; it takes ``linear_score(X)``.
    loss_ : CanonicalLoss or CompositeLoss
        Its canonical loss where that is finite, else log-loss under it.
    {short_course}

    {on_cancer}
    >>> from properloss import GlmtronClassifier
    >>> clf = GlmtronClassifier(link="probit", max_iter=300, tol=0).fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    """

    _parameter_constraints = _registry.constraints("GlmtronClassifier")

    def __init__(
        self,
        *,
        link: str | _core.InverseLink = "sigmoid",
        fit_intercept: bool = True,
        step: Step = "auto", alpha: float = 0.0, max_norm: float | None = None,
        scaling: Scaling = "standardise",
        max_iter: int = 1000, tol: float = 1e-6, missing: Missing = "error", verbose: int = 0,
        checkpoint: File | None = None, checkpoint_every: float = 60.0,
    ) -> None:
        keep(self, locals())


@documented
class CanonicalLossClassifier(ProperClassifier):
    """The linear classifier of a given proper loss: its minimum, with an L2 penalty.

    The loss may be built in (``"sigmoid"`` is logistic regression) or learned on another task:
    ``CanonicalLossClassifier(loss=other.loss_)`` transfers it. A canonical loss makes the problem
    convex. A composite loss (log-loss under a link, such as one with a floor) need not: Newton steps
    with Fisher's curvature then lead to the minimum next to zero weights.

    Parameters
    ----------
    loss : CanonicalLoss, CompositeLoss, InverseLink or str, default="sigmoid"
        The loss; or a link or its name, for the loss of that link: the canonical one where it is
        finite, else log-loss under the link.
    C : float, default=1.0
        Inverse strength of the penalty, as in LogisticRegression: ``|w|^2 / 2`` is added to
        ``C`` times the sum of the losses. ``numpy.inf`` is no penalty.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    scaling : {"standardise", "none", "unit-rows", "max-norm"}, default="standardise"
        How features are scaled; part of the model. The penalty applies to the scaled features:
        with ``"none"`` and the sigmoid this is LogisticRegression.
    solver : {"auto", "newton-cholesky", "newton-cg"}, default="auto"
        How Newton steps are found.
    max_iter : int, default=200
        At most this many Newton steps.
    tol : float, default=1e-10
        The norm of the gradient to reach.
    {to_classes}
    link_ : InverseLink
        The link of the loss; it takes ``linear_score(X)``.
    loss_ : CanonicalLoss or CompositeLoss
        The loss.
    {threshold}
    history_ : dict of str to ndarray
        One entry a Newton step.
    n_iter_ : int
        Newton steps made.
    termination_ : str
        Why the run ended.
    {features}

    {on_cancer}
    >>> from sklearn.linear_model import LogisticRegression
    >>> from properloss import CanonicalLossClassifier
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> ours = CanonicalLossClassifier(loss="sigmoid", scaling="none").fit(X, y)
    >>> theirs = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, y)
    >>> bool(abs(ours.coef_ - theirs.coef_).max() < 1e-5)
    True
    """

    _option_names: ClassVar[dict[str, str]] = {"link": "loss", "l2": "C"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_registry.constraints("CanonicalLossClassifier", _option_names),
        "loss": [StrOptions(set(_core.links())), _core.InverseLink, _core.Loss],
        "C": [Interval(Real, 0, None, closed="right")],
    }

    def __init__(
        self,
        *,
        loss: str | _core.InverseLink | _core.Loss = "sigmoid",
        C: float = 1.0,
        fit_intercept: bool = True,
        scaling: Scaling = "standardise",
        solver: Literal["auto", "newton-cholesky", "newton-cg"] = "auto",
        max_iter: int = 200, tol: float = 1e-10, missing: Missing = "error", verbose: int = 0,
        checkpoint: File | None = None, checkpoint_every: float = 60.0,
    ) -> None:
        keep(self, locals())

    def _settings(self, task: _core.Task, method: _core.Method) -> dict[str, Any]:
        weights = task["weights"]
        total = len(task["labels"]) if weights is None else float(weights.sum())
        given = super()._settings(task, method)
        if isinstance(self.loss, _core.Loss):
            given |= {"link": self.loss.inverse_link, "loss_kind": self.loss.kind}
        return {**given, "l2": 1.0 / (self.C * total)}

    def _set_derived(self) -> None:
        super()._set_derived()
        if isinstance(self.loss, _core.Loss):
            self.loss_ = self.loss

    def _own_options(self) -> dict[str, Any]:
        # As it was given: one over one over it can be another number.
        return {"C": float(self.C)} if np.isfinite(self.C) else {}

    @classmethod
    def _parameters(cls, options: dict[str, Any], total_weight: float | None) -> dict[str, Any]:
        named = super()._parameters(options, total_weight)
        if "C" in options:
            named["C"] = options["C"]
        elif "l2" in options:
            # 1 / (l2 n); without a penalty, infinite.
            mean = options["l2"] * total_weight if total_weight else 0.0
            named["C"] = 1.0 / mean if mean else float("inf")
        return named
