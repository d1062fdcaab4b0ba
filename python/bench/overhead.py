"""What Python costs: fit against the engine alone, predict_proba against LogisticRegression.

All figures of a line come from one process and one run, taken in turns; the least time counts.
Run by ``make bench-python``. ``--quick`` takes a tenth of the rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression

import properloss as pl


def best(repeats: int, *functions: Callable[[], object]) -> list[float]:
    """The least time of each function, taken in turns."""
    times = [[] for _ in functions]
    for _ in range(repeats):
        for function, seconds in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
    return [min(seconds) for seconds in times]


def make(rows: int, columns: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((rows, columns), dtype=np.float32).astype(dtype)
    w = rng.normal(size=columns)
    z = (X - 0.5) @ w
    return X, (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int)


def fit_overhead(rows: int) -> None:
    X, y = make(rows, 784, "float32")
    print(f"\nfit, {rows:,} x 784 float32: Python's share over the engine's own time")
    for clf in (
        pl.BregmanTronClassifier(max_iter=20, tol=0),
        pl.GlmtronClassifier(max_iter=20, tol=0),
        pl.CanonicalLossClassifier(),
    ):
        shares, seconds = [], []
        for _ in range(3):
            start = time.perf_counter()
            clf.fit(X, y)
            total = time.perf_counter() - start
            shares.append(total / clf._engine_seconds - 1)
            seconds.append(clf._engine_seconds)
        print(
            f"  {type(clf).__name__:24s} engine {min(seconds):7.2f} s"
            f"   Python adds {min(shares):+7.2%} (worst of 3: {max(shares):+.2%})"
        )


def predict_speed(rows: int, columns: int, dtype: str) -> None:
    X, y = make(rows, columns, dtype)
    some = slice(0, 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logistic = LogisticRegression(max_iter=50).fit(X[some], y[some])
        ours = {
            "CanonicalLossClassifier": pl.CanonicalLossClassifier(max_iter=20).fit(X[some], y[some]),
            "BregmanTronClassifier": pl.BregmanTronClassifier(max_iter=30).fit(X[some], y[some]),
        }
    print(f"\npredict_proba, {rows:,} x {columns} {dtype}")
    for name, clf in ours.items():
        theirs, mine = best(
            7, lambda: logistic.predict_proba(X), lambda clf=clf: clf.predict_proba(X)
        )
        knots = len(clf.link_) if hasattr(clf.link_, "__len__") else 0
        print(
            f"  {name:24s} {mine * 1e3:7.1f} ms   LogisticRegression {theirs * 1e3:7.1f} ms"
            f"   ratio {mine / theirs:.2f}   ({knots} knots)"
        )


def import_time() -> None:
    code = "import time; t = time.perf_counter(); import properloss; print(time.perf_counter() - t)"
    run = lambda: float(subprocess.check_output([sys.executable, "-c", code]))  # noqa: E731
    print(f"import properloss: {min(run() for _ in range(5)) * 1e3:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    scale = 10 if parser.parse_args().quick else 1
    import_time()
    predict_speed(1_000_000 // scale, 50, "float64")
    predict_speed(60_000 // scale, 784, "float64")
    predict_speed(60_000 // scale, 784, "float32")
    fit_overhead(60_000 // scale)


if __name__ == "__main__":
    main()
