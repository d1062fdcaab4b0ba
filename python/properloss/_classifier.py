"""The default classifier."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from properloss import _certificate, _core, _multiclass, _registry
from properloss._base import ProperClassifier, _checked, is_streamed
from properloss._docs import documented
from properloss._folds import CV, engine_folds
from properloss._input import meant_weights, not_finite_explained, training_input
from properloss._registry import keep
from properloss._results import LARGEST, SMALLEST, SMOOTHNESS, Table, columns_of
from properloss._results import cost_results, held_out_losses, link_results, named_columns

_CLASS_WEIGHT = (
    "class_weight changes the probabilities: they are those of data with the classes in the"
    " proportions that it makes, no longer those of your data. Leave it out and move the threshold"
    " instead"
)

#: A score beyond which the sigmoid does not change: it stands for infinity.
_FAR = 745.0


@documented
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
    ``preserve_order``). A class with a single row is kept and never held out. ``checkpoint`` is for two
    classes.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test), default=5
        Folds: a number of stratified, shuffled ones, or any splitter of scikit-learn whose test
        sets hold every row once (``GroupKFold`` takes ``groups`` from ``fit``).
    refit : {"likelihood", "canonical", "none"}, default="likelihood"
        The loss of the second fit of the weights: log-loss under the learned link, its proper
        canonical loss (convex), or no second fit.
    {smoothness}
    class_weight : dict or "balanced", default=None
        Factors on the weights of the classes. The probabilities are then those of data with the
        classes in these proportions, not of your data, and ``fit`` warns, unless:
    prior_correction : bool, default=False
        With ``class_weight``: bring the probabilities back to those of the data. The weights of the
        columns stay as they were learned; scale, shift and link of the score are learned again from
        the held-out scores and the weights of the rows alone (:class:`ProperCalibrator`). Two classes.
    {weights}
    random_state : int, RandomState instance or None, default=0
        Seed of the folds. None draws new folds in every fit.
    preserve_order : bool, default=False
        With three classes or more: only links that keep the order of the classes, so that the
        largest score is always the most probable class. Two classes always keep it.
    {beside}

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
    stack_share_ : float
        Share of the weights that were fitted once more to held-out scores (three classes or more).
    ramp_share_ : float
        Share of the class ramps in the link (three classes or more).
    C_ : float
        Geometric mean of the strengths under their weights, as in ``LogisticRegression``.
    {slope_ratio}
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
    link_error_bound_ : float or None
        How far, in probability, the link can be from the one of scores that are not counted in cells
        (docs/scale.md). None for files of older versions and three classes or more.
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
    {features}
    coef_names_ : ndarray of str
        The name of each coefficient: a column, or ``column=category`` of a column of texts.

    {on_cancer}
    >>> from properloss import ProperLossClassifier
    >>> clf = ProperLossClassifier().fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    """

    calibration_bound_: _certificate.FitBound | None
    link_cost_: _certificate.LinkCost | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cv": CV,
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
        smoothness: Sequence[float] = SMOOTHNESS,
        class_weight: Any = None,
        prior_correction: bool = False,
        weights: Literal["counts", "relative"] = "counts",
        random_state: Any = 0,
        preserve_order: bool = False,
        missing: Literal["error", "mean"] = "error", verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None, checkpoint_every: float = 60.0,
    ) -> None:
        keep(self, locals())

    @_checked
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        groups: ArrayLike | None = None,
        *,
        label: str | None = None,
        memory_limit: int | str | None = None,
    ) -> Self:
        """Learn from rows ``X`` and labels ``y``, or from rows that are read batch by batch.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows. Columns of texts, categories, truth values and dates of a pandas, polars or Arrow
            table are encoded as the command line encodes them.
            {batches}
        y : array-like of shape (n_samples,)
            Labels: two values or more, of any type.
        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weights: 2 counts as the row twice, 0 as removed. Of files the name of a column.
        groups : array-like of shape (n_samples,), default=None
            Groups that the folds keep together: a number as ``cv`` is dealt as the command line's
            ``--group`` deals it, a splitter gets them.
        {of_batches}
        """
        if is_streamed(X, y, label, memory_limit):
            check_blocks(self, groups)
            self._fit_stream(X, sample_weight, label, memory_limit)
            _multiclass.forget_several(self)
            return self
        rows, classes, labels, weights = training_input(self, X, y, sample_weight, several=True)
        assert not isinstance(sample_weight, str)
        # Rows of weight 0 are gone by now; the folds are dealt among all.
        all_rows, all_labels = np.size(np.asarray(y)), labels
        if all_rows > len(labels):
            all_labels = np.ravel(np.unique(np.asarray(y), return_inverse=True)[1])
        # One number is the weight of every row.
        given = None if weights is None else np.broadcast_to(np.asarray(sample_weight), all_rows)
        kept = slice(None) if given is None else given > 0.0
        folds = engine_folds(self.cv, all_labels, groups, self.random_state, given)
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
            held_out: NDArray[Any] = np.full((all_rows, len(classes)), np.nan)
            with not_finite_explained(self, rows):
                held_out[kept] = _multiclass.fit(self, rows, labels, weights, class_weight, folds)
            results: dict[str, Any] = getattr(self, "cv_results_")
            results["held_out_scores"] = held_out
            end_of_fit()
            return self
        _multiclass.forget_several(self)
        line = self._progress_line()
        task = self._task(rows, labels, weights, line, folds["folds"])
        end_of_fit = self._start_callbacks(task, X, y, sample_weight, classes)
        with not_finite_explained(self, rows):
            fit = _core.fit(task, "proper", _settings(self, folds, class_weight))
        self._set_fit(fit)
        if groups is not None:
            self._forget_bound()
        if len(set(class_weight)) > 1:
            self._restore_prior(fit, labels, weights, folds)
        held_out = np.full(all_rows, np.nan)
        held_out[kept] = fit.held_out_scores
        self.cv_results_["held_out_scores"] = held_out
        if line is not None:
            line.close(self.n_iter_, self.cv_results_["log_loss"], self.termination_)
        end_of_fit()
        return self

    def _run_blocks(
        self, task: _core.BlockTask, classes: NDArray[Any], totals: NDArray[np.float64]
    ) -> _core.Fit:
        return _core.fit_blocks(task, "proper", block_settings(self, classes, totals))

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
        self.calibration_bound_ = self.link_cost_ = self.link_error_bound_ = None
        if not learned:
            return
        if "link_error_bound" in learned:
            self.link_error_bound_ = float(learned["link_error_bound"])
        path, links = (columns_of(learned[name]) for name in ("path", "links"))
        self._fitted["learned"] = learned
        self.C_ = float(learned["c"])
        self.slope_ratio_ = learned["slope_ratio"]
        self.guarantee_ = float(np.log(self.slope_ratio_))
        self.refit_share_ = learned["refit_share"]
        self.path_weights_ = path["weight"]
        self.scaling_weights_ = dict(learned["scaling_weights"])
        self.calibration_bound_, self.link_cost_ = _certificate.parse(learned.get("certificate", {}))
        self.cv_results_ = Table(
            scaling=path["scaling"],
            C=path["c"],
            **named_columns("C", path),
            **link_results(links),
            **held_out_losses(learned, "log_loss_path", "log_loss_link", "log_loss"),
            **cost_results(self.link_cost_),
        )

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
                f"{_CLASS_WEIGHT}, or pass prior_correction=True.", UserWarning, stacklevel=4
            )
            return
        z = np.ascontiguousarray(fit.held_out_scores)
        calibration = _core.fit_calibrator(
            z,
            labels,
            weights,
            kind="scores",
            smoothness=[float(value) for value in self.smoothness],
            folds=folds,
        )
        # The bounds were those of the weighted classes.
        self._forget_bound()
        self.link_error_bound_ = None
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

        {rows}

        {class_probabilities}
        """
        if not self._several():
            return super().predict_proba(X)
        mixture: _core.VectorMixture = getattr(self, "link_")
        p = mixture.probabilities(self.decision_function(X))
        return np.clip(p, SMALLEST, LARGEST, out=p)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores: one a row for two classes, one a class for more.

        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive where the probability of ``classes_[1]`` is above 1/2. More:
            what ``link_.probabilities`` takes; with ``preserve_order`` the largest belongs to the
            most probable class.
        """
        if not self._several():
            return super().decision_function(X)
        return self._of_rows(X, lambda rows: _multiclass.scores(self, rows))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        {rows}

        {predicted}
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


