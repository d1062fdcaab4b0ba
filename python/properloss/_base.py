"""What every classifier of the package shares: checks, fitted attributes, predictions, files."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from properloss import _core, _registry, _stream
from properloss._card import CardMixin
from properloss._docs import documented
from properloss._export import ExportMixin
from properloss._input import not_finite_explained, prediction_input, training_input
from properloss._progress import CallbackBridge, CallbackSupportMixin, ProgressLine


_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")


def _checked(fit: _F) -> _F:
    """scikit-learn's frame of a ``fit``: parameters are validated, callbacks set up."""
    return cast("_F", _fit_context(prefer_skip_nested_validation=True)(fit))


@documented
class ScoreMixin:
    """``decision_function`` and ``predict`` of a classifier with ``linear_score`` and ``threshold_``."""

    classes_: NDArray[Any]
    threshold_: float

    def linear_score(self, X: Any) -> NDArray[np.float64]:
        """The score that the link takes."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score, shifted so that it is positive where ``classes_[1]`` is predicted.

        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Positive where the probability of ``classes_[1]`` is above 1/2.
        """
        scores = self.linear_score(X)
        scores -= self.threshold_
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The more probable class of each row.

        {rows}

        {predicted}
        """
        positive = self.decision_function(X) > 0.0
        labels: NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return labels


@documented
class ProperClassifier(
    ScoreMixin, CardMixin, ExportMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Base of the classifiers: a linear score, and a link that makes it a probability.

    A subclass lists its parameters in ``__init__``, their domains in ``_parameter_constraints``,
    and implements :meth:`_run`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the second is the one whose probability ``link_`` gives.
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the features as given to ``fit``.
    intercept_ : ndarray of shape (1,)
        ``decision_function(X) = X @ coef_.T + intercept_`` (of ``X / |X|`` under
        ``scaling="unit-rows"``).
    threshold_ : float
        The score at which the probability is 1/2. ``link_`` and ``loss_`` take the score
        ``decision_function(X) + threshold_``, which :meth:`linear_score` returns.
    link_ : InverseLink
        From a score to a probability.
    loss_ : CanonicalLoss or CompositeLoss
        The proper loss that goes with ``link_``: its canonical loss where that is finite, else
        log-loss under it; ``loss_.why`` says which and why.
    history_ : dict of str to ndarray
        One entry an iteration: ``iteration``, ``loss``, ``gap``, ``step``, ...
    n_iter_ : int
        Iterations made.
    termination_ : str
        Why the run ended: ``"converged"``, ``"max_iter"``, ``"stopped"``, ...
    {features}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    #: Attributes that follow from the model and are not stored beside it.
    _derived: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "threshold_", "link_", "loss_")

    #: Options of the engine that this class calls otherwise.
    _option_names: ClassVar[dict[str, str]] = _registry.PARAMETERS

    # -- the method of the engine ------------------------------------------------------------

    def _method(self) -> _core.Method:
        """The method that the parameters choose."""
        for method in _registry.methods_of(type(self).__name__):
            if all(getattr(self, name) == value for name, value in method["fixed"].items()):
                return method
        raise NotImplementedError(f"{type(self).__name__} is no method of the engine")

    def _settings(self, task: _core.Task, method: _core.Method) -> dict[str, Any]:
        """The parameters as options of the engine; what is None is left to it."""
        names = [option["name"] for option in method["options"]]
        return _registry.given(
            **{name: getattr(self, self._option_names.get(name, name), None) for name in names}
        )

    @classmethod
    def _parameters(cls, options: dict[str, Any], total_weight: float | None) -> dict[str, Any]:
        """The options of a file as parameters of this class."""
        return {cls._option_names.get(name, name): value for name, value in options.items()}

    def _own_options(self) -> dict[str, Any]:
        """Parameters that a file keeps beside the options of the engine."""
        return {}

    def _run(self, task: _core.Task) -> _core.Fit:
        """Train on checked data with the parameters of this classifier."""
        method = self._method()
        return _core.fit(task, method["name"], self._settings(task, method))

    # -- fit ---------------------------------------------------------------------------------

    @_checked
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        label: str | None = None,
        memory_limit: int | str | None = None,
    ) -> Self:
        """Learn from rows ``X`` and labels ``y``, or from rows that are read batch by batch.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            C-ordered ``float32`` and ``float64`` arrays are read where they lie; everything else
            is converted once. pandas, polars and Arrow tables keep their column names; columns of
            texts, categories, truth values and dates are encoded as the command line encodes them
            (``coef_names_``), with the same bits.
            {batches}
            ``n_rounds_`` then says how often the blocks were asked (docs/scale.md).
        y : array-like of shape (n_samples,)
            Labels: any two values.
        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weights, not negative; a row of weight 0 counts as removed. Of files the name of a column.
        {of_batches}
        """
        if is_streamed(X, y, label, memory_limit):
            self._fit_stream(X, sample_weight, label, memory_limit)
            self._warn_if_unfinished()
            return self
        rows, classes, labels, weights = training_input(self, X, y, sample_weight)
        line = self._progress_line()
        task = self._task(rows, labels, weights, line)
        end_of_fit = self._start_callbacks(task, X, y, sample_weight, classes)
        with not_finite_explained(self, rows):
            fit = self._run(task)
        self.classes_ = classes
        self._set_fit(fit)
        self._close(line)
        end_of_fit()
        self._warn_if_unfinished()
        return self

    def _fit_stream(self, X: Any, sample_weight: Any, label: Any, memory_limit: Any) -> None:
        """The fit of rows that are read batch by batch."""
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise ValueError("sample_weight must be the name of a column here, or part of the batches")
        source = _stream.source_of(X, label, sample_weight)
        classes = _stream.classes_of(source)
        memory = _stream.parse_bytes(memory_limit)
        blocks, totals, columns = _stream.write_blocks(source, classes, memory)
        line = self._progress_line()
        fit = self._run_blocks(self._block_task(blocks, line), classes, totals)
        self.classes_ = classes
        self.__dict__.pop("_encoder", None)
        self._set_fit(fit)
        self.n_features_in_ = columns
        set_names(self, source.names)
        self._close(line)

    def _close(self, line: ProgressLine | None) -> None:
        if line is not None:
            # A certified run may find the gap closed before its first iteration.
            loss = self.history_["loss"][-1] if self.n_iter_ else np.nan
            line.close(self.n_iter_, loss, self.termination_)

    def _run_blocks(
        self, task: _core.BlockTask, classes: NDArray[Any], totals: NDArray[np.float64]
    ) -> _core.Fit:
        """Train on rows in blocks whose classes have these total weights."""
        method = self._method()
        if method["name"] in ("certified", "slisotron"):
            raise ValueError(
                f"{type(self).__name__} needs all rows in memory at once: it looks at every row in the"
                " order of the scores. Give X and y, or use another classifier"
            )
        # Of the rows the settings look at their weight in all.
        settings = self._settings(cast("_core.Task", {"weights": totals}), method)
        return _core.fit_blocks(task, method["name"], settings)

    def _task(
        self, rows: Any, labels: Any, weights: Any, line: ProgressLine | None, folds: Any = None
    ) -> _core.Task:
        """What the engine needs of checked data, and whom it tells of its progress."""
        return {
            "rows": rows,
            "labels": labels,
            "weights": weights,
            "folds": folds,
            "progress": line,
            "callback": None,
            "checkpoint": self._checkpoint(),
        }

    def _block_task(self, blocks: Any, line: ProgressLine | None) -> _core.BlockTask:
        """The same of rows in blocks."""
        return {"blocks": blocks, "progress": line, "checkpoint": self._checkpoint()}

    def _checkpoint(self) -> tuple[str, float] | None:
        file = getattr(self, "checkpoint", None)
        return None if file is None else (os.fspath(file), float(self.checkpoint_every))

    def _set_fit(self, fit: _core.Fit) -> None:
        self._model = fit.model
        self._fitted = {
            "method": fit.method,
            "options": json.loads(fit.options),
            "total_weight": fit.total_weight,
        }
        self._engine_seconds = fit.seconds
        self.history_ = fit.history
        self.n_iter_ = fit.iterations
        self.termination_ = fit.termination
        self.__dict__.pop("n_rounds_", None)
        if fit.rounds is not None:
            self.n_rounds_ = fit.rounds
        self._set_derived()

    def _set_derived(self) -> None:
        for name, value in _attributes(self._model).items():
            setattr(self, name, value)

    def _warn_if_unfinished(self) -> None:
        if self.termination_ == "max_iter" and getattr(self, "tol", 0.0) > 0.0:
            warnings.warn(
                f"{type(self).__name__} reached max_iter = {self.n_iter_} before its stopping rule"
                " held. Increase max_iter, or set tol=0 to ask for exactly that many iterations.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _progress_line(self) -> ProgressLine | None:
        if not getattr(self, "verbose", 0):
            return None
        return ProgressLine(type(self).__name__, getattr(self, "max_iter", 0))

    def _start_callbacks(
        self, task: _core.Task, X: Any, y: Any, sample_weight: Any, classes: Any
    ) -> Callable[[], object]:
        """Open scikit-learn's callback context, if there is one; return what closes it."""
        if not hasattr(self, "_init_callback_context"):
            return lambda: None
        context = self._init_callback_context(max_subtasks=getattr(self, "max_iter", None))
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        data = {"X": X, "y": y, "metadata": metadata}
        context.call_on_fit_task_begin(estimator=self, **data)
        if getattr(self, "_skl_callbacks", None):

            def reconstruct(model: _core.Model) -> dict[str, Any]:
                return {"classes_": classes, "_model": model, **_attributes(model)}

            task["callback"] = CallbackBridge(self, context, data, reconstruct)
        return lambda: context.call_on_fit_task_end(
            estimator=self, reconstruction_attributes={}, **data
        )

    @property
    def coef_names_(self) -> NDArray[Any]:
        """The name of each coefficient: its column's, or ``column=category``."""
        check_is_fitted(self)
        encoder: _core.TableEncoder | None = getattr(self, "_encoder", None)
        if encoder is not None and encoder.feature_names:
            return np.array(encoder.feature_names, dtype=object)
        names = getattr(self, "feature_names_in_", None)
        count = np.shape(getattr(self, "coef_"))[1]
        return np.array([f"x{j}" for j in range(count)], dtype=object) if names is None else names

    # -- predict -----------------------------------------------------------------------------

    def linear_score(self, X: Any) -> NDArray[np.float64]:
        """The score ``w.x`` that ``link_`` and ``loss_`` take.

        {rows}

        Returns
        -------
        z : ndarray of shape (n_samples,)
            ``decision_function(X) + threshold_``.
        """
        return self._of_rows(X, lambda rows: self._model.scores(rows))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the two classes.

        {rows}

        {two_probabilities}
        """
        return self._of_rows(X, lambda rows: self._model.predict_proba(rows))

    def _of_rows(self, X: Any, predict: Callable[[Any], _T]) -> _T:
        """What ``predict`` makes of checked rows; a value that is not finite is named."""
        check_is_fitted(self)
        rows = prediction_input(self, X)
        with not_finite_explained(self, rows):
            return predict(rows)

    def predict_to(
        self,
        path_in: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        path_out: str | os.PathLike[str],
    ) -> int:
        """Stream the probabilities of the rows of files to a file, in constant memory.

        Parameters
        ----------
        path_in : str, path-like or list of them
            Parquet or CSV files; columns are found by name if the classifier knows names.
        path_out : str or path-like
            A ``.parquet`` or ``.csv`` file with one column for each of ``classes_``. It appears whole or
            not at all.

        Returns
        -------
        rows : int
            How many rows were written.
        """
        from properloss._predict_to import predict_to

        check_is_fitted(self)
        return predict_to(self, path_in, path_out)

    def report(
        self,
        X: Any,
        y: ArrayLike,
        path: str | os.PathLike[str] | None = None,
        *,
        compare: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """One page about this classifier on labelled rows; see :func:`properloss.report`.

        Parameters
        ----------
        {held_out}
        path : str or path-like, default=None
            Where to write the page.
        compare : classifier, default=None
            Another fitted classifier to set beside it.
        {sample_weight}

        Returns
        -------
        report : Report
            Its ``html`` is the page.
        """
        from properloss._report import report

        return report(self, X, y, path, compare=compare, sample_weight=sample_weight)

    # -- files -------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as a JSON file, which the command line reads as well.

        {path}
        """
        from properloss._model_file import save

        check_is_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file written by :meth:`save` or by the command line.

        {file}

        Returns
        -------
        estimator : object
            A fitted classifier of this class.
        """
        from properloss._model_file import load_as

        return load_as(cls, path)

    def _exportable(self) -> _core.Export:
        from properloss._model_file import text_of

        export = _core.Export.of_class_model if len(self.classes_) > 2 else _core.Export.of_model
        return export(text_of(self))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        left = self._derived if "_model" in state else ()
        return {name: value for name, value in state.items() if name not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in state:
            self._set_derived()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self, "missing", "error") == "mean"
        return tags


def is_streamed(X: Any, y: Any, label: Any, memory_limit: Any) -> bool:
    """Whether rows are to be read batch by batch; what is only for those is refused elsewhere."""
    if y is None and _stream.is_source(X):
        return True
    if label is not None or memory_limit is not None:
        raise ValueError(
            "label and memory_limit are for rows that are read batch by batch: a path, a"
            " dataset, a LazyFrame or a re-iterable of batches, without y"
        )
    return False


def set_names(estimator: Any, names: Any) -> None:
    """The names of the columns, as scikit-learn keeps them."""
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _attributes(model: _core.Model) -> dict[str, Any]:
    """The fitted attributes that follow from a model."""
    link = model.link
    threshold = _threshold(link)
    return {
        "coef_": model.coefficients[np.newaxis, :],
        "intercept_": np.array([model.intercept - threshold]),
        "threshold_": threshold,
        "link_": link,
        "loss_": _core.Loss.of_link(link),
    }


def _threshold(link: _core.InverseLink) -> float:
    """The largest score of probability at most 1/2: above it the second class is predicted."""
    if isinstance(link, _core.IsotonicLink):
        level = np.flatnonzero(link.u == 0.5)
        if level.size:
            return float(link.z[level[-1]])
    return link.link(0.5)
