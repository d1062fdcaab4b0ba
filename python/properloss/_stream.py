"""Rows that are read batch by batch: files, datasets, lazy frames, re-iterables of batches.

Batches are decoded once into blocks on disk (a temporary file without a name), which the engine reads
again in every pass.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from properloss import _core
from properloss._input import as_floats, as_rows, is_a, need_two_classes

#: What a fit may use if nothing is said.
_MEMORY = 1 << 30
_BATCH = 1 << 16

Batch = tuple[Any, Any, Any]


def is_source(X: Any) -> bool:
    """Whether ``X`` is something to be read batch by batch."""
    if isinstance(X, str | os.PathLike):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and (
            all(isinstance(path, str | os.PathLike) for path in X)
            or all(isinstance(batch, tuple) and len(batch) in (2, 3) for batch in X)
        )
    if is_a(X, "pyarrow", "Dataset") or is_a(X, "polars", "LazyFrame"):
        return True
    arrays = ("shape", "__array__", "__dataframe__", "__arrow_c_stream__", "keys")
    return hasattr(X, "__iter__") and not any(hasattr(X, name) for name in arrays)


def parse_bytes(limit: int | str | None) -> int:
    """``"2GB"``, ``"500M"`` or bytes; units are powers of 1024."""
    if limit is None:
        return _MEMORY
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)(?:I?B)?\s*", limit.upper())
        if found is None:
            raise ValueError(f"memory_limit is {limit!r}; it must be like '2GB', or a number of bytes")
        power = " KMGT".index(found[2] or " ")
        limit = int(float(found[1]) * 1024**power)
    if limit < 1 << 24:
        raise ValueError(f"memory_limit is {limit} bytes; a fit needs at least 16 MB")
    return int(limit)


class Batches:
    """Rows, labels and weights of a re-iterable of batches, as often as asked for."""

    names: list[str] | None = None

    def __init__(self, batches: Iterable[Any]) -> None:
        if iter(batches) is batches:
            raise TypeError(
                f"{type(batches).__name__} can be read once only; give something that can be read again,"
                " such as a list of batches or an object whose __iter__ starts anew"
            )
        self._batches = batches

    def labels(self) -> Iterator[NDArray[Any]]:
        """The labels, batch by batch."""
        return (y for _, y, _ in self)

    def __iter__(self) -> Iterator[Batch]:
        for X, y, *weights in self._batches:
            yield X, np.asarray(y).reshape(-1), weights[0] if weights else None


class TableBatches:
    """The same of the columns of a dataset."""

    def __init__(self, dataset: Any, label: str | None, weight: str | None, folder: Any = None) -> None:
        import pyarrow.types as types

        self._dataset = dataset
        #: Where the dataset lies, if that goes with this object.
        self._folder = folder
        columns = list(dataset.schema.names)
        self._label = columns[-1] if label is None else label
        self._weight = weight
        for role, name in (("label", self._label), ("sample_weight", weight)):
            if name is not None and name not in columns:
                raise ValueError(f"{role}={name!r} is no column; the columns are {columns}")
        self.names = [name for name in columns if name not in (self._label, weight)]
        kinds = [dataset.schema.field(name).type for name in self.names]
        for name, kind in zip(self.names, kinds, strict=True):
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"column {name!r} is {kind}: rows that are read batch by batch must be numbers."
                    " Encode it first, or fit with the command line, which does"
                )
        single = all(types.is_float32(kind) or types.is_boolean(kind) for kind in kinds)
        self._dtype = np.float32 if single else np.float64

    def _read(self, columns: list[str]) -> Iterator[list[NDArray[Any]]]:
        """Batches of these columns; a file that cannot be read is named, with its row group."""
        import pyarrow as pa

        try:
            for batch in self._dataset.to_batches(columns=columns, batch_size=_BATCH):
                yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        except (pa.ArrowException, OSError) as error:
            raise ValueError(_culprit(self._dataset, columns, error)) from None

    def labels(self) -> Iterator[NDArray[Any]]:
        """The labels, batch by batch."""
        return (labels for (labels,) in self._read([self._label]))

    def __iter__(self) -> Iterator[Batch]:
        beside = [self._label] if self._weight is None else [self._label, self._weight]
        for columns in self._read([*self.names, *beside]):
            y, *weights = columns[len(self.names) :]
            X = np.empty((len(y), len(self.names)), dtype=self._dtype)
            for j in range(len(self.names)):
                X[:, j] = columns[j]
            yield X, y, weights[0] if weights else None


def source_of(X: Any, label: str | None, weight: str | None) -> Batches | TableBatches:
    """What :func:`is_source` takes, as batches of rows, labels and weights."""
    if isinstance(X, str | os.PathLike):
        X = [X]
    if isinstance(X, list | tuple) and X and isinstance(X[0], str | os.PathLike):
        return TableBatches(_dataset([os.fspath(path) for path in X]), label, weight)
    if is_a(X, "polars", "LazyFrame"):
        # As a Parquet file, written as its rows come.
        folder = tempfile.TemporaryDirectory(prefix="properloss-")
        path = os.path.join(folder.name, "rows.parquet")
        X.sink_parquet(path)
        return TableBatches(_dataset([path]), label, weight, folder)
    if is_a(X, "pyarrow", "Dataset"):
        return TableBatches(X, label, weight)
    if label is not None or weight is not None:
        raise ValueError("label and the name of a weight are for files and tables")
    return Batches(X)


def _dataset(paths: list[str]) -> Any:
    try:
        import pyarrow
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("reading files batch by batch needs pyarrow: pip install pyarrow") from error
    found: list[str] = []
    for path in paths:
        if any(sign in path for sign in "*?["):
            matching = sorted(glob.glob(path))
            if not matching:
                raise FileNotFoundError(f"{path}: no file has such a name")
            found += matching
        elif os.path.exists(path):
            found.append(path)
        else:
            raise FileNotFoundError(f"{path}: no such file")
    ending = found[0].lower().removesuffix(".gz").rsplit(".", 1)[-1]
    formats: dict[str, Any] = {"parquet": "parquet", "pq": "parquet", "csv": "csv", "feather": "feather"}
    if ending in ("tsv", "tab"):
        import pyarrow.csv

        kind: Any = ds.CsvFileFormat(pyarrow.csv.ParseOptions(delimiter="\t"))
    elif ending in formats:
        kind = formats[ending]
    else:
        raise ValueError(f"{found[0]}: its name must end in .parquet, .csv, .tsv or .feather")
    try:
        dataset = ds.dataset(found, format=kind)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{found[0]}: not a readable file: {_line(error)}") from None
    _check_parts(dataset)
    return dataset


def _check_parts(dataset: Any) -> None:
    """Several files are one table: every one has the columns of the first."""
    import pyarrow as pa

    first: str | None = None
    names = list(dataset.schema.names)
    for fragment in dataset.get_fragments():
        try:
            own = list(fragment.physical_schema.names)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{fragment.path}: not a readable file: {_line(error)}") from None
        first = fragment.path if first is None else first
        lacking = [name for name in names if name not in own]
        further = [name for name in own if name not in names]
        if lacking or further:
            what = f"lacks the columns {lacking}" if lacking else f"has the further columns {further}"
            raise ValueError(f"{fragment.path}: it cannot be read after {first}: it {what}")


def _culprit(dataset: Any, columns: list[str], error: Exception) -> str:
    """Which file, and which of its row groups, cannot be read."""
    import pyarrow as pa

    for fragment in dataset.get_fragments():
        path = getattr(fragment, "path", None)
        try:
            groups = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment]
            for number, group in enumerate(groups, start=1):
                try:
                    for _ in group.to_batches(columns=columns, batch_size=_BATCH):
                        pass
                except (pa.ArrowException, OSError) as found:
                    where = f" row group {number} of {len(groups)}:" if len(groups) > 1 else ""
                    return f"{path}:{where} not readable: {_line(found)}"
        except (pa.ArrowException, OSError) as found:
            return f"{path}: not a readable file: {_line(found)}"
    return f"the rows cannot be read: {_line(error)}"


def _line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def classes_of(source: Batches | TableBatches) -> NDArray[Any]:
    """The two labels, in order."""
    seen: NDArray[Any] | None = None
    for labels in source.labels():
        here = np.unique(labels)
        seen = here if seen is None else np.union1d(seen, here)
        if len(seen) > 2:
            raise ValueError(
                "Only binary classification is supported for rows that are read batch by batch; the"
                f" labels {seen[:3]!r} occur"
            )
    if seen is None or len(seen) == 0:
        raise ValueError("Found array with 0 sample(s): there are no rows")
    need_two_classes(seen)
    return seen


def write_blocks(
    source: Batches | TableBatches, classes: NDArray[Any], memory: int
) -> tuple[_core.BlockFile, NDArray[np.float64], int]:
    """All rows on disk; the weights of the classes; the number of columns."""
    writer: _core.BlockWriter | None = None
    totals = np.zeros(2)
    columns, row, weighted = 0, 0, False
    for number, (X, y, w) in enumerate(source):
        X = as_floats(X)
        if X.ndim != 2 or X.shape[0] != len(y):
            raise ValueError(f"batch {number}: X has shape {X.shape}, but y has {len(y)} labels")
        if writer is None:
            columns, weighted = X.shape[1], w is not None
            writer = _core.BlockWriter(
                columns,
                single=X.dtype == np.float32,
                sparse=bool(issparse(X)),
                weighted=weighted,
                block_bytes=_core.block_bytes(memory),
            )
        if X.shape[1] != columns:
            raise ValueError(
                f"batch {number}: X has {X.shape[1]} columns, but those before it have {columns}"
            )
        if (w is not None) != weighted:
            raise ValueError(f"batch {number}: some batches have weights and some do not")
        strangers = y[~np.isin(y, classes)]
        if len(strangers):
            raise ValueError(f"batch {number}: label {strangers[0]!r} was not there before; read it again")
        positive = y == classes[1]
        weights = np.ones(len(y)) if w is None else np.ascontiguousarray(w, np.float64).reshape(-1)
        if len(weights) != len(y):
            raise ValueError(f"batch {number}: {len(weights)} weights, but {len(y)} labels")
        row += len(y)
        if weighted and not weights.all():
            # A row of weight 0 is a removed row, exactly.
            kept = weights != 0.0
            X, positive, weights = X[kept], positive[kept], weights[kept]
        totals += np.bincount(positive, weights=weights, minlength=2)
        try:
            writer.push(as_rows(X), positive.astype(np.uint8), weights if weighted else None)
        except _core.NotFiniteError as error:
            raise ValueError(f"batch {number} (up to row {row}): {error.args[0]}") from None
    assert writer is not None
    return writer.finish(), totals, columns
