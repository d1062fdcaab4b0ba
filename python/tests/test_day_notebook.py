"""A day in a notebook: one table with all that real ones have, straight into the classifier."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedGroupKFold,
    cross_val_predict,
    cross_validate,
)

import properloss as pl
from loans import FEATURES, loans

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def new() -> Any:
    return loans(600, seed=5, purposes=("car", "house", "boat"))


@pytest.fixture(scope="module")
def fitted(table: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return pl.ProperLossClassifier(missing="mean").fit(table[FEATURES], table["default"])


def test_the_table_is_what_it_says(table: Any) -> None:
    assert 0.01 < table["default"].mean() < 0.06
    assert table["income"].isna().any() and table["purpose"].isna().any()
    assert table["customer"].duplicated().any() and table["loan_id"].is_unique


def test_fit_predict_and_look(fitted: Any, table: Any, new: Any) -> None:
    with pytest.warns(UserWarning, match=r"\d+ value\(s\) are categories that did not occur"):
        p = fitted.predict_proba(new[FEATURES])[:, 1]
    unseen = int((new["purpose"] == "boat").sum())
    with pytest.warns(UserWarning, match=rf"^{unseen} value\(s\)"):
        fitted.predict(new[FEATURES])
    assert p.mean() == pytest.approx(new["default"].mean(), abs=0.02)
    constant = np.full(len(new), table["default"].mean())
    assert log_loss(new["default"], p) < log_loss(new["default"], constant)
    # An owner defaults less, income helps, and one can see it.
    weights = dict(zip(fitted.coef_names_, fitted.coef_[0], strict=True))
    assert weights["owner"] < 0 and weights["income"] < 0
    assert fitted.loss_.kind in ("canonical", "composite") and fitted.loss_.why
    assert "<svg" in fitted._repr_html_()
    known = table[FEATURES].iloc[:500], table["default"].iloc[:500]
    assert "<html" in fitted.report(*known).html
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    for display in (pl.LinkDisplay, pl.LossDisplay, pl.ReliabilityDisplay, pl.MurphyDisplay):
        display.from_estimator(fitted, *known).figure_.canvas.draw()


def test_files_pickles_and_sources(fitted: Any, table: Any, tmp_path: pathlib.Path) -> None:
    rows = table[FEATURES].iloc[:200]
    expected = fitted.predict_proba(rows)
    fitted.save(tmp_path / "model.json")
    joblib.dump(fitted, tmp_path / "model.joblib")
    for again in (pl.load(tmp_path / "model.json"), joblib.load(tmp_path / "model.joblib")):
        assert np.array_equal(again.predict_proba(rows), expected)
        assert list(again.feature_names_in_) == FEATURES
        assert list(again.coef_names_) == list(fitted.coef_names_)
        assert again.C_ == fitted.C_ and again.missing == "mean"
    # Loaded, its columns are found by name, whatever else the table holds.
    whole = table.iloc[:200].sample(frac=1, axis=1, random_state=0)
    assert np.array_equal(pl.load(tmp_path / "model.json").predict_proba(whole), expected)


def test_search_and_validation_with_customers_apart(table: Any) -> None:
    rows, y, customer = table[FEATURES], table["default"], table["customer"]
    folds = StratifiedGroupKFold(3)
    quick = pl.CanonicalLossClassifier(missing="mean")
    search = GridSearchCV(quick, {"C": [0.001, 1.0]}, cv=folds, scoring="neg_log_loss")
    search.fit(rows, y, groups=customer)
    assert search.best_params_["C"] in (0.001, 1.0) and np.isfinite(search.best_score_)
    assert list(search.best_estimator_.feature_names_in_) == FEATURES
    p = cross_val_predict(
        pl.ProperLossClassifier(missing="mean", cv=3), rows, y, groups=customer, cv=folds, method="predict_proba"
    )[:, 1]
    assert roc_auc_score(y, p) > 0.65
    assert p.mean() == pytest.approx(y.mean(), rel=0.2)
    scores = cross_validate(
        quick, rows, y, groups=customer, cv=folds, scoring=["roc_auc", "neg_brier_score"], n_jobs=2
    )
    serial = cross_validate(quick, rows, y, groups=customer, cv=folds, scoring="roc_auc")
    assert np.array_equal(scores["test_roc_auc"], serial["test_score"])


def test_groups_and_weights_in_the_fit_itself(table: Any) -> None:
    rows, y = table[FEATURES], table["default"]
    grouped = pl.ProperLossClassifier(missing="mean").fit(rows, y, groups=table["customer"])
    assert grouped.calibration_bound_ is None, "rows of one customer are not independent"
    weighed = pl.ProperLossClassifier(missing="mean").fit(rows, y, table["weight"])
    relative = pl.ProperLossClassifier(missing="mean", weights="relative").fit(
        rows, y, table["weight"] / table["weight"].sum()
    )
    assert not np.array_equal(weighed.coef_, grouped.coef_)
    assert np.isfinite(relative.coef_).all()
    with pytest.warns(UserWarning, match='weights="relative"'):
        pl.ProperLossClassifier(missing="mean").fit(rows, y, table["weight"] / table["weight"].sum())


def test_the_loss_goes_on(fitted: Any, new: Any) -> None:
    rows = new[FEATURES]
    moved = pl.CanonicalLossClassifier(loss=fitted.loss_, missing="mean").fit(rows, new["default"])
    assert moved.loss_ == fitted.loss_
    assert "purpose=boat" in set(moved.coef_names_)
