"""Test rows far outside the training rows, and fresh seeds: `python bench/multiclass/far.py OUT.jsonl`.

Run it with two builds; records with equal keys are the same rows, so their differences are paired.
"""

import json
import os
import sys
import zlib
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
import methods  # noqa: E402
import sets  # noqa: E402

TEST_ROWS = 10_000
FAR_ROWS = 100
# Splits 100 to 105 were in view when the weight of the prior rows was chosen; these were not.
FIRST = 200


def corrupted(rng, x):
    """One value of some rows is multiplied by 30: a slipped unit. The truth is that of the row as it was."""
    x = x.copy()
    rows = rng.choice(len(x), FAR_ROWS, replace=False)
    x[rows, rng.integers(0, x.shape[1], FAR_ROWS)] *= 30
    return x


def heavy(rng, m, columns, classes):
    """Columns with the tails of t with 2 degrees of freedom; the labels follow bounded scores."""
    x = rng.standard_t(2, (m + TEST_ROWS, columns))
    w = rng.standard_normal((columns, classes)) * 2 / np.sqrt(columns)
    p = sets._softmax(3 * np.tanh(x @ w / 3))
    y = (p.cumsum(1) > rng.random((len(x), 1))).argmax(1)
    return x[:m], y[:m], x[m:], p[m:]


def cells(m, repetition):
    """Block, name, training rows and labels, test rows and their probabilities."""
    for name in sets.FAMILIES:
        seed = zlib.crc32(f"fresh/{name}/{m}/{repetition}".encode())
        x, y, x_test, truth = sets.draw(name, m, TEST_ROWS, seed)
        if len(np.unique(y)) < truth.shape[1]:
            continue
        rng = np.random.default_rng(seed + 1)
        yield "families", name, x, y, x_test, truth
        yield "corrupted", name, x, y, corrupted(rng, x_test), truth
        tails = heavy(rng, m, x.shape[1], truth.shape[1])
        if len(np.unique(tails[1])) == truth.shape[1]:
            yield "heavy", name, *tails
    for name in sets.FRESH:
        parts = sets.split(name, m, zlib.crc32(f"fresh/{name}/{m}/{repetition}".encode()))
        if parts is not None:
            x, x_test, y, y_test = parts
            yield "real", name, x, y, x_test, np.eye(y.max() + 1)[y_test]


def main():
    with open(sys.argv[1], "w") as out:
        for repetition in range(FIRST, FIRST + 6):
            for m in (150, 500, 2000):
                for block, name, x, y, x_test, truth in cells(m, repetition):
                    p = np.clip(methods.quietly(methods.proper, x, y, x_test), 1e-15, None)
                    loss = float(-(truth * np.log(p / p.sum(1, keepdims=True))).sum(1).mean())
                    key = {"block": block, "name": name, "m": m, "repetition": repetition}
                    out.write(json.dumps({**key, "log_loss": loss}) + "\n")


if __name__ == "__main__":
    main()
