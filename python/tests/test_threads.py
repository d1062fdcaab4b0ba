"""Threads, forks and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

import properloss as pl

#: One after the other, not beside each other, where pytest runs in several processes.
pytestmark = pytest.mark.xdist_group("threads")

# Large enough for the engine to use its threads.
RNG = np.random.default_rng(3)
X = RNG.normal(size=(20_000, 30))
Y = (RNG.random(20_000) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
CLF = pl.BregmanTronClassifier(max_iter=15, tol=0)


def fit(shift: int) -> np.ndarray:
    return clone(CLF).fit(X[shift:], Y[shift:]).predict_proba(X)


def test_two_threads_agree_with_the_serial_result():
    serial = [fit(0), fit(1)]
    results: dict[int, np.ndarray] = {}

    def work(shift: int) -> None:
        results[shift] = fit(shift)

    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert np.array_equal(results[0], serial[0])
    assert np.array_equal(results[1], serial[1])


def test_the_gil_is_released_during_a_fit():
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    start = time.perf_counter()
    clone(CLF).set_params(max_iter=100).fit(X, Y)
    seconds = time.perf_counter() - start
    done.set()
    counter.join()
    assert ticks > 20 * seconds, f"{ticks} ticks of another thread in {seconds:.1f} s"


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib_workers(backend):
    serial = [fit(0), fit(1)]  # the parent's worker threads are alive before the fork
    with Parallel(n_jobs=2, backend=backend) as parallel:
        for _ in range(2):
            results = parallel(delayed(fit)(k) for k in (0, 1))
            assert all(np.array_equal(a, b) for a, b in zip(results, serial, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_of_a_fork():
    code = """
        import os, sys, numpy as np
        sys.path.insert(0, sys.argv[1])
        from test_threads import fit
        expected = fit(0)
        for depth in range(2):
            pid = os.fork()
            if pid:
                _, status = os.waitpid(pid, 0)
                os._exit(os.waitstatus_to_exitcode(status))
            assert np.array_equal(fit(0), expected)
        os._exit(0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), os.path.dirname(__file__)], timeout=120
    )
    assert done.returncode == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_same_bits_for_any_number_of_threads(threads):
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        from test_threads import fit
        sys.stdout.buffer.write(fit(0).tobytes())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), os.path.dirname(__file__)],
        capture_output=True,
        env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.frombuffer(done.stdout).reshape(-1, 2), fit(0))


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("certified", [False, True], ids=["plain", "certified"])
def test_ctrl_c_ends_a_long_fit(certified):
    """The fit would take minutes; after SIGINT it is over within a second (and some slack)."""
    code = """
        import sys, time
        sys.path.insert(0, sys.argv[1])
        from test_threads import CLF, X, Y
        clf = CLF.set_params(max_iter=100_000_000, certified=sys.argv[2] == "True")
        print("started", flush=True)
        try:
            clf.fit(X, Y)
        except KeyboardInterrupt:
            assert not hasattr(clf, "coef_")
            # The process is still able to work.
            clf.set_params(max_iter=2).fit(X, Y)
            print("interrupted", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), os.path.dirname(__file__), str(certified)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(1.0)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    try:
        assert process.stdout.readline() == "interrupted\n"
        seconds = time.perf_counter() - start
        # One second is the promise on an idle machine; a busy one gets four times that.
        assert seconds < 4.0, f"took {seconds:.2f} s"
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()


def test_an_exception_in_a_callback_ends_the_fit():
    pytest.importorskip("sklearn.callback")

    class Failing:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("from the callback")

    clf = clone(CLF).set_callbacks(Failing())
    with pytest.raises(RuntimeError, match="from the callback"):
        clf.fit(X, Y)
