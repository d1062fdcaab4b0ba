"""Peak memory of a fit of ProperLossClassifier beyond the data, in bytes a row; one process a shape.

    python bench/quality/memory.py            # the shapes below, one thread

Rows are made, then the peak of the process is set back (`/proc/self/clear_refs`) and read after the fit,
so what the makers of the rows took does not count. Run it with the module of another build to compare.
"""

import argparse
import os
import subprocess
import sys

SHAPES = [(1_000_000, 20), (100_000, 100), (2_000_000, 5)]


def field(name):
    """A line of the process's status, in bytes."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(name))


def one(rows, columns, weighted):
    import numpy as np

    from properloss import ProperLossClassifier

    rng = np.random.default_rng(7)
    x = rng.standard_normal((rows, columns))
    w = rng.standard_normal(columns) / np.sqrt(columns)
    y = (rng.random(rows) < 1 / (1 + np.exp(-2 * (x @ w)))).astype(int)
    weights = rng.uniform(0.5, 1.5, rows) if weighted else None
    # Once on few rows, so that code and threads are there before.
    ProperLossClassifier().fit(x[:1000], y[:1000])
    before = field("VmRSS:")
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    ProperLossClassifier().fit(x, y, sample_weight=weights)
    print(f"{(field('VmHWM:') - before) / rows:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--one", type=int, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        rows, columns, weighted = given.one
        return one(rows, columns, bool(weighted))
    os.environ.update(RAYON_NUM_THREADS=str(given.threads), OPENBLAS_NUM_THREADS="1")
    for weighted in (0, 1):
        for rows, columns in SHAPES:
            command = [sys.executable, __file__, "--one", str(rows), str(columns), str(weighted)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            kind = ", weights" if weighted else ""
            print(f"{rows:,} x {columns}{kind}: {answer.strip()} bytes a row beyond the data", flush=True)


if __name__ == "__main__":
    main()
