"""Many threads at once, and an interpreter that ends in the middle of a fit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import properloss as pl

#: One after the other, not beside each other, where pytest runs in several processes.
pytestmark = pytest.mark.xdist_group("threads")

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 5))
Y = (RNG.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
#: A thousand in a campaign, a hundred in every run of the tests.
TRIES = 1000 if os.environ.get("PROPERLOSS_PROFILE") in ("fuzz", "full") else 100


def test_many_threads_fit_and_predict_at_once():
    """No deadlock, and every answer is the serial one."""
    plain = pl.BregmanTronClassifier(max_iter=5).fit(X, Y).predict_proba(X)

    def once(_: int) -> bool:
        fitted = pl.BregmanTronClassifier(max_iter=5).fit(X, Y)
        return np.array_equal(fitted.predict_proba(X), plain)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(once, range(TRIES)))


def test_one_estimator_predicts_from_many_threads():
    fitted = pl.BregmanTronClassifier(max_iter=5).fit(X, Y)
    plain = fitted.predict_proba(X)
    with ThreadPoolExecutor(16) as pool:
        for answer in pool.map(lambda _: fitted.predict_proba(X), range(TRIES)):
            assert np.array_equal(answer, plain)


SHUTDOWN = """
import linecache, sys, threading, time
import numpy as np
import properloss as pl

X = np.random.default_rng(0).normal(size=(20_000, 20))
y = (X[:, 0] > 0).astype(int)
clf = pl.BregmanTronClassifier(max_iter=100_000, tol=0)
thread = threading.Thread(target=lambda: clf.fit(X, y), daemon=True)
thread.start()
# Before the engine is numpy, whose C++ does not outlive the end of an interpreter before Python 3.14.
def in_the_engine():
    frame = sys._current_frames().get(thread.ident)
    return frame is not None and "_core.fit(" in linecache.getline(frame.f_code.co_filename, frame.f_lineno)
while not in_the_engine():
    time.sleep(0.001)
time.sleep(float(sys.argv[1]))
print("ending", flush=True)
"""


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3])
def test_the_interpreter_ends_during_a_fit(seconds):
    """A daemon thread is in the engine when the interpreter shuts down: it ends, and does not crash."""
    code = textwrap.dedent(SHUTDOWN)
    done = subprocess.run([sys.executable, "-c", code, str(seconds)], capture_output=True, timeout=60)
    assert done.stdout.strip() == b"ending"
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forks_after_use_all_answer():
    """The engine's threads do not live on in a child; each child makes its own."""
    plain = pl.BregmanTronClassifier(max_iter=5).fit(X, Y).predict_proba(X)
    for _ in range(TRIES // 10):
        child = os.fork()
        if child == 0:
            same = np.array_equal(pl.BregmanTronClassifier(max_iter=5).fit(X, Y).predict_proba(X), plain)
            os._exit(0 if same else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
