"""Seconds of ProperLossClassifier beside multinomial LogisticRegressionCV: `make time-multiclass`.

One thread each, the same columns. Processor time counts, so that a busy machine does not matter; the
methods take turns, the shortest turn counts.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--images", action="store_true", help="fashion-mnist, 60,000 x 784 f32, as well")
parser.add_argument("--growth", action="store_true", help="growth in rows and classes as well")
parser.add_argument("--turns", type=int, default=3)
ARGUMENTS = parser.parse_args()
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

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


def peer():
    return LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False)


def timed(make, data, turns):
    x, y, x_test, y_test = data
    best, model = np.inf, None
    for _ in range(turns):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(x, y)
        best = min(best, time.process_time() - start)
    return best, log_loss(y_test, model.predict_proba(x_test))


def line(title, data, turns, both=True):
    ours, loss = timed(ProperLossClassifier, data, turns)
    text = f"{title:34}{ours:9.2f}s"
    if both:
        theirs, other = timed(peer, data, turns)
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
