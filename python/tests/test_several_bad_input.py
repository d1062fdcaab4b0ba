"""Three classes or more: input that is wrong, thin or extreme gets a sentence, or the documented rule."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

import properloss as pl

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, :3] + RNG.gumbel(size=(120, 3))).argmax(axis=1)


def probabilities(rows, y, **options):
    p = pl.ProperLossClassifier(**options).fit(rows, y).predict_proba(rows)
    assert (p > 0).all() and p.shape == (len(y), len(np.unique(y)))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    return p


PLAIN = probabilities(X, Y)


@pytest.mark.parametrize(
    "labels", [["ape", "bee", "cow"], [-3, 0, 12], [0.0, 1.0, 2.0], [b"a".decode(), "b", "ü"]]
)
def test_labels_of_any_type_in_their_order(labels):
    named = np.array(labels)[Y]
    np.testing.assert_array_equal(probabilities(X, named), PLAIN)
    mixed = np.array(labels, dtype=object)[Y]
    if isinstance(labels[0], str):
        np.testing.assert_array_equal(probabilities(X, mixed), PLAIN)


@pytest.mark.parametrize(
    ("labels", "error", "words"),
    [
        ([1, "a", 2], TypeError, "types int, str, which have no order"),
        ([True, "a", "b"], TypeError, "types bool, str, which have no order"),
        (["a", None, "b"], ValueError, "is None: every row needs a label"),
        ([0.0, np.nan, 1.0], ValueError, "NaN"),
        ([0.5, 1.25, 2.0], ValueError, "continuous"),
    ],
)
def test_labels_without_an_order(labels, error, words):
    y = np.array(labels, dtype=object if error is TypeError or None in labels else float)[Y]
    for estimator in (pl.ProperLossClassifier(), pl.ProperCalibratedClassifierCV()):
        with pytest.raises(error, match=words):
            estimator.fit(X, y)


def test_constant_columns_say_nothing():
    np.testing.assert_allclose(probabilities(np.c_[X, np.full(120, 7.0)], Y), PLAIN, rtol=1e-6)
    # Nothing but constants: the shares of the classes.
    shares = np.bincount(Y) / 120
    for rows in (np.ones((120, 3)), sp.csr_matrix((120, 3))):
        p = probabilities(rows, Y)
        np.testing.assert_allclose(p, np.broadcast_to(shares, p.shape), atol=2e-3)


def test_units_of_columns():
    """Columns in units of 1e12 and 1e-12: the standardised penalties do not see it, the raw ones are weighed away."""
    p = probabilities(X * np.array([1e12, 1e-12, 1.0, 1e6]), Y)
    assert log_loss(Y, p) < log_loss(Y, PLAIN) + 0.02
    np.testing.assert_allclose(probabilities(X + 1e6, Y), PLAIN, atol=0.01)


def test_empty_rows_of_sparse_matrices():
    rows = np.where(RNG.random(X.shape) < 0.6, 0.0, X)
    rows[:40] = 0.0
    dense = probabilities(rows, Y)
    np.testing.assert_allclose(probabilities(sp.csr_matrix(rows), Y), dense, atol=1e-6)


def test_many_classes_of_three_rows():
    """Nothing can be learned of 60 classes with three rows each of noise: near the shares, never far worse."""
    rows, y = RNG.normal(size=(180, 3)), np.repeat(np.arange(60), 3)
    clf = pl.ProperLossClassifier().fit(rows, y)
    assert clf.cv_results_["log_loss"] < np.log(60) + 0.1


def test_values_that_are_not_numbers():
    for value in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 2] = value
        for rows in (broken, sp.csr_matrix(broken)):
            with pytest.raises(ValueError, match="row 3, column 2"):
                pl.ProperLossClassifier().fit(rows, Y)
        with pytest.raises(ValueError, match="NaN|infinity"):
            pl.ProperCalibrator().fit(broken[:, :3], Y)


def test_copies_are_held_out_with_their_group():
    """Every row twice, in a group of its own: held-out figures are those of the rows once, not of rows seen before."""
    rows, y = RNG.normal(size=(90, 40)), RNG.integers(0, 3, size=90)
    twice, both, group = np.r_[rows, rows], np.r_[y, y], np.r_[np.arange(90), np.arange(90)]
    grouped = pl.ProperLossClassifier().fit(twice, both, groups=group)
    leaked = pl.ProperLossClassifier().fit(twice, both)
    # Pure noise: with groups that is seen; without, copies in the training part promise a gain.
    assert grouped.cv_results_["log_loss"] > np.log(3) - 0.02
    assert leaked.cv_results_["log_loss"] < np.log(3) - 0.05
    with pytest.raises(ValueError, match="groups has 3 value"):
        pl.ProperLossClassifier().fit(X, Y, groups=Y)


@pytest.mark.parametrize("base", [LogisticRegression(), GaussianNB()])
@pytest.mark.parametrize("ensemble", [True, False, "pooled"])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_that_a_fold_does_not_have(base, ensemble):
    """A class with one row, and folds in the order of the labels: every class keeps a column."""
    rare = Y.copy()
    rare[5] = 9
    clf = pl.ProperCalibratedClassifierCV(base, ensemble=ensemble).fit(X, rare)
    p = clf.predict_proba(X)
    assert p.shape == (120, 4) and (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    order = np.argsort(Y, kind="stable")
    clf = pl.ProperCalibratedClassifierCV(base, ensemble=ensemble, cv=KFold(3)).fit(X[order], Y[order])
    assert clf.predict_proba(X).shape == (120, 3)


def test_scores_that_do_not_fit_the_labels():
    z = X[:, :3]
    with pytest.raises(ValueError, match="X has 3 columns, one a class, but y has 2 classes"):
        pl.ProperCalibrator().fit(z, Y > 0)
    with pytest.raises(ValueError, match="must hold one score a row, got 2"):
        pl.ProperCalibrator().fit(z[:, :2], Y > 0)
    with pytest.raises(ValueError, match="probabilities.*from 0 to 1"):
        pl.ProperCalibrator(kind="probabilities").fit(z, Y)
    # The same number for every class and row: the shares of the classes are all that is left.
    p = pl.ProperCalibrator().fit(0 * z, Y).predict(0 * z)
    np.testing.assert_allclose(p[0], np.bincount(Y) / 120, atol=0.05)
    # Sure of the wrong class in every row: no probability is 0, and the cost is bounded.
    wrong = np.eye(3)[(Y + 1) % 3]
    p = pl.ProperCalibrator().fit(wrong, Y).predict(wrong)
    assert log_loss(Y, p) < np.log(3) + 0.05
