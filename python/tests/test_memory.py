"""Fits say what they take before they begin, and are refused with that number if it is too much."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_REFUSED = """
import resource
import numpy as np
from properloss import ProperLossClassifier, ProperCalibrator

rng = np.random.default_rng(0)
X = rng.normal(size=(400_000, 3))
two, three = (X[:, 0] > 0).astype(int), np.arange(400_000) % 3
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
# A machine that has 64 MB left.
resource.setrlimit(resource.RLIMIT_DATA, (used + (64 << 20), resource.RLIM_INFINITY))
fits = [
    lambda: ProperLossClassifier().fit(X, two),
    lambda: ProperLossClassifier().fit(X, three),
    lambda: ProperLossClassifier(cv=list(_folds())).fit(X, three),
    lambda: ProperCalibrator().fit(X[:, 0].copy(), two),
    lambda: ProperCalibrator().fit(X, three),
]

def _folds():
    held = np.arange(400_000) % 2 == 0
    yield np.flatnonzero(held), np.flatnonzero(~held)
    yield np.flatnonzero(~held), np.flatnonzero(held)

for fit in fits:
    try:
        fit()
        print("fitted")
    except MemoryError as error:
        print(str(error).replace("\\n", " / "))
resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY,) * 2)
ProperCalibrator().fit(X[:, 0].copy(), two)
print("fitted")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
def test_fits_ask_for_memory_before_they_begin():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _REFUSED], env=environment, capture_output=True, text=True, check=False
    )
    told = done.stdout.splitlines()
    assert len(told) == 6 and told[5] == "fitted", done
    # 400,000 rows: 192 bytes a row for two classes, 64 + 64 x 3 for three; calibrating,
    # 192 + 64 a class. Columns and their Grams are some ten kilobytes (73.24 and .04).
    needed = ["73.3 MB", "97.7 MB", "97.7 MB", "122 MB", "146 MB"]
    methods = ["proper", "proper", "proper", "calibrate", "calibrate"]
    for line, method, amount in zip(told, methods, needed, strict=False):
        assert line.startswith(f"fitting {method} takes about {amount} beside the rows"), line
        assert "may be used / hint: use fewer rows" in line, line


_PEAK = """
import sys
import numpy as np
from properloss import ProperLossClassifier

def field(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))

m, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(7)
X = rng.standard_normal((m, d))
y = (rng.random(m) < 1.0 / (1.0 + np.exp(-2.0 / np.sqrt(d) * X.sum(axis=1)))).astype(int)
ProperLossClassifier().fit(X[:1000], y[:1000])
before = field("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
ProperLossClassifier().fit(X, y)
print(field("VmHWM") - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("m", "d"), [(400_000, 5), (20_000, 400)])
def test_the_default_takes_a_dozen_numbers_a_row_and_a_dozen_squares(m: int, d: int) -> None:
    """On one thread 74 to 101 bytes a row (bench/quality/memory.py), and 8 to 12 numbers for every pair of columns:
    160 to 200 bytes when the certificate copied rows, 35 squares when all parts of the Grams were there at once."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _PEAK, str(m), str(d)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 128 * m + 16 * 8 * d * d, done.stdout
