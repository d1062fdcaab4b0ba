"""Cross-fitted models under one calibrator; early stopping on the held-out fold."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import properloss as pl
from properloss._pooled import Part, floor_and_ceiling, stopper


@pytest.fixture(autouse=True)
def one_thread():
    """Small fits on a busy machine wait for their threads most of the time."""
    with threadpool_limits(1):
        yield


def noisy(m, seed=0):
    """A tree's truth with labels flipped: 5 % one way, 30 % the other."""
    rng = np.random.default_rng(seed)
    # Few values a column: with weights scikit-learn looks for the bins of many one by one, for seconds.
    X = rng.normal(size=(m, 5)).round(1)
    clean = (X[:, 0] * X[:, 1] > 0) | (X[:, 2] > 1.0)
    return X, np.where(rng.random(m) < np.where(clean, 0.3, 0.05), ~clean, clean).astype(int)


def hist(**options):
    return HistGradientBoostingClassifier(max_iter=120, max_leaf_nodes=8, random_state=0, **options)


def booster(name):
    """A booster that would overfit if it were not stopped."""
    if name == "hist":
        return hist()
    module, cls, options = {
        "lightgbm": ("lightgbm", "LGBMClassifier", {"n_estimators": 150, "verbose": -1}),
        "xgboost": ("xgboost", "XGBClassifier", {"n_estimators": 150}),
        "catboost": (
            "catboost",
            "CatBoostClassifier",
            # Its random scores depend on the number of rounds that are asked for.
            {"iterations": 150, "learning_rate": 0.3, "random_strength": 0.0, "depth": 4}
            | {"verbose": False, "allow_writing_files": False},
        ),
    }[name]
    package = pytest.importorskip(module, reason=f"{module} is not installed: make test-learners")
    threads = "thread_count" if name == "catboost" else "n_jobs"
    return getattr(package, cls)(**options, **{threads: 1})


BOOSTERS = ["hist", "lightgbm", "xgboost", "catboost"]


def test_pooled_is_one_calibrator_over_the_models_of_the_folds():
    X, y = noisy(600)
    folds = list(StratifiedKFold(4).split(X, y))
    clf = pl.ProperCalibratedClassifierCV(LogisticRegression(), cv=folds).fit(X, y)
    # By hand, from public parts.
    models = [LogisticRegression().fit(X[train], y[train]) for train, _ in folds]
    z, of_row = np.empty(len(y)), np.empty(len(y), dtype=int)
    for number, (model, (_, test)) in enumerate(zip(models, folds)):
        z[test], of_row[test] = model.decision_function(X[test]), number
    from sklearn.model_selection import PredefinedSplit

    one = pl.ProperCalibrator(kind="scores", cv=PredefinedSplit(of_row)).fit(z, y)
    p = np.mean([one.predict(model.decision_function(X)) for model in models], axis=0)
    np.testing.assert_array_equal(clf.predict_proba(X)[:, 1], p)
    assert len({id(c) for _, c in clf.calibrated_classifiers_}) == 1
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize("name", BOOSTERS)
def test_every_fold_is_stopped_by_its_own_held_out_rows(name):
    X, y = noisy(500)
    base = booster(name)
    folds = list(StratifiedKFold(3).split(X, y))
    clf = pl.ProperCalibratedClassifierCV(base, cv=folds, ensemble="pooled", early_stopping=15).fit(X, y)
    assert len(clf.n_rounds_) == 3 and (clf.n_rounds_ < 115).all() and (clf.n_rounds_ >= 1).all()
    for (model, _), rounds, (train, test) in zip(clf.calibrated_classifiers_, clf.n_rounds_, folds):
        # The kept model is the one with the held-out loss at its least: neither ten rounds less
        # nor ten rounds more are better by more than rounding.
        def loss(rounds):
            other = clone(base)
            way = stopper(other, True)
            way.set_rounds(other, int(rounds))
            other.fit(X[train], y[train])
            return log_loss(y[test], other.predict_proba(X[test])[:, 1])

        kept = log_loss(y[test], model.predict_proba(X[test])[:, 1])
        assert kept == pytest.approx(loss(rounds), rel=1e-6)
        for other in (max(1, rounds - 10), rounds + 10):
            assert kept <= loss(other) + 1e-7


