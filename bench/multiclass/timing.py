"""Seconds of ProperLossClassifier beside multinomial LogisticRegressionCV: `make time-multiclass`.

One thread each, the same columns. Processor time counts, so that a busy machine does not matter; the
methods take turns, the shortest turn counts. With `--threads 2` both sides have two, the clock counts,
and LogisticRegressionCV has its best setting: threads of BLAS, or a process a fold (`n_jobs`).
"""

import argparse
import os
import sys
import time
import warnings
from functools import partial
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--images", action="store_true", help="fashion-mnist, 60,000 x 784 f32, as well")
parser.add_argument("--growth", action="store_true", help="growth in rows and classes as well")
parser.add_argument("--turns", type=int, default=3)
parser.add_argument("--threads", type=int, default=1)
ARGUMENTS = parser.parse_args()
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)

import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegressionCV  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402

from properloss import ProperLossClassifier  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quality"))
from images import fashion_mnist  # noqa: E402


def synthetic(m, d, k):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((m + 5_000, d))
    w = rng.standard_normal((d, k)) * 2 / np.sqrt(d)
    y = (x @ w + rng.gumbel(size=(len(x), k))).argmax(1)
    return x[:m], y[:m], x[m:], y[m:]


#: Processes of LogisticRegressionCV that are tried; the other threads are those of BLAS.
JOBS = sorted({1, ARGUMENTS.threads})
#: Of several threads only the clock tells what they bring.
CLOCK = time.process_time if ARGUMENTS.threads == 1 else time.perf_counter


def peer(jobs):
    settings = {"l1_ratios": (0,), "use_legacy_attributes": False, "n_jobs": jobs}
    return LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", **settings)


def timed(makers, data, turns):
    """The shortest time of all makers and turns, and the test log-loss."""
    x, y, x_test, y_test = data
    best, model = np.inf, None
    for make in makers * turns:
        start = CLOCK()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(x, y)
        best = min(best, CLOCK() - start)
    return best, log_loss(y_test, model.predict_proba(x_test))


def line(title, data, turns, both=True):
    ours, loss = timed([ProperLossClassifier], data, turns)
    text = f"{title:34}{ours:9.2f}s"
    if both:
        theirs, other = timed([partial(peer, jobs) for jobs in JOBS], data, turns)
        text += f"{theirs:9.2f}s{ours / theirs:8.2f}{loss:11.4f}{other:9.4f}"
    print(text, flush=True)


print(f"{'data':34}{'proper':>10}{'LR-CV':>10}{'ratio':>8}{'log-loss':>11}{'LR-CV':>9}")
for m, d, k in ((2_000, 20, 3), (20_000, 50, 5), (5_000, 784, 10)):
    line(f"{m:,} x {d} x {k}", synthetic(m, d, k), ARGUMENTS.turns)
if ARGUMENTS.growth:
    for m, k in ((5_000, 3), (10_000, 3), (20_000, 3), (40_000, 3), (10_000, 6), (10_000, 12), (10_000, 24)):
        line(f"{m:,} x 20 x {k}", synthetic(m, 20, k), 1, both=False)
if ARGUMENTS.images:
    data = fashion_mnist()
    if data is None:
        print("fashion-mnist: no data (put the four IDX files below data/fashion-mnist)")
    else:
        line("fashion-mnist, 60,000 x 784 x 10", data, 1)
