"""Any classifier, calibrated by its held-out scores."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter, MethodMapping, _routing_enabled, process_routing,
)
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from properloss import _certificate
from properloss._base import _checked
from properloss._calibrator import ProperCalibrator
from properloss._docs import documented
from properloss._export import OnnxMixin
from properloss._folds import CV, row_splits
from properloss._input import encode_labels, meant_weights
from properloss._pooled import RELINK_PRICE, CrossFit, Folded, Part
from properloss._pooled import floor_and_ceiling, relink, takes_weights
from properloss._registry import given, keep
from properloss._results import SMALLEST, two_columns


@documented
class ProperCalibratedClassifierCV(OnnxMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
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
    {weights}
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
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of features and their names, if the estimator tells them.

    {on_cancer}
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from properloss import ProperCalibratedClassifierCV
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
        "cv": [*CV, StrOptions({"prefit"})],
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
        cv: Any = 5, ensemble: bool | Literal["pooled"] = "pooled", early_stopping: Any = False,
        relink: bool = False, weights: Literal["counts", "relative"] = "counts", random_state: Any = 0,
    ) -> None:
        keep(self, locals())

    @_checked
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None, **fit_params: Any,
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
            Groups that the folds keep together: a number of folds is dealt as the command line's
            ``--group`` deals it, with the classes in proportion; a splitter gets them.
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
            calibrator = self._calibrator(base, z, labels, weights, groups)
            self.calibrated_classifiers_ = [(base, calibrator)]
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

    def _cross_fit(self, base: Any, X: Any, y: Any, labels: Any, weights: Any, groups: Any) -> None:
        splits = list(row_splits(self.cv, labels, groups, self.random_state))
        folded = self._run_folds(base, X, y, labels, weights, splits, groups)
        if self.relink:
            folded = self._relinked(folded, X, y, labels, weights, splits)
        if folded.fits.rounds:
            self.n_rounds_ = np.array(folded.fits.rounds)
        if self.ensemble == "pooled":
            self.calibrated_classifiers_ = [(model, folded.calibrator) for model in folded.models]
        elif not self.ensemble:
            self.calibrated_classifiers_ = [(folded.fits.on_all(), folded.calibrator)]

    def _run_folds(
        self, base: Any, X: Any, y: Any, labels: Any, weights: Any, splits: Any, groups: Any = None
    ) -> Folded:
        """The models of the folds, and the calibrator of all their held-out scores."""
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
                counts = self.weights == "counts"
                calibrator = self._calibrator(model, z[test], labels[test], part, own, by_weight=counts)
                self.calibrated_classifiers_.append((model, calibrator))
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
        # Weights and groups are our own; they are refused or passed on as the estimator requests.
        named = {"sample_weight": weights, "groups": groups} | fit_params
        return dict(process_routing(self, "fit", **given(**named)).estimator.fit)

    def get_metadata_routing(self) -> Any:
        """Who gets what: ``sample_weight`` and ``groups`` are taken here, and passed on on request."""
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self._base(), method_mapping=mapping)

    def _calibrator(
        self, model: Any, z: Any, labels: Any, weights: Any, groups: Any = None, *,
        cv: Any = 5, score_folds: Any = None, by_weight: bool = False,
    ) -> ProperCalibrator:
        kind: Any = "scores" if hasattr(model, "decision_function") else "probabilities"
        calibrator = ProperCalibrator(kind=kind, cv=cv, random_state=self.random_state)
        classes = len(self.classes_)
        return calibrator._fit(z, labels, weights, groups, score_folds, by_weight, classes)

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

        {rows}

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
        return LogisticRegression() if self.estimator is None else self.estimator

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the two classes.

        {rows}

        {two_probabilities}
        """
        check_is_fitted(self)
        pairs = self.calibrated_classifiers_
        p = np.mean([c.predict(_score(m, X, self.classes_)) for m, c in pairs], axis=0)
        return np.asarray(p) if p.ndim == 2 else two_columns(p)

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each row.

        {rows}

        {predicted}
        """
        # Of two equal ones the first: a probability of 1/2 is none above 1/2.
        most_probable = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[most_probable]
        return labels

    def _onnx(self, *, portable: bool, dtype: str) -> bytes:
        """The estimators inside are converted by skl2onnx."""
        from properloss.onnx import convert

        return convert(self, portable=portable, dtype=dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.input_tags.sparse = get_tags(self._base()).input_tags.sparse
        return tags


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
    has_scores = hasattr(model, "decision_function")
    z = np.asarray(model.decision_function(X) if has_scores else model.predict_proba(X), np.float64)
    if z.ndim != 2 or z.shape[1] != len(model.classes_):
        # One against one, or a single column: probabilities have a column a class.
        z = np.log(np.clip(model.predict_proba(X), SMALLEST, None))
    scores = np.repeat(z.min(axis=1, keepdims=True), len(classes), axis=1)
    scores[:, np.searchsorted(classes, model.classes_)] = z
    return np.ascontiguousarray(scores)
