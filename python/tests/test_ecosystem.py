"""In the company of scikit-learn: pipelines, searches, calibration, routing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import properloss as pl


def test_pipeline_and_grid_search(classifier, data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), classifier)
    name = type(classifier).__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__max_iter": [20, 60]}, cv=3, scoring="roc_auc")
    search.fit(X, y)
    assert search.best_score_ > 0.7
    assert search.predict_proba(X).shape == (300, 2)


def test_calibrated(classifier, data):
    X, y = data
    calibrated = CalibratedClassifierCV(classifier, method="isotonic", cv=3).fit(X, y)
    assert roc_auc_score(y, calibrated.predict_proba(X)[:, 1]) > 0.8


def test_cross_validation_with_metadata_routing(classifier, data):
    X, y = data
    weights = np.where(np.arange(300) < 150, 1.0, 3.0)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(classifier).set_fit_request(sample_weight=True)
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        scores = cross_val_score(
            routed, X, y, cv=3, scoring=scorer, params={"sample_weight": weights}
        )
        ignoring = clone(classifier).set_fit_request(sample_weight=False)
        others = cross_val_score(
            ignoring, X, y, cv=3, scoring=scorer, params={"sample_weight": weights}
        )
    assert np.all(np.isfinite(scores)) and not np.array_equal(scores, others)


def test_parallel_cross_validation(data):
    X, y = data
    clf = pl.BregmanTronClassifier(max_iter=50)
    serial = cross_val_predict(clf, X, y, cv=4, method="predict_proba")
    parallel = cross_val_predict(clf, X, y, cv=4, method="predict_proba", n_jobs=2)
    assert np.array_equal(serial, parallel)


def test_the_sigmoid_is_logistic_regression(data):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2, size=300)
    for C in (0.01, 1.0, 100.0):
        ours = pl.CanonicalLossClassifier(C=C, scaling="none").fit(X, y, sample_weight=weights)
        theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        theirs.fit(X, y, sample_weight=weights)
        # Our gradient is below 1e-10; the least curvature here is above 1e-3.
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("name", ["breast cancer", "digits", "classification"])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regression_to_1e_6_on_three_data_sets(name, weighted):
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    elif name == "digits":
        X, y = load_digits(return_X_y=True)
        X, y = X / 16, y % 2
    else:
        X, y = make_classification(n_samples=2000, n_features=20, random_state=0)
    weights = np.random.default_rng(0).uniform(0.2, 3, size=y.size) if weighted else None
    ours = pl.CanonicalLossClassifier(C=1.0, scaling="none").fit(X, y, sample_weight=weights)
    theirs = LogisticRegression(C=1.0, tol=1e-14, max_iter=10_000, solver="newton-cholesky")
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-6)


def test_no_penalty(data):
    X, y = data
    ours = pl.CanonicalLossClassifier(C=np.inf, scaling="none").fit(X, y)
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_weights_two_is_twice_and_zero_is_gone(classifier, data):
    X, y = data
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, size=300)
    weighted = clone(classifier).fit(X, y, sample_weight=weights)
    repeated = clone(classifier).fit(X.repeat(weights, axis=0), y.repeat(weights))
    # Other sums in another order, amplified over the iterations.
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5, atol=1e-7
    )


def test_decision_function_is_linear_and_the_link_takes_the_score(classifier, data):
    X, y = data
    classifier.fit(X, y)
    decision = classifier.decision_function(X)
    np.testing.assert_allclose(
        decision, X @ classifier.coef_[0] + classifier.intercept_[0], rtol=1e-9, atol=1e-9
    )
    z = classifier.linear_score(X)
    p = classifier.predict_proba(X)
    assert np.array_equal(classifier.link_.inverse_link(z), p[:, 1])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
    assert np.array_equal(classifier.predict(X), classifier.classes_[(decision > 0).astype(int)])
    assert len(classifier.history_["loss"]) == classifier.n_iter_
    assert np.all(classifier.loss_.loss(y, z) >= 0)


def test_quality_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    for clf in (
        pl.BregmanTronClassifier(),
        pl.GlmtronClassifier(alpha=1e-3),
        pl.CanonicalLossClassifier(),
    ):
        p = cross_val_predict(clf, X, y, cv=5, method="predict_proba")[:, 1]
        assert roc_auc_score(y, p) > 0.97, clf
    p = cross_val_predict(pl.BregmanTronClassifier(), X, y, cv=5, method="predict_proba")[:, 1]
    assert log_loss(y, np.clip(p, 1e-3, 1 - 1e-3)) < 0.2
    # Isotonic regression ties and over-fits, but it ranks.
    p = cross_val_predict(pl.SlisotronClassifier(), X, y, cv=5, method="predict_proba")[:, 1]
    assert roc_auc_score(y, p) > 0.9


def test_html_repr_and_params(classifier):
    assert type(classifier).__name__ in classifier._repr_html_()
    assert classifier.set_params(max_iter=7).get_params()["max_iter"] == 7
    with pytest.raises(ValueError, match="Invalid parameter"):
        classifier.set_params(nonsense=1)


def test_the_loss_of_the_default_estimator_is_transferred():
    """Three labels in ten of one half space are turned: a floor, so no finite canonical loss; its
    composite loss is carried to a new sample of the same kind, where it beats log-loss."""

    def noisy(m, seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((m, 3))
        p = np.where(X @ [2.0, -1.0, 1.0] > 0, 0.95, 0.3)
        return X, (rng.random(m) < p).astype(int), p

    X, y, _ = noisy(4000, 0)
    source = pl.ProperLossClassifier().fit(X, y)
    assert source.loss_.kind == "composite" and source.link_(-50.0) > 0.1

    X, y, _ = noisy(300, 1)
    X_test, _, p = noisy(20_000, 2)
    losses = []
    for loss in (source.loss_, "sigmoid"):
        model = pl.CanonicalLossClassifier(loss=loss, C=1.0).fit(X, y)
        q = model.predict_proba(X_test)[:, 1]
        losses.append(-np.mean(p * np.log(q) + (1 - p) * np.log1p(-q)))
    assert losses[0] < losses[1] - 0.01, losses
    # Bounded below, so that no penalty is needed; and the link stands for the same loss.
    free = pl.CanonicalLossClassifier(loss=source.loss_, C=np.inf).fit(X, y)
    assert free.termination_ in ("converged", "stalled") and np.isfinite(free.coef_).all()
    same = pl.CanonicalLossClassifier(loss=source.link_, C=np.inf).fit(X, y)
    assert np.array_equal(same.coef_, free.coef_)
