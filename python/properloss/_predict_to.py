"""Probabilities of the rows of files, written as they come."""

from __future__ import annotations

import os
from typing import Any

import numpy as np


def predict_to(estimator: Any, path_in: Any, path_out: Any) -> int:
    """Stream ``predict_proba`` from files to a file; returns the number of rows."""
    from properloss._stream import _BATCH, _dataset

    paths = [path_in] if isinstance(path_in, str | os.PathLike) else list(path_in)
    dataset = _dataset([os.fspath(path) for path in paths])
    import pyarrow as pa

    out = os.fspath(path_out)
    names = getattr(estimator, "feature_names_in_", None)
    columns = dataset.schema.names if names is None else list(names)
    missing = [name for name in columns if name not in dataset.schema.names]
    if missing:
        raise ValueError(f"{paths[0]}: columns {missing} are missing; it has {dataset.schema.names}")
    width = int(estimator.n_features_in_)
    if len(columns) != width:
        raise ValueError(f"{paths[0]} has {len(columns)} columns, but the classifier takes {width}")
    schema = pa.schema([(str(name), pa.float64()) for name in estimator.classes_])
    temporary = f"{out}.{os.getpid()}.partial"
    rows = 0
    try:
        with _writer(out, temporary, schema) as writer:
            for batch in dataset.to_batches(columns=columns, batch_size=_BATCH):
                if batch.num_rows == 0:
                    continue
                parts = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
                X = np.column_stack(parts).astype(np.float64, copy=False)
                if names is None:
                    p = estimator.predict_proba(X)
                else:
                    p = estimator.predict_proba(pa.table(list(X.T), names=columns))
                table = [pa.array(np.ascontiguousarray(column)) for column in p.T]
                writer.write_batch(pa.record_batch(table, schema=schema))
                rows += batch.num_rows
        os.replace(temporary, out)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
    return rows


def _writer(out: str, temporary: str, schema: Any) -> Any:
    if out.lower().endswith((".parquet", ".pq")):
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(temporary, schema)
    if out.lower().endswith(".csv"):
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(temporary, schema)
    raise ValueError(f"{out}: its name must end in .parquet or .csv")
