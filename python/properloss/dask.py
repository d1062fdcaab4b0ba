"""The default classifier on Dask collections.

A fit is some thirty to sixty *rounds*. A round sends a question of a few kilobytes to every block of
rows, and each block answers with sums over its rows; the answers are added up in the order of the
blocks, in the engine. Plain tasks, no connections between workers: a task whose worker dies is run
again elsewhere, and the result has the same bits for any number of workers, as long as the blocks are
the same.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from properloss import _core
from properloss._base import set_names
from properloss._classifier import ProperLossClassifier, check_blocks
from properloss._docs import documented
from properloss._input import as_floats, as_rows
from properloss._registry import keep
from properloss._results import SMOOTHNESS

try:
    import dask
    import dask.array as da
    from dask.delayed import Delayed, delayed
    from distributed import Client, get_client, wait
except ImportError as error:  # pragma: no cover
    raise ImportError("properloss.dask needs Dask: pip install 'properloss[dask]'") from error

__all__ = ["DaskProperLossClassifier"]

#: Blocks of a worker, at most: an empty round costs some milliseconds a block.
_BLOCKS_PER_WORKER = 2
#: Seconds between two looks at the workers, and without any worker until a fit gives up.
_LOOK = 5.0
_PATIENCE = 300.0


@documented
class DaskProperLossClassifier(ProperLossClassifier):
    """:class:`~properloss.ProperLossClassifier` on rows that lie with the workers of a cluster.

    The rows stay where they are; what travels are sums. The blocks are the partitions of ``X``, put
    together to ``blocks`` larger ones in their order.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; by default the current one. Not part of a pickle.
    blocks : int, default=None
        Number of blocks, at most the number of partitions; by default two a worker. The edges of the
        blocks fix the last bits of the result: give a number for the same bits on clusters of
        different sizes.
    cv, refit, smoothness, class_weight, random_state, verbose, checkpoint, checkpoint_every
        As in :class:`~properloss.ProperLossClassifier`; ``cv`` is a number here.

    Attributes
    ----------
    n_rounds_ : int
        Questions that went to the blocks.
    n_blocks_ : int
        Number of blocks.

    The other attributes are those of :class:`~properloss.ProperLossClassifier`. ``cv_results_`` has no
    ``held_out_scores``; ``calibration_bound_`` rests on a random sample of the rows.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ProperLossClassifier._parameter_constraints,
        "client": "no_validation",  # type: ignore[dict-item]
        "blocks": [int, None],
    }

    def __init__(
        self,
        *,
        client: Client | None = None,
        blocks: int | None = None,
        cv: Any = 5, refit: Any = "likelihood", smoothness: Any = SMOOTHNESS,
        class_weight: Any = None, prior_correction: bool = False,
        weights: Any = "counts", random_state: Any = 0, preserve_order: bool = False,
        verbose: int = 0, checkpoint: Any = None, checkpoint_every: float = 60.0,
    ) -> None:
        super().__init__()
        keep(self, locals())

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Learn from Dask collections.

        Parameters
        ----------
        X : dask Array or DataFrame
            Rows; blocks may be numpy arrays, sparse matrices or pandas frames. Sizes of chunks need not
            be known. Partitions may be empty, or hold one class.
        y : dask Array or Series
            Labels: any two values, partitioned as ``X`` is.
        sample_weight : dask Array or Series, default=None
            Weights, partitioned as ``X`` is.
        groups : None
            Not supported: folds are dealt row by row.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._validate_params()
        check_blocks(self, groups)
        client = get_client() if self.client is None else self.client
        parts = _partitions(X, y, sample_weight)
        names = _names(X)
        workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        count = min(len(parts), self.blocks or _BLOCKS_PER_WORKER * workers)
        bounds = np.linspace(0, len(parts), count + 1).astype(int)
        joined = [
            delayed(_join)(parts[a:b], int(a)) for a, b in zip(bounds, bounds[1:], strict=False)
        ]
        held = client.persist(joined)
        wait(held)
        labels = client.gather(client.compute([delayed(_labels)(part) for part in held]))
        found = [values for values in labels if len(values)]
        if not found:
            raise ValueError("Found array with 0 sample(s): every partition is empty")
        classes = np.unique(np.concatenate(found))
        if len(classes) != 2:
            raise ValueError(
                f"Only binary classification is supported here: the labels have {len(classes)}"
                f" value(s), {classes[:5]!r}"
            )
        coded = client.persist([delayed(_code)(part, classes) for part in held])
        del held
        facts = client.gather(client.compute([delayed(_facts)(part) for part in coded]))
        totals = np.sum([_core.block_classes(fact)[2] for fact in facts], axis=0)
        rounds = 0

        def ask(question: bytes) -> list[bytes]:
            nonlocal rounds
            rounds += 1
            tasks = [delayed(_answer)(part, question, k) for k, part in enumerate(coded)]
            return _gathered(client, client.compute(tasks))

        line = self._progress_line()
        fit = self._run_blocks(self._block_task((facts, ask), line), classes, totals)
        self.classes_ = classes
        self.__dict__.pop("_encoder", None)
        self._set_fit(fit)
        self.n_rounds_, self.n_blocks_ = rounds, len(facts)
        self.n_features_in_ = self.coef_.shape[1]
        set_names(self, names)
        if line is not None:
            line.close(self.n_iter_, self.cv_results_["log_loss"], self.termination_)
        return self

    # -- predictions: lazy for Dask collections ------------------------------------------------

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; a lazy Dask array for a Dask collection.

        {dask_rows}

        Returns
        -------
        p : dask Array or ndarray of shape (n_samples, 2)
            One column for each of ``classes_``.
        """
        return self._lazily("predict_proba", X, columns=2, dtype=np.float64)

    def decision_function(self, X: Any) -> Any:
        """Scores; a lazy Dask array for a Dask collection.

        {dask_rows}

        Returns
        -------
        scores : dask Array or ndarray of shape (n_samples,)
            Positive where the probability of ``classes_[1]`` is above 1/2.
        """
        return self._lazily("decision_function", X, columns=None, dtype=np.float64)

    def predict(self, X: Any) -> Any:
        """The more probable class of each row; a lazy Dask array for a Dask collection.

        {dask_rows}

        Returns
        -------
        y : dask Array or ndarray of shape (n_samples,)
            Values of ``classes_``.
        """
        return self._lazily("predict", X, columns=None, dtype=self.classes_.dtype)

    def _lazily(self, name: str, X: Any, columns: int | None, dtype: Any) -> Any:
        local = self.to_local()
        if not dask.is_dask_collection(X):
            return getattr(local, name)(X)
        work, shared = delayed(_predict), delayed(local)
        counts = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * X.npartitions
        pieces = []
        for part, count in zip(_blocks_of(X), counts, strict=True):
            shape = (count,) if columns is None else (count, columns)
            pieces.append(da.from_delayed(work(shared, name, part), shape=shape, dtype=dtype))
        return da.concatenate(pieces, axis=0, allow_unknown_chunksizes=True)

    def to_local(self) -> ProperLossClassifier:
        """The same model without Dask.

        Returns
        -------
        estimator : ProperLossClassifier
            Fitted.
        """
        local = ProperLossClassifier()
        own = ("client", "blocks", "n_rounds_", "n_blocks_")
        local.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}


def _gathered(client: Client, futures: list[Any]) -> list[bytes]:
    """The answers; a cluster that has lost all its workers for good is an error, not a wait without end."""
    lost = 0.0
    while True:
        try:
            wait(futures, timeout=_LOOK)
        except TimeoutError:
            if client.scheduler_info(n_workers=-1)["workers"]:
                lost = 0.0
                continue
            lost += _LOOK
            if lost < _PATIENCE:
                continue
            client.cancel(futures)
            raise RuntimeError(
                f"the cluster has had no worker for {lost:.0f} seconds; start some and fit again"
                " (with checkpoint=FILE a fit goes on where it was)"
            ) from None
        answers: list[bytes] = client.gather(futures)
        return answers


# -- what workers do ---------------------------------------------------------------------------


def _join(parts: list[tuple[Any, Any, Any]], first: int) -> tuple[Any, NDArray[Any], Any]:
    """Partitions put together to one block: rows, labels as they are, weights."""
    matrices: list[Any] = []
    labels: list[NDArray[Any]] = []
    weights: list[Any] = []
    for number, (X, y, w) in enumerate(parts, start=first):
        X = as_floats(X.to_numpy() if hasattr(X, "to_numpy") else X)
        y = np.asarray(y).reshape(-1)
        if X.shape[0] != len(y):
            raise ValueError(
                f"partition {number}: X has {X.shape[0]} rows, but y has {len(y)}: they must be"
                " partitioned alike"
            )
        if len(y) == 0:
            continue
        if matrices and X.shape[1] != matrices[0].shape[1]:
            raise ValueError(
                f"partition {number}: X has {X.shape[1]} columns, but those before it have"
                f" {matrices[0].shape[1]}"
            )
        matrices.append(X)
        labels.append(y)
        if w is not None:
            w = np.asarray(w, dtype=np.float64).reshape(-1)
            if len(w) != len(y):
                raise ValueError(
                    f"partition {number}: sample_weight has {len(w)} values, but y has {len(y)}"
                )
            weights.append(w)
    if not matrices:
        return np.empty((0, 0)), np.empty(0), None
    if len(matrices) == 1:
        X = matrices[0]
    else:
        X = vstack(matrices, format="csr") if issparse(matrices[0]) else np.concatenate(matrices)
    return X, np.concatenate(labels), np.concatenate(weights) if weights else None


def _labels(part: tuple[Any, NDArray[Any], Any]) -> NDArray[Any]:
    return np.unique(part[1])


def _code(part: tuple[Any, NDArray[Any], Any], classes: NDArray[Any]) -> tuple[Any, Any, Any]:
    X, y, w = part
    if len(y) == 0:
        return np.empty((0, 1)), np.empty(0, dtype=np.uint8), None
    if w is not None and not w.all():
        # A row of weight 0 is a removed row, exactly.
        kept = w != 0.0
        X, y, w = X[kept], y[kept], w[kept]
    return as_rows(X), (y == classes[1]).astype(np.uint8), w


def _facts(part: tuple[Any, Any, Any]) -> bytes:
    return _core.block_facts(_aligned(part))


def _answer(part: tuple[Any, Any, Any], question: bytes, number: int) -> bytes:
    return _core.block_answer(_aligned(part), question, number)


def _aligned(part: Any) -> Any:
    """Arrays that came over the network may stand at any byte; a no-op otherwise."""
    if isinstance(part, tuple):
        return tuple(_aligned(inner) for inner in part)
    if isinstance(part, np.ndarray):
        return np.require(part, requirements=["C", "A"])
    return part


def _predict(estimator: ProperLossClassifier, name: str, X: Any) -> NDArray[Any]:
    if X.shape[0] == 0:
        shape = (0, 2) if name == "predict_proba" else (0,)
        return np.empty(shape, dtype=estimator.classes_.dtype if name == "predict" else np.float64)
    result: NDArray[Any] = getattr(estimator, name)(X)
    return result


# -- collections -------------------------------------------------------------------------------


def _blocks_of(collection: Any) -> list[Delayed]:
    """The partitions of a collection by rows."""
    if not dask.is_dask_collection(collection):
        raise TypeError(
            f"DaskProperLossClassifier takes Dask collections, not {type(collection).__name__}; use"
            " ProperLossClassifier for data in memory"
        )
    if isinstance(collection, da.Array) and collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    return list(np.asarray(collection.to_delayed(), dtype=object).reshape(-1))


def _partitions(X: Any, y: Any, sample_weight: Any) -> list[tuple[Delayed, Delayed, Any]]:
    rows, labels = _blocks_of(X), _blocks_of(y)
    weights = [None] * len(rows) if sample_weight is None else _blocks_of(sample_weight)
    for name, parts in (("y", labels), ("sample_weight", weights)):
        if len(parts) != len(rows):
            raise ValueError(
                f"{name} has {len(parts)} partitions, but X has {len(rows)}; partition them alike"
            )
    return list(zip(rows, labels, weights, strict=True))


def _names(X: Any) -> NDArray[Any] | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)