@pytest.mark.parametrize("name", BOOSTERS)
def test_weights_reach_the_learner_the_stopping_and_the_calibrator(name):
    X, y = noisy(400)
    weight = np.where(np.arange(len(y)) % 4 == 0, 3.0, 1.0)
    options = {"cv": StratifiedKFold(3), "ensemble": "pooled", "early_stopping": 10}
    ones = pl.ProperCalibratedClassifierCV(booster(name), **options).fit(X, y, np.ones(len(y)))
    none = pl.ProperCalibratedClassifierCV(booster(name), **options).fit(X, y)
    some = pl.ProperCalibratedClassifierCV(booster(name), **options).fit(X, y, weight)
    np.testing.assert_allclose(ones.predict_proba(X), none.predict_proba(X), rtol=1e-6)
    assert np.abs(some.predict_proba(X) - none.predict_proba(X)).max() > 0.01

    # The held-out weights count: rows of weight 0, with wrong labels, do not stop anything.
    X, y = noisy(1000)
    model, alone = booster(name), booster(name)
    odd = np.arange(700, 1000) % 2 == 1
    train, way = Part(X[:700], y[:700]), stopper(model, 10)
    wrong = np.where(odd, y[700:], 1 - y[700:])
    rounds = way.fit(model, train, Part(X[700:], wrong, odd.astype(float)))
    assert rounds == way.fit(alone, train, Part(X[700:][odd], y[700:][odd])) > 3


def test_refit_takes_the_median_of_the_rounds():
    X, y = noisy(500)
    clf = pl.ProperCalibratedClassifierCV(hist(), ensemble=False, early_stopping=10).fit(X, y)
    (model, _), = clf.calibrated_classifiers_
    assert model.n_iter_ == int(np.median(clf.n_rounds_))
    pooled = pl.ProperCalibratedClassifierCV(hist(), ensemble="pooled", early_stopping=10).fit(X, y)
    np.testing.assert_array_equal(pooled.n_rounds_, clf.n_rounds_)
    apart = pl.ProperCalibratedClassifierCV(hist(), ensemble=True, early_stopping=10).fit(X, y)
    np.testing.assert_array_equal(apart.n_rounds_, clf.n_rounds_)


def test_hist_goes_back_to_its_best_round_where_fit_takes_no_held_out_rows(monkeypatch):
    """The way of scikit-learn before 1.7 finds the same round."""
    X, y = noisy(500)
    train, held_out = Part(X[:350], y[:350]), Part(X[350:], y[350:])
    new, old = hist(), hist()
    way = stopper(new, 10)
    rounds = way.fit(new, train, held_out)
    monkeypatch.setattr("properloss._pooled.has_fit_parameter", lambda *_: False)
    assert way.fit(old, train, held_out) == rounds
    np.testing.assert_array_equal(new.predict_proba(X), old.predict_proba(X))


