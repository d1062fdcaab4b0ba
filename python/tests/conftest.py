"""Data and classifiers that several tests share."""

from __future__ import annotations

import os

# scikit-learn's check of array API input runs only with this, set before scipy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Threads of the boosters and of BLAS that wait for each other, in several processes of pytest at
# once, take most of its time. Our own threads are as they are.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import _enforce_estimator_tags_y

import properloss as pl

#: Every classifier, with settings that end quickly.
CLASSIFIERS = [
    pl.BregmanTronClassifier(max_iter=200),
    pl.BregmanTronClassifier(target="previous", max_iter=200),
    pl.CertifiedClassifier(max_iter=50),
    pl.SlisotronClassifier(max_iter=200),
    pl.GlmtronClassifier(max_iter=200),
    pl.CanonicalLossClassifier(),
]


def name_of(classifier) -> str:
    target = getattr(classifier, "target", "")
    return type(classifier).__name__ + (f"[{target}]" if target else "")


@pytest.fixture(params=CLASSIFIERS, ids=name_of)
def classifier(request):
    from sklearn.base import clone

    return clone(request.param)


@pytest.fixture(scope="session")
def data():
    """300 rows, 5 features, labels from a logistic truth."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 5)) * [1.0, 2.0, 0.5, 3.0, 1.0] + [0.0, 1.0, -2.0, 0.0, 5.0]
    p = 1 / (1 + np.exp(-(X @ [1.0, -0.5, 1.0, 0.3, 0.0] + 2.0)))
    return X, (rng.random(300) < p).astype(int)


@pytest.fixture(scope="session")
def table():
    """Loans, as the days with real tables have them."""
    pytest.importorskip("pandas")
    from loans import loans

    return loans(2000)


@pytest.fixture(autouse=True)
def _quiet():
    """Short runs do not converge, and say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def known_mistakes(estimator):
    """Checks that are wrong in the scikit-learn installed.

    1.6 makes the labels of its weight check binary by comparing them with the *first* label, before
    and after shuffling: the two fits it compares see different labels. Later versions compare with
    the least one.
    """
    if _enforce_estimator_tags_y(estimator, np.array([1, 0])).tolist() == [1, 0]:
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "the check gives its two fits other labels"
        for kind in ("dense", "sparse")
    }
