"""solve_chain and isotonic against scikit-learn, scipy and their own certificates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

import properloss as pl

points = st.integers(1, 30).flatmap(
    lambda m: st.tuples(
        st.lists(st.integers(-8, 8).map(lambda k: k / 4), min_size=m, max_size=m),
        st.lists(st.floats(0, 1), min_size=m, max_size=m),
        st.lists(st.integers(1, 4).map(float), min_size=m, max_size=m),
    )
)


@settings(max_examples=100, deadline=None)
@given(points)
def test_isotonic_is_scikit_learns(case):
    z, target, weights = map(np.array, case)
    ours = pl.isotonic(z, target, weights)
    theirs = IsotonicRegression().fit(z, target, sample_weight=weights).predict(z)
    np.testing.assert_allclose(ours.values, theirs, atol=1e-12)
    assert ours.kkt_residual <= 1e-12 and ours.duality_gap <= 1e-12 * weights.sum()
    assert np.array_equal(np.asarray(ours), ours.values) and len(ours) == len(z)


@settings(max_examples=100, deadline=None)
@given(points)
def test_chain_without_bounds_is_isotonic(case):
    z, target, weights = map(np.array, case)
    solution = pl.solve_chain(z, target, weights)
    np.testing.assert_allclose(solution.values, pl.isotonic(z, target, weights).values, atol=1e-11)
    assert solution.passes == 1


@pytest.mark.parametrize("link", [None, "sigmoid", pl.PiecewiseLink([-4.0, 0.0, 3.0], [0, 0.4, 1])])
def test_chain_is_optimal(link):
    rng = np.random.default_rng(5)
    z = np.sort(rng.normal(size=12))
    target = rng.uniform(0.1, 0.9, size=12)
    weights = rng.uniform(0.5, 2.0, size=12)
    bounds = {"slope_min": 0.05, "slope_max": 0.6}
    solution = pl.solve_chain(z, target, weights, **bounds, link=link)
    dy, dz = np.diff(solution.values), np.diff(z)
    assert np.all(dy >= 0.05 * dz - 1e-12) and np.all(dy <= 0.6 * dz + 1e-12)
    assert solution.kkt_residual < 1e-9 and 0 <= solution.duality_gap < 1e-8

    def objective(y):
        if link is None:
            return 0.5 * weights @ (y - target) ** 2
        u = pl.link(link) if isinstance(link, str) else link
        y = np.clip(y, 1e-9, 1 - 1e-9)
        return weights @ (u.conjugate(y) - u.conjugate(target) - u.link(target) * (y - target))

    limits = [
        {"type": "ineq", "fun": lambda y: np.diff(y) - 0.05 * dz},
        {"type": "ineq", "fun": lambda y: 0.6 * dz - np.diff(y)},
    ]
    start = np.linspace(0.4, 0.4 + 0.3 * (z[-1] - z[0]) / 3, 12)
    best = minimize(objective, start, constraints=limits, bounds=[(0, 1)] * 12, method="SLSQP",
                    options={"maxiter": 1000, "ftol": 1e-14})
    assert objective(solution.values) <= best.fun + 1e-8
    assert solution.objective == pytest.approx(objective(solution.values), abs=1e-9)


def test_order_does_not_matter():
    rng = np.random.default_rng(1)
    z, target = rng.normal(size=200).round(1), rng.random(200)
    solution = pl.solve_chain(z, target, slope_max=0.5)
    order = rng.permutation(200)
    # Equal scores are summed in another order.
    np.testing.assert_allclose(
        pl.solve_chain(z[order], target[order], slope_max=0.5).values,
        solution.values[order],
        atol=1e-13,
    )


def test_box():
    solution = pl.solve_chain([0, 1], [0.9, 0.95], first=(0.1, 0.3), top=0.5)
    np.testing.assert_allclose(solution.values, [0.3, 0.5], rtol=1e-15)


def test_refusals():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        pl.solve_chain([0, 1], [0.5])
    with pytest.raises(ValueError, match=r"z\[1\] is NaN"):
        pl.isotonic([0, np.nan], [0, 1])
    with pytest.raises(ValueError, match="finite"):
        pl.solve_chain([0, 1], [0, np.inf])
    with pytest.raises(ValueError, match="slope_min"):
        pl.solve_chain([0, 10], [0, 1], slope_min=0.2)
    with pytest.raises(ValueError, match="slope_max"):
        pl.solve_chain([0, 1], [0, 1], slope_min=0.2, slope_max=0.1)
    with pytest.raises(ValueError, match="weights"):
        pl.solve_chain([0, 1], [0, 1], weights=[1, -1])
    with pytest.raises(ValueError):
        pl.solve_chain([], [])
    with pytest.raises(ValueError, match="one-dimensional"):
        pl.isotonic([[0, 1]], [0, 1])
