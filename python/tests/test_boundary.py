"""What comes from Python into the engine: arrays of any layout, type and size, and no crash."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import properloss as pl

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 4))
Y = np.tile([0, 1], 30)
CLASSIFIERS = [
    pl.BregmanTronClassifier(max_iter=3, tol=0),
    pl.ProperLossClassifier(cv=2),
]
IDS = [type(classifier).__name__ for classifier in CLASSIFIERS]


def layouts():
    """The same numbers, lying in memory in every way that numpy knows."""
    wide = np.zeros((120, 8))
    wide[::2, ::2] = X
    yield "strided", wide[::2, ::2]
    yield "reversed", np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    yield "fortran", np.asfortranarray(X)
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    misaligned = raw[1:].view(np.float64).reshape(X.shape)
    misaligned[...] = X
    yield "misaligned", misaligned
    readonly = X.copy()
    readonly.setflags(write=False)
    yield "readonly", readonly
    yield "big-endian", X.astype(">f8")
    yield "subclass", X.view(type("Sub", (np.ndarray,), {}))
    yield "memmap-like", np.frombuffer(X.tobytes()).reshape(X.shape)
    yield "objects that are numbers", X.astype(object)
    yield "list", X.tolist()


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
@pytest.mark.parametrize(("name", "x"), list(layouts()), ids=[name for name, _ in layouts()])
def test_every_layout_gives_the_same_bits(classifier, name, x):
    plain = classifier.fit(X, Y).predict_proba(X)
    assert np.array_equal(classifier.fit(x, Y).predict_proba(x), plain)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u2", "i8", "u8", "?", "longdouble"])
def test_every_number_type_is_taken(classifier, dtype):
    x = (10 * X).astype(dtype)
    if len(np.unique(x)) < 2:
        pytest.skip("one value only")
    p = classifier.fit(x, Y).predict_proba(x)
    assert np.isfinite(p).all()
    assert np.allclose(p.sum(axis=1), 1)
    wide = classifier.fit(x.astype(np.float64), Y).predict_proba(x.astype(np.float64))
    # f4 is stored as it is and computed in f64; all of these types fit into f64 exactly.
    assert np.allclose(p, wide, atol=1e-6)


REFUSED = [
    ("complex", X + 1j),
    ("texts", np.full((60, 4), "x")),
    ("objects", np.full((60, 4), object())),
    ("records", np.zeros((60, 4), dtype=[("a", "f8"), ("b", "f8")])),
    ("one dimension", X[:, 0]),
    ("three dimensions", X.reshape(60, 2, 2)),
    ("a number", np.float64(3)),
    ("no rows", X[:0]),
    ("no columns", X[:, :0]),
    ("nothing", None),
    ("a sparse matrix of objects", "sparse objects"),
    ("infinite", np.where(X > 2, np.inf, X) + np.eye(60, 4) * np.inf),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
@pytest.mark.parametrize(("name", "x"), REFUSED, ids=[name for name, _ in REFUSED])
def test_what_is_no_matrix_of_numbers_is_refused(classifier, name, x):
    if isinstance(x, str):
        x = sp.csr_matrix(X)
        x.data = np.array([object()] * x.nnz)
    with pytest.raises((ValueError, TypeError)):
        classifier.fit(x, Y)
    fitted = classifier.fit(X, Y)
    with pytest.raises((ValueError, TypeError)):
        fitted.predict_proba(x)


def damaged_csr():
    """Sparse matrices whose arrays contradict each other; scipy does not check them."""
    def csr(**arrays):
        matrix = sp.csr_matrix(X)
        for name, array in arrays.items():
            setattr(matrix, name, array)
        return matrix

    good = sp.csr_matrix(X)
    yield "a column beyond the last", csr(indices=good.indices + 1)
    yield "a negative column", csr(indices=good.indices - 1)
    yield "falling offsets", csr(indptr=good.indptr[::-1].copy())
    yield "offsets beyond the data", csr(indptr=good.indptr * 2)
    yield "short data", csr(data=good.data[:-1])
    yield "huge offsets", csr(indptr=np.where(good.indptr > 100, 2**31 - 1, good.indptr).astype(np.int32))


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
@pytest.mark.parametrize(("name", "x"), list(damaged_csr()), ids=[name for name, _ in damaged_csr()])
def test_damaged_sparse_matrices_are_refused(classifier, name, x):
    with pytest.raises((ValueError, TypeError, IndexError)):
        classifier.fit(x, Y)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
def test_labels_and_weights_of_any_sort(classifier):
    plain = classifier.fit(X, Y).predict_proba(X)
    strided = np.zeros(120, dtype=np.int64)
    strided[::2] = Y
    for y in (strided[::2], Y.astype(np.int8), Y.astype(bool), Y.astype(float), Y.tolist()):
        assert np.array_equal(classifier.fit(X, y).predict_proba(X), plain)
    weights = np.ones(120)[::2]
    weights.setflags(write=False)
    assert np.allclose(classifier.fit(X, Y, sample_weight=weights).predict_proba(X), plain)
    for bad in ([np.nan] * 60, [-1.0] * 60, [1.0] * 59, [[1.0]] * 60, ["a"] * 60):
        with pytest.raises((ValueError, TypeError)):
            classifier.fit(X, Y, sample_weight=bad)
    for bad in (Y[:-1], np.zeros(60), np.full(60, np.nan), [None] * 60, np.zeros((60, 2))):
        with pytest.raises((ValueError, TypeError)):
            classifier.fit(X, bad)


def test_link_constructors_take_any_numbers():
    """Every pair of odd knot lists is refused with a sentence or is a link with values in [0, 1]."""
    odd = [
        [],
        [0.0],
        [0.0, 1.0],
        [1.0, 0.0],
        [0.0, 0.0],
        [np.nan, 1.0],
        [-np.inf, np.inf],
        [-1e308, 1e308],
        [0.0, 5e-324, 1.0],
        np.linspace(0, 1, 50)[::2],
        np.linspace(0, 1, 5).astype("f4"),
    ]
    built = 0
    for z, u in itertools.product(odd, odd):
        try:
            link = pl.PiecewiseLink(z, u)
        except (ValueError, TypeError) as error:
            assert str(error)
            continue
        built += 1
        values = link(np.array([-1e300, -1.0, 0.0, 0.5, 1.0, 1e300]))
        assert ((values >= 0) & (values <= 1)).all()
        assert (np.diff(values) >= 0).all()
    assert built >= 3
