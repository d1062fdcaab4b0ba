"""Weights and groups mean what users think, or a warning says that they do not."""

from __future__ import annotations

import io
import json
import pathlib
import subprocess
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import properloss as pl
from loans import FEATURES
from loans import loans as table_of_loans
from test_same_bits import cli  # noqa: F401


@pytest.fixture(scope="module")
def loans() -> Any:
    """3 % positives, several loans a customer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    z = -4.3 + X @ [1.0, -0.7, 0.5, 0.0]
    y = (rng.random(3000) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    return X, y, rng.integers(0, 900, 3000)


def test_weights_that_sum_to_one_warn_and_relative_ones_do_not(loans: Any) -> None:
    X, y, _ = loans
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    with pytest.warns(UserWarning, match='pass weights="relative"'):
        constant = pl.ProperLossClassifier().fit(X, y, weight / weight.sum())
    assert np.ptp(constant.predict_proba(X)[:, 1]) < 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        relative = pl.ProperLossClassifier(weights="relative").fit(X, y, weight / weight.sum())
        counts = pl.ProperLossClassifier().fit(X, y, weight / weight.mean())
        pl.ProperCalibrator(weights="relative").fit(X[:, 0], y, weight / weight.sum())
    np.testing.assert_allclose(relative.coef_, counts.coef_, rtol=1e-6)
    assert np.ptp(relative.predict_proba(X)[:, 1]) > 0.1
    with pytest.warns(UserWarning, match="hardly any rows"):
        pl.ProperCalibrator().fit(X[:, 0], y, weight / weight.sum())


def test_class_weights_warn_and_can_be_corrected(loans: Any) -> None:
    X, y, _ = loans
    with pytest.warns(UserWarning, match="prior_correction=True"):
        balanced = pl.ProperLossClassifier(class_weight="balanced").fit(X, y)
    assert balanced.predict_proba(X)[:, 1].mean() > 5 * y.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corrected = pl.ProperLossClassifier(class_weight="balanced", prior_correction=True)
        corrected.fit(X, y)
    p = corrected.predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.05)
    # The same ranking: scale and shift of the score changed, its direction did not.
    cosine = np.dot(balanced.coef_[0], corrected.coef_[0]) / (
        np.linalg.norm(balanced.coef_) * np.linalg.norm(corrected.coef_)
    )
    assert cosine == pytest.approx(1.0, abs=1e-12)
    assert isinstance(corrected.loss_, pl.Loss) and corrected.loss_.inverse_link == corrected.link_


def test_no_customer_is_on_both_sides_of_a_fold(loans: Any) -> None:
    X, y, customer = loans
    seen: list[Any] = []

    class Spy(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(X[:, -1].astype(int))
            return super().fit(X[:, :-1], y, sample_weight)

        def decision_function(self, X: Any) -> Any:
            return super().decision_function(X[:, :-1])

    rows = np.column_stack([X, np.arange(len(y))])
    clf = pl.ProperCalibratedClassifierCV(Spy(max_iter=500), cv=5).fit(rows, y, groups=customer)
    everyone = set(range(len(y)))
    for train in seen:
        rest = sorted(everyone - set(train))
        assert not set(customer[train]) & set(customer[rest]), "a customer is on both sides"
    assert len(seen) == 5 and len(clf.calibrated_classifiers_) == 5
    assert sum(len(y) - len(train) for train in seen) == len(y)
    # One pair a fold: the calibrator inside keeps customers together as well, and fits.
    pl.ProperCalibratedClassifierCV(LogisticRegression(), cv=3, ensemble=True).fit(
        X, y, groups=customer
    )


def test_weights_reach_the_last_step_of_a_pipeline(loans: Any) -> None:
    X, y, _ = loans
    weight = np.where(X[:, 0] > 0, 1.0, 3.0)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    weighed = pl.ProperCalibratedClassifierCV(pipeline, ensemble=False).fit(X, y, weight)
    plain = pl.ProperCalibratedClassifierCV(pipeline, ensemble=False).fit(X, y)
    inner = [c.calibrated_classifiers_[0][0][-1].coef_ for c in (weighed, plain)]
    assert not np.allclose(*inner)
    expected = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X, y, logisticregression__sample_weight=weight
    )
    np.testing.assert_array_equal(inner[0], expected[-1].coef_)


def test_a_learner_without_weights_is_said(loans: Any) -> None:
    X, y, _ = loans
    with pytest.warns(UserWarning, match="used for the calibration only"):
        pl.ProperCalibratedClassifierCV(KNeighborsClassifier(), cv=2).fit(
            X[:400], y[:400], np.full(400, 2.0)
        )


def test_metadata_is_routed_as_scikit_learn_does(loans: Any) -> None:
    X, y, customer = loans
    weight = np.where(X[:, 0] > 0, 1.0, 3.0)
    booster = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    with config_context(enable_metadata_routing=True):
        from sklearn.exceptions import UnsetMetadataPassedError

        with pytest.raises(UnsetMetadataPassedError):
            pl.ProperCalibratedClassifierCV(booster).fit(X, y, sample_weight=weight)
        asked = pl.ProperCalibratedClassifierCV(booster.set_fit_request(sample_weight=True))
        asked.fit(X, y, sample_weight=weight, groups=customer)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            LogisticRegression().set_fit_request(sample_weight=True),
        )
        through = pl.ProperCalibratedClassifierCV(pipeline, ensemble=False)
        through.fit(X, y, sample_weight=weight)
    booster = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    expected = pl.ProperCalibratedClassifierCV(booster).fit(X, y, weight, customer)
    np.testing.assert_array_equal(asked.predict_proba(X), expected.predict_proba(X))
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X, y, logisticregression__sample_weight=weight
    )
    inner = through.calibrated_classifiers_[0][0]
    np.testing.assert_array_equal(inner[-1].coef_, plain[-1].coef_)
    with pytest.raises(TypeError, match="metadata routing"):
        pl.ProperCalibratedClassifierCV(booster).fit(X, y, mood=weight)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_shell_and_python_deal_the_same_folds(
    classes: int, cli: str, tmp_path: pathlib.Path  # noqa: F811
) -> None:
    """One rule for ``--group`` and for ``groups`` with a number as ``cv``: the same bits."""
    pd = pytest.importorskip("pandas")
    table = table_of_loans(1500)
    # Rows of weight 0 are passed over by both.
    table["weight"] = table["weight"] % 3
    if classes == 3:
        risk = np.digitize(table["age"] + 9 * table["default"], [35, 55])
        table["default"] = np.array(["low", "middle", "high"])[risk]
    table.to_csv(tmp_path / "loans.csv", index=False)

    def run(line: str) -> str:
        done = subprocess.run([cli, *line.split()], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    roles = "--label default --weight weight --group customer --missing mean --seed 7"
    run(f"fit loans.csv -o model.json {roles} --ignore loan_id --cv 4")
    weight, y = table["weight"].to_numpy(float), table["default"]
    # Names of customers instead of numbers, in another order: the folds are the same.
    customer = table["customer"].map(lambda number: f"customer {9999 - number}")
    ours = pl.ProperLossClassifier(missing="mean", cv=4, random_state=7)
    ours.fit(table[FEATURES], y, weight, groups=customer)
    shell = pl.load(tmp_path / "model.json")
    assert np.array_equal(shell.coef_, ours.coef_)
    assert np.array_equal(shell.predict_proba(table[FEATURES]), ours.predict_proba(table[FEATURES]))
    other = pl.ProperLossClassifier(missing="mean", cv=4, random_state=7).fit(table[FEATURES], y, weight)
    assert not np.array_equal(other.coef_, ours.coef_), "without groups the folds are others"
    # The calibrators, too: two classes of scores, three of probabilities.
    p = ours.predict_proba(table[FEATURES])
    names = ["score"] if classes == 2 else list(ours.classes_)
    values = p[:, 1] if classes == 2 else p
    frame = pd.DataFrame(values, columns=names).assign(
        default=y.to_numpy(), customer=customer.to_numpy(), weight=weight
    )
    frame[weight > 0].to_csv(tmp_path / "scores.csv", index=False)
    out = run("calibrate scores.csv --label default --group customer --weight weight --quiet")
    calibrated = pd.read_csv(io.StringIO(out)).to_numpy()
    kept = weight > 0
    calibrator = pl.ProperCalibrator().fit(values[kept], y[kept], weight[kept], groups=customer[kept])
    mine = calibrator.predict_proba(values[kept])
    np.testing.assert_allclose(calibrated, mine[:, 1:] if classes == 2 else mine, rtol=1e-13)
    answer = json.loads(run(f"compare loans.csv {roles} --ignore loan_id --folds 3 --json --methods proper"))
    assert answer["groups"] == "customer" and answer["rows"] == int((weight > 0).sum())


def test_groups_are_checked(loans: Any) -> None:
    X, y, customer = loans
    with pytest.raises(ValueError, match="groups has 2999 value"):
        pl.ProperLossClassifier().fit(X, y, groups=customer[1:])
    with pytest.raises(ValueError, match=r"groups\[3\] is missing"):
        pl.ProperLossClassifier().fit(X, y, groups=np.where(np.arange(3000) == 3, np.nan, customer))
    names = np.array([f"c{number}" for number in customer], dtype=object)
    named = pl.ProperCalibrator().fit(X[:, 0], y, groups=names)
    assert named.slope_ == pl.ProperCalibrator().fit(X[:, 0], y, groups=customer).slope_
    names[5] = None
    with pytest.raises(ValueError, match=r"groups\[5\] is missing"):
        pl.ProperCalibrator().fit(X[:, 0], y, groups=names)
    with pytest.raises(ValueError, match="at least 5 are needed"):
        pl.ProperLossClassifier().fit(X, y, groups=customer % 3)


def test_one_number_is_the_weight_of_every_row(loans: Any) -> None:
    """Beside folds that come row by row it was a mask without rows."""
    X, y, customer = loans
    for groups in (None, customer):
        whole = pl.ProperLossClassifier().fit(X, y, groups=groups)
        one = pl.ProperLossClassifier().fit(X, y, sample_weight=1.0, groups=groups)
        np.testing.assert_array_equal(one.coef_, whole.coef_)
        held_out = (fit.cv_results_["held_out_scores"] for fit in (one, whole))
        np.testing.assert_array_equal(*held_out)
