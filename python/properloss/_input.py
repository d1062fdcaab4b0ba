"""From what users hold to what the engine reads: rows, 0/1 labels, weights.

C-ordered ``float32`` and ``float64`` arrays and CSR matrices are passed on as they are; everything
else is converted once. Values are checked by the engine, which names the row and the column.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_X_y
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

from properloss import _core
from properloss._frame import Frame, is_frame, is_plain, read_array, read_frame, select

#: A C-ordered matrix, or ``(indptr, indices, data, n_columns)`` of a sparse one.
Rows: TypeAlias = "NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]"

_X_CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
    "ensure_all_finite": False,
}


def training_input(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, several: bool = False
) -> tuple[Rows, NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
    """Check ``X``, ``y``, ``sample_weight``; return rows, classes, labels 0, 1, ... and weights."""
    refuse_dask(X)
    X, label = _arrow_table(X), getattr(y, "name", None)
    vars(estimator).pop("_encoder", None)
    if _is_encoded(estimator, X):
        X, y = _encode_training(estimator, X, y)
    else:
        X, y = validate_data(estimator, X, y, **_X_CHECKS)
    estimator._label = label if isinstance(label, str) else None
    classes, labels = encode_labels(y, several=several)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        kept = weights > 0.0
        if not kept.all():
            # A row of weight 0 is a removed row, exactly: not even its score may count.
            X, labels, weights = X[kept], labels[kept], weights[kept]
            if labels.min() == labels.max():
                raise ValueError(
                    "This solver needs samples of at least 2 classes with a positive weight, but"
                    f" the data contains only one class: {classes[labels[0]]!r}"
                )
            missing = np.flatnonzero(np.bincount(labels, minlength=len(classes)) == 0)
            if missing.size:
                raise ValueError(
                    f"Every row of class {classes[missing[0]]!r} has weight 0; leave the class out"
                    " of y, or give one of its rows a positive weight"
                )
    return as_rows(X), classes, labels, weights


#: Below this mean the weights of the rows cannot be meant as counts.
_LEAST_MEAN_WEIGHT = 0.1


def meant_weights(
    weights: NDArray[np.float64] | None, meaning: str, owner: str
) -> NDArray[np.float64] | None:
    """Weights as counts, or scaled to mean 1; counts that add up to next to nothing warn.

    A weight of 2 counts as the row twice. Weights that sum to 1 are then *one row* in all, of which
    cross-validation rightly learns nothing but the mean.
    """
    if weights is None or not len(weights):
        return weights
    mean = float(weights.mean())
    if meaning == "relative":
        return weights / mean
    if mean < _LEAST_MEAN_WEIGHT:
        warnings.warn(
            f"the weights of the {len(weights)} rows sum to {weights.sum():.4g}: {owner} counts a"
            " weight of 2 as the row twice, so that this is as if there were hardly any rows, and the"
            ' model will be next to constant. If only their ratios mean something, pass'
            ' weights="relative", which scales them to mean 1.',
            UserWarning,
            stacklevel=4,
        )
    return weights


def prediction_input(estimator: Any, X: Any) -> Rows:
    """Check ``X`` against what the estimator was fitted on."""
    X = _arrow_table(X)
    encoder: _core.TableEncoder | None = getattr(estimator, "_encoder", None)
    if encoder is not None and is_frame(X):
        # A model of a table finds its columns by name, whatever else the table holds.
        X = select(X, encoder.columns)
    if encoder is None or encoder.plain:
        X = validate_data(estimator, X, reset=False, **_X_CHECKS)
    else:
        X = _encode(estimator, encoder, X)
    return as_rows(X)


def is_a(X: Any, package: str, name: str) -> bool:
    """Whether ``X`` is of the class of that name below that package, which need not be installed."""
    return any(
        base.__name__ == name and base.__module__.split(".")[0] == package
        for base in type(X).__mro__
    )


def refuse_dask(X: Any) -> None:
    """A collection of Dask would be brought into memory as a whole, silently."""
    if type(X).__module__.split(".")[0] in ("dask", "dask_expr"):
        raise TypeError(
            f"{type(X).__name__} is a Dask collection: use properloss.dask.DaskProperLossClassifier,"
            " which leaves the rows with the workers, or call .compute() first"
        )


def _is_encoded(estimator: Any, X: Any) -> bool:
    """Whether columns have to be encoded: texts, truth values, times, or values to fill."""
    if is_frame(X) and not is_plain(X):
        return True
    return getattr(estimator, "missing", "error") == "mean" and not issparse(X)


def _encode_training(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Learn the encoding of a table as the command line does, and encode it."""
    frame, X = _frame_of(estimator, X, None)
    check_consistent_length(X, y)
    encoder = _core.TableEncoder.fit(
        frame.columns, frame.rows, getattr(estimator, "missing", "error"), frame.categorical
    )
    features, _ = encoder.encode(frame.columns, frame.rows)
    features, y = check_X_y(features, y, estimator=estimator, **_X_CHECKS)
    validate_data(estimator, X, skip_check_array=True)
    estimator._encoder = encoder
    return features, y


