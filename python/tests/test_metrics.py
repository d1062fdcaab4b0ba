"""Metrics against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from properloss import metrics

RNG = np.random.default_rng(2)
P = RNG.random(500).round(2)
Y = np.where(RNG.random(500) < P, "yes", "no")
W = RNG.uniform(0, 2, size=500)


@pytest.mark.parametrize("weights", [None, W])
def test_against_scikit_learn(weights):
    y = Y == "yes"
    assert metrics.auc(Y, P, sample_weight=weights) == pytest.approx(
        roc_auc_score(y, P, sample_weight=weights), rel=1e-12
    )
    inside = (P > 0) & (P < 1)
    kept = None if weights is None else weights[inside]
    assert metrics.log_loss(Y[inside], P[inside], sample_weight=kept) == pytest.approx(
        log_loss(y[inside], P[inside], sample_weight=kept), rel=1e-12
    )
    brier = metrics.brier(Y, P, sample_weight=weights)
    assert brier == pytest.approx(brier_score_loss(y, P, sample_weight=weights), rel=1e-12)
    parts = metrics.corp_decomposition(Y, P, sample_weight=weights)
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(brier)


def test_calibration_error():
    # Two bins of equal width: predictions .25 and .75 against rates 0 and 1/2.
    y, p = [0, 0, 0, 1], [0.25, 0.25, 0.75, 0.75]
    for strategy in ("uniform", "quantile"):
        kwargs = {"n_bins": 2, "strategy": strategy}
        assert metrics.expected_calibration_error(y, p, **kwargs) == pytest.approx(0.25)
        assert metrics.maximum_calibration_error(y, p, **kwargs) == pytest.approx(0.25)
    weighted = metrics.expected_calibration_error(
        y, p, n_bins=2, strategy="uniform", sample_weight=[1, 1, 1, 3]
    )
    assert weighted == pytest.approx((2 * 0.25 + 4 * 0.0) / 6)


def test_pos_label_and_refusals():
    assert metrics.auc(Y, P, pos_label="no") == pytest.approx(1 - metrics.auc(Y, P))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        metrics.auc([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        metrics.auc([0, 1], [0.1])
    with pytest.raises(ValueError, match=r"y_prob\[1\]|probabilities\[1\]"):
        metrics.log_loss([0, 1], [0.1, 1.5])
    with pytest.raises(ValueError, match="finite"):
        metrics.auc([0, 1], [0.1, np.nan])
    with pytest.raises(ValueError, match="not a valid label"):
        metrics.auc([0, 1], [0.1, 0.2], pos_label=3)


def test_calibration_bound():
    """By hand: pooled values, excesses, and the folds of any labels."""
    y, p = [1, 0, 1, 0], [0.8, 0.2, 0.4, 0.6]
    bound = metrics.calibration_bound(y, p)
    log = -2 * np.log(0.8) - 2 * np.log(0.4) + 2 * np.log(0.5)
    assert bound.log_excess == pytest.approx(log, rel=1e-12)
    assert bound.brier_excess == pytest.approx(0.3, rel=1e-12)
    assert (bound.rms, bound.n_samples, bound.n_folds) == (1.0, 4, 1)

    rng = np.random.default_rng(3)
    p = rng.random(4000)
    labels = rng.random(4000) < 0.3 + 0.4 * p
    bound = metrics.calibration_bound(labels, p)
    true = np.sqrt(np.mean((0.6 * p - 0.3) ** 2))
    assert true < bound.rms < bound.population_rms < true + 0.12
    assert not bound.assumption_rejected
    assert metrics.calibration_bound(~labels, p).assumption_rejected
    assert metrics.calibration_bound(labels, p, confidence=0.5).rms < bound.rms
    weighted = metrics.calibration_bound(labels, p, sample_weight=np.full(4000, 2.5))
    assert weighted.rms == bound.rms and weighted.population_rms is None
    folds = np.array(["a", "b", "c", "d"])[np.arange(4000) % 4]
    assert metrics.calibration_bound(labels, p, folds=folds).n_folds == 4
    with pytest.raises(ValueError, match="confidence"):
        metrics.calibration_bound(labels, p, confidence=1.0)
    with pytest.raises(ValueError, match="probabilities"):
        metrics.calibration_bound(labels, 2 * p)
    with pytest.raises(ValueError):
        metrics.calibration_bound(labels, p, folds=[0, 1])
