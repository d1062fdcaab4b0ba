"""The loss inside boosters: gradients, probabilities of the link, files, bounded scores."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

import properloss as pl
from properloss import learners
from properloss.learners import Objective
from properloss.learners._objective import second_derivative

FLOORED = pl.RelativeLink("sigmoid", [0.0, 1.0], [0.1, 0.8])
BENT = pl.RelativeLink("sigmoid", [0.0, 0.3, 0.7, 1.0], [0.05, 0.2, 0.85, 0.97])
STEEP = pl.RelativeLink("probit", [0.0, 0.5, 1.0], [0.0, 0.3, 1.0])
PIECES = pl.PiecewiseLink([-3.0, -1.0, 0.5, 4.0], [0.0, 0.2, 0.7, 1.0])
LINKS = [
    *(pl.link(name) for name in pl.links()),
    FLOORED,
    BENT,
    STEEP,
    PIECES,
]
NAMES = [repr(link) for link in LINKS]


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


# -- the objective ------------------------------------------------------------------------------


def away_from_kinks(link, z, margin=1e-3):
    """Scores without those beside a kink, where a difference straddles two pieces."""
    kinks = np.array([k for k in link.support if np.isfinite(k)])
    if isinstance(link, pl.RelativeLink):
        kinks = np.r_[kinks, link.base.link(link.p[1:-1])]
    elif hasattr(link, "z"):
        kinks = np.r_[kinks, link.z]
    far = np.abs(z[:, None] - kinks[None, :]) > margin if kinks.size else np.ones((len(z), 1), bool)
    return z[far.all(axis=1)]


def grid(link):
    return away_from_kinks(link, np.linspace(-4.0, 4.0, 161) + 0.0123)


def objective_and_scores(link, loss, make):
    """The objective and scores where it is finite; None where `make` refuses it, which is checked."""
    if loss == "canonical" and not link.has_canonical_loss:
        with pytest.raises(ValueError, match="CompositeLoss"):
            make(link, loss)
        return None, None
    z = grid(link)
    if loss == "log":
        # Log-loss is infinite where the probability is 0 or 1.
        p = link.inverse_link(z)
        z = z[(p > 1e-3) & (p < 1 - 1e-3)]
    return Objective(link, loss), z


@pytest.mark.parametrize("loss", ["canonical", "log"])
@pytest.mark.parametrize("link", LINKS, ids=NAMES)
def test_gradient_against_finite_differences(link, loss):
    objective, z = objective_and_scores(link, loss, Objective)
    if objective is None:
        return
    step = 1e-5
    for y in (0.0, 1.0):
        labels = np.full_like(z, y)
        slope = (objective.value(labels, z + step) - objective.value(labels, z - step)) / (2 * step)
        # Rounding of the loss over the step, and its third derivative.
        bound = 1e-8 * (1.0 + np.abs(slope) + objective.value(labels, z)) + step**2 * np.abs(slope) ** 3
        assert (np.abs(objective.gradient(labels, z) - slope) < bound).all()


@pytest.mark.parametrize("loss", ["canonical", "log"])
@pytest.mark.parametrize("link", LINKS, ids=NAMES)
def test_hessian_against_finite_differences(link, loss):
    """Canonical: the slope of the gradient. Log-loss: its mean over labels of rate p."""
    if loss == "canonical" and not link.has_canonical_loss:
        return
    objective = Objective(link, loss)
    z = grid(link)
    p = link.inverse_link(z)
    z, p = z[(p > 1e-6) & (p < 1 - 1e-6)], p[(p > 1e-6) & (p < 1 - 1e-6)]
    step = 1e-5
    expected = np.zeros_like(z)
    for y, rate in ((0.0, 1.0 - p), (1.0, p)):
        labels = np.full_like(z, y)
        difference = objective.gradient(labels, z + step) - objective.gradient(labels, z - step)
        expected += rate * difference / (2 * step)
    hessian = objective.hessian(np.zeros_like(z), z)
    assert (hessian > 0).all()
    free = hessian > objective._least
    assert free.sum() > 20
    scale = np.abs(expected) + 1e-3 * np.max(np.abs(expected)) + np.abs(objective.gradient(np.ones_like(z), z))
    assert (np.abs(hessian - expected)[free] < 1e-6 * scale[free]).all()
    # Where the true one vanishes (it may be 0) the least one stands.
    assert (expected[~free] <= objective._least * (1 + 1e-6) + 1e-9).all()


@pytest.mark.parametrize("link", LINKS, ids=NAMES)
def test_second_derivative_of_the_link(link):
    z = grid(link)
    step = 1e-5
    slope = (link.derivative(z + step) - link.derivative(z - step)) / (2 * step)
    np.testing.assert_allclose(second_derivative(link, z), slope, atol=2e-8)


def test_auto_is_canonical_where_that_is_finite():
    expected = {"sigmoid": "canonical", "cauchy": "log", "clipped-line": "canonical"}
    for name, loss in expected.items():
        assert Objective(name).loss == loss
    assert Objective(FLOORED).loss == "log" and Objective(PIECES).loss == "canonical"
    assert Objective(STEEP).loss == "canonical"


def test_sigmoid_is_the_logistic_objective():
    z = np.linspace(-10, 10, 61)
    y = (np.arange(61) % 2).astype(float)
    w = np.linspace(0.1, 2, 61)
    p = expit(z)
    for loss in ("canonical", "log"):
        g, h = Objective("sigmoid", loss)(y, z, w)
        np.testing.assert_allclose(g, w * (p - y), atol=1e-10)
        inner = np.abs(z) < 6
        np.testing.assert_allclose(h[inner], (w * p * (1 - p))[inner], rtol=1e-9)


@pytest.mark.parametrize("link", LINKS, ids=NAMES)
def test_far_out_everything_is_finite(link):
    z = np.array([-1e300, -1e6, -800.0, -40.0, 40.0, 800.0, 1e6, 1e300])
    for loss in ("canonical", "log") if link.has_canonical_loss else ("log",):
        objective = Objective(link, loss)
        for y in (0.0, 1.0):
            g, h = objective(np.full(8, y), z)
            assert np.isfinite(g).all() and np.isfinite(h).all() and (h > 0).all()
            assert np.isfinite(objective.value(np.full(4, y), z[2:6])).all()


def test_start_score_gives_the_rate_and_is_finite_beyond_a_floor():
    y = np.r_[np.ones(30), np.zeros(70)]
    for link in (*LINKS[:7], BENT, PIECES):
        np.testing.assert_allclose(link.inverse_link(Objective(link).start(y)), 0.3, rtol=1e-12)
    w = np.r_[np.full(30, 7 / 3), np.ones(70)]
    np.testing.assert_allclose(Objective("probit").start(y, w), 0.0, atol=1e-15)
    assert np.isfinite(Objective(FLOORED).start(np.r_[np.ones(1), np.zeros(99)]))


def test_objectives_pickle_and_compare():
    for link in LINKS:
        objective = Objective(link)
        again = pickle.loads(pickle.dumps(objective))
        assert again == objective and hash(again) == hash(objective)
        z = np.linspace(-3, 3, 7)
        np.testing.assert_array_equal(again(np.ones(7), z), objective(np.ones(7), z))
    assert Objective("sigmoid", "log") != Objective("sigmoid", "canonical")
    with pytest.raises(ValueError, match='loss must be "auto"'):
        Objective("sigmoid", "square")


def test_catboost_form_has_the_other_sign():
    y, z, w = np.array([0.0, 1.0]), np.array([0.3, -0.2]), np.array([1.0, 2.0])
    g, h = Objective(BENT)(y, z, w)
    np.testing.assert_array_equal(Objective(BENT).calc_ders_range(z, y, w), np.column_stack([-g, -h]))
    error, weight = Objective(BENT).evaluate([z], y, w)
    assert weight == 3.0
    np.testing.assert_allclose(error, np.sum(w * Objective(BENT).value(y, z)))


# -- the wrappers -------------------------------------------------------------------------------


def wrapped(name, **options):
    """A wrapper over a small booster."""
    module, base, cls, settings = {
        "lightgbm": (
            "lightgbm", "LGBMClassifier", "ProperLGBMClassifier",
            {"n_estimators": 40, "n_jobs": 1, "verbose": -1, "min_child_samples": 5},
        ),
        "xgboost": ("xgboost", "XGBClassifier", "ProperXGBClassifier", {"n_estimators": 40, "n_jobs": 1}),
        "catboost": (
            "catboost", "CatBoostClassifier", "ProperCatBoostClassifier",
            {"iterations": 40, "depth": 4, "learning_rate": 0.2, "thread_count": 1, "verbose": False,
             "allow_writing_files": False},
        ),
    }[name]  # fmt: skip
    package = pytest.importorskip(module, reason=f"{module} is not installed: make test-learners")
    settings = settings | options.pop("booster", {})
    return getattr(learners, cls)(getattr(package, base)(**settings), **options)


BOOSTERS = ["lightgbm", "xgboost", "catboost"]


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 5))
    p = 0.1 + 0.7 * expit(3 * X @ [1, -1, 0.5, 0, 0])
    return X, np.where(rng.random(800) < p, "yes", "no")


@pytest.mark.parametrize("link", ["sigmoid", "probit", FLOORED, BENT, PIECES], ids=repr)
@pytest.mark.parametrize("name", BOOSTERS)
def test_probabilities_are_the_links_and_files_keep_every_bit(name, link, noisy, tmp_path):
    X, y = noisy
    clf = wrapped(name, link=link).fit(X[:600], y[:600])
    assert clf.classes_.tolist() == ["no", "yes"]
    p = clf.predict_proba(X)
    z = clf.linear_score(X)
    np.testing.assert_array_equal(p[:, 1], np.clip(clf.link_(z), np.finfo(float).tiny, 1 - 2**-53))
    assert ((clf.predict(X) == "yes") == (p[:, 1] > 0.5)).all()
    # It learned: better than the rate, on rows it has not seen.
    # (Brier's score: a link that reaches 0 and 1 may say so.)
    hit = y[600:] == "yes"
    assert np.mean((p[600:, 1] - hit) ** 2) < np.mean((np.mean(y[:600] == "yes") - hit) ** 2) - 0.03

    clf.save(tmp_path / "model.json")
    for again in (
        learners.load(tmp_path / "model.json"),
        type(clf).load(tmp_path / "model.json"),
        pickle.loads(pickle.dumps(clf)),
        clone(clf).fit(X[:600], y[:600]),
    ):
        np.testing.assert_array_equal(again.predict_proba(X), p)
        np.testing.assert_array_equal(again.predict(X), clf.predict(X))
        assert again.link_ == clf.link_ and again.n_rounds_ == clf.n_rounds_
    # A file of a loaded one is the same again.
    learners.load(tmp_path / "model.json").save(tmp_path / "again.json")
    third = learners.load(tmp_path / "again.json")
    np.testing.assert_array_equal(third.predict_proba(X), p)


@pytest.mark.parametrize("name", BOOSTERS)
def test_sigmoid_agrees_with_the_booster_alone(name, noisy):
    """Same loss, same start: the package's own logistic objective gives the same probabilities."""
    X, y = noisy
    y = (y == "yes").astype(int)
    booster = {"catboost": {"leaf_estimation_iterations": 1, "leaf_estimation_method": "Newton",
                            "bootstrap_type": "No", "random_strength": 0}}  # fmt: skip
    clf = wrapped(name, booster=booster.get(name, {})).fit(X, y)
    alone = clone(clf.estimator)
    if name == "xgboost":
        alone.set_params(base_score=y.mean())
    elif name == "catboost":
        alone.set_params(boost_from_average=True)
    p, q = clf.predict_proba(X)[:, 1], alone.fit(X, y).predict_proba(X)[:, 1]
    # Boosters keep gradients in float32: now and then a split falls the other way.
    assert np.mean(np.abs(p - q) < 1e-4) > 0.9, np.sort(np.abs(p - q))[-100:]
    assert abs(log_loss(y, p) - log_loss(y, q)) < 2e-3


