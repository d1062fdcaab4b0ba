"""Wall time of ProperLossClassifier beside LogisticRegressionCV, in one run: `make quality-time`.

Both see the same standardised columns and the same number of threads. The methods take turns; the
shortest of the turns counts. `--only` runs one shape; `--threads 1` is for a fair look at one core.
"""

import argparse
import gzip
import os
import sys
import time
import warnings
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=("small", "long", "images"), nargs="*")
    parser.add_argument("--ours-alone", action="store_true", help="skip LogisticRegressionCV")
    return parser.parse_args()


ARGUMENTS = arguments()
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)

import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegressionCV  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from properloss import ProperLossClassifier  # noqa: E402


def synthetic(m, d):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((2 * m, d))
    w = rng.standard_normal(d) / np.sqrt(d)
    y = rng.random(2 * m) < 1 / (1 + np.exp(-2 * (x @ w)))
    return x[:m], y[:m].astype(int), x[m:], y[m:].astype(int)


def fashion_mnist():
    """Odd against even classes, pixels as f32."""
    folders = [os.environ.get("PROPERLOSS_DATA"), "data", "../shared/data"]
    for folder in (Path(f) for f in folders if f):
        for inner in (folder, folder / "fashion-mnist"):
            if (inner / "train-images-idx3-ubyte.gz").exists() and "fashion" in str(inner):
                return (*idx(inner, "train"), *idx(inner, "t10k"))
    return None


def idx(folder, part):
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    return x.astype(np.float32) / np.float32(255), (y % 2).astype(int)


def timed(make, x, y, x_test, y_test, turns):
    best, loss = np.inf, None
    for _ in range(turns):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(x, y)
        best = min(best, time.perf_counter() - start)
        loss = log_loss(y_test, model.predict_proba(x_test)[:, 1])
    return best, loss


def main():
    shapes = {
        "small": ("2,000 x 20", lambda: synthetic(2_000, 20), 5),
        "long": ("100,000 x 50", lambda: synthetic(100_000, 50), 2),
        "images": ("fashion-mnist, 60,000 x 784 f32", fashion_mnist, 1),
    }
    print(f"threads: {ARGUMENTS.threads}")
    print(f"{'data':34}{'proper':>10}{'LR-CV':>10}{'ratio':>8}{'log-loss':>11}{'LR-CV':>9}")
    for name, (title, draw, turns) in shapes.items():
        if ARGUMENTS.only and name not in ARGUMENTS.only:
            continue
        data = draw()
        if data is None:
            print(f"{title:34}skipped: no data (put the four IDX files below data/fashion-mnist)")
            continue
        x, y, x_test, y_test = data
        scaler = StandardScaler().fit(x)
        x, x_test = scaler.transform(x), scaler.transform(x_test)
        ours, loss = timed(ProperLossClassifier, x, y, x_test, y_test, turns)
        line = f"{title:34}{ours:9.2f}s"
        if ARGUMENTS.ours_alone:
            print(f"{line}{'':18}{loss:11.4f}", flush=True)
            continue
        peer, peer_loss = timed(
            lambda: LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss"), x, y, x_test, y_test, turns
        )
        print(f"{line}{peer:9.2f}s{ours / peer:8.2f}{loss:11.4f}{peer_loss:9.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
