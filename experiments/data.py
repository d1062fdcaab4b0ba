"""The data sets of the paper: where they are found, how they are read, how rows are drawn from them.

Random streams are those of ``numpy.random.RandomState``, which numpy keeps the same for ever.
"""

from __future__ import annotations

import gzip
import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SETS = {"mnist": "mnist", "fmnist": "fashion-mnist"}

#: synth: class means +-(1, 1) s. The paper states s = 1; only s = 1/sqrt(2) gives its AUC.
MEANS = {"synth": 1.0, "synth-unit": float(np.sqrt(0.5))}
SYNTH_TEST_ROWS = 10_000


class NoData(Exception):
    """The image sets are not on this machine."""


class Draw(NamedTuple):
    """Training rows, further training rows to validate on, and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_validation: np.ndarray
    y_validation: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def find(data: str | os.PathLike[str] | None = None) -> Path:
    """The directory of ``mnist/`` and ``fashion-mnist/``."""
    places = [Path(data)] if data else []
    if not data:
        if os.environ.get("PROPERLOSS_DATA"):
            places.append(Path(os.environ["PROPERLOSS_DATA"]))
        places += [ROOT / "data", ROOT.parent / "shared" / "data"]
    for place in places:
        if all((place / name / "train-images-idx3-ubyte.gz").exists() for name in SETS.values()):
            return place
    looked = ", ".join(str(place) for place in places)
    raise NoData(
        f"no mnist/ and fashion-mnist/ with train-images-idx3-ubyte.gz in {looked}\n"
        "hint: `properloss data get mnist --out data` and `properloss data get fashion-mnist --out "
        "data` download them; or give their directory with --data or in PROPERLOSS_DATA"
    )


def read_idx(path: Path) -> np.ndarray:
    """An IDX file of unsigned bytes: two zero bytes, the type 8, the number of axes, their lengths."""
    raw = gzip.decompress(path.read_bytes())
    if len(raw) < 4 or raw[:3] != b"\0\0\x08":
        raise NoData(f"{path}: not an IDX file of unsigned bytes\nhint: download it again")
    axes = raw[3]
    shape = np.frombuffer(raw, ">u4", axes, 4).astype(int)
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * axes)
    if values.size != shape.prod():
        raise NoData(
            f"{path}: {values.size} bytes, {shape.prod()} expected\nhint: download it again"
        )
    return values.reshape(shape)


@lru_cache(maxsize=4)
def images(directory: str, name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of bytes and class numbers; ``part`` is ``train`` or ``t10k``."""
    folder = Path(directory) / SETS[name]
    rows = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
    return rows.reshape(len(rows), -1), labels


def pixels(rows: np.ndarray) -> np.ndarray:
    """Bytes to [0, 1]."""
    return np.divide(rows, np.float32(255), dtype=np.float32)


@lru_cache(maxsize=1)
def train_part(directory: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """All training rows of a problem, as numbers; large, so only one problem is kept."""
    rows, y = problem(directory, name, "train")
    return pixels(rows), y


@lru_cache(maxsize=4)
def problem(directory: str, name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """The paper's two-class problems: mnist 0 against 8, fmnist even against odd classes."""
    rows, labels = images(directory, name, part)
    if name == "mnist":
        return pair(directory, name, part, (0, 8))
    return rows, (labels % 2).astype(np.uint8)


@lru_cache(maxsize=16)
def pair(
    directory: str, name: str, part: str, classes: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of an image set; the second is the positive one."""
    rows, labels = images(directory, name, part)
    keep = (labels == classes[0]) | (labels == classes[1])
    return rows[keep], (labels[keep] == classes[1]).astype(np.uint8)


@lru_cache(maxsize=2)
def test_part(directory: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The test rows of a problem, as numbers."""
    rows, y = problem(directory, name, "t10k")
    return pixels(rows), y


def synth(name: str, rows: int, stream: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Two normal classes in the plane, covariance the identity, means +-(1, 1) s."""
    y = stream.randint(0, 2, rows).astype(np.uint8)
    X = stream.normal(size=(rows, 2)) + MEANS[name] * (2.0 * y - 1.0)[:, np.newaxis]
    return X, y


def draw(directory: str, name: str, seed: int, rows: int | None, validation: int = 0) -> Draw:
    """``rows`` training rows chosen by ``seed`` (None: all), and ``validation`` others to validate on."""
    stream = np.random.RandomState(seed)
    if name in MEANS:
        X, y = synth(name, (rows or 0) + validation, stream)
        X_test, y_test = synth(name, SYNTH_TEST_ROWS, stream)
    else:
        if rows is None:
            X, y = train_part(directory, name)
        else:
            pool, labels = problem(directory, name, "train")
            chosen = stream.permutation(len(labels))[: rows + validation]
            X, y = pixels(pool[chosen]), labels[chosen]
        X_test, y_test = test_part(directory, name)
    first = len(y) - validation
    return Draw(X[:first], y[:first], X[first:], y[first:], X_test, y_test)
