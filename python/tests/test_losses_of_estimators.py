"""One story about the loss: every estimator has one, it is proper, and it can be carried on."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import properloss as pl

#: A smooth link of the default ends inside (0, 1); these end there by construction.
FLOOR = pl.RelativeLink("sigmoid", [0.0, 0.4, 1.0], [0.05, 0.3, 0.9])


def random_data(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sizes, columns, noise and floors of all sorts."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(30, 300)), int(rng.integers(1, 8))
    X = rng.normal(size=(rows, columns)) * rng.uniform(0.1, 10.0, columns)
    z = X @ rng.normal(size=columns) / np.linalg.norm(X.std(axis=0)) * rng.uniform(0.0, 5.0)
    floor = rng.choice([0.0, 0.1, 0.3])
    p = floor + (1.0 - 2.0 * floor) / (1.0 + np.exp(-z))
    y = (rng.random(rows) < p).astype(np.int64)
    y[:5], y[5:10] = 0, 1
    return X, y


def estimators() -> list[Any]:
    return [
        pl.ProperLossClassifier(),
        pl.BregmanTronClassifier(max_iter=20, tol=0),
        pl.CertifiedClassifier(max_iter=20, tol=0),
        pl.SlisotronClassifier(max_iter=20, tol=0),
        pl.GlmtronClassifier(link="cauchy", max_iter=20, tol=0),
        pl.AveragedGlmtronClassifier(max_iter=20, tol=0),
        pl.BregmanTronClassifier(target="previous", max_iter=20, tol=0),
        pl.BregmanTronClassifier(target="refit", max_iter=20, tol=0),
        pl.CanonicalLossClassifier(loss=FLOOR),
        pl.CanonicalLossClassifier(loss=pl.CompositeLoss("probit")),
    ]


def expected_loss(loss: Any, rate: NDArray[np.float64], p: NDArray[np.float64]) -> Any:
    return rate * loss.partial_loss(1, p) + (1.0 - rate) * loss.partial_loss(0, p)


@pytest.mark.parametrize("seed", range(50))
def test_every_estimator_has_a_proper_loss_that_can_be_transferred(seed: int) -> None:
    X, y = random_data(seed)
    X_new, y_new = random_data(seed + 1000)
    p = np.linspace(0.02, 0.98, 49)
    for estimator in estimators():
        fitted = estimator.fit(X, y)
        loss = fitted.loss_
        assert isinstance(loss, (pl.CanonicalLoss, pl.CompositeLoss)), fitted
        assert loss.inverse_link == fitted.link_
        # Proper, by numbers of our own: no forecast beats the true rate, and by the engine's check.
        risk = expected_loss(loss, p[:, None], p[None, :])
        assert np.isfinite(risk).all()
        scale = np.abs(risk).max(axis=1)
        assert (np.diag(risk) <= risk.min(axis=1) + 1e-12 * scale).all(), (fitted, loss)
        assert loss.properness_violation(60) <= 0.0
        # Transferred: other weights on other data, under the same loss, better than none.
        moved = pl.CanonicalLossClassifier(loss=loss).fit(X_new, y_new)
        assert moved.loss_ == loss and moved.link_ == fitted.link_
        reached = loss.loss(y_new, moved.linear_score(X_new)).mean()
        assert reached <= loss.loss(y_new, np.zeros(len(y_new))).mean() + 1e-12, (fitted, loss)
        if isinstance(fitted.link_, pl.IsotonicLink):
            continue  # where it is flat a probability has several scores
        # The loss of a score is that of its probability.
        z = fitted.linear_score(X)[:20]
        own = fitted.link_.inverse_link(z)
        inside = (own > 1e-6) & (own < 1.0 - 1e-6)
        for label in (0, 1):
            direct, by_p = loss.loss(label, z), loss.partial_loss(label, own)
            assert np.allclose(direct[inside], by_p[inside], rtol=1e-7, atol=1e-9)


def test_the_kind_is_said_with_its_reason() -> None:
    assert pl.Loss.of_link(FLOOR).why == (
        "composite: log-loss under this link, because the link stays between 0.0500 and 0.9000, where"
        " its canonical loss would have no lower bound"
    )
    assert "so slowly" in pl.Loss.of_link("cauchy").why
    assert pl.CanonicalLoss("sigmoid").why.startswith("canonical: ")
    assert "asked for" in pl.CompositeLoss("probit").why
    with pytest.raises(ValueError, match="CompositeLoss"):
        pl.CanonicalLoss(FLOOR)


def test_a_composite_loss_is_log_loss_under_its_link() -> None:
    loss = pl.CompositeLoss(FLOOR)
    z = np.linspace(-8.0, 8.0, 101)
    u = FLOOR.inverse_link(z)
    assert np.allclose(loss.loss(1, z), -np.log(u), rtol=1e-13)
    assert np.allclose(loss.loss(0, z), -np.log1p(-u), rtol=1e-13)
    h = 1e-6
    away = np.abs(u - 0.3) > 1e-3  # the knot
    for label in (0, 1):
        slope = (loss.loss(label, z + h) - loss.loss(label, z - h)) / (2 * h)
        assert np.allclose(loss.gradient(label, z)[away], slope[away], atol=1e-7)
    slope = FLOOR.derivative(z)
    assert np.allclose(loss.curvature(z), slope**2 / (u * (1 - u)), rtol=1e-12)
    assert np.array_equal(loss.curvature(z), loss.hessian(1, z))
    c = np.linspace(0.01, 0.99, 50)
    assert np.allclose(loss.weight(c), 1.0 / (c * (1.0 - c)), rtol=1e-13)
    # The integral representation, by a fine sum, of a canonical loss with a link of its own.
    canonical = pl.CanonicalLoss("matsushita")
    grid = np.linspace(0.3, 1.0, 400_001)
    middle = 0.5 * (grid[1:] + grid[:-1])
    area = float(np.sum((1.0 - middle) * canonical.weight(middle)) * (grid[1] - grid[0]))
    assert abs(area - canonical.partial_loss(1, 0.3)) < 1e-3


def test_probit_regression_is_the_composite_loss_of_probit() -> None:
    """Against scipy's minimum of the same likelihood."""
    from scipy.optimize import minimize
    from scipy.stats import norm

    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < norm.cdf(X @ [1.0, -0.5] + 0.3)).astype(int)
    ours = pl.CanonicalLossClassifier(
        loss=pl.CompositeLoss("probit"), C=np.inf, scaling="none"
    ).fit(X, y)

    def objective(theta: NDArray[np.float64]) -> float:
        z = X @ theta[:2] + theta[2]
        return float(-np.where(y == 1, norm.logcdf(z), norm.logcdf(-z)).mean())

    theirs = minimize(objective, np.zeros(3), tol=1e-12).x
    assert np.allclose([*ours.coef_[0], *ours.intercept_], theirs, atol=1e-5)
    canonical = pl.CanonicalLossClassifier(loss="probit", C=np.inf, scaling="none").fit(X, y)
    assert canonical.loss_.kind == "canonical"
    assert not np.allclose(canonical.coef_, ours.coef_, atol=1e-4)