def _encode(estimator: Any, encoder: _core.TableEncoder, X: Any) -> NDArray[np.float64]:
    frame, X = _frame_of(estimator, X, encoder.columns)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    features, unknown = encoder.encode(frame.columns, frame.rows)
    if unknown:
        warnings.warn(
            f"{unknown} value(s) are categories that did not occur at training, encoded as none of"
            " the known ones",
            UserWarning,
            stacklevel=4,
        )
    return features


def _frame_of(estimator: Any, X: Any, names: list[str] | None) -> tuple[Frame, Any]:
    """The columns of a data frame or of a matrix, and what was read."""
    if is_frame(X):
        return read_frame(X), X
    if issparse(X):
        raise TypeError(f"{type(estimator).__name__} was fitted to a table; X is a sparse matrix")
    X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if names is None or len(names) != X.shape[1]:
        names = [f"x{j}" for j in range(X.shape[1])]
    return read_array(X, names), X


def encode_labels(y: NDArray[Any], *, several: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
    """The classes in order, and the number of its class for each row: ``uint8`` for two classes,
    ``uint32`` if there are ``several``."""
    _one_type(y)
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary" and not (several and kind == "multiclass"):
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )
    classes, labels = np.unique(y, return_inverse=True)
    need_two_classes(classes)
    return classes, labels.astype(np.uint8 if len(classes) == 2 else np.uint32)


def need_two_classes(classes: NDArray[Any]) -> None:
    """Labels of one class alone are an error, in scikit-learn's words."""
    if len(classes) < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains"
            f" only one class: {classes[0]!r}"
        )


def _one_type(y: NDArray[Any]) -> None:
    """Labels of types that cannot be put in order have no order of classes."""
    if y.dtype != object:
        return
    missing = [row for row, label in enumerate(y) if label is None]
    if missing:
        raise ValueError(f"y[{missing[0]}] is None: every row needs a label")
    types = sorted({type(label).__name__ for label in y})
    if 0 < sum(name.startswith("str") for name in types) < len(types):
        raise TypeError(
            f"y mixes labels of the types {', '.join(types)}, which have no order: make them all of one type,"
            " for example with y.astype(str)"
        )


def as_floats(X: Any) -> Any:
    """CSR or an array, of ``float32`` or ``float64``."""
    X = X.tocsr() if issparse(X) else np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def as_rows(X: Any) -> Rows:
    """A checked matrix in the form the engine borrows."""
    if isinstance(X, np.ndarray):
        # A view into raw bytes need not stand at a multiple of 8; a no-op otherwise.
        return np.require(X, requirements=["C", "A"])
    if not X.has_canonical_format:
        # The engine wants every column once and in order; the caller's matrix stays as it is.
        X = X.copy()
        X.sum_duplicates()
    # Sliced or memory-mapped parts may be longer or strided; these are no-ops otherwise.
    indices, data = X.indices[: X.indptr[-1]], X.data[: X.indptr[-1]]
    return (
        np.ascontiguousarray(X.indptr),
        np.ascontiguousarray(indices),
        np.ascontiguousarray(data),
        X.shape[1],
    )


@contextmanager
def not_finite_explained(estimator: Any, rows: Rows) -> Iterator[None]:
    """In it the engine's error about a value is one in scikit-learn's words, with the place."""
    try:
        yield
    except _core.NotFiniteError as error:
        words, row, column = error.args
    else:
        return
    names = getattr(estimator, "feature_names_in_", None)
    name = "" if names is None or column >= len(names) else f" ({names[column]!r})"
    values = rows if isinstance(rows, np.ndarray) else rows[2]
    try:
        assert_all_finite(values, estimator_name=type(estimator).__name__, input_name="X")
    except ValueError as sklearn_error:
        first, *rest = str(sklearn_error).split("\n", 1)
        place = f"The first such value is in row {row}, column {column}{name}."
        words = "\n".join([f"{first} {place}", *rest])
    raise ValueError(words)


def _arrow_table(X: Any) -> Any:
    """Arrow data of any library as something scikit-learn reads, with its column names."""
    if not hasattr(X, "__arrow_c_stream__") or hasattr(X, "__array__"):
        return X
    try:
        import pyarrow
    except ImportError as error:
        raise TypeError(
            f"X is {type(X).__name__}, an Arrow stream; install pyarrow to read it"
        ) from error
    return pyarrow.table(X)
