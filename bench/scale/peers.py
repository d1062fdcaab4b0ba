"""One learner that does not need all rows at once, on a Parquet file: `peers.py NAME FILE [PASSES]`.

Of other libraries: `sgd`, `xgboost` (external memory), `lightgbm` (its Dask form), `dask-ml` (logistic regression by
ADMM). Of ours: `dask`. Those on Dask have two workers of one thread; their peak is that of the largest worker.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator
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


def on_dask(path: str, fit: Callable[[Any, Any, Any], tuple[Any, int]]) -> tuple[float, int]:
    """A model fitted to Dask arrays of the row groups; its predictions are made here."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    groups = pq.ParquetFile(path).metadata.num_row_groups
    sizes = [pq.ParquetFile(path).metadata.row_group(k).num_rows for k in range(groups)]

    def part(k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        table = pq.ParquetFile(path).read_row_group(k)
        X = np.column_stack([table[name].to_numpy() for name in NAMES])
        return X, table["y"].to_numpy()

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
    ) as cluster, Client(cluster) as client:
        parts = [delayed(part)(k) for k in range(groups)]
        pairs = list(zip(parts, sizes, strict=True))
        X = da.concatenate(
            [da.from_delayed(p[0], (size, len(NAMES)), dtype=np.float32) for p, size in pairs]
        )
        y = da.concatenate([da.from_delayed(p[1], (size,), dtype=np.int8) for p, size in pairs])
        model, rounds = fit(client, X, y)
        total, rows = 0.0, 0
        for features, labels in read(path):
            total += log_loss(model.predict_proba(features)[:, 1], labels)
            rows += len(labels)
    return total / rows, rounds


def ours(path: str, _: int) -> tuple[float, int]:
    """This library on Dask."""
    from properloss.dask import DaskProperLossClassifier

    def fit(client: Any, X: Any, y: Any) -> tuple[Any, int]:
        model = DaskProperLossClassifier(client=client, blocks=4).fit(X, y)
        return model.to_local(), model.n_rounds_

    return on_dask(path, fit)


def lightgbm(path: str, passes: int) -> tuple[float, int]:
    """LightGBM's Dask form: `passes` trees."""
    from lightgbm.dask import DaskLGBMClassifier

    def fit(client: Any, X: Any, y: Any) -> tuple[Any, int]:
        model = DaskLGBMClassifier(client=client, n_estimators=passes, max_bin=63, verbose=-1)
        return model.fit(X, y).to_local(), passes

    return on_dask(path, fit)


def dask_ml(path: str, passes: int) -> tuple[float, int]:
    """dask-ml's logistic regression, by ADMM."""
    from dask_ml.linear_model import LogisticRegression

    def fit(_: Any, X: Any, y: Any) -> tuple[Any, int]:
        model = LogisticRegression(max_iter=passes).fit(X, y)
        return model, passes

    return on_dask(path, fit)


LEARNERS = {"sgd": sgd, "xgboost": xgboost, "lightgbm": lightgbm, "dask-ml": dask_ml, "dask": ours}

if __name__ == "__main__":
    which, path, *rest = sys.argv[1:]
    loss, passes = LEARNERS[which](path, int(rest[0]) if rest else 5)
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({"log_loss": loss, "passes": passes, "workers_mb": workers}))
