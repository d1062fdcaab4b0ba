"""The plots: what they compute and that they draw."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import properloss as pl

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def fitted(data):
    return pl.BregmanTronClassifier(max_iter=50, tol=0).fit(*data)


def test_link_display(fitted, data):
    X, y = data
    display = pl.LinkDisplay.from_estimator(fitted, X, y, n_bins=10)
    x, u = display.line_.get_data()
    assert np.array_equal(u, fitted.link_.inverse_link(x))
    assert display.bin_count.sum() == 300 and len(display.bin_rate) == 10
    assert (display.bin_count @ display.bin_rate) == pytest.approx(y.sum())
    assert display.ax_.figure is display.figure_
    alone = pl.LinkDisplay.from_estimator(fitted)
    assert alone.bins_ is None
    other = pl.LinkDisplay.from_predictions(y, fitted.linear_score(X), link=fitted.link_)
    assert np.array_equal(other.bin_rate.shape, (20,))


def test_loss_display(fitted, data):
    X, y = data
    display = pl.LossDisplay.from_estimator(fitted, X, y)
    z = display.z
    assert np.array_equal(display.lines_[0].get_ydata(), fitted.loss_.loss(1, z))
    assert np.array_equal(display.lines_[1].get_ydata(), fitted.loss_.loss(0, z))
    expected = fitted.loss_.loss(y, fitted.linear_score(X)).mean()
    assert display.mean_loss == pytest.approx(expected)
    assert len(display.scores[0]) == y.sum()
    pl.LossDisplay.from_estimator(fitted)


def test_convergence_display(fitted, data):
    display = pl.ConvergenceDisplay.from_estimator(fitted, quantities=["loss", "step"])
    assert np.array_equal(display.lines_[0].get_ydata(), fitted.history_["loss"])
    assert display.ax_.get_yscale() == "log"
    staged = pl.ConvergenceDisplay.from_predictions([0, 1], [[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(staged.history["log_loss"], [np.log(2), -np.log(0.9)])
    with pytest.raises(ValueError, match="no 'nothing'"):
        pl.ConvergenceDisplay.from_estimator(fitted, quantities=["nothing"])


def test_reliability_is_isotonic_regression(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, 1].round(2)
    display = pl.ReliabilityDisplay.from_predictions(y, p, n_resamples=50)
    expected = IsotonicRegression().fit(p, y).predict(display.probability)
    np.testing.assert_allclose(display.recalibrated, expected, atol=1e-12)
    brier = display.miscalibration - display.discrimination + display.uncertainty
    assert brier == pytest.approx(np.mean((p - y) ** 2), rel=1e-12)
    at, low, high = display.band
    assert np.all(low <= high) and np.all(np.diff(at) > 0)
    assert np.all(low >= 0) and np.all(high <= 1)
    weighted = pl.ReliabilityDisplay.compute(y, p, sample_weight=np.full(300, 2.0), n_resamples=0)
    np.testing.assert_allclose(weighted.recalibrated, display.recalibrated, atol=1e-12)


def test_the_band_holds_calibrated_predictions():
    """At level .9 about nine tenths of the curve lies inside the band; a wrong forecast leaves it."""
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = rng.random(3000) < p
    inside = []
    for forecast in (p, p**3):
        display = pl.ReliabilityDisplay.compute(y, forecast, n_resamples=100, level=0.9)
        at, low, high = display.band
        curve = np.interp(at, display.probability, display.recalibrated)
        inside.append(np.mean((curve >= low - 1e-12) & (curve <= high + 1e-12)))
    assert inside[0] > 0.6 and inside[1] < 0.3


def test_reliability_from_estimator(fitted, data):
    X, y = data
    display = pl.ReliabilityDisplay.from_estimator(fitted, X, y, n_resamples=20, name="ours")
    assert display.band_ is not None and "ours" in display.line_.get_label()
    again = pl.ReliabilityDisplay.from_estimator(fitted, X, y, n_resamples=20)
    assert all(np.array_equal(a, b) for a, b in zip(display.band, again.band, strict=True))
    with pytest.raises(ValueError, match=r"y_prob\[0\] is 1.5"):
        pl.ReliabilityDisplay.from_predictions([0, 1], [1.5, 0.5])


def test_unfitted_is_refused(data):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        pl.LinkDisplay.from_estimator(pl.BregmanTronClassifier())
    with pytest.raises(TypeError, match="link_"):
        pl.LinkDisplay.from_estimator(LogisticRegression().fit(*data))


def test_without_matplotlib_it_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import properloss as pl\n"
        "pl.ReliabilityDisplay.compute([0, 1], [0.2, 0.7])\n"
        "try:\n    pl.LinkDisplay.from_link(pl.Sigmoid()).plot()\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install matplotlib" in done.stdout
