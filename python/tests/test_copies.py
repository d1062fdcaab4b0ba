"""``ensemble=True``: every fold has a calibrator of its own, which deals its rows to folds of its own. A row of weight 2
is the row twice there too, a row of weight 0 is not there, and the order of the rows says nothing."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneGroupOut
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import properloss as pl

#: Fits of the same problem whose sums round in other orders; the links' own fits end by nats, at the same step.
SAME = {"rtol": 0, "atol": 1e-9}


class Probabilities(ClassifierMixin, BaseEstimator):
    """A regression that tells its probabilities, and no scores."""

    def fit(self, X, y, sample_weight=None):
        self.model_ = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


BASES = {
    "scores": LogisticRegression(tol=1e-10, max_iter=10_000),
    "probabilities": Probabilities(),
    "sure probabilities": GaussianNB(),
    "ties": DecisionTreeClassifier(max_leaf_nodes=4, random_state=0),
}


def rows(classes, seed=0, count=240):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3))
    z = X @ rng.normal(size=(3, classes)) + 1.5 * rng.gumbel(size=(count, classes))
    weight = rng.integers(0, 4, size=count)
    return X, z.argmax(axis=1), weight, np.arange(count) % 3


def probabilities(base, X, y, weight, fold, new):
    splits = list(LeaveOneGroupOut().split(X, groups=fold))
    clf = pl.ProperCalibratedClassifierCV(base, cv=splits, ensemble=True)
    return clf.fit(X, y, sample_weight=weight).predict_proba(new)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("base", BASES)
def test_weight_two_is_the_row_twice_weight_zero_is_none(base, classes):
    X, y, weight, fold = rows(classes)
    new = rows(classes, seed=1)[0]
    weighed = probabilities(BASES[base], X, y, weight, fold, new)
    copies = np.repeat(np.arange(len(y)), weight)
    repeated = probabilities(BASES[base], X[copies], y[copies], None, fold[copies], new)
    np.testing.assert_allclose(weighed, repeated, **SAME)
    shuffled = np.random.default_rng(2).permutation(copies)
    again = probabilities(BASES[base], X[shuffled], y[shuffled], None, fold[shuffled], new)
    np.testing.assert_allclose(again, repeated, **SAME)
    # Half a row twice is the row.
    both = np.concatenate([np.arange(len(y))] * 2)
    halves = probabilities(BASES[base], X[both], y[both], weight[both] / 2, fold[both], new)
    np.testing.assert_allclose(halves, repeated, **SAME)
    # The answers are not all the same, or nothing was shown.
    assert np.ptp(repeated[:, 0]) > 0.05


def test_rows_with_the_same_score_are_not_held_out_together():
    """A tree of four leaves: with every row of a leaf and a label in one fold, a calibrator would be scored on
    the opposite of what it has seen, and leave the scores as they are."""
    rng = np.random.default_rng(3)
    z = rng.integers(0, 4, size=2000) - 1.5
    p = 1 / (1 + np.exp(-z))
    y = (rng.uniform(size=2000) < p).astype(int)
    calibrator = pl.ProperCalibrator()._fit(6 * z, y, None, None, by_weight=True)
    assert calibrator.slope_ == pytest.approx(1 / 6, rel=0.2)
    # Two numbers, learned from 1,600 rows, cost about 2 / 3200 nats; ten times that is allowed.
    assert calibrator.cv_results_["log_loss"] < log_loss(y, p) + 0.006


def test_weights_that_mean_ratios_are_dealt_by_rows():
    X, y, weight, fold = rows(3)
    splits = list(LeaveOneGroupOut().split(X, groups=fold))
    clf = pl.ProperCalibratedClassifierCV(cv=splits, ensemble=True, weights="relative")
    a = clf.fit(X, y, sample_weight=weight).predict_proba(X)
    b = clf.fit(X, y, sample_weight=1e-3 * weight).predict_proba(X)
    np.testing.assert_allclose(a, b, **SAME)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ensemble", ["pooled", False, True])
def test_the_margin_of_probabilities_counts_weights(classes, ensemble):
    """Probabilities go in as logarithms with a margin of one row: of all the weight, not of the number of rows."""
    X, y, weight, fold = rows(classes)
    new = rows(classes, seed=1)[0]
    splits = list(LeaveOneGroupOut().split(X, groups=fold))
    copies = np.repeat(np.arange(len(y)), weight)
    repeated = list(LeaveOneGroupOut().split(copies, groups=fold[copies]))
    p = []
    for cv, part, w in ((splits, np.arange(len(y)), weight), (repeated, copies, None)):
        clf = pl.ProperCalibratedClassifierCV(GaussianNB(), cv=cv, ensemble=ensemble)
        p.append(clf.fit(X[part], y[part], sample_weight=w).predict_proba(new))
    np.testing.assert_allclose(*p, **SAME)


@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-3])
def test_a_class_with_one_row_is_never_held_out(weight):
    """However little it weighs, and however many copies of it share that weight."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=(60, 3))
    y = np.r_[np.repeat([0, 1], 29), 2, 2]
    z[-1] = z[-2]
    w = np.r_[np.ones(58), weight / 2, weight / 2]
    two = pl.ProperCalibrator()._fit(z, y, w, None, by_weight=True)
    one = pl.ProperCalibrator()._fit(z[:-1], y[:-1], np.r_[w[:58], weight], None, by_weight=True)
    np.testing.assert_allclose(two.predict(z), one.predict(z), **SAME)
    binary = [np.r_[z[29:58, 0], 0.5, 0.5], np.r_[np.zeros(29, int), 1, 1], np.r_[w[29:]]]
    two = pl.ProperCalibrator()._fit(*binary, None, by_weight=True)
    binary = [binary[0][:-1], binary[1][:-1], np.r_[np.ones(29), weight]]
    one = pl.ProperCalibrator()._fit(*binary, None, by_weight=True)
    np.testing.assert_allclose(two.predict(z[:, 0]), one.predict(z[:, 0]), **SAME)
