"""The default classifier, and the calibrator for everything else."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    indexable,
    validate_data,
)

from properloss import _certificate, _core, _multiclass, _registry
from properloss._base import ProperClassifier, _checked
from properloss._export import ExportMixin, class_names
from properloss._input import (
    encode_labels,
    explain_not_finite,
    meant_weights,
    prediction_input,
    training_input,
)
from properloss._pooled import (
    RELINK_PRICE,
    CrossFit,
    Folded,
    Part,
    floor_and_ceiling,
    relink,
    takes_weights,
)

_CV: list[Any] = ["cv_object"]
_LARGEST = 1.0 - np.finfo(np.float64).epsneg
_SMALLEST = np.finfo(np.float64).tiny
#: The strengths of smoothness that are weighed beside the sigmoid itself.
_SMOOTHNESS = (3.0, 0.3, 0.03, 0.003)
#: A score beyond which the sigmoid does not change: it stands for infinity.
_FAR = 745.0


class _Table(dict[str, Any]):
    """``cv_results_``: the names of the time when slope ratios were weighed warn for one release."""

    def __missing__(self, name: str) -> Any:
        new = {"slope_ratio": "smoothness_slope_ratio"} | {
            f"slope_ratio_{part}": f"smoothness_{part}" for part in ("log_loss", "score", "weight")
        }
        if name not in new:
            raise KeyError(name)
        warnings.warn(
            f'cv_results_["{name}"] is now cv_results_["{new[name]}"]: what is weighed is how smooth'
            " the link is. The old name goes in the next release.",
            FutureWarning,
            stacklevel=2,
        )
        return self[new[name]]


def _columns(rows: list[dict[str, float | str]]) -> dict[str, NDArray[np.float64]]:
    """A table of JSON as columns."""
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}


def _link_results(links: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    columns = ("slope_ratio", "log_loss", "score", "weight")
    return {"smoothness": links["smoothness"]} | {f"smoothness_{c}": links[c] for c in columns}


def _add_cost(results: dict[str, Any], cost: _certificate.LinkCost | None) -> None:
    """What the link cost on held-out rows, beside what it can cost."""
    if cost is not None:
        results["link_cost"], results["link_cost_at_most"] = cost


class ProperLossClassifier(ProperClassifier):
    """Logistic regression whose strength and link are weighed by cross-validation.

    The probability is ``v(sigmoid(w.x + b))``. The weights are averaged over a path of L2
    penalties, ``v`` is a smooth increasing function, averaged over the sigmoid itself (``v(p) = p``)
    and four strengths of smoothness, and the weights are fitted once more under the learned link;
    held-out log-loss says how much of each. Where the logistic link is right this is logistic regression;
    where it is not, the link is learned, and with it a proper loss.

    At every score the log-loss is at most that of the sigmoid plus ``guarantee_``, which is below
    ``log(10)``; no probability is 0 or 1; probabilities rank as the scores do.

    With three classes or more it is softmax regression whose strength and link are weighed alike:
    the link is a mixture of softmaxes, a floor and class ramps that keeps at least ``1/tau_`` of the
    softmax, so the log-loss is at most the softmax's plus ``log(tau_)`` at every point and no
    probability is 0. The classes need not come out in the order of their scores then (see
    ``preserve_order``). A class with a single row is kept and never held out.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=5
        Folds: a number of stratified, shuffled ones, or any splitter of scikit-learn whose test
        sets hold every row once (``GroupKFold`` takes ``groups`` from ``fit``).
    refit : {"likelihood", "canonical", "none"}, default="likelihood"
        The loss of the second fit of the weights: log-loss under the learned link, its proper
        canonical loss (convex), or no second fit.
    smoothness : sequence of float, default=(3, 0.3, 0.03, 0.003)
        Strengths of smoothness of the links that are weighed beside the sigmoid, decreasing. None at
        all, ``()``, leaves the sigmoid.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the classes. The probabilities are then those of data with the
        classes in these proportions, not of your data, and ``fit`` warns, unless:
    prior_correction : bool, default=False
        With ``class_weight``: bring the probabilities back to those of the data. The weights of the
        columns stay as they were learned; scale, shift and link of the score are learned again from
        the held-out scores and the weights of the rows alone (:class:`ProperCalibrator`). Two classes.
    weights : {"counts", "relative"}, default="counts"
        What ``sample_weight`` means. ``"counts"``: a weight of 2 is the row twice, so their sum says
        how much data there is. ``"relative"``: only ratios count; they are scaled to mean 1.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds. None draws new folds in every fit.
    preserve_order : bool, default=False
        With three classes or more: only links that keep the order of the classes, so that the
        largest score is always the most probable class. Two classes always keep it.
    verbose : int, default=0
        Whether to show progress on stderr.
    checkpoint : str or path-like, default=None
        A file for the state of the run (two classes). A fit that was cut short goes on from it, and
        ends in the same bits; it is removed at the end.
    checkpoint_every : float, default=60.0
        Seconds between two states; 0 is after every step.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        ``decision_function(X) = X @ coef_.T + intercept_``; one row a class if there are more than
        two.
    link_ : RelativeLink or VectorMixture
        The learned link; it takes ``linear_score(X)`` (two classes) or ``decision_function(X)``.
    loss_ : CompositeLoss or CanonicalLoss
        The proper loss that goes with it: log-loss under the link, or its canonical loss where the
        sigmoid has all the weight (a smooth link ends inside (0, 1)). Two classes.
    threshold_ : float
        The score at which the probability is 1/2 (two classes).
    tau_ : float
        The link keeps ``1/tau_`` of the softmax (three classes or more).
    ramp_share_ : float
        Share of the class ramps in the link (three classes or more).
    C_ : float
        Geometric mean of the strengths under their weights, as in ``LogisticRegression``.
    slope_ratio_ : float
        The largest ratio between the slopes of the link and of the sigmoid.
    guarantee_ : float
        ``log(slope_ratio_)``: at every score the log-loss is at most that of the sigmoid plus this.
    path_weights_ : ndarray
        The weight of every row of ``cv_results_["C"]``; the first is the model without
        features.
    scaling_weights_ : dict of float to float
        The weight of every scaling of the columns: 1 is standardised columns, 0 the columns as they
        are, with one scale for all, 0.5 half-way. Shares of the models that use features.
    refit_share_ : float
        Share of the second fit in the weights.
    cv_results_ : dict of ndarray and float
        The whole table: ``scaling`` and ``C`` (in the units of that scaling), ``C_log_loss``,
        ``C_score``, ``C_weight``; ``smoothness`` (infinite: the sigmoid),
        ``smoothness_slope_ratio``, ``smoothness_log_loss``, ...; held-out ``log_loss_path``
        (logistic regression), ``log_loss_link`` and ``log_loss`` (the result); ``link_cost`` and
        ``link_cost_at_most``, those of ``link_cost_``.
    calibration_bound_ : FitBound or None
        At 95 %, the RMS distance of the probabilities of the training rows from the true ones given
        the held-out score (``rms``; ``held_out_rms`` for the learned link on held-out scores), what
        that supposes and the check of it: see docs/certificate.md. None with more than two classes,
        ``class_weight`` or ``groups``.
    link_cost_ : LinkCost or None
        What the learned link cost on held-out rows beside logistic regression, in nats over all
        rows, and what it can cost at most, whatever the data (two classes).
    n_iter_ : int
        Passes over the rows.
    stages_ : list of str
        What each iteration of ``history_`` was: columns, path (a point of it), average, link or refit
        (two classes).
    history_ : dict of str to ndarray
        Where each iteration led (two classes): ``loss`` is the mean held-out log-loss reached so far,
        ``gap`` the norm of the mean gradient where a pass last looked, ``score_min`` and
        ``score_max`` the held-out scores there, ``slope_min`` and ``slope_max`` the slopes of the
        link relative to the sigmoid's, ``step`` the share of the second fit (1 elsewhere).
    termination_ : str
        ``"converged"``, or ``"stopped"`` by a callback: then the points seen so far are averaged.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, if ``X`` had names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from properloss import ProperLossClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = ProperLossClassifier().fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    """

    calibration_bound_: _certificate.FitBound | None
    link_cost_: _certificate.LinkCost | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cv": _CV,
        "refit": [StrOptions({"likelihood", "canonical", "none"})],
        "smoothness": ["array-like"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "prior_correction": ["boolean"],
        "weights": [StrOptions({"counts", "relative"})],
        "random_state": ["random_state"],
        "preserve_order": ["boolean"],
        **_registry.BESIDE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        cv: Any = 5,
        refit: Literal["likelihood", "canonical", "none"] = "likelihood",
        smoothness: Sequence[float] = _SMOOTHNESS,
        class_weight: Any = None,
        prior_correction: bool = False,
        weights: Literal["counts", "relative"] = "counts",
        random_state: Any = 0,
        preserve_order: bool = False,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.cv = cv
        self.refit = refit
        self.smoothness = smoothness
        self.class_weight = class_weight
        self.prior_correction = prior_correction
        self.weights = weights
        self.random_state = random_state
        self.preserve_order = preserve_order

    @_checked
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows ``X`` and labels ``y``.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels: two values or more, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights: 2 counts as the row twice, 0 as removed.
        groups : array-like of shape (n_samples,), default=None
            Groups for a ``cv`` that keeps them together.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        rows, classes, labels, weights = training_input(self, X, y, sample_weight, several=True)
        _, all_labels = np.unique(np.asarray(y), return_inverse=True)
        folds = _folds(self.cv, np.ravel(all_labels), groups, self.random_state)
        # Rows of weight 0 are gone by now.
        kept = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0.0
        if folds["folds"] is not None and weights is not None:
            folds["folds"] = np.ascontiguousarray(folds["folds"][kept])
        weights = meant_weights(weights, self.weights, type(self).__name__)
        class_weight = _class_weight(self.class_weight, classes, labels, weights)
        self.classes_ = classes
        if len(classes) > 2:
            self._set_learned({})
            end_of_fit = self._start_callbacks(
                cast("_core.Task", {}), X, y, sample_weight, classes
            )
            held_out: NDArray[Any] = np.full((np.size(all_labels), len(classes)), np.nan)
            try:
                held_out[kept] = _multiclass.fit(self, rows, labels, weights, class_weight, folds)
            except _core.NotFiniteError as error:
                raise explain_not_finite(self, rows, error) from None
            results: dict[str, Any] = getattr(self, "cv_results_")
            results["held_out_scores"] = held_out
            end_of_fit()
            return self
        _multiclass.forget_several(self)
        line = self._progress_line()
        task: _core.Task = {
            "rows": rows,
            "labels": labels,
            "weights": weights,
            "folds": folds["folds"],
            "progress": line,
            "callback": None,
            "checkpoint": self._checkpoint(),
        }
        end_of_fit = self._start_callbacks(task, X, y, sample_weight, classes)
        settings = {
            "cv": folds["count"],
            "seed": folds["seed"],
            "refit": self.refit,
            "smoothness": [float(value) for value in self.smoothness],
            "class_weight": class_weight,
        }
        try:
            fit = _core.fit(task, "proper", settings)
        except _core.NotFiniteError as error:
            raise explain_not_finite(self, rows, error) from None
        self._set_fit(fit)
        if groups is not None:
            self._forget_bound()
        if len(set(class_weight)) > 1:
            self._restore_prior(fit, labels, weights, folds)
        held_out = np.full(np.size(all_labels), np.nan)
        held_out[kept] = fit.held_out_scores
        self.cv_results_["held_out_scores"] = held_out
        if line is not None:
            line.close(self.n_iter_, self.cv_results_["log_loss"], self.termination_)
        end_of_fit()
        return self

    def _forget_bound(self) -> None:
        """Rows of one group need not be independent, which the bound supposes."""
        self.calibration_bound_ = None
        self._fitted["learned"]["certificate"].pop("calibration_bound", None)

    def _set_fit(self, fit: _core.Fit) -> None:
        super()._set_fit(fit)
        self.stages_ = fit.stages or []
        self._set_learned(json.loads(fit.learned or "{}"))

    def _set_learned(self, learned: dict[str, Any]) -> None:
        """What cross-validation weighed and found, of a fit or of a file."""
        self.calibration_bound_ = self.link_cost_ = None
        if not learned:
            return
        path, links = (_columns(learned[name]) for name in ("path", "links"))
        self._fitted["learned"] = learned
        self.C_ = float(learned["c"])
        self.slope_ratio_ = learned["slope_ratio"]
        self.guarantee_ = float(np.log(self.slope_ratio_))
        self.refit_share_ = learned["refit_share"]
        self.path_weights_ = path["weight"]
        self.scaling_weights_ = {a: weight for a, weight in learned["scaling_weights"]}
        losses = ("log_loss_path", "log_loss_link", "log_loss")
        self.cv_results_ = _Table(
            scaling=path["scaling"],
            C=path["c"],
            **{f"C_{name}": path[name] for name in ("log_loss", "score", "weight")},
            **_link_results(links),
            **dict(zip(losses, map(float, learned["held_out_log_loss"]), strict=True)),
        )
        bound, cost = _certificate.parse(learned.get("certificate", {}))
        self.calibration_bound_, self.link_cost_ = bound, cost
        _add_cost(self.cv_results_, cost)

    @classmethod
    def _parameters(cls, options: dict[str, Any], total_weight: float | None) -> dict[str, Any]:
        named = super()._parameters(options, total_weight)
        if named.get("class_weight") == [1.0, 1.0]:
            del named["class_weight"]
        return named

    def _restore_prior(self, fit: Any, labels: Any, weights: Any, folds: dict[str, Any]) -> None:
        """Probabilities of the data again, or a warning that they are not."""
        if not self.prior_correction:
            warnings.warn(
                "class_weight changes the probabilities: they are those of data with the classes in"
                " the proportions that it makes, no longer those of your data. Leave it out and move"
                " the threshold instead, or pass prior_correction=True.",
                UserWarning,
                stacklevel=4,
            )
            return
        z = np.ascontiguousarray(fit.held_out_scores)
        calibration = _core.fit_calibrator(
            z,
            labels,
            weights,
            kind="scores",
            smoothness=[float(value) for value in self.smoothness],
            score_folds=None,
            **folds,
        )
        # The bound was that of the weighted classes.
        self._forget_bound()
        numbers = calibration.numbers
        self._model = self._model.recalibrated(
            numbers["slope"], numbers["intercept"], calibration.link
        )
        self.slope_ratio_ = numbers["slope_ratio"]
        self.guarantee_ = float(np.log(self.slope_ratio_))
        self._set_derived()

    def _set_derived(self) -> None:
        super()._set_derived()
        threshold = float(getattr(self, "threshold_"))
        if not np.isfinite(threshold):
            # The link stays on one side of 1/2: the other class is never predicted.
            self.threshold_ = float(np.copysign(_FAR, threshold))
            self.intercept_ = np.array([self._model.intercept - self.threshold_])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, strictly between 0 and 1.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            One column for each of ``classes_``.
        """
        if self._several():
            mixture: _core.VectorMixture = getattr(self, "link_")
            p = mixture.probabilities(self.decision_function(X))
        else:
            p = super().predict_proba(X)
        return np.clip(p, _SMALLEST, _LARGEST, out=p)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores: one a row for two classes, one a class for more.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive where the probability of ``classes_[1]`` is above 1/2. More:
            what ``link_.probabilities`` takes; with ``preserve_order`` the largest belongs to the
            most probable class.
        """
        if not self._several():
            return super().decision_function(X)
        rows = prediction_input(self, X)
        try:
            return _multiclass.scores(self, rows)
        except _core.NotFiniteError as error:
            raise explain_not_finite(self, rows, error) from None

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Values of ``classes_``.
        """
        if not self._several():
            return super().predict(X)
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    def _several(self) -> bool:
        check_is_fitted(self)
        return len(self.classes_) > 2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


