"""One pass-by-pass learner of another library on a Parquet file: `peers.py sgd|xgboost FILE [PASSES]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from data import BATCH, NAMES
from numpy.typing import NDArray


def read(path: str) -> Iterator[tuple[NDArray[np.float32], NDArray[Any]]]:
    """Batches of the file, decoded anew in every pass."""
    for batch in pq.ParquetFile(path).iter_batches(BATCH):
        X = np.column_stack([batch.column(name).to_numpy() for name in NAMES])
        yield X, batch.column("y").to_numpy()


def log_loss(p: NDArray[Any], y: NDArray[Any]) -> float:
    """Summed."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.sum(np.where(y == 1, np.log(p), np.log1p(-p))))


def sgd(path: str, passes: int) -> tuple[float, int]:
    """scikit-learn's SGDClassifier, partial_fit."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", random_state=0)
    for _ in range(passes):
        for X, y in read(path):
            model.partial_fit(X, y, classes=[0, 1])
    total, rows = 0.0, 0
    for X, y in read(path):
        total, rows = total + log_loss(model.predict_proba(X)[:, 1], y), rows + len(y)
    return total / rows, passes


def xgboost(path: str, passes: int) -> tuple[float, int]:
    """xgboost with an external-memory iterator: trees, `passes` rounds."""
    import tempfile

    import xgboost as xgb

    class Batches(xgb.DataIter):
        def __init__(self, folder: str) -> None:
            self._rows = read(path)
            super().__init__(cache_prefix=f"{folder}/cache")

        def next(self, input_data: Any) -> bool:
            batch = next(self._rows, None)
            if batch is None:
                return False
            input_data(data=batch[0], label=batch[1])
            return True

        def reset(self) -> None:
            self._rows = read(path)

    with tempfile.TemporaryDirectory() as folder:
        matrix = xgb.ExtMemQuantileDMatrix(Batches(folder), max_bin=64)
        settings = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": 64, "nthread": 2}
        model = xgb.train(settings, matrix, num_boost_round=passes)
        total, rows = 0.0, 0
        for X, y in read(path):
            total, rows = total + log_loss(model.inplace_predict(X), y), rows + len(y)
        del matrix
    return total / rows, passes


if __name__ == "__main__":
    which, path, *rest = sys.argv[1:]
    loss, passes = {"sgd": sgd, "xgboost": xgboost}[which](path, int(rest[0]) if rest else 5)
    print(json.dumps({"log_loss": loss, "passes": passes}))
