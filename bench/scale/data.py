"""Rows of a known law, written to a Parquet file as they are made: 20 columns of 4 bytes and a label."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

COLUMNS = 20
BATCH = 1 << 18
NAMES = [f"x{j}" for j in range(COLUMNS)]


def batches(rows: int, seed: int = 0) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int8]]]:
    """The link is not the sigmoid: labels are flipped with probability 0.05."""
    w = np.random.default_rng(7).normal(size=COLUMNS) / np.sqrt(COLUMNS)
    for start in range(0, rows, BATCH):
        rng = np.random.default_rng([seed, start])
        X = rng.standard_normal((min(BATCH, rows - start), COLUMNS), dtype=np.float32)
        p = 0.05 + 0.9 / (1.0 + np.exp(-2.0 * (X @ w) + 1.0))
        yield X, (rng.random(len(X)) < p).astype(np.int8)


def write(path: Path, rows: int, seed: int = 0) -> None:
    """A file of uncompressed row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([*((name, pa.float32()) for name in NAMES), ("y", pa.int8())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as out:
        for X, y in batches(rows, seed):
            out.write_table(pa.table([*X.T, y], schema=schema))
