"""What the wrappers of all boosters share: link, start score, probabilities, files."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from properloss import _core
from properloss._base import ScoreMixin, _checked, _threshold
from properloss._docs import documented
from properloss._input import encode_labels
from properloss._pooled import fresh
from properloss._registry import keep
from properloss._results import two_columns
from properloss.learners._file import labels_from, link_from, read, spec_of_labels, spec_of_link
from properloss.learners._objective import Objective, as_link


class Rows(NamedTuple):
    """What a booster is trained on, or stopped by."""

    X: Any
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    #: The start score, once a row.
    start: NDArray[np.float64]


@documented
class Learner(ScoreMixin, ClassifierMixin, BaseEstimator):
    """A booster under a proper loss and its link. Base of the wrappers; see those."""

    #: The name of the package in files.
    _kind: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": "no_validation",  # type: ignore[dict-item]
        "link": [_core.InverseLink, str],
        "loss": [StrOptions({"auto", "canonical", "log"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        link: _core.InverseLink | str = "sigmoid",
        loss: Literal["auto", "canonical", "log"] = "auto",
    ) -> None:
        keep(self, locals())

    # -- what a package must know -------------------------------------------------------------

    @abstractmethod
    def _default(self) -> Any:
        """The estimator that ``None`` means."""

    @abstractmethod
    def _boost(
        self, model: Any, objective: Objective, train: Rows, held_out: Rows | None, patience: int
    ) -> tuple[Any, int]:
        """Train; the booster and its rounds."""

    @abstractmethod
    def _raw(self, X: Any) -> NDArray[np.float64]:
        """What the rounds add to the start score."""

    @abstractmethod
    def _to_text(self) -> str:
        """The booster in its own format."""

    @abstractmethod
    def _from_text(self, text: str) -> Any:
        """The booster of that text."""

    def _rounds_name(self, model: Any) -> str:
        """What the package calls the number of rounds."""
        return "n_estimators"

    def _set_rounds(self, rounds: int) -> None:
        """Set the number of rounds of ``estimator``."""
        model = self._start_model()
        self.estimator = model.set_params(**{self._rounds_name(model): rounds})

    def _start_model(self) -> Any:
        return self._default() if self.estimator is None else fresh(self.estimator)

    # -- fit ----------------------------------------------------------------------------------

    @_checked
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
        eval_set: tuple[Any, Any] | None = None, eval_sample_weight: ArrayLike | None = None,
        patience: int = 50,
    ) -> Self:
        """Boost under the loss.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows, as the booster takes them.
        y : array-like of shape (n_samples,)
            Labels: any two values.
        {sample_weight}
        eval_set : tuple (X, y), default=None
            Rows that are held out: boosting stops by their log-loss.
        eval_sample_weight : array-like, default=None
            Their weights.
        patience : int, default=50
            Rounds without a gain on ``eval_set`` before it stops.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = self._rows(X, y, reset=True)
        self.classes_, labels = encode_labels(np.asarray(y))
        weight = self._weight(sample_weight, X)
        if weight is not None and len(np.unique(labels[weight > 0.0])) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes with a positive weight, but the"
                " data contains only one class"
            )
        objective = Objective(self.link, self.loss)
        start = objective.start(labels, weight)
        train = Rows(X, labels.astype(np.float64), weight, np.full(len(labels), start))
        held_out = None
        if eval_set is not None:
            X, y = self._rows(eval_set[0]), self._encode(eval_set[1])
            weight = self._weight(eval_sample_weight, X)
            held_out = Rows(X, y, weight, np.full(len(y), start))
        model = self._start_model()
        self.booster_, self.n_rounds_ = self._boost(model, objective, train, held_out, patience)
        self.link_ = objective.link
        self.start_ = start
        self.threshold_ = _finite_threshold(self.link_)
        return self

    def _rows(self, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
        """Checked rows; frames go through as they are, for their categories."""
        checks: dict[str, Any] = {
            "accept_sparse": "csr",
            "ensure_all_finite": "allow-nan",
            "dtype": [np.float64, np.float32],
        }
        if hasattr(X, "iloc") and hasattr(X, "columns"):
            checks = {"skip_check_array": True}
            if len(X) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return validate_data(self, X, y, reset=reset, **checks)

    def _weight(self, sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        if hasattr(X, "iloc"):
            X = np.empty((len(X), 1))
        weight: NDArray[np.float64] = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if not (weight >= 0.0).all() or not weight.any():
            raise ValueError("sample_weight must not be negative, and not zero everywhere")
        return weight

    def _encode(self, y: Any) -> NDArray[np.float64]:
        y = np.asarray(y)
        unknown = np.flatnonzero(~np.isin(y, self.classes_))
        if unknown.size:
            row, label = int(unknown[0]), y.tolist()[unknown[0]]
            raise ValueError(f"eval_set has the label {label!r} in row {row}, which y has not")
        return np.asarray(y == self.classes_[1], dtype=np.float64)

    # -- predict ------------------------------------------------------------------------------

    def linear_score(self, X: Any) -> NDArray[np.float64]:
        """The score that ``link_`` takes: ``start_`` and what the rounds add.

        {rows}

        Returns
        -------
        z : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(self._raw(self._rows(X)), dtype=np.float64).ravel() + self.start_

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the two classes, by ``link_``.

        {rows}

        {two_probabilities}
        """
        score = self.linear_score(X)
        return two_columns(self.link_.inverse_link(score))

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write link, start score, classes and the booster in its own format: one JSON file.

        {path}
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        content = {
            "format": "properloss-learner",
            "version": 1,
            "learner": self._kind,
            "loss": self.loss,
            "link": spec_of_link(self.link_),
            "start": self.start_,
            "rounds": self.n_rounds_,
            "features": self.n_features_in_,
            "feature_names": None if names is None else [str(name) for name in names],
            "classes": spec_of_labels(self.classes_),
            "booster": self._to_text(),
        }
        _core.write_text(path, json.dumps(content, allow_nan=False, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by :meth:`save`.

        {file}

        Returns
        -------
        classifier : object
            Fitted, with the same probabilities bit for bit. The booster's parameters are not in the
            file: ``estimator`` is None.
        """
        content = read(path, cls._kind)
        learner = cls(link=link_from(content["link"]), loss=content["loss"])
        learner.link_ = as_link(learner.link)
        learner.start_ = float(content["start"])
        learner.n_rounds_ = int(content["rounds"])
        learner.n_features_in_ = int(content["features"])
        if content["feature_names"] is not None:
            learner.feature_names_in_ = np.array(content["feature_names"], dtype=object)
        learner.classes_ = labels_from(content["classes"])
        learner.threshold_ = _finite_threshold(learner.link_)
        learner.booster_ = learner._from_text(content["booster"])
        return learner

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "booster_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _finite_threshold(link: _core.InverseLink) -> float:
    """The score of probability 1/2; far out where the link stays on one side of it."""
    return float(np.clip(_threshold(link), -745.0, 745.0))
