"""The link as a layer and the loss as a criterion of PyTorch; skorch; glum's link."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import log_loss
from test_learners import LINKS, NAMES, grid, objective_and_scores

import properloss as pl
from properloss.learners import Objective

REASON = "{} is not installed: make test-learners"


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch", reason=REASON.format("torch"))
    torch.set_num_threads(1)
    return torch


@pytest.mark.parametrize("link", [*LINKS, pl.RelativeLink(LINKS[-1], [0, 0.4, 1], [0.1, 0.3, 0.9])], ids=repr)
def test_layer_is_the_link(torch, link):
    from properloss.learners import LinkLayer

    layer = LinkLayer(link)
    far = np.array([-1e6, -50.0, -8.0, 8.0, 50.0, 1e6])
    z = np.r_[np.linspace(-6, 6, 501), far]
    p = layer(torch.tensor(z)).numpy()
    np.testing.assert_allclose(p, link.inverse_link(z), rtol=1e-12, atol=1e-15)
    # float32 scores stay float32.
    single = layer(torch.tensor(z, dtype=torch.float32))
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single.numpy(), link.inverse_link(z), atol=2e-6)
    # The slope, by autograd.
    z = grid(link) if not isinstance(getattr(link, "base", None), pl.PiecewiseLink) else np.array([-2.0, 0.1, 1.0])
    leaf = torch.tensor(z, requires_grad=True)
    layer(leaf).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), link.derivative(z), rtol=1e-9, atol=1e-14)
    # Knots travel with the state.
    again = copy.deepcopy(layer)
    again.load_state_dict(layer.state_dict())
    third = pickle.loads(pickle.dumps(layer))
    for other in (again, third):
        np.testing.assert_array_equal(other(torch.tensor(z)).detach(), layer(torch.tensor(z)).detach())


@pytest.mark.parametrize("loss", ["canonical", "log"])
@pytest.mark.parametrize("link", LINKS, ids=NAMES)
def test_criterion_has_the_objectives_value_and_gradient(torch, link, loss):
    from properloss.learners import ProperLoss

    objective, z = objective_and_scores(link, loss, ProperLoss)
    if objective is None:
        return
    y = (np.arange(len(z)) % 2).astype(float)
    w = np.linspace(0.5, 2, len(z))
    leaf = torch.tensor(z, requires_grad=True)
    rows = ProperLoss(link, loss, reduction="none")(leaf, torch.tensor(y))
    np.testing.assert_allclose(rows.detach().numpy(), objective.value(y, z), rtol=1e-9, atol=1e-12)
    total = ProperLoss(link, loss)(leaf, torch.tensor(y), torch.tensor(w))
    np.testing.assert_allclose(float(total.detach()), np.average(objective.value(y, z), weights=w), rtol=1e-9)
    total.backward()
    np.testing.assert_allclose(leaf.grad.numpy(), objective.gradient(y, z) * w / w.sum(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("link", ["sigmoid", "probit"])
def test_autograd_agrees_with_differences(torch, link):
    from properloss.learners import ProperLoss

    z = torch.tensor([-2.0, -0.3, 0.4, 3.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda z: ProperLoss(link)(z, y), (z,))


def noisy(m):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(m, 5)).astype(np.float32)
    p = 0.1 + 0.7 * expit(4 * X @ [1, -1, 0.5, 0, 0])
    return X, (rng.random(m) < p).astype(np.float32)


def test_skorch_example(torch):
    """The example of docs/learners.md: probabilities are the link's, also after pickling."""
    skorch = pytest.importorskip("skorch", reason=REASON.format("skorch"))
    from networks import Small

    from properloss.learners import LinkProbability, ProperLoss

    X, y = noisy(1500)
    link = pl.RelativeLink("sigmoid", [0.0, 1.0], [0.1, 0.8])
    torch.manual_seed(0)
    net = skorch.NeuralNetBinaryClassifier(
        Small,
        criterion=ProperLoss,
        criterion__link=link,
        predict_nonlinearity=LinkProbability(link),
        optimizer=torch.optim.Adam,
        lr=0.01,
        max_epochs=15,
        train_split=None,
        verbose=0,
    )
    net = clone(net).fit(X[:1000], y[:1000])
    p = net.predict_proba(X)[:, 1]
    z = net.forward(X).numpy()
    np.testing.assert_allclose(p, link.inverse_link(z.astype(float)), atol=1e-6)
    assert p.min() >= 0.1 - 1e-6 and p.max() <= 0.8 + 1e-6
    rate = y[:1000].mean()
    assert log_loss(y[1000:], p[1000:]) < log_loss(y[1000:], np.full(500, rate)) - 0.05
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(again.predict_proba(X), net.predict_proba(X))
    calibrated = pl.ProperCalibratedClassifierCV(net, cv=3, ensemble="pooled", early_stopping=3)
    calibrated.fit(X[:1000], y[:1000])
    assert len(calibrated.n_rounds_) == 3 and (calibrated.n_rounds_ <= 15).all()


@pytest.mark.parametrize("link", LINKS, ids=NAMES)
def test_glum_link(link):
    pytest.importorskip("glum", reason=REASON.format("glum"))
    from properloss.learners import GlumLink

    glum_link = GlumLink(link)
    z = grid(link)
    p = link.inverse_link(z)
    z, p = z[(p > 1e-3) & (p < 1 - 1e-3)], p[(p > 1e-3) & (p < 1 - 1e-3)]
    np.testing.assert_array_equal(glum_link.inverse(z), p)
    np.testing.assert_allclose(glum_link.link(p), z, atol=1e-10)
    step = 1e-5
    np.testing.assert_allclose(
        glum_link.inverse_derivative(z), (glum_link.inverse(z + step) - glum_link.inverse(z - step)) / (2 * step), atol=1e-9
    )
    np.testing.assert_allclose(
        glum_link.inverse_derivative2(z),
        (glum_link.inverse_derivative(z + step) - glum_link.inverse_derivative(z - step)) / (2 * step),
        atol=2e-8,
    )
    np.testing.assert_allclose(glum_link.derivative(p) * glum_link.inverse_derivative(z), 1.0, rtol=1e-8)
    assert pickle.loads(pickle.dumps(glum_link)) == glum_link


def test_glum_fits_the_likelihood_under_a_learned_link():
    """Against a slow search of the same likelihood."""
    glum = pytest.importorskip("glum", reason=REASON.format("glum"))
    from scipy.optimize import minimize

    from properloss.learners import GlumLink

    X, y = noisy(800)
    X, y = X.astype(float), y.astype(float)
    link = pl.RelativeLink("sigmoid", [0.0, 1.0], [0.1, 0.8])
    model = glum.GeneralizedLinearRegressor(
        family="binomial", link=GlumLink(link), alpha=0.0, solver="irls-ls", max_iter=300, gradient_tol=1e-8
    ).fit(X, y)
    objective = Objective(link, "log")

    def mean_loss(theta):
        return objective.value(y, X @ theta[1:] + theta[0]).mean()

    slow = minimize(mean_loss, np.r_[model.intercept_, model.coef_], method="BFGS", options={"gtol": 1e-9})
    fast = mean_loss(np.r_[model.intercept_, model.coef_])
    assert abs(fast - slow.fun) < 1e-6
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_], slow.x, atol=2e-2)
    np.testing.assert_allclose(model.predict(X), link.inverse_link(X @ model.coef_ + model.intercept_), rtol=1e-12)
