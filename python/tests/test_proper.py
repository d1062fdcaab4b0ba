"""The default classifier, the calibrator and the calibrated classifier."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from conftest import known_mistakes
import scipy.sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import properloss as pl


@parametrize_with_checks(
    [
        pl.ProperLossClassifier(),
        pl.ProperLossClassifier(refit="canonical", class_weight="balanced"),
        pl.ProperCalibrator(),
        pl.ProperCalibratedClassifierCV(),
        pl.ProperCalibratedClassifierCV(ensemble=False),
        pl.ProperCalibratedClassifierCV(ensemble=True),
    ],
    expected_failed_checks=known_mistakes,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def noisy():
    """Rows whose labels are flipped more often one way than the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    p = 1 / (1 + np.exp(-3 * X @ np.array([1, -1, 0.5, 0, 0, 0.2])))
    y = (rng.uniform(size=3000) < 0.95 * p + 0.25 * (1 - p)).astype(int)
    return X[:1500], y[:1500], X[1500:], y[1500:]


def test_beats_logistic_regression_where_the_link_is_wrong(noisy):
    X, y, X_test, y_test = noisy
    ours = log_loss(y_test, pl.ProperLossClassifier().fit(X, y).predict_proba(X_test))
    theirs = log_loss(y_test, LogisticRegression().fit(X, y).predict_proba(X_test))
    assert ours < theirs - 0.005


def test_attributes_and_the_whole_table(noisy):
    X, y, *_ = noisy
    # Columns of one spread are the same under every scaling: only the first is walked then.
    assert set(pl.ProperLossClassifier().fit(X, y).cv_results_["scaling"]) == {1}
    X = X * np.array([1, 2, 4, 1, 2, 4])
    clf = pl.ProperLossClassifier().fit(X, y)
    table = clf.cv_results_
    assert table["C"][0] == 0.0
    # Strengths of standardised columns are powers of ten over the columns; half steps in between.
    steps = 2 * np.log10(6 * table["C"][1:][table["scaling"][1:] == 1])
    np.testing.assert_allclose(np.diff(steps), 1)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert set(table["scaling"]) == {1, 0.5, 0} == set(clf.scaling_weights_)
    by_scaling = [table["C_weight"][1:][table["scaling"][1:] == a].sum() for a in clf.scaling_weights_]
    shares = np.array(by_scaling) / table["C_weight"][1:].sum()
    np.testing.assert_allclose(list(clf.scaling_weights_.values()), shares)
    np.testing.assert_allclose(clf.path_weights_.sum(), 1)
    np.testing.assert_array_equal(table["smoothness"], [np.inf, 3, 0.3, 0.03, 0.003])
    assert table["smoothness_slope_ratio"][0] == 1
    np.testing.assert_allclose(table["smoothness_weight"].sum(), 1)
    assert 0 < clf.guarantee_ == np.log(clf.slope_ratio_) < np.log(10)
    with pytest.warns(FutureWarning, match="smoothness_weight"):
        np.testing.assert_array_equal(table["slope_ratio_weight"], table["smoothness_weight"])
    with pytest.raises(KeyError):
        table["slope"]
    assert table["log_loss"] < table["log_loss_path"]
    assert clf.C_ > 0 and clf.slope_ratio_ > 1 and 0 <= clf.refit_share_ <= 1
    z = clf.linear_score(X)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], clf.link_(z), rtol=1e-12)
    assert isinstance(clf.link_, pl.RelativeLink)
    # Held-out scores: nearly as good as the training scores, never better by much.
    assert roc_auc_score(y, table["held_out_scores"]) < roc_auc_score(y, z) + 0.01


def test_probabilities_rank_as_scores_and_stay_inside():
    X, y = load_breast_cancer(return_X_y=True)
    clf = pl.ProperLossClassifier().fit(X, y)
    far = np.vstack([X, X * 100, -X * 100])
    p = clf.predict_proba(far)
    assert p.min() > 0 and p.max() < 1
    np.testing.assert_allclose(p.sum(axis=1), 1)
    p = clf.predict_proba(X)[:, 1]
    assert roc_auc_score(y, p) == roc_auc_score(y, clf.decision_function(X))


@pytest.mark.parametrize("link", sorted(pl.links()))
def test_a_link_that_only_tends_to_its_ends_never_reaches_them(link, noisy):
    """As the command line has it; a link with an end gives 0 and 1 beyond it."""
    X, y, *_ = noisy
    clf = pl.GlmtronClassifier(link=link, max_iter=20, tol=0).fit(X, y)
    p = clf.predict_proba(np.vstack([1e9 * X, -1e9 * X]))
    tends = np.isinf(clf.link_.support)
    for column, (low, high) in ((1, tends), (0, tends[::-1])):
        assert (p[:, column].min() > 0, p[:, column].max() < 1) == (low, high)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_sparse_float32_and_pickle_agree(noisy):
    X, y, *_ = noisy
    X = np.where(np.abs(X) > 0.5, X, 0).astype(np.float32)
    dense = pl.ProperLossClassifier().fit(X, y)
    sparse = pl.ProperLossClassifier().fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-7)
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.predict_proba(X), dense.predict_proba(X))


