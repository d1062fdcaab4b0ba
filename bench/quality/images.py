"""Pairs of classes of MNIST and Fashion-MNIST, where their files are; see timing.py for where."""

import functools
import gzip
import os
from pathlib import Path

import numpy as np

PAIRS = {
    "mnist 7 v 9": ("mnist", 7, 9),
    "mnist 3 v 8": ("mnist", 3, 8),
    "fashion shirt v top": ("fashion-mnist", 6, 0),
    "fashion coat v pullover": ("fashion-mnist", 4, 2),
}
# Rows of a pair, about: what splits are drawn from.
ROWS = 12_000


def _folder(name):
    for folder in (os.environ.get("PROPERLOSS_DATA"), "data", "../shared/data"):
        if folder and (Path(folder) / name / "train-images-idx3-ubyte.gz").exists():
            return Path(folder) / name
    return None


@functools.cache
def _load(name):
    folder = _folder(name)
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    return x, y


def names():
    """The pairs whose files are there."""
    return [name for name, (data, _, _) in PAIRS.items() if _folder(data)]


def split(name, m, rng):
    """`m` training rows and 4,000 others."""
    data, first, second = PAIRS[name]
    x, y = _load(data)
    chosen = rng.permutation(np.flatnonzero((y == first) | (y == second)))[: m + 4000]
    x, y = x[chosen].astype(float) / 255.0, (y[chosen] == first).astype(int)
    return x[:m], y[:m], x[m:], y[m:]
