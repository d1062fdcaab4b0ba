"""Certified mode: what is claimed is observed, at every iteration."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from test_same_bits import NAMES, cli, csv  # noqa: F401  (fixtures)

import properloss as pl

CERTIFIED = pl.CertifiedClassifier(max_iter=60, tol=0)
FORMER = pl.BregmanTronClassifier(certified=True, max_iter=60, tol=0)
CERTIFICATE = {
    "loss_before", "loss_after", "least_gap", "gap_bound", "eta", "halvings", "damping", "p_star",
    "delta", "epsilon", "alpha", "beta", "step_decrease", "link_cost", "claimed", "observed",
    "step_held", "in_range", "nested", "close",
}  # fmt: skip
#: Sums of 300 terms of the size of the first loss.
ROUNDING = 300 * np.finfo(float).eps


@pytest.mark.parametrize("target", ["labels", "previous", "refit"])
@pytest.mark.parametrize("scaling", ["standardise", "none", "unit-rows", "max-norm"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_claim_is_observed(data, target, scaling, weighted):
    X, y = data
    weights = np.random.default_rng(3).exponential(size=len(y)) if weighted else None
    clf = clone(CERTIFIED).set_params(candidate=target, scaling=scaling)
    clf.fit(X, y, sample_weight=weights)
    h = clf.history_
    assert clf.n_iter_ == 60 and clf.termination_ == "max_iter"
    assert all(len(values) == 60 for values in h.values())
    assert (h["claimed"] > 0).all()
    assert (h["observed"] >= h["claimed"]).all()
    # The losses themselves fall by what was observed.
    loss = np.concatenate([h["loss_before"][:1], h["loss_after"]])
    assert np.array_equal(h["loss_after"], h["loss"])
    assert np.array_equal(h["loss_before"][1:], h["loss_after"][:-1])
    np.testing.assert_allclose(-np.diff(loss), h["observed"], rtol=0, atol=ROUNDING * loss[0])
    np.testing.assert_array_equal(h["observed"], h["step_decrease"] - h["link_cost"])
    # Half of eta |g|^2 / 2 is claimed, and the smallest gap obeys its bound.
    np.testing.assert_allclose(h["claimed"], 0.25 * h["eta"] * h["gap"] ** 2, rtol=1e-15)
    assert (h["least_gap"] <= h["gap_bound"]).all()
    np.testing.assert_array_equal(h["least_gap"], np.minimum.accumulate(h["gap"]))
    bound = np.sqrt(2 * loss[0] / (0.5 * np.cumsum(h["eta"])))
    np.testing.assert_allclose(h["gap_bound"], bound, rtol=1e-13)
    assert h["step_held"].all() and h["close"].all()


def test_the_loss_is_that_of_the_model(data):
    X, y = data
    clf = clone(CERTIFIED).fit(X, y)
    loss = clf.loss_.loss(y, clf.linear_score(X)).mean()
    assert loss == pytest.approx(clf.history_["loss"][-1], rel=1e-10)
    # The first loss is that of clip(z + base rate) at 0.
    rate = y.mean()
    assert clf.history_["loss_before"][0] == pytest.approx(rate * (1 - rate) / 2, rel=1e-13)


def test_the_history_holds_the_certificate(data):
    h = clone(CERTIFIED).fit(*data).history_
    plain = pl.BregmanTronClassifier(max_iter=3, tol=0).fit(*data).history_
    assert set(h) == set(plain) | CERTIFICATE
    for name, values in h.items():
        flag = name in {"step_held", "in_range", "nested", "close"}
        assert values.dtype == (bool if flag else float), name
    for name in ("p_star", "delta", "epsilon", "alpha", "beta"):
        assert np.isnan(h[name]).all()


def test_the_command_line_writes_the_same_certificate(cli, csv, data, tmp_path):  # noqa: F811
    path = tmp_path / "c.json"
    command = [cli, "fit", csv, "--label", "label", "--positive", "yes", "--certified", "--quiet"]
    command += ["--max-iter", "60", "--tol", "0", "--out", tmp_path / "m.json"]
    done = subprocess.run([*command, "--certificate", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    certificates = json.loads(path.read_text())
    clf = clone(CERTIFIED).fit(*data)
    assert len(certificates) == clf.n_iter_
    for name in CERTIFICATE | {"iteration", "gap", "slope_min", "slope_max"}:
        values = [np.nan if c[name] is None else c[name] for c in certificates]
        assert np.array_equal(values, clf.history_[name], equal_nan=True), name
    # The model file of a certified run is read as one.
    loaded = pl.load(tmp_path / "m.json")
    assert type(loaded) is pl.CertifiedClassifier
    assert loaded.schedule == "monotone" and loaded.candidate == "labels"
    assert np.array_equal(loaded.coef_, clf.coef_) and len(NAMES) == loaded.n_features_in_


def test_a_saved_model_stays_certified(data, tmp_path):
    clf = clone(CERTIFIED).set_params(candidate="refit").fit(*data)
    clf.save(tmp_path / "m.json")
    again = pl.load(tmp_path / "m.json")
    assert again.get_params() == clf.get_params()
    assert np.array_equal(again.predict_proba(data[0]), clf.predict_proba(data[0]))


def test_sparse_rows_and_weights(data):
    X, y = data
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    clf = clone(CERTIFIED).set_params(scaling="max-norm")
    dense = clone(clf).fit(X, y)
    sparse = clone(clf).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9)
    assert (sparse.history_["observed"] >= sparse.history_["claimed"]).all()
    # A weight of 2 is the row twice, a weight of 0 is no row.
    weights = np.arange(len(y)) % 3
    doubled = clone(clf).set_params(max_iter=20).fit(X, y, sample_weight=weights)
    repeated = clone(clf).set_params(max_iter=20).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(doubled.history_["loss"], repeated.history_["loss"], rtol=1e-9)


def test_it_falls_further_than_one_step_can_tell(data):
    """Monotone to the last: 1,000 iterations, each below the one before."""
    clf = clone(CERTIFIED).set_params(max_iter=1000).fit(*data)
    loss = clf.history_["loss"]
    assert (np.diff(loss) <= ROUNDING * loss[0]).all()
    assert (clf.history_["observed"] > 0).all()
    assert clf.history_["least_gap"][-1] < 1e-2 * clf.history_["gap"][0]


@pytest.mark.filterwarnings("ignore:certified=True:FutureWarning")
@pytest.mark.parametrize(
    ("option", "value"),
    [("alpha", 0.1), ("step", 0.5), ("kappa", 0.5), ("end_slope", "max"), ("slope_min", 0.02),
     ("max_norm", 1.0), ("objective", "quadratic")],
)  # fmt: skip
def test_options_it_has_no_use_for_are_refused(data, option, value):
    with pytest.raises(ValueError, match=f"certified=True does not take {option} = "):
        clone(FORMER).set_params(**{option: value}).fit(*data)


@pytest.mark.filterwarnings("ignore:certified=True:FutureWarning")
def test_approx_is_refused(data):
    with pytest.raises(ValueError, match="'labels', 'previous' or 'refit', got 'approx'"):
        clone(FORMER).set_params(target="approx").fit(*data)


def test_the_former_spelling_warns_and_gives_the_same(data):
    with pytest.warns(FutureWarning, match="use CertifiedClassifier"):
        former = clone(FORMER).set_params(target="previous").fit(*data)
    clf = clone(CERTIFIED).set_params(candidate="previous").fit(*data)
    assert np.array_equal(former.coef_, clf.coef_)
    assert np.array_equal(former.history_["claimed"], clf.history_["claimed"])


@pytest.mark.parametrize("schedule", ["repaired", "paper"])
def test_every_schedule(data, schedule):
    clf = clone(CERTIFIED).set_params(schedule=schedule, max_iter=5).fit(*data)
    assert np.isfinite(clf.history_["p_star"]).all()


def test_a_gap_that_is_closed_at_the_start(capfd):
    """Nothing to learn: no iteration, and the base rate for everyone."""
    X, y = [[1.0], [1.0], [-1.0], [-1.0]], [0, 1, 0, 1]
    clf = pl.CertifiedClassifier(verbose=1).fit(X, y)
    assert clf.n_iter_ == 0 and clf.termination_ == "gap_closed"
    assert set(clf.history_) >= CERTIFICATE
    np.testing.assert_allclose(clf.predict_proba(X), 0.5)
    assert "gap_closed after 0 iterations" in capfd.readouterr().err