def test_groups_stay_together():
    X, y = noisy(300)
    groups = np.arange(len(y)) // 10
    seen = []

    class Remember(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append({tuple(row) for row in X})
            return super().fit(X, y, sample_weight)

    for cv in (GroupKFold(3), 3):
        seen.clear()
        pl.ProperCalibratedClassifierCV(Remember(), cv=cv, ensemble="pooled").fit(X, y, groups=groups)
        assert len(seen) == 3
        for rows in seen:
            inside = np.array([tuple(row) in rows for row in X])
            for group in range(30):
                assert inside[groups == group].all() or not inside[groups == group].any()


def test_a_pipeline_stops_by_rows_that_its_first_steps_have_not_seen():
    X, y = noisy(500)
    folds = list(StratifiedKFold(3).split(X, y))
    options = {"cv": folds, "ensemble": "pooled", "early_stopping": 10}
    pipe = make_pipeline(StandardScaler(), hist())
    clf = pl.ProperCalibratedClassifierCV(pipe, **options).fit(X, y, np.ones(len(y)))
    for (model, _), (train, test) in zip(clf.calibrated_classifiers_, folds):
        np.testing.assert_allclose(model[0].mean_, X[train].mean(axis=0))
        bare = hist()
        scaler = StandardScaler().fit(X[train])
        rounds = stopper(bare, 10).fit(
            bare,
            Part(scaler.transform(X[train]), y[train], np.ones(len(train))),
            Part(scaler.transform(X[test]), y[test], np.ones(len(test))),
        )
        assert model[-1].n_iter_ == rounds
        np.testing.assert_array_equal(model.predict_proba(X), bare.predict_proba(scaler.transform(X)))
    refit = pl.ProperCalibratedClassifierCV(pipe, **options | {"ensemble": False}).fit(X, y)
    assert refit.calibrated_classifiers_[0][0][-1].n_iter_ == int(np.median(refit.n_rounds_))


def test_a_learner_that_is_not_known_is_named():
    X, y = noisy(60)
    clf = pl.ProperCalibratedClassifierCV(LogisticRegression(), early_stopping=True)
    with pytest.raises(TypeError, match="does not know LogisticRegression.*LightGBM.*set_rounds"):
        clf.fit(X, y)


class Steps(ClassifierMixin, BaseEstimator):
    """Logistic regression by gradient steps: a learner with rounds that nobody knows."""

    def __init__(self, rounds=500):
        self.rounds = rounds

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.w_ = np.zeros(X.shape[1])
        for _ in range(self.rounds):
            self.w_ -= 0.5 * X.T @ (1 / (1 + np.exp(-X @ self.w_)) - y) / len(y)
        return self

    def decision_function(self, X):
        return X @ self.w_


class StopSteps:
    def fit(self, model, train, held_out):
        model.set_params(rounds=7 + len(held_out.y) % 5).fit(train.X, train.y)
        return model.rounds

    def set_rounds(self, model, rounds):
        model.set_params(rounds=rounds)


def test_another_learner_by_an_object_of_ones_own():
    X, y = noisy(200)
    clf = pl.ProperCalibratedClassifierCV(
        Steps(), cv=4, ensemble=False, early_stopping=StopSteps()
    ).fit(X, y)
    assert clf.n_rounds_.tolist() == [7, 7, 7, 7]
    assert clf.calibrated_classifiers_[0][0].rounds == 7


def test_pooled_beats_the_plain_booster_and_both_per_fold_forms_under_noise():
    """The study in small: `make study-learners` has the real one."""
    from sklearn.calibration import CalibratedClassifierCV

    totals = np.zeros(4)
    for seed in range(3):
        X, y = noisy(600, seed)
        X_test, y_test = noisy(4000, seed + 100)
        base = hist()
        plain = hist()
        stopper(plain, 20).fit(plain, Part(X[:480], y[:480]), Part(X[480:], y[480:]))
        pooled = pl.ProperCalibratedClassifierCV(base, ensemble="pooled", early_stopping=20).fit(X, y)
        stopped = clone(base).set_params(max_iter=int(np.median(pooled.n_rounds_)), early_stopping=False)
        per_fold = [CalibratedClassifierCV(stopped, method=m, cv=5).fit(X, y) for m in ("sigmoid", "isotonic")]
        for j, model in enumerate([pooled, plain, *per_fold]):
            p = np.clip(model.predict_proba(X_test)[:, 1], 1e-3, 1 - 1e-3)
            totals[j] += log_loss(y_test, p)
    assert (totals[0] < totals[1:]).all(), totals


def test_floor_and_ceiling_are_found_and_agree_with_a_slow_search():
    rng = np.random.default_rng(3)
    z = rng.normal(size=4000) * 3
    p = 0.1 + 0.6 / (1 + np.exp(-2 * z))
    y = (rng.random(len(z)) < p).astype(int)
    link = floor_and_ceiling(z, y, None)
    a, b = link.v
    assert abs(a - 0.1) < 0.03 and abs(b - 0.7) < 0.03

    def loss(theta):
        a, c, s, t = theta
        if min(a, c) <= 0 or a + c >= 1:
            return np.inf
        p = a + (1 - a - c) / (1 + np.exp(-s * z - t))
        return -np.sum(np.where(y == 1, np.log(p), np.log1p(-p))) - np.log(a) - np.log(c)

    slow = minimize(loss, [0.2, 0.2, 1.0, 0.0], method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-7})
    np.testing.assert_allclose([a, 1 - b], slow.x[:2], atol=2e-4)
    # Weight 2 is the row twice.
    twice = floor_and_ceiling(np.r_[z, z[:500]], np.r_[y, y[:500]], None)
    weighted = floor_and_ceiling(z, y, np.r_[np.full(500, 2.0), np.ones(3500)])
    np.testing.assert_allclose(weighted.v, twice.v, atol=2e-3)
    # Where there is no floor there is none to speak of.
    clean = (rng.random(len(z)) < 1 / (1 + np.exp(-2 * z))).astype(int)
    a, b = floor_and_ceiling(z, clean, None).v
    assert a < 0.02 and b > 0.98


