"""Links and losses against scipy, against each other, and through pickle."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import integrate, special, stats

import properloss as pl

LINKS = [
    pl.Sigmoid(),
    pl.ClippedLine(),
    pl.ClippedLine(2.0, 0.25),
    pl.Matsushita(),
    pl.Probit(),
    pl.Cloglog(),
    pl.Loglog(),
    pl.Cauchy(),
    pl.PiecewiseLink([-2.0, -0.5, 1.0, 4.0], [0.0, 0.1, 0.7, 1.0]),
    pl.RelativeLink("sigmoid", [0.0, 0.3, 1.0], [0.0, 0.5, 1.0]),
    pl.IsotonicLink([-1.0, 0.0, 0.5, 2.0], [0.0, 0.5, 0.5, 1.0]),
]
WITH_LOSS = [link for link in LINKS if link.has_canonical_loss]
Z = np.linspace(-3.0, 3.0, 61)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (pl.Sigmoid(), special.expit),
        (pl.Probit(), stats.norm.cdf),
        (pl.Cloglog(), lambda z: -np.expm1(-np.exp(z))),
        (pl.Loglog(), lambda z: np.exp(-np.exp(-z))),
        (pl.Cauchy(), stats.cauchy.cdf),
        (pl.Matsushita(), lambda z: (1 + z / np.sqrt(1 + z * z)) / 2),
        (pl.ClippedLine(0.3, 0.4), lambda z: np.clip(0.3 * z + 0.4, 0, 1)),
    ],
    # The names are the same in every process; those of functions hold an address.
    ids=lambda value: repr(value) if isinstance(value, pl.InverseLink) else "",
)
def test_formula(link, expected):
    # Two evaluations of the same formula, each good to a few ulp.
    np.testing.assert_allclose(link.inverse_link(Z), expected(Z), rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_battery(link):
    u = link.inverse_link(Z)
    assert np.all(np.diff(u) >= 0) and u.min() >= 0 and u.max() <= 1
    # Nearer to 0 and 1 the rounding of u itself moves its score.
    inside = (u > 1e-4) & (u < 1 - 1e-4) & (np.gradient(u) > 0)
    if not isinstance(link, pl.IsotonicLink):
        np.testing.assert_allclose(link.link(u[inside]), Z[inside], rtol=1e-10, atol=1e-10)
    # U' = u, by quadrature between neighbours.
    for a, b in zip(Z[:-1:7], Z[1::7], strict=False):
        area, error = integrate.quad(lambda z: link.inverse_link(z), a, b)
        assert link.potential(b) - link.potential(a) == pytest.approx(area, abs=1e-8 + error)
    assert np.array_equal(link(Z), u)


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_shapes(link):
    assert isinstance(link.inverse_link(0.25), float)
    assert isinstance(link.inverse_link(1), float)
    assert isinstance(link.inverse_link(np.float64(0.25)), float)
    assert link.inverse_link([]).shape == (0,)
    grid = Z[:60].reshape(3, 4, 5)
    assert link.inverse_link(grid).shape == (3, 4, 5)
    assert np.array_equal(link.inverse_link(grid.T), link.inverse_link(grid).T)
    assert np.array_equal(
        link.inverse_link(grid.astype(np.float32)), link.inverse_link(grid.astype(np.float32) * 1.0)
    )
    long = np.linspace(-3, 3, 100_001)  # beyond the size where threads take part
    assert np.array_equal(link.inverse_link(long)[::1000], link.inverse_link(long[::1000]))
    with pytest.raises((ValueError, TypeError)):
        link.inverse_link("text")


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_pickle_and_equality(link):
    again = pickle.loads(pickle.dumps(link))
    assert again == link and type(again) is type(link) and hash(again) == hash(link)
    assert np.array_equal(again.inverse_link(Z), link.inverse_link(Z))
    assert copy.deepcopy(link) == link
    assert link != pl.ClippedLine(5.0, 0.1) and link != "sigmoid"


def test_names():
    assert set(pl.links()) >= {"sigmoid", "clipped-line", "matsushita", "probit"}
    for name in pl.links():
        assert pl.link(name).name == name
    assert repr(pl.link("clipped-line", 1.0, 0.0)) == "ClippedLine(a=1.0, b=0.0)"
    with pytest.raises(ValueError, match="logit"):
        pl.link("logit")
    with pytest.raises(ValueError):
        pl.link("sigmoid", 3.0)
    with pytest.raises(TypeError):
        pl.CanonicalLoss(3.0)


def test_bad_knots_are_refused():
    with pytest.raises(ValueError, match=r"z\[1\]|x\[1\]"):
        pl.PiecewiseLink([0.0, 0.0], [0.0, 1.0])
    with pytest.raises(ValueError):
        pl.PiecewiseLink([0.0, 1.0], [0.1, 1.0])
    with pytest.raises(ValueError):
        pl.PiecewiseLink([0.0, np.nan], [0.0, 1.0])
    with pytest.raises(ValueError):
        pl.PiecewiseLink([0.0], [0.0])
    with pytest.raises(ValueError, match="one-dimensional"):
        pl.PiecewiseLink([[0.0, 1.0]], [0.0, 1.0])


def test_knots_come_back():
    z, u = np.array([-1.0, 0.5, 2.0]), np.array([0.0, 0.25, 1.0])
    link = pl.PiecewiseLink(z, u)
    assert np.array_equal(link.z, z) and np.array_equal(link.u, u) and len(link) == 3
    link.z[0] = 99.0
    assert link.z[0] == -1.0, "a copy"


def test_log_loss():
    from sklearn.metrics import log_loss

    loss = pl.CanonicalLoss("sigmoid")
    y = np.array([0, 1, 1, 0, 1])
    z = np.array([-1.0, 0.3, 2.0, 0.5, -4.0])
    assert loss.loss(y, z).mean() == pytest.approx(log_loss(y, special.expit(z)), rel=1e-14)
    assert np.array_equal(loss.gradient(y, z), special.expit(z) - y) or np.allclose(
        loss.gradient(y, z), special.expit(z) - y, rtol=1e-14
    )


@pytest.mark.parametrize("link", WITH_LOSS, ids=repr)
def test_loss_identities(link):
    loss = pl.CanonicalLoss(link)
    y = np.array([[0.0], [1.0]])
    values = loss.loss(y, Z)
    assert values.shape == (2, len(Z)) and np.all(values >= 0)
    # l(y, z) = U(z) + U*(y) - y z, with rounding in proportion to the terms.
    direct = link.potential(Z) + link.conjugate([0.0, 1.0])[:, None] - y * Z
    np.testing.assert_allclose(values, direct, rtol=1e-9, atol=1e-12)
    h = 1e-6
    slope = (loss.loss(y, Z + h) - loss.loss(y, Z - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(y, Z), slope, atol=1e-5)
    assert np.array_equal(loss.hessian(y, Z), np.broadcast_to(link.derivative(Z), (2, len(Z))))
    assert np.array_equal(loss.surrogate(Z), link.potential(-Z))
    p = np.linspace(0.05, 0.95, 19)
    assert np.array_equal(loss.conditional_bayes_risk(p), -link.conjugate(p))
    assert np.array_equal(loss.link(p), link.link(p))
    np.testing.assert_allclose(loss.partial_loss(1, p), loss.loss(1, link.link(p)), rtol=1e-12)
    # Proper: the expected loss of saying q is least at q = p.
    risk = p[:, None] * loss.partial_loss(1, p) + (1 - p[:, None]) * loss.partial_loss(0, p)
    if not isinstance(link, pl.IsotonicLink):
        assert np.array_equal(risk.argmin(axis=1), np.arange(len(p)))
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss and np.array_equal(again.loss(y, Z), values)


def test_a_link_without_a_loss():
    assert not pl.Cauchy().has_canonical_loss
    with pytest.raises(ValueError, match="cauchy"):
        pl.CanonicalLoss("cauchy")
