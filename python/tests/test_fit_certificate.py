"""The certificates that every fit carries: attributes, files, where there is none."""

import json
import pickle

import numpy as np
import properloss as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GroupKFold


def rows(n, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    p = 1 / (1 + np.exp(-(X @ np.array([1.5, -1.0, 0.0])[:d])))
    return X, (rng.random(n) < p).astype(int), p


def test_the_default_estimator_has_a_bound():
    X, y, p = rows(2000)
    clf = pl.ProperLossClassifier().fit(X, y)
    bound = clf.calibration_bound_
    assert (bound.n_rows, bound.n_folds, bound.confidence) == (2000, 5, 0.95)
    assert "does not decrease" in bound.assumption
    assert not bound.assumption_rejected
    # The score of a fold model is nearly the true one, so the truth given it is nearly p.
    assert np.sqrt(np.mean((clf.predict_proba(X)[:, 1] - p) ** 2)) < bound.rms < 0.4
    cost = clf.link_cost_
    assert cost.nats <= cost.at_most == pytest.approx(np.log(np.exp(-np.arange(5.0) / 2).sum()))
    results = clf.cv_results_
    assert (results["link_cost"], results["link_cost_at_most"]) == cost
    # The first link is that of the averaged path; losses are taken in cells of 1/128 of log-odds.
    gap = 2000 * (results["log_loss_link"] - results["log_loss_path"])
    assert cost.nats == pytest.approx(gap, abs=0.1)


def test_it_survives_files_and_pickles(tmp_path):
    X, y, _ = rows(400)
    clf = pl.ProperLossClassifier().fit(X, y)
    clf.save(tmp_path / "model.json")
    for again in (pl.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(clf))):
        assert again.calibration_bound_ == clf.calibration_bound_
        assert again.link_cost_ == clf.link_cost_
    # A file of a program that knew no certificates reads as before.
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["version"] == 1
    del content["fitted"]["learned"]["certificate"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = pl.load(tmp_path / "old.json")
    assert old.calibration_bound_ is None
    assert old.link_cost_ is None
    assert (old.predict_proba(X) == clf.predict_proba(X)).all()


def test_there_is_none_where_it_would_not_be_true():
    X, y, _ = rows(300)
    assert pl.ProperLossClassifier(class_weight="balanced").fit(X, y).calibration_bound_ is None
    groups = np.arange(300) // 3
    clf = pl.ProperLossClassifier(cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert clf.calibration_bound_ is None
    assert clf.link_cost_ is not None
    several = clf.set_params(cv=5).fit(X, y + (X[:, 0] > 1))
    assert several.calibration_bound_ is None
    assert several.link_cost_ is None


def test_calibrators():
    rng = np.random.default_rng(5)
    z = rng.normal(size=3000)
    p = 0.2 + 0.6 / (1 + np.exp(-3 * z))
    y = rng.random(3000) < p
    calibrator = pl.ProperCalibrator().fit(z, y)
    bound = calibrator.calibration_bound_
    assert (bound.n_rows, bound.n_folds) == (3000, 1)
    assert bound.rms == bound.held_out_rms
    # Over twelve seeds the bound is .121 to .153, its median .130.
    assert np.sqrt(np.mean((calibrator.predict(z) - p) ** 2)) < bound.rms < 0.16
    assert calibrator.link_cost_.nats < 0 < calibrator.link_cost_.at_most
    assert calibrator.cv_results_["link_cost"] == calibrator.link_cost_.nats
    # Labels that fall with the score void it, and say so.
    assert pl.ProperCalibrator().fit(z, ~y).calibration_bound_.assumption_rejected


def test_calibrated_classifiers():
    X, y, _ = rows(600, seed=3)
    forest = RandomForestClassifier(20, random_state=0)
    for ensemble in ("pooled", False):
        clf = pl.ProperCalibratedClassifierCV(forest, ensemble=ensemble).fit(X, y)
        bound = clf.calibration_bound_
        assert (bound.n_rows, bound.n_folds) == (600, 5)
        # Folds are paid for: the same scores as one fold would have a smaller bound.
        assert 0.2 < bound.rms <= 1.0
        assert bound == clf.calibrated_classifiers_[0][1].calibration_bound_
    each = pl.ProperCalibratedClassifierCV(forest, ensemble=True).fit(X, y)
    assert each.calibration_bound_ is None
    assert all(c.calibration_bound_.n_rows == 120 for _, c in each.calibrated_classifiers_)
    groups = np.arange(600) // 2
    grouped = pl.ProperCalibratedClassifierCV(forest, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert grouped.calibration_bound_ is None
    fitted = forest.fit(X[:300], y[:300])
    prefit = pl.ProperCalibratedClassifierCV(fitted, cv="prefit").fit(X[300:], y[300:])
    assert (prefit.calibration_bound_.n_rows, prefit.calibration_bound_.n_folds) == (300, 1)


def test_equal_rows_fold_by_fold():
    """The bound of fold scores is wider than that of one score of the same rows."""
    X, y, _ = rows(1000, seed=7)
    z = X @ [1.5, -1.0, 0.0]
    one = pl.ProperCalibrator().fit(z, y).calibration_bound_
    five = pl.ProperCalibrator()._fit(z, y, None, None, np.arange(1000, dtype=np.uint32) % 5)
    assert five.calibration_bound_.n_folds == 5
    assert one.rms < five.calibration_bound_.rms