def test_relink_needs_a_learner_with_a_link_and_pooled_scores():
    X, y = noisy(200)
    with pytest.raises(TypeError, match="LogisticRegression has none"):
        pl.ProperCalibratedClassifierCV(LogisticRegression(), relink=True, ensemble="pooled").fit(X, y)
    with pytest.raises(ValueError, match="relink needs pooled held-out scores"):
        pl.ProperCalibratedClassifierCV(relink=True, ensemble=True).fit(X, y)


def test_relink_keeps_a_floor_that_pays_and_leaves_clean_data_alone():
    pytest.importorskip("lightgbm", reason="lightgbm is not installed: make test-learners")
    from properloss.learners import ProperLGBMClassifier

    stumps = ProperLGBMClassifier(booster("lightgbm").set_params(num_leaves=2))
    options = {"ensemble": "pooled", "early_stopping": 20, "cv": 3}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    p = 0.05 + 0.65 / (1 + np.exp(-4 * X @ [1, 1, 1, 0]))
    y = (rng.random(len(p)) < p).astype(int)
    clf = pl.ProperCalibratedClassifierCV(stumps, relink=True, **options).fit(X, y)
    assert clf.relink_gain_ >= 2.0
    a, b = clf.calibrated_classifiers_[0][0].link_.v
    assert abs(a - 0.05) < 0.04 and abs(b - 0.7) < 0.06

    X, y = load_breast_cancer(return_X_y=True)
    clf = pl.ProperCalibratedClassifierCV(stumps, relink=True, **options).fit(X, y)
    plain = pl.ProperCalibratedClassifierCV(stumps, **options).fit(X, y)
    assert clf.relink_gain_ == 0.0
    np.testing.assert_array_equal(clf.predict_proba(X), plain.predict_proba(X))


def test_a_network_of_skorch_stops_by_epochs():
    torch = pytest.importorskip("torch", reason="torch is not installed: make test-learners")
    skorch = pytest.importorskip("skorch", reason="skorch is not installed: make test-learners")
    X, y = noisy(400)
    torch.manual_seed(0)
    from networks import Small

    net = skorch.NeuralNetBinaryClassifier(
        Small, max_epochs=200, lr=0.03, optimizer=torch.optim.Adam, verbose=0
    )
    X = X.astype(np.float32)
    clf = pl.ProperCalibratedClassifierCV(net, cv=3, ensemble="pooled", early_stopping=True)
    clf.fit(X, y.astype(np.float32))
    assert (clf.n_rounds_ < 200).all()
    for model, _ in clf.calibrated_classifiers_:
        losses = model.history[:, "valid_loss"]
        assert len(losses) <= int(np.argmin(losses)) + 1 + 5
    p = clf.predict_proba(X)[:, 1]
    assert log_loss(y, p) < log_loss(y, np.full(len(y), y.mean()))
    with pytest.raises(ValueError, match="skorch takes no sample_weight"):
        stopper(net, True).fit(net, Part(X, y, np.ones(len(y))), Part(X, y))

