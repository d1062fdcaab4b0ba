"""From the scores of any classifier to probabilities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from properloss import _certificate, _core
from properloss._base import _checked
from properloss._docs import documented
from properloss._export import ExportMixin, class_names
from properloss._folds import CV, engine_folds
from properloss._input import encode_labels, meant_weights
from properloss._registry import keep
from properloss._results import LARGEST, SMALLEST, SMOOTHNESS, Table, columns_of
from properloss._results import cost_results, held_out_losses, link_results, named_columns, two_columns


@documented
class ProperCalibrator(ExportMixin, RegressorMixin, BaseEstimator):
    """From scores to probabilities: ``v(sigmoid(a z + b))``, strictly increasing.

    The sigmoid is Platt's, or the scores as they are, as held-out log-loss has it; ``v`` is a smooth
    increasing function, averaged over the identity and four strengths of smoothness. Unlike isotonic
    regression this makes no ties and no 0 or 1, so it never changes the AUC. In doubles that holds
    wherever the probabilities differ by more than rounding: two scores keep their order if
    ``sigmoid(a z + b)`` differs by more than ``1e-15 slope_ratio_``. Scores that are closer, or so far
    out that the sigmoid is at its end to sixteen digits (above a floor, from about ``|a z + b| = 37``),
    may get the same number or swap in its last place.

    With three columns or more, one a class, it is ``p(t z)``: a temperature averaged with the scores
    as they are, then a mixture of softmaxes, a floor and class ramps that keeps at least ``1/tau_``
    of the softmax.

    Parameters
    ----------
    kind : {"auto", "scores", "probabilities"}, default="auto"
        What goes in: margins or logits, or probabilities. ``"auto"`` takes values that all lie in
        [0, 1] for probabilities.
    {smoothness}
    cv : int, splitter or iterable of (train, test), default=5
        Folds for the choice of the smoothness.
    {weights}
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
    {slope_ratio}
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
        "cv": CV,
        "weights": [StrOptions({"counts", "relative"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kind: Literal["auto", "scores", "probabilities"] = "auto",
        smoothness: Sequence[float] = SMOOTHNESS,
        cv: Any = 5,
        weights: Literal["counts", "relative"] = "counts",
        random_state: Any = 0,
    ) -> None:
        keep(self, locals())

    @_checked
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
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
        {sample_weight}
        groups : array-like of shape (n_samples,), default=None
            Groups that the folds keep together.

        Returns
        -------
        self : object
            The fitted calibrator.
        """
        return self._fit(X, y, sample_weight, groups)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, score_folds: Any = None,
        by_weight: bool = False, classes: int | None = None,
    ) -> Self:
        """``score_folds`` where the scores of different folds came from different models; ``by_weight`` where
        folds are dealt so that weight 2 is the row twice; ``classes`` where labels are numbers of as many
        classes, some of which may have no row here."""
        z = self._scores(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(z, y)
        if classes is None or z.ndim == 1:
            self.classes_, labels = encode_labels(np.asarray(y), several=z.ndim == 2)
        else:
            self.classes_, labels = np.arange(classes), np.asarray(y, dtype=np.uint32)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, z, dtype=np.float64)
            weights = meant_weights(weights, self.weights, type(self).__name__)
        self.calibration_bound_: _certificate.FitBound | None = None
        self.link_cost_: _certificate.LinkCost | None = None
        if z.ndim == 2:
            return self._fit_several(z, labels, weights, groups, by_weight)
        fit = _core.fit_calibrator(
            z,
            labels,
            weights,
            kind=self.kind,
            smoothness=[float(value) for value in self.smoothness],
            folds=engine_folds(self.cv, labels, groups, self.random_state, weights),
            score_folds=score_folds,
            by_weight=by_weight,
        )
        learned = json.loads(fit.learned)
        if groups is not None:
            # Rows of one group need not be independent, which the bound supposes.
            learned["certificate"].pop("calibration_bound", None)
        self.slope_, self.intercept_ = fit.numbers["slope"], fit.numbers["intercept"]
        self._margin = _margin(fit.numbers)
        self.link_: _core.InverseLink | _core.VectorMixture = fit.link
        self.loss_ = _core.Loss.of_link(fit.link)
        self._set_learned(learned)
        return self

    def _set_learned(self, learned: dict[str, Any]) -> None:
        """What cross-validation weighed and found, of a fit or of a file."""
        self._learned = learned
        self.calibration_bound_, self.link_cost_ = _certificate.parse(learned.get("certificate", {}))
        if "slope_ratio" not in learned:
            return
        self.slope_ratio_ = learned["slope_ratio"]
        self.guarantee_ = float(np.log(self.slope_ratio_))
        self.cv_results_ = Table(
            **link_results(columns_of(learned["links"])),
            **held_out_losses(learned, "log_loss_sigmoid", "log_loss"),
            **cost_results(self.link_cost_),
        )

    def _fit_several(self, z: Any, labels: Any, weights: Any, groups: Any, by_weight: bool) -> Self:
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
            folds=engine_folds(self.cv, labels, groups, self.random_state, weights),
            by_weight=by_weight,
        )
        numbers, ratios = fit.numbers, fit.ratios
        self.__dict__.pop("loss_", None)
        self.temperature_ = numbers["temperature"]
        self._margin = _margin(numbers)
        self.link_ = fit.link
        self.tau_ = numbers["tau"]
        self.guarantee_ = float(np.log(self.tau_))
        self.cv_results_ = Table(
            tau=ratios["tau"],
            **named_columns("tau", ratios),
            **{name: numbers[name] for name in ("log_loss_softmax", "log_loss")},
        )
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of ``classes_[1]`` for each score; of every class if there are several.

        {scores}

        Returns
        -------
        p : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Strictly between 0 and 1; for two classes in the order of the scores.
        """
        check_is_fitted(self)
        z = self._scores(X, reset=False)
        if isinstance(self.link_, _core.InverseLink):
            p = self.link_.inverse_link(self._linear(z))
        else:
            if self._margin is not None:
                z = np.log(_probabilities(z) + self._margin)
            p = self.link_.probabilities(self.temperature_ * z)
        return np.clip(p, SMALLEST, LARGEST)

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
        if not isinstance(self.link_, _core.InverseLink):
            raise ValueError("a calibrator of several classes has one score a class, not one a row")
        return self._linear(self._scores(X, reset=False))

    def _linear(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._margin is not None:
            p = _probabilities(z)
            z = np.log((p + self._margin) / ((1.0 - p) + self._margin))
        return self.slope_ * z + self.intercept_

    #: As scikit-learn's ``IsotonicRegression`` has it.
    transform = predict

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes.

        {scores}

        {class_probabilities}
        """
        p = self.predict(X)
        return p if p.ndim == 2 else two_columns(p)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted calibrator as a model file of one column, for ``predict`` of the command
        line too.

        {path}
        """
        from properloss._calibrator_file import text_of

        check_is_fitted(self)
        _core.write_text(path, text_of(self))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a calibrator written by :meth:`save` or by ``properloss calibrate --model``.

        {file}

        Returns
        -------
        calibrator : ProperCalibrator
            Ready to predict.
        """
        from properloss._calibrator_file import restore

        return restore(cls, _core.read_model(path), path)

    def _exportable(self) -> _core.Export:
        if not isinstance(self.link_, _core.InverseLink):
            return _core.Export.of_class_calibration(
                self.link_,
                temperature=self.temperature_,
                margin=self._margin,
                classes=[str(name) for name in self.classes_],
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


def _margin(numbers: dict[str, float]) -> float | None:
    """What is added to probabilities before their logarithms; None where margins go in."""
    return None if np.isnan(numbers["margin"]) else numbers["margin"]


def _probabilities(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """A calibrator of probabilities takes probabilities, up to rounding."""
    outside = np.argwhere((p < -1e-9) | (p > 1.0 + 1e-9))
    if len(outside):
        value = p[tuple(outside[0])]
        raise ValueError(
            f"row {outside[0][0]} is {value}, which is no probability: this calibrator was fitted to"
            ' probabilities, all in [0, 1]. Fit it to scores, or with kind="scores".'
        )
    return np.clip(p, 0.0, 1.0)