@pytest.mark.parametrize("name", BOOSTERS)
def test_weight_zero_is_a_removed_row_of_the_start_score_and_stops_nothing(name, noisy):
    X, y = noisy
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    clf = wrapped(name, link=FLOORED).fit(X, y, weight)
    alone = wrapped(name, link=FLOORED).fit(X[weight > 0], y[weight > 0])
    assert clf.start_ == pytest.approx(alone.start_, rel=1e-12)
    twice = wrapped(name, link=FLOORED).fit(X, y, np.full(len(y), 1.0))
    once = wrapped(name, link=FLOORED).fit(X, y)
    np.testing.assert_allclose(twice.predict_proba(X), once.predict_proba(X), rtol=1e-6)
    assert np.abs(clf.predict_proba(X) - once.predict_proba(X)).max() > 0.01
    with pytest.raises(ValueError, match="not be negative"):
        wrapped(name).fit(X, y, -np.ones(len(y)))


@pytest.mark.parametrize("name", BOOSTERS)
def test_stops_at_the_least_log_loss_of_the_link(name, noisy, tmp_path):
    X, y = noisy
    many = {"catboost": {"iterations": 400}}.get(name, {"n_estimators": 400})
    clf = wrapped(name, link=BENT, booster=many)
    clf.fit(X[:500], y[:500], eval_set=(X[500:], y[500:]), patience=15)
    assert 1 <= clf.n_rounds_ < 380
    kept = log_loss(y[500:], clf.predict_proba(X[500:])[:, 1])
    for rounds in (max(1, clf.n_rounds_ - 10), clf.n_rounds_ + 10):
        other = clone(clf)
        other._set_rounds(rounds)
        assert kept <= log_loss(y[500:], other.fit(X[:500], y[:500]).predict_proba(X[500:])[:, 1]) + 1e-3
    clf.save(tmp_path / "model.json")
    np.testing.assert_array_equal(learners.load(tmp_path / "model.json").predict_proba(X), clf.predict_proba(X))
    with pytest.raises(ValueError, match="label 'maybe' in row 2"):
        clone(clf).fit(X, y, eval_set=(X[:3], np.array(["no", "yes", "maybe"])))


