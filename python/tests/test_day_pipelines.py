"""A day with scikit-learn's own parts: transformers, searches, routing, calibrated boosters."""

from __future__ import annotations

import pathlib
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import properloss as pl
from loans import FEATURES, loans

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table() -> Any:
    return loans(2000)


def days(frame: Any) -> Any:
    return frame.apply(lambda c: (c - pd.Timestamp("2023-01-01")).dt.total_seconds() / 86_400.0)


def transformer() -> Any:
    texts = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    dates = FunctionTransformer(days, feature_names_out="one-to-one")
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["income", "age"]),
        (texts, ["purpose", "region"]),
        (make_pipeline(dates, SimpleImputer()), ["opened", "paid_at"]),
        ("passthrough", ["owner"]),
        verbose_feature_names_out=False,
    )


def test_pipelines_in_frames_and_arrays(table: Any, tmp_path: pathlib.Path) -> None:
    rows, y = table[FEATURES], table["default"]
    arrays = make_pipeline(transformer(), pl.ProperLossClassifier()).fit(rows, y)
    frames = make_pipeline(transformer(), pl.ProperLossClassifier())
    frames.set_output(transform="pandas").fit(rows, y)
    assert "purpose_car" in set(frames[-1].feature_names_in_)
    unseen = loans(300, seed=1, purposes=("car", "boat"))[FEATURES]
    np.testing.assert_allclose(
        frames.predict_proba(unseen), arrays.predict_proba(unseen), rtol=1e-9, atol=1e-12
    )
    joblib.dump(frames, tmp_path / "pipeline.joblib")
    again = joblib.load(tmp_path / "pipeline.joblib")
    assert np.array_equal(again.predict_proba(unseen), frames.predict_proba(unseen))
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pl.ReliabilityDisplay.from_estimator(frames, rows, y).figure_.canvas.draw()
    pl.LinkDisplay.from_estimator(frames, rows, y).figure_.canvas.draw()


def test_a_search_over_the_whole_pipeline(table: Any) -> None:
    rows, y = table[FEATURES], table["default"]
    pipeline = make_pipeline(transformer(), pl.CanonicalLossClassifier())
    grid = {"canonicallossclassifier__C": [0.01, 1.0], "canonicallossclassifier__loss": ["sigmoid", "probit"]}
    search = GridSearchCV(pipeline, grid, cv=GroupKFold(3), scoring="neg_log_loss", n_jobs=2)
    search.fit(rows, y, groups=table["customer"])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    p = cross_val_predict(search.best_estimator_, rows, y, cv=3, method="predict_proba")[:, 1]
    assert log_loss(y, p) < log_loss(y, np.full(len(y), y.mean()))


def test_weights_and_groups_are_routed(table: Any) -> None:
    rows, y = table[FEATURES], table["default"]
    weight, customer = table["weight"].to_numpy(float), table["customer"].to_numpy()
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = pl.ProperLossClassifier(missing="mean").set_fit_request(
            sample_weight=True, groups=True
        )
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        routed = cross_validate(
            classifier,
            rows,
            y,
            cv=GroupKFold(3),
            scoring=scorer,
            params={"sample_weight": weight, "groups": customer},
            return_estimator=True,
        )
    splits = list(GroupKFold(3).split(rows, y, customer))
    for (train, test), estimator, score in zip(
        splits, routed["estimator"], routed["test_score"], strict=True
    ):
        by_hand = pl.ProperLossClassifier(missing="mean").fit(
            rows.iloc[train], y.iloc[train], weight[train], customer[train]
        )
        assert np.array_equal(by_hand.coef_, estimator.coef_)
        p = by_hand.predict_proba(rows.iloc[test])[:, 1]
        assert score == pytest.approx(-log_loss(y.iloc[test], p, sample_weight=weight[test]))


def test_a_booster_calibrated_with_customers_together(table: Any, tmp_path: pathlib.Path) -> None:
    rows, y = table[FEATURES], table["default"]
    booster = make_pipeline(transformer(), HistGradientBoostingClassifier(max_iter=20, random_state=0))
    clf = pl.ProperCalibratedClassifierCV(clone(booster), cv=3)
    clf.fit(rows, y, table["weight"].to_numpy(float), table["customer"])
    p = clf.predict_proba(loans(300, seed=1, purposes=("boat", "car"))[FEATURES])
    assert ((p > 0) & (p < 1)).all()
    # Its calibrator has a file of its own, for the shell and for elsewhere.
    calibrator = clf.calibrated_classifiers_[0][1]
    calibrator.save(tmp_path / "calibrator.json")
    again = pl.ProperCalibrator.load(tmp_path / "calibrator.json")
    z = np.linspace(-6, 2, 50)
    assert np.array_equal(again.predict(z), calibrator.predict(z))
    assert again.loss_ == calibrator.loss_


@pytest.mark.parametrize("kind", ["scores", "probabilities"])
def test_calibrators_have_files(kind: str, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=800)
    y = np.array(["no", "yes"])[(rng.random(800) < 1 / (1 + np.exp(-2 * z))).astype(int)]
    x = z if kind == "scores" else 1 / (1 + np.exp(-z))
    calibrator = pl.ProperCalibrator().fit(x, y)
    calibrator.save(tmp_path / "c.json")
    for again in (pl.ProperCalibrator.load(tmp_path / "c.json"), pl.load(tmp_path / "c.json")):
        assert isinstance(again, pl.ProperCalibrator) and again.kind == kind
        assert np.array_equal(again.predict(x), calibrator.predict(x))
        assert np.array_equal(again.predict_proba(x), calibrator.predict_proba(x))
        assert again.classes_.tolist() == ["no", "yes"]
        assert again.guarantee_ == calibrator.guarantee_ and again.link_ == calibrator.link_
        assert again.calibration_bound_ == calibrator.calibration_bound_
        for name, value in calibrator.cv_results_.items():
            assert np.array_equal(again.cv_results_[name], value), name
        # As good as the first: it can be fitted and saved once more.
        again.save(tmp_path / "again.json")
        assert np.array_equal(clone(again).fit(x, y).predict(x), calibrator.predict(x))
    assert pl.ProperCalibrator.load(tmp_path / "again.json").to_source("c") == calibrator.to_source("c")
    if kind == "probabilities":
        with pytest.raises(ValueError, match="no probability"):
            again.predict([3.0])
    with pytest.raises(ValueError, match="holds a classifier"):
        pl.CanonicalLossClassifier().fit(x[:, None], y).save(tmp_path / "m.json")
        pl.ProperCalibrator.load(tmp_path / "m.json")
