"""No picture comes out blank: every display is rendered, and what it drew is finite and inside."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import properloss as pl

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def _close() -> Any:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def assert_drawn(display: Any) -> None:
    """Rendered without a warning; every line has a finite point inside the axes; so is the legend."""
    figure, ax = display.figure_, display.ax_
    figure.canvas.draw()
    low_x, high_x = ax.get_xlim()
    low_y, high_y = ax.get_ylim()
    assert np.isfinite([low_x, high_x, low_y, high_y]).all() and low_x < high_x and low_y < high_y
    seen = 0
    for line in ax.lines:
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        if line.get_transform() != ax.transData:
            continue
        finite = np.isfinite(x) & np.isfinite(y)
        assert finite.any(), line
        inside = (x >= low_x) & (x <= high_x) & (y >= low_y - 1e-9) & (y <= high_y + 1e-9)
        seen += int((inside & finite).sum() > 1)
    assert seen > 0
    colours = np.ascontiguousarray(figure.canvas.buffer_rgba()).view(np.uint32)
    assert len(np.unique(colours)) > 10
    legend = ax.get_legend()
    if legend is not None:
        box, frame = legend.get_window_extent(), ax.get_window_extent()
        assert box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0, "legend outside"


@pytest.fixture(scope="module")
def split() -> Any:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def default(split: Any) -> Any:
    X, _, y, _ = split
    return pl.ProperLossClassifier().fit(X, y)


def test_the_first_picture_of_the_readme(default: Any, split: Any) -> None:
    """It was empty axes: the link ends inside (0, 1), and its range was infinite."""
    assert default.link_.inverse_link(np.inf) < 1.0
    display = pl.LinkDisplay.from_estimator(default)
    assert_drawn(display)
    z, u = display.line_.get_data()
    assert np.isfinite(z).all() and u.min() < 0.05 and u.max() > 0.95
    assert_drawn(pl.LinkDisplay.from_estimator(default, split[1], split[3]))


def test_the_run_of_the_default_is_its_path(default: Any) -> None:
    display = pl.ConvergenceDisplay.from_estimator(default)
    assert_drawn(display)
    drawn = np.concatenate([line.get_ydata() for line in display.lines_[:-1]])
    assert set(drawn) <= set(default.cv_results_["C_log_loss"]) and len(drawn) > 5


def test_what_is_missing_is_said_in_a_sentence(default: Any, tmp_path: Any) -> None:
    default.save(tmp_path / "model.json")
    assert_drawn(pl.ConvergenceDisplay.from_estimator(pl.load(tmp_path / "model.json")))
    with pytest.raises(TypeError, match="RandomForestClassifier has no link_: it takes"):
        forest = RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0]], [0, 1])
        pl.LinkDisplay.from_estimator(forest)
    X, y = load_iris(return_X_y=True)
    three = pl.ProperLossClassifier().fit(X, y)
    with pytest.raises(ValueError, match="3 classes"):
        pl.LinkDisplay.from_estimator(three)
    with pytest.raises(ValueError, match="nothing to draw"):
        pl.ConvergenceDisplay({"loss": [np.nan, np.nan]}, quantities=["loss"]).plot()


@pytest.mark.parametrize("kind", ["pipeline", "search", "pooled", "one", "probabilities"])
def test_displays_take_pipelines_and_calibrated_classifiers(kind: str, split: Any) -> None:
    X, X_test, y, y_test = split
    pipeline = make_pipeline(StandardScaler(), pl.ProperLossClassifier())
    booster = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    estimator: Any = {
        "pipeline": pipeline,
        "search": GridSearchCV(pipeline, {"properlossclassifier__refit": ["none"]}, cv=2),
        "pooled": pl.ProperCalibratedClassifierCV(booster),
        "one": pl.ProperCalibratedClassifierCV(booster, ensemble=False),
        "probabilities": pl.ProperCalibratedClassifierCV(
            RandomForestClassifier(10, random_state=0)
        ),
    }[kind]
    estimator.fit(X, y)
    for display in (
        pl.LinkDisplay.from_estimator(estimator),
        pl.LinkDisplay.from_estimator(estimator, X_test, y_test),
        pl.LossDisplay.from_estimator(estimator),
        pl.LossDisplay.from_estimator(estimator, X_test, y_test),
        pl.ReliabilityDisplay.from_estimator(estimator, X_test, y_test, n_resamples=20),
        pl.MurphyDisplay.from_estimator(estimator, X_test, y_test),
        pl.DecisionCurveDisplay.from_estimator(estimator, X_test, y_test),
    ):
        assert_drawn(display)
    if kind in ("pipeline", "search"):
        assert_drawn(pl.ConvergenceDisplay.from_estimator(estimator))
    if kind == "one":
        # One estimator, one link: the scores of the display make the predicted probabilities.
        p = estimator.link_.inverse_link(estimator.linear_score(X_test))
        np.testing.assert_allclose(p, estimator.predict_proba(X_test)[:, 1], rtol=1e-12)


@pytest.mark.parametrize(
    "classifier",
    [
        pl.BregmanTronClassifier(max_iter=30, tol=0),
        pl.SlisotronClassifier(max_iter=30, tol=0),
        pl.GlmtronClassifier(link="cauchy", max_iter=30, tol=0),
        pl.CanonicalLossClassifier(loss="probit"),
    ],
)
def test_every_method_is_drawn(classifier: Any, split: Any) -> None:
    X, X_test, y, y_test = split
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = classifier.fit(X, y)
    for display in (
        pl.LinkDisplay.from_estimator(clf, X_test, y_test),
        pl.LinkDisplay.from_estimator(clf),
        pl.LossDisplay.from_estimator(clf),
        pl.ConvergenceDisplay.from_estimator(clf),
        clf.loss_.plot(),
    ):
        assert_drawn(display)


def test_diagrams_in_one_axes_have_their_own_colours_and_a_legend_inside() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p
    ax, lines = None, []
    for number, forecast in enumerate((p, p**2, np.sqrt(p))):
        display = pl.ReliabilityDisplay.from_predictions(
            y, forecast, ax=ax, n_resamples=20, name=f"a long name of forecaster {number}"
        )
        ax = display.ax_
        lines.append(display.line_)
    assert len({line.get_color() for line in lines}) == 3
    assert_drawn(display)
    assert ax is not None and len(ax.patches) > 40  # the histograms


def test_a_rare_class_is_seen() -> None:
    """3 % positives: the curve would be a dot in the corner of the unit square."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 18.0, 5000)
    y = rng.random(5000) < p
    display = pl.ReliabilityDisplay.from_predictions(y, p, n_resamples=20)
    assert_drawn(display)
    top = display.ax_.get_xlim()[1]
    assert np.quantile(p, 0.99) < top < 0.3
    whole = pl.ReliabilityDisplay.from_predictions(y, p, n_resamples=0, zoom=False)
    assert whole.ax_.get_xlim() == (0.0, 1.0)
    chosen = pl.ReliabilityDisplay.from_predictions(y, p, n_resamples=0, zoom=0.5)
    assert chosen.ax_.get_xlim() == (0.0, 0.5)
    with pytest.raises(ValueError, match="zoom is 2"):
        display.plot(zoom=2.0)


def test_a_calibrator_of_probabilities_refuses_what_is_none() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    calibrator = pl.ProperCalibrator().fit(p, y)
    with pytest.raises(ValueError, match=r"row 1 is 3\.0, which is no probability"):
        calibrator.predict([0.5, 3.0, -2.0])
    with pytest.raises(ValueError, match=r"row 0 is -2\.0"):
        calibrator.predict_proba([-2.0])
    scores = pl.ProperCalibrator(kind="scores").fit(p, y)
    assert np.isfinite(scores.predict([3.0, -2.0])).all()