@pytest.mark.parametrize("name", BOOSTERS)
def test_frames_with_names_and_categories(name, noisy, tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = noisy
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["b"] = pd.Categorical(np.where(frame["b"] > 0, "up", "down"))
    special = {"xgboost": {"enable_categorical": True}, "catboost": {"cat_features": ["b"]}}
    clf = wrapped(name, link=FLOORED, booster=special.get(name, {})).fit(frame, y)
    assert clf.feature_names_in_.tolist() == list("abcde")
    clf.save(tmp_path / "model.json")
    again = learners.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(frame), clf.predict_proba(frame))
    # The category counts.
    other = frame.assign(b=pd.Categorical(np.where(frame["b"] == "up", "down", "up")))
    assert np.abs(clf.predict_proba(other) - clf.predict_proba(frame)).max() > 0.05
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("name", BOOSTERS)
def test_files_say_what_is_wrong_with_them(name, noisy, tmp_path):
    X, y = noisy
    path = tmp_path / "model.json"
    clf = wrapped(name).fit(X, y)
    clf.save(path)
    content = json.loads(path.read_text())
    assert content["format"] == "properloss-learner" and content["version"] == 1
    for change, message in (
        ({"version": 2}, "has version 2"),
        ({"format": "properloss-model"}, "not a file of a learner"),
        ({"link": {"kind": "spline"}}, "unknown kind of link 'spline'"),
    ):
        path.write_text(json.dumps(content | change))
        with pytest.raises(ValueError, match=message):
            learners.load(path)
    del content["start"]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="lacks the field 'start'"):
        learners.load(path)
    path.write_text("no json")
    with pytest.raises(ValueError, match="is not JSON"):
        learners.load(path)
    path.write_text(json.dumps(content | {"start": 0.0, "learner": "other"}))
    with pytest.raises(ValueError, match="holds a other booster"):
        type(clf).load(path)