def test_save_and_load(tmp_path, noisy):
    X, y, *_ = noisy
    clf = pl.ProperLossClassifier(refit="none").fit(X, y)
    clf.save(tmp_path / "model.json")
    again = pl.load(tmp_path / "model.json")
    assert type(again) is pl.ProperLossClassifier and again.refit == "none"
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_smoothness_is_a_parameter_that_files_keep(tmp_path, noisy):
    X, y, *_ = noisy
    sigmoid = pl.ProperLossClassifier(smoothness=()).fit(X, y)
    assert sigmoid.slope_ratio_ == 1 and sigmoid.guarantee_ == 0
    # The sigmoid itself has a proper loss of its own; a link that ends inside (0, 1) has log-loss under it.
    np.testing.assert_allclose(sigmoid.loss_.loss(1, 0.0), np.log(2))
    clf = pl.ProperLossClassifier(smoothness=[1.0, 0.01]).fit(X, y)
    np.testing.assert_array_equal(clf.cv_results_["smoothness"], [np.inf, 1.0, 0.01])
    assert clf.link_(-np.inf) > 0 and clf.link_(np.inf) < 1
    assert clf.loss_.kind == "composite"
    clf.save(tmp_path / "model.json")
    again = pl.load(tmp_path / "model.json")
    assert again.smoothness == (1.0, 0.01)
    # A file from before there was a smoothness.
    content = json.loads((tmp_path / "model.json").read_text())
    del content["fitted"]["options"]["smoothness"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = pl.load(tmp_path / "old.json")
    assert old.smoothness == pl.ProperLossClassifier().smoothness
    np.testing.assert_array_equal(old.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    with pytest.raises(ValueError, match=r"smoothness\[1\] is 2"):
        pl.ProperLossClassifier(smoothness=(1.0, 2.0)).fit(X, y)
    z = clf.linear_score(X)
    table = pl.ProperCalibrator(smoothness=(0.1,)).fit(z, y).cv_results_
    np.testing.assert_array_equal(table["smoothness"], [np.inf, 0.1])


def test_folds(noisy):
    X, y, *_ = noisy
    groups = np.arange(len(y)) // 10
    by_groups = pl.ProperLossClassifier(cv=GroupKFold(4)).fit(X, y, groups=groups)
    given = list(GroupKFold(4).split(X, y, groups))
    same = pl.ProperLossClassifier(cv=given).fit(X, y)
    np.testing.assert_array_equal(by_groups.coef_, same.coef_)
    pl.ProperLossClassifier(cv=3).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="two test sets"):
        pl.ProperLossClassifier(cv=[given[0], given[0]]).fit(X, y)
    with pytest.raises(ValueError, match="no test set"):
        pl.ProperLossClassifier(cv=given[:2]).fit(X, y)
    assert pl.ProperLossClassifier(cv=KFold(3)).fit(X, y).score(X, y) > 0.6


def test_random_state(noisy):
    X, y, *_ = noisy
    fit = lambda seed: pl.ProperLossClassifier(random_state=seed).fit(X, y).coef_  # noqa: E731
    np.testing.assert_array_equal(fit(1), fit(1))
    assert (fit(1) != fit(2)).any()


def test_more_columns_than_rows_go_another_way_to_the_same_place():
    """Constant columns change nothing but the shape, which decides how the descent is scaled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 20))
    y = (X[:, 0] - X[:, 1] + rng.logistic(size=80) > 0).astype(int)
    wide = np.hstack([X, np.full((80, 100), 3.0)])
    narrow_p = pl.ProperLossClassifier().fit(X, y).predict_proba(X)[:, 1]
    wide_p = pl.ProperLossClassifier().fit(wide, y).predict_proba(wide)[:, 1]
    # Descents end where the held-out likelihood no longer gains: a few thousandths apart.
    np.testing.assert_allclose(wide_p, narrow_p, atol=0.01)


def test_the_link_may_stay_below_one_half():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 1))
    y = (rng.uniform(size=4000) < 0.05 + 0.25 * (x[:, 0] > 0)).astype(int)
    clf = pl.ProperLossClassifier().fit(x, y)
    assert np.isfinite(clf.decision_function(x)).all()
    assert (clf.predict(x) == (clf.predict_proba(x)[:, 1] > 0.5)).all()


def test_few_rows_of_a_class_are_refused():
    with pytest.raises(ValueError, match="at least 2 of each class"):
        pl.ProperLossClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])


def test_works_in_a_search_and_a_pipeline(noisy):
    X, y, *_ = noisy
    model = make_pipeline(StandardScaler(), pl.ProperLossClassifier())
    assert cross_val_score(model, X, y, cv=3, scoring="neg_log_loss").min() > -0.7


# -- the calibrator --------------------------------------------------------------------------


def test_calibrator_keeps_the_ranking_and_is_never_0_or_1(noisy):
    X, y, X_test, y_test = noisy
    z = LogisticRegression().fit(X, y).decision_function(X_test)
    p = pl.ProperCalibrator().fit(z, y_test).predict(z)
    order = np.argsort(z)
    assert (np.diff(p[order])[np.diff(z[order]) > 1e-9] > 0).all()
    assert p.min() > 0 and p.max() < 1
    assert roc_auc_score(y_test, p) == roc_auc_score(y_test, z)


def test_calibrator_takes_probabilities_with_0_and_1():
    p = np.repeat(np.linspace(0, 1, 11), 40)
    y = (np.tile(np.arange(40), 11) < 8 + 24 * p).astype(int)
    fitted = pl.ProperCalibrator().fit(p, y)
    q = fitted.predict(np.linspace(0, 1, 11))
    assert (np.diff(q) > 0).all()
    np.testing.assert_allclose(q, 0.2 + 0.6 * np.linspace(0, 1, 11), atol=0.1)
    with pytest.raises(ValueError, match="from 0 to 1"):
        pl.ProperCalibrator(kind="probabilities").fit([0.2, 1.5, 0.1, 0.9], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="one score a row"):
        pl.ProperCalibrator().fit(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("ensemble", [False, True, "pooled"])
@pytest.mark.parametrize(
    "base",
    [
        RandomForestClassifier(20, random_state=0),
        SVC(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["forest", "svc", "pipeline"],
)
def test_calibrates_any_classifier(base, ensemble):
    X, y = make_classification(600, 8, flip_y=0.2, random_state=1)
    y = np.array(["no", "yes"])[y]
    clf = pl.ProperCalibratedClassifierCV(base, ensemble=ensemble).fit(X[:400], y[:400])
    p = clf.predict_proba(X[400:])
    assert p.min() > 0 and p.max() < 1
    theirs = CalibratedClassifierCV(clone(base), ensemble=bool(ensemble)).fit(X[:400], y[:400])
    ours, sigmoid = log_loss(y[400:], p), log_loss(y[400:], theirs.predict_proba(X[400:]))
    assert ours < sigmoid + 0.02
    assert set(clf.predict(X)) == {"no", "yes"}


def test_prefit():
    X, y = make_classification(600, 8, flip_y=0.2, random_state=1)
    base = RandomForestClassifier(20, random_state=0).fit(X[:200], y[:200])
    clf = pl.ProperCalibratedClassifierCV(base, cv="prefit").fit(X[200:400], y[200:400])
    assert clf.calibrated_classifiers_[0][0] is base
    p = clf.predict_proba(X[400:])[:, 1]
    assert roc_auc_score(y[400:], p) == roc_auc_score(y[400:], base.predict_proba(X[400:])[:, 1])


def test_no_ties_in_doubles_where_the_probabilities_differ_by_more_than_rounding():
    """The docstring's bound, on grids that are fine, far and one last place apart; and beyond it nothing worse."""
    decided = far = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        z = 3.0 * rng.normal(size=400)
        low, high = rng.uniform(0, 0.2), rng.uniform(0.7, 1)
        y = (rng.random(400) < low + (high - low) / (1 + np.exp(-2 * z))).astype(int)
        cal = pl.ProperCalibrator().fit(z, y)
        near = np.linspace(-5, 5, 20_001)
        out = np.logspace(0, 5, 2_001)
        grid = np.unique(np.concatenate([near, np.nextafter(near, np.inf), np.linspace(-60, 60, 40_001), out, -out]))
        p = cal.predict_proba(grid)[:, 1]
        assert p.min() > 0 and p.max() < 1
        # The difference of the sigmoid, by its smaller side: no cancellation at either end.
        t = cal.slope_ * grid + cal.intercept_
        apart = np.where(t[1:] < 0, np.diff(expit(t)), -np.diff(expit(-t)))
        told = apart > 1e-15 * cal.slope_ratio_
        steps = np.diff(p)
        assert (steps[told] > 0).all()
        # A last place or two, never more.
        assert (steps >= -4 * np.spacing(p[1:])).all()
        decided += told.sum()
        far += (steps[~told] == 0).sum()
    assert decided > 200_000 and far > 10_000
