"""Time of a whole fit of ProperLossClassifier beside scikit-learn's, in one run: `make quality-time`.

Each side has one thread (`--threads`). The other side is a pipeline of StandardScaler and one
LogisticRegression, or LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss"); sparse rows are
scaled but not centred there. The methods take turns, the shortest CPU time of the turns counts: on a
busy machine wall time says little, and with one thread they are the same. *Mixed units*: columns
times 10^-2 to 10^2, so that all scalings of the columns are walked. LogisticRegressionCV is left out on
the images, where it takes a quarter of an hour. Then two threads beside one, in wall time, and a fit
from a Parquet file through the command line (`--cli`) beside polars' read and one LogisticRegression.
`--only` runs some of it, `--skip-cv` leaves LogisticRegressionCV out.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

SHAPES = {
    "tiny": (500, 10),
    "small": (2_000, 20),
    "image-like": (1_000, 784),
    "square": (3_000, 1_000),
    "wide": (500, 5_000),
    "middle": (20_000, 200),
    "long": (100_000, 50),
    "longest": (1_000_000, 20),
}
MIXED = {"image-like-mixed": (1_000, 784), "wide-mixed": (500, 5_000)}
SPARSE = {"csr-5": (5_000, 20_000), "csr-50": (50_000, 50_000)}
TWO_THREADS = ("longest", "middle")
PARQUET = (3_000_000, 10)
NAMES = (*SHAPES, *MIXED, *SPARSE, "images", "parquet")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=NAMES, nargs="*")
    parser.add_argument("--skip-cv", action="store_true", help="leave LogisticRegressionCV out")
    parser.add_argument("--wall", action="store_true", help="our own wall time alone, on --threads threads")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cli", default="target/release/properloss", help="the command line to time")
    return parser.parse_args()


ARGUMENTS = arguments()
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from properloss import ProperLossClassifier  # noqa: E402

import images  # noqa: E402


def dense(m, d, mixed=False):
    """Normal columns, a linear score of size 2; as many test rows, at most 20,000."""
    rng = np.random.default_rng(7)
    tests = min(m, 20_000)
    x = rng.standard_normal((m + tests, d))
    w = rng.standard_normal(d) / np.sqrt(d)
    y = (rng.random(m + tests) < 1 / (1 + np.exp(-2 * (x @ w)))).astype(int)
    if mixed:
        x *= 10 ** rng.uniform(-2, 2, d)
    return x[:m], y[:m], x[m:], y[m:]


def sparse(m, d, stored=60):
    """Rows of unit length, words by Zipf's law, 60 of them a row at most."""
    rng = np.random.default_rng(7)
    tests = min(m, 5_000)
    rows = np.repeat(np.arange(m + tests), stored)
    columns = np.minimum(np.exp(rng.random(len(rows)) * np.log(d)).astype(int), d) - 1
    values = rng.exponential(size=len(rows)) + 0.1
    x = sp.csr_matrix((values, (rows, columns)), shape=(m + tests, d))
    x = sp.diags(1 / np.sqrt(np.asarray(x.multiply(x).sum(1)).ravel())) @ x
    z = x @ (rng.standard_normal(d) * 6)
    y = (rng.random(m + tests) < 1 / (1 + np.exp(-z))).astype(int)
    x = x.tocsr()
    x.sort_indices()
    return x[:m], y[:m], x[m:], y[m:]


def odd_or_even():
    """Odd against even classes, pixels as f32."""
    data = images.fashion_mnist()
    return data and (data[0], data[1] % 2, data[2], data[3] % 2)


def draw(name):
    if name == "images":
        return "60,000 x 784 f32, fashion-mnist", odd_or_even()
    m, d = {**SHAPES, **MIXED, **SPARSE}[name]
    if name in SPARSE:
        return f"{m:,} x {d:,} CSR, 60 a row", sparse(m, d)
    kind = ", mixed units" if name in MIXED else ""
    return f"{m:,} x {d:,}{kind}", dense(m, d, name in MIXED)


def methods(x, name):
    scaler = lambda: StandardScaler(with_mean=not sp.issparse(x))  # noqa: E731
    yield "ours", ProperLossClassifier, 1
    yield "LR", lambda: make_pipeline(scaler(), LogisticRegression()), 1
    if not ARGUMENTS.skip_cv and name != "images":
        cv = lambda: LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss")  # noqa: E731
        yield "LR-CV", lambda: make_pipeline(scaler(), cv()), ARGUMENTS.turns