def ten_sets():
    """Ten real and made sets, separable ones among them."""
    for load, positive in ((load_breast_cancer, 1), (load_wine, 0), (load_iris, 0), (load_iris, 1), (load_digits, 8)):
        X, y = load(return_X_y=True)
        yield X, (y == positive).astype(int)
    yield make_moons(400, noise=0.0, random_state=0)
    yield make_classification(400, 20, flip_y=0.3, random_state=1)
    yield make_classification(300, 10, weights=[0.95], flip_y=0.0, random_state=2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    yield X, (X[:, 0] > 0).astype(int)  # separable by one split
    yield X, rng.integers(0, 2, 400)  # nothing to learn


SETS = list(ten_sets())


@pytest.mark.parametrize("number", range(len(SETS)))
@pytest.mark.parametrize("name", BOOSTERS)
def test_scores_stay_bounded_under_floors(name, number):
    """Canonical gradients drove them to -825 here; 300 rounds without any stopping must not."""
    X, y = SETS[number]
    rounds = {"catboost": {"iterations": 100, "learning_rate": 0.3}}.get(name, {"n_estimators": 300})
    links = [FLOORED] if name == "catboost" else [FLOORED, BENT, pl.RelativeLink("sigmoid", [0, 1], [0.02, 0.6])]
    for link in links:
        clf = wrapped(name, link=link, booster=rounds).fit(X, y)
        z = clf.linear_score(X)
        # At 30 the probability is within 1e-13 of its end: further out nothing is left to learn.
        assert np.isfinite(z).all() and np.abs(z).max() < 60.0, (link, np.abs(z).max())
        low, high = link.v[0], link.v[-1]
        p = clf.predict_proba(X)[:, 1]
        assert (p >= low).all() and (p <= high).all()


@pytest.mark.parametrize("name", BOOSTERS)
def test_scikit_learn_checks_that_the_base_passes(name):
    clf = wrapped(name)
    failed = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, estimator in (("ours", clf), ("base", clf.estimator)):
            estimator = clone(estimator)
            results = check_estimator(estimator, on_skip=None, on_fail=None)
            assert len(results) > 40
            failed[key] = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    new = set(failed["ours"]) - set(failed["base"])
    assert not new, {check: repr(failed["ours"][check]) for check in new}


def test_packages_that_are_absent_are_named_when_used(monkeypatch):
    import builtins

    real = builtins.__import__

    def absent(name, *rest):
        if name.split(".")[0] == "lightgbm":
            raise ModuleNotFoundError("No module named 'lightgbm'", name="lightgbm")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ModuleNotFoundError, match="lightgbm"):
        learners.ProperLGBMClassifier().fit([[0.0], [1.0]], [0, 1])