def check_blocks(estimator: ProperLossClassifier, groups: Any) -> None:
    """What needs all rows in one place is refused."""
    owner = type(estimator).__name__
    if groups is not None or not isinstance(estimator.cv, Integral):
        raise ValueError(
            f"{owner} takes a number as cv and no groups for rows in blocks: folds are dealt row by row"
        )
    if estimator.prior_correction or estimator.weights != "counts":
        raise ValueError(
            f"{owner} supports neither prior_correction nor relative weights for rows in blocks: both"
            " need the held-out score of every row"
        )


def block_settings(
    estimator: ProperLossClassifier, classes: NDArray[Any], totals: NDArray[np.float64]
) -> dict[str, Any]:
    """The options of a fit on blocks whose classes have these total weights."""
    folds = engine_folds(estimator.cv, None, None, estimator.random_state)
    # One row a class, of its weight in all.
    factors = _class_weight(estimator.class_weight, classes, np.arange(2), totals)
    if factors[0] != factors[1]:
        warnings.warn(_CLASS_WEIGHT, UserWarning, stacklevel=4)
    return _settings(estimator, folds, factors)


def _settings(
    estimator: ProperLossClassifier, folds: dict[str, Any], class_weight: list[float]
) -> dict[str, Any]:
    """The parameters as options of the engine."""
    return {
        "cv": folds["count"],
        "seed": folds["seed"],
        "refit": estimator.refit,
        "smoothness": [float(value) for value in estimator.smoothness],
        "class_weight": class_weight,
    }


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