@pytest.mark.parametrize("loss", [pl.CompositeLoss(FLOOR), pl.CanonicalLoss("probit")])
def test_losses_survive_files_and_pickles(loss: Any, tmp_path: Path) -> None:
    path = tmp_path / "loss.json"
    loss.save(path)
    assert pl.Loss.load(path) == loss == type(loss).load(path)
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert pl.Loss.from_json(loss.to_json()) == loss
    assert loss != pl.CompositeLoss("probit")
    other = pl.CanonicalLoss if loss.kind == "composite" else pl.CompositeLoss
    with pytest.raises(ValueError, match=r"Loss\.load reads either"):
        other.load(path)
    # A model that was fitted under it remembers which loss it was.
    X, y = random_data(1)
    model = tmp_path / "model.json"
    clf = pl.CanonicalLossClassifier(loss=loss).fit(X, y)
    clf.save(model)
    again = pl.load(model)
    assert again.loss_ == loss == pl.Loss.load(model)
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert np.array_equal(again.fit(X, y).coef_, clf.coef_)


def test_training_under_a_composite_loss_ends_at_the_limit_of_rounding():
    """The gradient jumps at the knots of the link and never gets below ``tol``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (rng.random(4000) < 0.15 + 0.7 / (1 + np.exp(-3 * X @ [1.0, -1.0, 0.5]))).astype(int)
    loss = pl.ProperLossClassifier().fit(X, y).loss_
    assert loss.kind == "composite"
    for start in range(0, 1500, 150):
        rows = slice(start, start + 150)
        clf = pl.CanonicalLossClassifier(loss=loss, C=1.0).fit(X[rows], y[rows])
        assert clf.termination_ in ("converged", "stalled") and clf.n_iter_ < clf.max_iter
        # No further step would have helped: twice the iterations end at the same loss.
        longer = pl.CanonicalLossClassifier(loss=loss, C=1.0, tol=0, max_iter=2 * clf.n_iter_)
        longer.fit(X[rows], y[rows])
        assert clf.history_["loss"][-1] - longer.history_["loss"][-1] < 1e-10