def measure(x, y, clock, shape):
    """The shortest time and the last model of each method; turns interleaved, long ones fewer."""
    times, models = {}, {}
    for turn in range(ARGUMENTS.turns):
        for name, make, rarely in methods(x, shape):
            # A long method has one turn.
            if turn % rarely or (turn and times[name] > 20):
                continue
            start = clock()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                models[name] = make().fit(x, y)
            times[name] = min(times.get(name, np.inf), clock() - start)
    return times, models


def main():
    chosen = [n for n in NAMES if not ARGUMENTS.only or n in ARGUMENTS.only]
    if ARGUMENTS.wall:
        for name in chosen:
            _, (x, y, _, _) = draw(name)
            best = np.inf
            for _ in range(ARGUMENTS.turns):
                start = time.perf_counter()
                ProperLossClassifier().fit(x, y)
                best = min(best, time.perf_counter() - start)
            print(name, best)
        return
    print(f"threads: {ARGUMENTS.threads}; CPU milliseconds")
    heads = ("ours", "LR", "LR-CV", "/ LR", "/ LR-CV")
    print(f"{'data':32}" + "".join(f"{h:>9}" for h in heads) + "   test log-loss of each", flush=True)
    for name in (n for n in chosen if n != "parquet"):
        title, data = draw(name)
        if data is None:
            print(f"{title:32}skipped: no data (put the four IDX files below data/fashion-mnist)")
            continue
        x, y, x_test, y_test = data
        times, models = measure(x, y, time.process_time, name)
        ours, one, many = (1000 * times.get(n, np.nan) for n in ("ours", "LR", "LR-CV"))
        losses = [log_loss(y_test, model.predict_proba(x_test)[:, 1]) for model in models.values()]
        line = f"{title:32}{ours:9.1f}{one:9.1f}{many:9.1f}{ours / one:9.2f}{ours / many:9.2f}   "
        print(line + " ".join(f"{loss:.4f}" for loss in losses), flush=True)
    for name in (n for n in TWO_THREADS if n in chosen and ARGUMENTS.threads == 1):
        walls = {1: [], 2: []}
        for _ in range(2):
            for threads in (1, 2):
                command = [sys.executable, __file__, "--wall", "--threads", str(threads), "--only", name]
                answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                walls[threads].append(float(answer.split()[1]))
        one, two = min(walls[1]), min(walls[2])
        print(f"{name}: {one:.3f} s on one thread, {two:.3f} s on two: {one / two:.2f} times as fast", flush=True)
    if "parquet" in chosen:
        parquet()


def parquet():
    """`properloss fit` on a file beside polars' read and one LogisticRegression, CPU time, one thread."""
    import polars

    if not Path(ARGUMENTS.cli).exists():
        print("parquet: skipped: no command line (cargo build --release -p properloss-cli)")
        return
    os.environ["POLARS_MAX_THREADS"] = str(ARGUMENTS.threads)
    with tempfile.TemporaryDirectory() as folder:
        file, model = Path(folder) / "rows.parquet", Path(folder) / "model.json"
        x, y, _, _ = dense(*PARQUET)
        columns = {f"x{j}": x[:, j] for j in range(x.shape[1])}
        polars.DataFrame({"label": y, **columns}).write_parquet(file)
        times = {"ours": [], "read": [], "LR": []}
        for _ in range(ARGUMENTS.turns):
            before = os.times()
            command = [ARGUMENTS.cli, "fit", str(file), "--label", "label", "-o", str(model)]
            subprocess.run(command, check=True, capture_output=True)
            after = os.times()
            times["ours"].append(
                after.children_user + after.children_system - before.children_user - before.children_system
            )
            start = time.process_time()
            frame = polars.read_parquet(file)
            y, x = frame["label"].to_numpy(), frame.drop("label").to_numpy()
            times["read"].append(time.process_time() - start)
            start = time.process_time()
            make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
            times["LR"].append(time.process_time() - start)
    ours, read, one = (min(times[k]) for k in ("ours", "read", "LR"))
    print(
        f"3,000,000 x 10 from Parquet, CPU seconds: ours {ours:.2f}, polars' read {read:.2f}, "
        f"LR {one:.2f}: {ours / (read + one):.2f} times read and LR"
    )


if __name__ == "__main__":
    sys.exit(main())