class ProperCalibrator(ExportMixin, RegressorMixin, BaseEstimator):
    """From scores to probabilities: ``v(sigmoid(a z + b))``, strictly increasing.

    The sigmoid is Platt's, or the scores as they are, as held-out log-loss has it; ``v`` is a smooth
    increasing function, averaged over the identity and four strengths of smoothness. Unlike isotonic
    regression this makes no ties and no 0 or 1, so it never changes the AUC.

    With three columns or more, one a class, it is ``p(t z)``: a temperature averaged with the scores
    as they are, then a mixture of softmaxes, a floor and class ramps that keeps at least ``1/tau_``
    of the softmax.

    Parameters
    ----------
    kind : {"auto", "scores", "probabilities"}, default="auto"
        What goes in: margins or logits, or probabilities. ``"auto"`` takes values that all lie in
        [0, 1] for probabilities.
    smoothness : sequence of float, default=(3, 0.3, 0.03, 0.003)
        Strengths of smoothness that are weighed beside the identity, decreasing.
    cv : int, splitter or iterable of (train, test), default=5
        Folds for the choice of the smoothness.
    weights : {"counts", "relative"}, default="counts"
        What ``sample_weight`` means: a weight of 2 is the row twice, or only ratios count and they
        are scaled to mean 1.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.

    Attributes
    ----------
    slope_, intercept_ : float
        ``a`` and ``b``.
    link_ : RelativeLink
        From ``a z + b``, which :meth:`linear_score` returns, to a probability.
    loss_ : CompositeLoss or CanonicalLoss
        The proper loss that goes with it (two classes).
    slope_ratio_ : float
        The largest ratio between the slopes of the link and of the sigmoid.
    guarantee_ : float
        ``log(slope_ratio_)``: at every score the log-loss is at most that of ``sigmoid(a z + b)``
        plus this.
    cv_results_ : dict of ndarray and float
        ``smoothness`` (infinite: the identity), ``smoothness_slope_ratio``,
        ``smoothness_log_loss``, ``smoothness_score``, ``smoothness_weight``, ``log_loss_sigmoid``,
        ``log_loss``, ``link_cost``, ``link_cost_at_most``.
    calibration_bound_ : FitBound or None
        At 95 %, the RMS distance of the calibrated probabilities of these rows from the true ones,
        what that supposes and the check of it: see docs/certificate.md (two classes).
    link_cost_ : LinkCost or None
        What the link cost on held-out rows beside ``sigmoid(a z + b)``, in nats over all rows, and
        what it can cost at most.

    Examples
    --------
    >>> import numpy as np
    >>> from properloss import ProperCalibrator
    >>> z = np.linspace(-3, 3, 200)
    >>> y = (np.sin(97 * z) < np.tanh(z)).astype(int)
    >>> p = ProperCalibrator().fit(z, y).predict(z)
    >>> bool((np.diff(p) > 0).all()), bool(p.min() > 0), bool(p.max() < 1)
    (True, True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions({"auto", "scores", "probabilities"})],
        "smoothness": ["array-like"],
        "cv": _CV,
        "weights": [StrOptions({"counts", "relative"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kind: Literal["auto", "scores", "probabilities"] = "auto",
        smoothness: Sequence[float] = _SMOOTHNESS,
        cv: Any = 5,
        weights: Literal["counts", "relative"] = "counts",
        random_state: Any = 0,
    ) -> None:
        self.kind = kind
        self.smoothness = smoothness
        self.cv = cv
        self.weights = weights
        self.random_state = random_state

    @_checked
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from scores that the labels were not used for.

        Parameters
        ----------
        X : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Scores or probabilities, held out from the fit that made them; for three classes or more
            one column a class, in the order of the labels.
        y : array-like of shape (n_samples,)
            Labels; of two, the larger is the one whose probability is given.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        groups : array-like of shape (n_samples,), default=None
            Groups that the folds keep together.

        Returns
        -------
        self : object
            The fitted calibrator.
        """
        return self._fit(X, y, sample_weight, groups)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, score_folds: Any = None
    ) -> Self:
        """``score_folds`` where the scores of different folds came from different models."""
        z = self._scores(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(z, y)
        self.classes_, labels = encode_labels(np.asarray(y), several=z.ndim == 2)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, z, dtype=np.float64)
            weights = meant_weights(weights, self.weights, type(self).__name__)
        self.calibration_bound_: _certificate.FitBound | None = None
        self.link_cost_: _certificate.LinkCost | None = None
        if z.ndim == 2:
            return self._fit_several(z, labels, weights, groups)
        self.__dict__.pop("_several", None)
        fit = _core.fit_calibrator(
            z,
            labels,
            weights,
            kind=self.kind,
            smoothness=[float(value) for value in self.smoothness],
            **_folds(self.cv, labels, groups, self.random_state),
            score_folds=score_folds,
        )
        numbers = fit.numbers
        bound, cost = _certificate.parse(json.loads(fit.certificate))
        # Rows of one group need not be independent, which the bound supposes.
        self.calibration_bound_, self.link_cost_ = (None if groups is not None else bound), cost
        self.slope_ = numbers["slope"]
        self.intercept_ = numbers["intercept"]
        self._margin = None if np.isnan(numbers["margin"]) else numbers["margin"]
        self.link_: _core.InverseLink | _core.VectorMixture = fit.link
        self.loss_ = _core.Loss.of_link(fit.link)
        self.slope_ratio_ = numbers["slope_ratio"]
        self.guarantee_ = float(np.log(self.slope_ratio_))
        self.cv_results_ = _Table(
            **_link_results(fit.links),
            **{name: numbers[name] for name in ("log_loss_sigmoid", "log_loss")},
        )
        _add_cost(self.cv_results_, cost)
        return self

    def _fit_several(self, z: Any, labels: Any, weights: Any, groups: Any) -> Self:
        if len(self.classes_) != z.shape[1]:
            raise ValueError(
                f"X has {z.shape[1]} columns, one a class, but y has {len(self.classes_)} classes"
            )
        whole = bool(((z >= 0.0) & (z <= 1.0)).all() and np.allclose(z.sum(axis=1), 1.0, atol=1e-3))
        fit = _core.fit_multiclass_calibrator(
            z,
            labels.astype(np.uint32),
            weights,
            probabilities=whole if self.kind == "auto" else self.kind == "probabilities",
            preserve_order=False,
            **_folds(self.cv, labels, groups, self.random_state),
        )
        numbers, ratios = fit.numbers, fit.ratios
        self.__dict__.pop("loss_", None)
        self._several = True
        self.temperature_ = numbers["temperature"]
        self._margin = None if np.isnan(numbers["margin"]) else numbers["margin"]
        self.link_ = fit.link
        self.tau_ = numbers["tau"]
        self.guarantee_ = float(np.log(self.tau_))
        self.cv_results_ = _Table(
            tau=ratios["tau"],
            **{f"tau_{name}": ratios[name] for name in ("log_loss", "score", "weight")},
            **{name: numbers[name] for name in ("log_loss_softmax", "log_loss")},
        )
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of ``classes_[1]`` for each score; of every class if there are several.

        Parameters
        ----------
        X : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Scores or probabilities, as in ``fit``.

        Returns
        -------
        p : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Strictly between 0 and 1; for two classes in the order of the scores.
        """
        check_is_fitted(self)
        z = self._scores(X, reset=False)
        if getattr(self, "_several", False):
            if self._margin is not None:
                z = np.log(_probabilities(z) + self._margin)
            mixture = cast("_core.VectorMixture", self.link_)
            p = mixture.probabilities(np.ascontiguousarray(self.temperature_ * z))
            return np.clip(p, _SMALLEST, _LARGEST)
        p = cast("_core.InverseLink", self.link_).inverse_link(self._linear(z))
        return np.clip(p, _SMALLEST, _LARGEST)

    def linear_score(self, X: ArrayLike) -> NDArray[np.float64]:
        """``a z + b``, the score that ``link_`` and ``loss_`` take; ``z`` is the log odds of a
        probability.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, 1)
            Scores or probabilities, as in ``fit``.

        Returns
        -------
        z : ndarray of shape (n_samples,)
            Scores.
        """
        check_is_fitted(self)
        if getattr(self, "_several", False):
            raise ValueError("a calibrator of several classes has one score a class, not one a row")
        return self._linear(self._scores(X, reset=False))

    def _linear(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._margin is not None:
            p = _probabilities(z)
            z = np.log((p + self._margin) / ((1.0 - p) + self._margin))
        scores: NDArray[np.float64] = self.slope_ * z + self.intercept_
        return scores

    #: As scikit-learn's ``IsotonicRegression`` has it.
    transform = predict

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Scores or probabilities, as in ``fit``.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            One column for each of ``classes_``.
        """
        p = self.predict(X)
        if p.ndim == 2:
            return p
        return np.column_stack([np.clip(1.0 - p, _SMALLEST, _LARGEST), p])

    def _exportable(self) -> _core.Export:
        if not isinstance(self.link_, _core.InverseLink):
            raise NotImplementedError(
                "a calibrator of several classes cannot be exported yet; pickle it"
            )
        return _core.Export.of_calibration(
            self.link_,
            slope=self.slope_,
            intercept=self.intercept_,
            margin=self._margin,
            classes=class_names(self.classes_),
        )

    def _scores(self, X: Any, *, reset: bool) -> NDArray[np.float64]:
        values = np.asarray(X) if not hasattr(X, "iloc") else X
        if values.ndim == 1:
            values = np.asarray(values).reshape(-1, 1)
        values = validate_data(self, values, reset=reset, dtype=np.float64)
        if values.shape[1] > 2:
            return np.ascontiguousarray(values)
        if values.shape[1] != 1:
            raise ValueError(
                f"X must hold one score a row, got {values.shape[1]} features: pass"
                " decision_function(X) or predict_proba(X)[:, 1]"
            )
        return np.ascontiguousarray(values[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class ProperCalibratedClassifierCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Calibrate any classifier with :class:`ProperCalibrator`; for ``CalibratedClassifierCV``.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with ``decision_function`` or ``predict_proba``; by default
        ``LogisticRegression()``.
    cv : int, splitter, iterable of (train, test) or "prefit", default=5
        Folds on which held-out scores are made. ``"prefit"`` takes ``estimator`` as it is and
        calibrates it on the rows given to ``fit``.
    ensemble : bool or "pooled", default="pooled"
        ``"pooled"``: the estimators of all folds, under one calibrator of all their held-out
        scores; probabilities are averaged. It predicts best; predicting takes ``cv`` times as long.
        False: the same calibrator over one estimator fitted on all rows, whose ranking it keeps.
        True: one pair a fold, calibrated on the rows of the fold; probabilities are averaged.
    early_stopping : bool, int or object, default=False
        Stop the estimator of each fold by the loss on the held-out fold, after this many rounds
        without a gain (True: 50; epochs of networks: 5). Knows LightGBM, XGBoost, CatBoost,
        ``HistGradientBoostingClassifier``, skorch and :mod:`properloss.learners`, also as the last
        step of a ``Pipeline``; another learner by an object with ``fit(model, train, held_out)``,
        which returns the number of rounds, and ``set_rounds(model, rounds)``. An estimator fitted
        on all rows takes the median of the rounds.
    relink : bool, default=False
        For additive learners (stumps, linear ones) with a ``link`` parameter, as those of
        :mod:`properloss.learners`: fit all folds again under the floor and the ceiling that the
        held-out scores show, and keep that if it gains 2 nats held out. Not with ``ensemble=True``.
    weights : {"counts", "relative"}, default="counts"
        What ``sample_weight`` means: a weight of 2 is the row twice, or only ratios count and they
        are scaled to mean 1.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    calibrated_classifiers_ : list of (estimator, ProperCalibrator)
        What was fitted; under ``ensemble="pooled"`` all share one calibrator.
    calibration_bound_ : FitBound or None
        At 95 %, the RMS distance of the calibrator on the held-out scores from the true probabilities
        given these. Of the fold models, not of an estimator fitted to all rows. None with groups,
        more than two classes, ``early_stopping`` or a ``relink`` that was kept (the held-out
        labels had a part in the scores), and for ``ensemble=True``, where every calibrator has its
        own.
    n_rounds_ : ndarray of int
        Rounds of the estimator of each fold, with ``early_stopping``.
    relink_gain_ : float
        Nats gained by ``relink``; 0 where its models were not kept.
    n_features_in_ : int
        Number of features, if the estimator tells it.
    feature_names_in_ : ndarray of str
        Their names, if the estimator tells them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from properloss import ProperCalibratedClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> clf = ProperCalibratedClassifierCV(forest).fit(X, y)
    >>> clf.predict_proba(X).shape
    (569, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
            None,
        ],
        "cv": [*_CV, StrOptions({"prefit"})],
        "ensemble": ["boolean", StrOptions({"pooled"})],
        "early_stopping": [
            "boolean",
            Interval(Integral, 1, None, closed="left"),
            HasMethods(["fit", "set_rounds"]),
        ],
        "relink": ["boolean"],
        "weights": [StrOptions({"counts", "relative"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        ensemble: bool | Literal["pooled"] = "pooled",
        early_stopping: Any = False,
        relink: bool = False,
        weights: Literal["counts", "relative"] = "counts",
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.ensemble = ensemble
        self.early_stopping = early_stopping
        self.relink = relink
        self.weights = weights
        self.random_state = random_state

    @_checked
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator on folds and the calibrator on its held-out scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Labels: two values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the calibration, passed on to the estimator if it takes them; a warning says
            so if it does not. Under scikit-learn's metadata routing they go where the estimator
            requests them.
        groups : array-like of shape (n_samples,), default=None
            Groups that the folds keep together: a number of folds becomes ``StratifiedGroupKFold``,
            a splitter gets them.
        **fit_params : dict
            Further arguments of ``fit`` of the estimator, with one value a row; only with metadata
            routing enabled, and requested there.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = indexable(X, column_or_1d(y, warn=True))
        if np.size(y) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        self.classes_, labels = encode_labels(np.asarray(y), several=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            weights = meant_weights(weights, self.weights, type(self).__name__)
        base = self._base()
        self._routed = self._route(base, weights, groups, fit_params)
        if self.relink and (self.ensemble is True or isinstance(self.cv, str)):
            raise ValueError('relink needs pooled held-out scores: ensemble="pooled" or False')
        self.calibrated_classifiers_: list[tuple[Any, ProperCalibrator]] = []
        if isinstance(self.cv, str):
            z = _score(base, X, self.classes_)
            self._add(base, z, labels, weights, groups)
        else:
            self._cross_fit(base, X, y, labels, weights, groups)
        self.calibration_bound_ = self._certified(groups)
        del self._routed
        fitted = self.calibrated_classifiers_[0][0]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def _certified(self, groups: Any) -> _certificate.FitBound | None:
        """The bound of the calibrator, if no held-out label had a part in the scores."""
        seen = self.early_stopping or getattr(self, "relink_gain_", 0.0) > 0.0
        if groups is not None or seen or (self.ensemble is True and not isinstance(self.cv, str)):
            return None
        return self.calibrated_classifiers_[0][1].calibration_bound_

    def _cross_fit(
        self, base: Any, X: Any, y: Any, labels: Any, weights: Any, groups: Any
    ) -> None:
        splits = list(_splits(self.cv, labels, groups, self.random_state))
        folded = self._run_folds(base, X, y, labels, weights, splits, groups)
        if self.relink:
            folded = self._relinked(folded, X, y, labels, weights, splits)
        if folded.fits.rounds:
            self.n_rounds_ = np.array(folded.fits.rounds)
        if self.ensemble == "pooled":
            pairs = [(model, folded.calibrator) for model in folded.models]
            self.calibrated_classifiers_ = pairs
        elif not self.ensemble:
            self.calibrated_classifiers_ = [(folded.fits.on_all(), folded.calibrator)]

    def _run_folds(
        self, base: Any, X: Any, y: Any, labels: Any, weights: Any, splits: Any, groups: Any = None
    ) -> Folded:
        """The models of the folds, and the calibrator of all their held-out scores."""
        from sklearn.utils import _safe_indexing

        fits = CrossFit(base, Part(X, y, weights), self.early_stopping, self._routed)
        several = len(self.classes_) > 2
        z = np.empty((len(labels), len(self.classes_)) if several else len(labels))
        fold = np.full(len(labels), -1)
        models = []
        for number, (train, test) in enumerate(splits):
            model = fits.without(train, test)
            z[test] = _score(model, _safe_indexing(X, test), self.classes_)
            fold[test] = number
            models.append(model)
            if self.ensemble is True:
                part = None if weights is None else weights[test]
                own = None if groups is None else np.asarray(groups)[test]
                self._add(model, z[test], labels[test], part, own)
        seen = np.flatnonzero(fold >= 0)
        part = None if weights is None else weights[seen]
        held_out = Part(z[seen], labels[seen], part)
        if self.ensemble is True:
            return Folded(fits, models, held_out, None)
        # The calibrator holds out the same rows together.
        split = PredefinedSplit(fold[seen])
        folds = np.ascontiguousarray(fold[seen], dtype=np.uint32)
        calibrator = self._calibrator(models[0], *held_out, cv=split, score_folds=folds)
        return Folded(fits, models, held_out, calibrator)

    def _relinked(
        self, first: Folded, X: Any, y: Any, labels: Any, weights: Any, splits: Any
    ) -> Folded:
        """Floor and ceiling from the held-out scores, a restart under them, kept if it gains."""
        self.relink_gain_ = 0.0
        link = floor_and_ceiling(*first.held_out)
        base = relink(first.fits.base, link)
        second = self._run_folds(base, X, y, labels, weights, splits)
        gain = first.held_out_loss() - second.held_out_loss()
        if gain < RELINK_PRICE:
            return first
        self.relink_gain_ = gain
        return second

    def _route(
        self, base: Any, weights: Any, groups: Any, fit_params: dict[str, Any]
    ) -> dict[str, Any] | None:
        """What ``fit`` of the estimator gets with every row; None: its weights, if it takes any."""
        if not _routing_enabled():
            if fit_params:
                names = ", ".join(sorted(fit_params))
                raise TypeError(
                    f"fit got {names}: enable scikit-learn's metadata routing,"
                    " sklearn.set_config(enable_metadata_routing=True), and request it from the"
                    " estimator"
                )
            if weights is not None and not takes_weights(base):
                warnings.warn(
                    f"{type(base).__name__} takes no sample_weight: the weights are used for the"
                    " calibration only",
                    UserWarning,
                    stacklevel=4,
                )
            return None
        from sklearn.utils.metadata_routing import process_routing

        given = {"sample_weight": weights, "groups": groups} | fit_params
        given = {name: value for name, value in given.items() if value is not None}
        # Weights and groups are our own; they are refused or passed on as the estimator requests.
        routed = process_routing(self, "fit", **given)
        return dict(routed.estimator.fit)

    def get_metadata_routing(self) -> Any:
        """Who gets what: ``sample_weight`` and ``groups`` are taken here, and passed on on request."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self._base(), method_mapping=mapping)

    def _add(
        self, model: Any, z: Any, labels: Any, weights: Any, groups: Any = None
    ) -> None:
        pair = (model, self._calibrator(model, z, labels, weights, groups=groups))
        self.calibrated_classifiers_.append(pair)

    def _calibrator(
        self,
        model: Any,
        z: Any,
        labels: Any,
        weights: Any,
        cv: Any = 5,
        groups: Any = None,
        score_folds: Any = None,
    ) -> ProperCalibrator:
        calibrator = ProperCalibrator(kind=_kind(model), cv=cv, random_state=self.random_state)
        return calibrator._fit(z, labels, weights, groups, score_folds)

    def _shared(self) -> ProperCalibrator:
        """The calibrator of all estimators, if there is one."""
        pairs = self.__dict__.get("calibrated_classifiers_", [])
        if pairs and all(calibrator is pairs[0][1] for _, calibrator in pairs):
            return cast("ProperCalibrator", pairs[0][1])
        raise AttributeError(
            "there is no one link: "
            + ("every fold has a calibrator of its own" if pairs else "it is not fitted")
        )

    @property
    def link_(self) -> Any:
        """The link of the calibrator; not with ``ensemble=True``, where every fold has its own."""
        return self._shared().link_

    @property
    def loss_(self) -> Any:
        """The proper loss of the calibrator's link; not with ``ensemble=True``."""
        return self._shared().loss_

    def linear_score(self, X: Any) -> NDArray[np.float64]:
        """The score that ``link_`` takes, averaged over the estimators of the folds.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        z : ndarray of shape (n_samples,)
            Scores of the calibrator.
        """
        check_is_fitted(self)
        calibrator, pairs = self._shared(), self.calibrated_classifiers_
        scores = [calibrator.linear_score(_score(model, X, self.classes_)) for model, _ in pairs]
        return np.asarray(np.mean(scores, axis=0))

    def _base(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, 2)
            One column for each of ``classes_``, strictly between 0 and 1.
        """
        check_is_fitted(self)
        pairs = self.calibrated_classifiers_
        p = np.mean([c.predict(_score(m, X, self.classes_)) for m, c in pairs], axis=0)
        if p.ndim == 2:
            return np.asarray(p)
        return np.column_stack([np.clip(1.0 - p, _SMALLEST, _LARGEST), p])

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Values of ``classes_``.
        """
        p = self.predict_proba(X)
        if p.shape[1] > 2:
            several: NDArray[Any] = self.classes_[p.argmax(axis=1)]
            return several
        labels: NDArray[Any] = self.classes_[(p[:, 1] > 0.5).astype(np.intp)]
        return labels

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        portable: bool = False,
        *,
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        """Write an ONNX graph; the estimator inside is converted by skl2onnx.

        Parameters
        ----------
        path : str or path-like
            Where to write it.
        portable : bool, default=False
            The calibrators with core operators only.
        dtype : {"float64", "float32"}, default="float64"
            The type of the input ``X``.
        """
        from properloss.onnx import convert

        check_is_fitted(self)
        _core.write_bytes(path, convert(self, portable=portable, dtype=dtype))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.input_tags.sparse = get_tags(self._base()).input_tags.sparse
        return tags


def _routing_enabled() -> bool:
    from sklearn import get_config

    return bool(get_config().get("enable_metadata_routing", False))


def _class_weight(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[Any], weights: Any
) -> list[float]:
    """Factors of the classes; "balanced" makes their total weights equal."""
    if class_weight == "balanced":
        totals = np.bincount(labels, weights=weights, minlength=len(classes))
        factors = totals.sum() / (len(classes) * totals)
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=classes[labels])
    return [float(factor) for factor in factors]


def _score(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """One number a row, larger for ``classes[1]``: a margin if there is one, else a probability.
    For several classes a column each; a class that the model has not seen gets the least of them."""
    if len(classes) > 2:
        return _class_scores(model, X, classes)
    if hasattr(model, "decision_function"):
        z = np.asarray(model.decision_function(X), dtype=np.float64)
        if z.ndim == 1:
            return z
    p = np.asarray(model.predict_proba(X), dtype=np.float64)
    column = int(np.flatnonzero(model.classes_ == classes[1])[0])
    return np.ascontiguousarray(p[:, column])


def _class_scores(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    if hasattr(model, "decision_function"):
        z = np.asarray(model.decision_function(X), dtype=np.float64)
    else:
        z = np.asarray(model.predict_proba(X), dtype=np.float64)
    if z.ndim != 2 or z.shape[1] != len(model.classes_):
        # One against one, or a single column: probabilities have a column a class.
        z = np.log(np.clip(model.predict_proba(X), _SMALLEST, None))
    scores = np.repeat(z.min(axis=1, keepdims=True), len(classes), axis=1)
    scores[:, np.searchsorted(classes, model.classes_)] = z
    return np.ascontiguousarray(scores)


def _probabilities(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """A calibrator of probabilities takes probabilities, up to rounding."""
    outside = np.argwhere((p < -1e-9) | (p > 1.0 + 1e-9))
    if len(outside):
        value = p[tuple(outside[0])]
        raise ValueError(
            f"row {outside[0][0]} is {value}, which is no probability: this calibrator was fitted to"
            ' probabilities, all in [0, 1]. Fit it to scores, or with kind="scores".'
        )
    clipped: NDArray[np.float64] = np.clip(p, 0.0, 1.0)
    return clipped


def _kind(model: Any) -> Literal["scores", "probabilities"]:
    return "scores" if hasattr(model, "decision_function") else "probabilities"


def _splits(cv: Any, labels: Any, groups: Any, random_state: Any) -> Any:
    """Pairs of row numbers; a number of folds means stratified and shuffled ones."""
    if isinstance(cv, Integral) or cv is None:
        from sklearn.model_selection import StratifiedKFold

        if groups is not None:
            return _group_folds(cv).split(np.zeros(len(labels)), labels, groups)
        sizes = np.bincount(labels, minlength=2)
        # Of several classes a rare one is held out less often; of two both are needed.
        smallest = int(sizes.min() if len(sizes) == 2 else sizes.max())
        count = min(5 if cv is None else int(cv), smallest)
        if count < 2:
            raise ValueError(
                f"A class has {smallest} row(s); cross-validation needs at least 2 of each class."
            )
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        splitter = StratifiedKFold(count, shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    return splitter.split(np.zeros(len(labels)), labels, groups)


def _folds(cv: Any, labels: Any, groups: Any, random_state: Any) -> dict[str, Any]:
    """The engine's folds: a number of stratified ones, or every row's number."""
    if (isinstance(cv, Integral) or cv is None) and groups is None:
        seed = random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(2**31 - 1)
        return {"folds": None, "count": 5 if cv is None else int(cv), "seed": int(seed)}
    if isinstance(cv, Integral) or cv is None:
        cv = _group_folds(cv)
    of_row = np.full(len(labels), -1, dtype=np.int64)
    for number, (_, test) in enumerate(_splits(cv, labels, groups, random_state)):
        if (of_row[test] >= 0).any():
            raise ValueError("cv puts a row into two test sets; every row must be in exactly one")
        of_row[test] = number
    if (of_row < 0).any():
        row = int(np.flatnonzero(of_row < 0)[0])
        raise ValueError(f"cv puts row {row} into no test set; every row must be in exactly one")
    return {"folds": of_row.astype(np.uint32), "count": 2, "seed": 0}


def _group_folds(cv: Any) -> Any:
    """Stratified folds that keep groups together."""
    from sklearn.model_selection import StratifiedGroupKFold

    return StratifiedGroupKFold(5 if cv is None else int(cv))
