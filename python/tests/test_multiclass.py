"""Several classes in Python: scikit-learn's checks and shapes, the guarantee, bad input."""

from __future__ import annotations

import json
import pathlib
import pickle
import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, train_test_split
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import properloss as pl
from properloss import _core


# Without `preserve_order`: test_proper.py.
@parametrize_with_checks([pl.ProperLossClassifier(preserve_order=True)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_tags_say_multiclass():
    assert get_tags(pl.ProperLossClassifier()).classifier_tags.multi_class


@pytest.fixture(scope="module")
def noisy():
    """Softmax of three scores, and one label in five is anything."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 10))
    W = rng.normal(size=(10, 3))
    Z = X @ W
    p = np.exp(Z - Z.max(1, keepdims=True))
    p = 0.8 * p / p.sum(1, keepdims=True) + 0.2 / 3
    y = (p.cumsum(1) > rng.random((6000, 1))).argmax(1)
    return X[:2000], y[:2000], X[2000:], y[2000:]


def test_beats_softmax_regression_where_labels_are_noisy(noisy):
    X, y, Xt, yt = noisy
    ours = pl.ProperLossClassifier().fit(X, y)
    theirs = LogisticRegressionCV(
        cv=5, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False
    ).fit(X, y)
    gain = log_loss(yt, theirs.predict_proba(Xt)) - log_loss(yt, ours.predict_proba(Xt))
    # The truth is .045 better than any softmax here; standard error .005.
    assert gain > 0.02
    assert ours.cv_results_["held_out_cost"] < -0.02


def test_shapes_and_types_of_labels(noisy):
    X, y, Xt, _ = noisy
    names = np.array(["cod", "eel", "ray"])[y]
    clf = pl.ProperLossClassifier().fit(X, names)
    assert list(clf.classes_) == ["cod", "eel", "ray"]
    assert clf.coef_.shape == (3, 10) and clf.intercept_.shape == (3,)
    z = clf.decision_function(Xt)
    np.testing.assert_allclose(z, Xt @ clf.coef_.T + clf.intercept_, rtol=1e-12, atol=1e-12)
    p = clf.predict_proba(Xt)
    assert p.shape == (4000, 3)
    np.testing.assert_allclose(p.sum(1), 1.0, rtol=1e-14)
    assert (clf.predict(Xt) == clf.classes_[p.argmax(1)]).all()
    # The same fit whatever the labels are called.
    other = pl.ProperLossClassifier().fit(X, y - 7)
    assert (other.predict_proba(Xt) == p).all()


def test_the_guarantee(noisy):
    X, y, Xt, yt = noisy
    clf = pl.ProperLossClassifier().fit(X, y)
    z = clf.decision_function(Xt)
    softmax = np.exp(z - z.max(1, keepdims=True))
    softmax /= softmax.sum(1, keepdims=True)
    p = clf.predict_proba(Xt)
    assert (p >= softmax / clf.tau_ * (1 - 1e-12)).all()
    assert clf.cv_results_["log_loss_bound"] == pytest.approx(np.log(clf.tau_))
    i = np.arange(len(yt))
    assert (np.log(softmax[i, yt]) - np.log(p[i, yt])).max() <= np.log(clf.tau_) + 1e-12
    assert clf.cv_results_["link_gap"] < 3e-3
    jacobian = clf.link_.jacobian(z[0])
    np.testing.assert_allclose(jacobian, jacobian.T, atol=1e-15)
    np.testing.assert_allclose(jacobian.sum(1), 0.0, atol=1e-15)


def test_order_is_kept_on_request(noisy):
    X, y, Xt, _ = noisy
    clf = pl.ProperLossClassifier(preserve_order=True).fit(X, y)
    assert clf.link_.keeps_order and clf.tau_ > 1.05
    z, p = clf.decision_function(Xt), clf.predict_proba(Xt)
    assert (np.argsort(z, axis=1) == np.argsort(p, axis=1)).all()


def test_two_classes_are_the_binary_fit_before_and_after(noisy):
    X, y, Xt, _ = noisy
    two = y < 2
    binary = pl.ProperLossClassifier().fit(X[two], y[two])
    again = clone(binary).fit(X, y)
    assert hasattr(again, "tau_") and not hasattr(again, "slope_ratio_")
    again.fit(X[two], y[two])
    assert not hasattr(again, "tau_") and again.slope_ratio_ == binary.slope_ratio_
    assert (again.predict_proba(Xt) == binary.predict_proba(Xt)).all()
    assert again.coef_.shape == (1, 10)


def test_storage_pickle_and_groups(noisy):
    X, y, Xt, _ = noisy
    X, y = X[:400], y[:400]
    clf = pl.ProperLossClassifier().fit(X, y)
    p = clf.predict_proba(Xt)
    sparse = pl.ProperLossClassifier().fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.predict_proba(Xt), p, atol=1e-6)
    copy = pickle.loads(pickle.dumps(clf))
    assert (copy.predict_proba(Xt) == p).all() and copy.link_ == clf.link_
    groups = np.arange(400) // 8
    grouped = pl.ProperLossClassifier(cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert np.isfinite(grouped.cv_results_["log_loss"])


def test_weights_count_rows(noisy):
    X, y, _, _ = noisy
    X, y = X[:300], y[:300]
    weight = np.arange(300) % 3
    fold = np.arange(300) % 5
    splits = lambda fold: [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]
    a = pl.ProperLossClassifier(cv=splits(fold)).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(300), weight)
    b = pl.ProperLossClassifier(cv=splits(fold[rows])).fit(X[rows], y[rows])
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-6)


def test_bad_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="no row can be held out"):
        pl.ProperLossClassifier().fit(X, np.arange(150))
    with pytest.raises(ValueError, match="class np.int64\\(1\\) has weight 0"):
        pl.ProperLossClassifier().fit(X, y, sample_weight=y != 1)
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3, column 2"):
        pl.ProperLossClassifier().fit(broken, y)
    # A class with one row is kept, and never held out.
    rare = y.copy()
    rare[0] = 3
    clf = pl.ProperLossClassifier().fit(X, rare)
    assert clf.predict_proba(X).shape == (150, 4)
    with pytest.raises(ValueError, match="no lower bound"):
        link = _core.VectorMixture([(0.9, 1.0)], [0.1, 0.0, 0.0])
        link.canonical_loss(np.zeros((1, 3)), np.zeros(1, dtype=np.uint32))


def test_real_sets():
    for load, most in ((load_iris, 0.2), (load_wine, 0.15), (load_digits, 0.2)):
        X, y = load(return_X_y=True)
        a, b, ya, yb = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
        p = pl.ProperLossClassifier().fit(a, ya).predict_proba(b)
        assert log_loss(yb, p) < most


def test_calibrators(noisy):
    X, y, Xt, yt = noisy
    forest = RandomForestClassifier(50, random_state=0).fit(X[:1000], y[:1000])
    raw = forest.predict_proba(Xt)
    calibrator = pl.ProperCalibrator().fit(forest.predict_proba(X[1000:]), y[1000:])
    p = calibrator.predict_proba(raw)
    assert p.shape == (4000, 3) and (p > 0).all()
    np.testing.assert_allclose(p.sum(1), 1.0, rtol=1e-14)
    clipped = np.clip(raw, 1e-3, None)
    assert log_loss(yt, p) < log_loss(yt, clipped / clipped.sum(1, keepdims=True)) - 0.01
    both = pl.ProperCalibratedClassifierCV(RandomForestClassifier(50, random_state=0)).fit(X, y)
    q = both.predict_proba(Xt)
    assert q.shape == (4000, 3) and log_loss(yt, q) < log_loss(yt, p)
    assert (both.predict(Xt) == q.argmax(1)).all()


def test_model_files(noisy, tmp_path, monkeypatch):
    X, y, Xt, _ = noisy
    names = np.array(["cod", "eel", "ray"])[y]
    clf = pl.ProperLossClassifier(random_state=3).fit(X, names)
    assert clf.stack_share_ == 0  # as these rows have no use for it
    clf._learned["stack_share"] = clf.stack_share_ = 0.25
    path = tmp_path / "model.json"
    clf.save(path)
    for again in (pl.load(path), pl.ProperLossClassifier.load(path)):
        assert (again.predict_proba(Xt) == clf.predict_proba(Xt)).all()
        assert (again.predict(Xt) == clf.predict(Xt)).all()
        assert again.random_state == 3 and again.tau_ == clf.tau_
        assert again.stack_share_ == 0.25
    with pytest.raises(ValueError, match="several classes"):
        pl.GlmtronClassifier.load(path)
    # Ten lines are enough to predict from the file: those of the page, on a file with a ramp.
    m = json.loads(path.read_text())
    link = m["link"]
    kept = [{**part, "mass": 0.8 * part["mass"]} for part in link["softmax"]]
    ramp = {"mass": 0.2, "class": 1, "p": [0.0, 0.3, 0.7, 1.0], "r": [0.0, 0.1, 0.8, 1.0]}
    ramps = [{**part, "mass": 0.8 * part["mass"]} for part in link["ramps"]] + [ramp]
    bent = {**link, "softmax": kept, "floor": [0.8 * c for c in link["floor"]], "ramps": ramps}
    page = (pathlib.Path(__file__).parents[2] / "docs" / "multiclass.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(import json\n.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert len(script.splitlines()) == 10
    monkeypatch.chdir(tmp_path)
    np.savetxt("new.csv", Xt, delimiter=",")
    for file in (m, {**m, "link": bent}):
        path.write_text(json.dumps(file))
        found: dict[str, np.ndarray] = {}
        exec(script, found)
        np.testing.assert_allclose(found["p"], pl.load(path).predict_proba(Xt), rtol=1e-9)
    # A file of before there was a stacked fit.
    del m["fitted"]["learned"]["stack_share"]
    path.write_text(json.dumps(m))
    assert pl.load(path).stack_share_ == 0
    broken = {**m, "classes": ["cod", "eel", "cod"]}
    path.write_text(json.dumps(broken))
    with pytest.raises(ValueError, match=r"classes\[2\]"):
        pl.load(path)
