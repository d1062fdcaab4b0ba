"""Pairs of classes of MNIST and Fashion-MNIST, where their files are: in $PROPERLOSS_DATA, data/ or ../shared/data."""

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


def folder_of(name):
    """Where the files of a data set are; None if nowhere."""
    for folder in (os.environ.get("PROPERLOSS_DATA"), "data", "../shared/data"):
        if folder and (Path(folder) / name / "train-images-idx3-ubyte.gz").exists():
            return Path(folder) / name
    return None


@functools.cache
def idx(name, part):
    """Pixels and classes of a part of a data set, "train" or "t10k", as bytes."""
    folder = folder_of(name)
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    return x, y


def fashion_mnist():
    """Pixels of both parts as f32 in [0, 1], and the classes: training rows, then the others."""
    if folder_of("fashion-mnist") is None:
        return None
    parts = [idx("fashion-mnist", part) for part in ("train", "t10k")]
    return [c for x, y in parts for c in (x.astype(np.float32) / np.float32(255), y.astype(int))]


def names():
    """The pairs whose files are there."""
    return [name for name, (data, _, _) in PAIRS.items() if folder_of(data)]


def split(name, m, rng):
    """`m` training rows and 4,000 others."""
    data, first, second = PAIRS[name]
    x, y = idx(data, "train")
    chosen = rng.permutation(np.flatnonzero((y == first) | (y == second)))[: m + 4000]
    x, y = x[chosen].astype(float) / 255.0, (y[chosen] == first).astype(int)
    return x[:m], y[:m], x[m:], y[m:]
