"""The report page, the notebook card, Murphy diagrams and decision curves."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import properloss as pl


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return pl.ProperLossClassifier().fit(X[:200], y[:200])


def _number(page, term):
    return float(re.search(rf"<dt>{term}</dt><dd>([^<]*)</dd>", page).group(1))


def test_the_numbers_are_those_of_scikit_learn(fitted, data, tmp_path):
    X, y = data[0][200:], data[1][200:]
    page = fitted.report(X, y, tmp_path / "report.html").html
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    p = fitted.predict_proba(X)[:, 1]
    # Five digits are shown.
    assert _number(page, "AUC") == pytest.approx(roc_auc_score(y, p), rel=5.1e-5)
    assert _number(page, "log-loss") == pytest.approx(log_loss(y, p), rel=5.1e-5)
    assert _number(page, "Brier score") == pytest.approx(brier_score_loss(y, p), rel=5.1e-5)
    assert f'data-cell="tp">{((p > 0.5) & (y == 1)).sum()}<' in page
    # What cross-validation weighed is there, whatever it is called.
    assert "How it was fitted" in page and 'id="figure-fit-a-0-weight"' in page
    effect = fitted.coef_[0] * X.std(axis=0)
    assert any(f"<td>{v:.5g}</td>" in page for v in effect)


def test_what_was_tried_is_shown_once(fitted, data):
    """The model file holds it, and so does the estimator."""
    page = fitted.report(data[0][200:], data[1][200:]).html
    for title in ("Regularisation: held-out log-loss", "Links: weight"):
        assert page.count(f"Read {title} at") == 1
    assert "by cross-validation" not in page and "learned certificate" not in page
    kind = np.digitize(data[0][:, 0], [-0.5, 0.5])
    several = pl.ProperLossClassifier(cv=3).fit(data[0], kind).report(data[0], kind).html
    assert several.count("Read Regularisation: weight at") == 1 and "by cross-validation" not in several


def test_two_models_and_weights(fitted, data):
    X, y = data[0][200:], data[1][200:]
    other = LogisticRegression().fit(data[0][:200], data[1][:200])
    page = pl.report(fitted, X, y, compare=other, names=("ours", "theirs")).html
    assert "matrix-b" in page and "<bdi>theirs</bdi>" in page
    gain = log_loss(y, other.predict_proba(X)) - log_loss(y, fitted.predict_proba(X))
    shown = float(re.search(r"([\d.e-]+) nats a row", page).group(1))
    assert shown == pytest.approx(abs(gain), rel=1e-4)
    # Weight 2 is a row twice, weight 0 none.
    weights = np.tile([2.0, 0.0], len(y) // 2)
    doubled = np.repeat(np.arange(0, len(y), 2), 2)
    one = pl.report(fitted, X, y, sample_weight=weights).html
    two = pl.report(fitted, X[doubled], y[doubled]).html
    for term in ("AUC", "log-loss", "miscalibration"):
        assert _number(one, term) == pytest.approx(_number(two, term), rel=1e-4)
    assert "Report(" in repr(pl.report(fitted, X, y)) and "srcdoc" in pl.report(fitted, X, y)._repr_html_()


def test_wrong_input_is_refused(fitted, data):
    X, y = data
    with pytest.raises(ValueError, match="none of the classes"):
        fitted.report(X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.report(X, y[:-1])
    with pytest.raises(ValueError, match="different classes"):
        pl.report(fitted, X, y, compare=LogisticRegression().fit(X, np.where(y == 1, "a", "b")))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        pl.CanonicalLossClassifier().report(X, y)


def test_the_certificate_of_a_certified_fit_is_on_the_page(data):
    X, y = data
    page = pl.CertifiedClassifier(max_iter=30).fit(X, y).report(X, y).html
    assert "-claimed" in page and "gap bound" in page


def test_the_card_follows_the_diagram(fitted, data):
    plain = pl.ProperLossClassifier()
    assert "properloss-card" not in plain._repr_html_()
    html = fitted._repr_html_()
    assert html.count("properloss-card") == 1 and "<svg" in html and "held-out gain" in html
    assert "at most that of the sigmoid plus" in html
    assert fitted._repr_mimebundle_()["text/html"].count("properloss-card") == 1
    gain = fitted.cv_results_["log_loss_path"] - fitted.cv_results_["log_loss"]
    assert f"{gain:.5f} nats a row" in html
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")


def _brute_force(y, p, t, weight):
    called = p > t
    total = weight.sum()
    tp = (weight * (called & (y == 1))).sum() / total
    fp = (weight * (called & (y == 0))).sum() / total
    fn = (weight * (~called & (y == 1))).sum() / total
    return tp, fp, fn


def test_murphy_and_decision_curves_against_brute_force():
    rng = np.random.default_rng(2)
    p = rng.random(200).round(2)
    y = (rng.random(200) < p).astype(int)
    weight = rng.integers(0, 3, 200).astype(float)
    t = np.array([0.0, 0.1, 0.5, 0.51, 0.9])
    murphy = pl.MurphyDisplay.compute(y, p, sample_weight=weight, thresholds=t)
    decision = pl.DecisionCurveDisplay.compute(y, p, sample_weight=weight, thresholds=t)
    rate = np.average(y, weights=weight)
    for k, threshold in enumerate(t):
        tp, fp, fn = _brute_force(y, p, threshold, weight)
        cost = 2 * (threshold * fp + (1 - threshold) * fn)
        assert murphy.value[k] == pytest.approx(cost, abs=1e-12)
        odds = threshold / (1 - threshold)
        assert decision.value[k] == pytest.approx(tp - fp * odds, abs=1e-12)
        assert decision.reference[k] == pytest.approx(rate - (1 - rate) * odds, abs=1e-12)
    # The area under a Murphy diagram is the Brier score.
    grid = np.linspace(0, 1, 20_001)
    area = np.trapezoid if hasattr(np, "trapezoid") else np.trapz
    curve = pl.MurphyDisplay.compute(y, p, thresholds=grid).value
    assert area(curve, grid) == pytest.approx(brier_score_loss(y, p), abs=2e-4)
    with pytest.raises(ValueError, match="thresholds"):
        pl.DecisionCurveDisplay.compute(y, p, thresholds=[1.0])


def test_the_displays_draw(fitted, data):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = data
    for display in (pl.MurphyDisplay, pl.DecisionCurveDisplay):
        drawn = display.from_estimator(fitted, X, y)
        assert np.array_equal(drawn.line_.get_ydata(), drawn.value)
        assert drawn.ax_.get_legend().get_texts()[1].get_text() == "ProperLossClassifier"
        assert drawn.figure_ is drawn.ax_.figure
    plt.close("all")


def test_several_classes_have_a_page_and_a_card():
    rng = np.random.default_rng(0)
    kind = rng.choice(3, 600)
    X = np.array([[0.0, 0.0], [2.0, 0.5], [0.5, 2.0]])[kind] + rng.normal(size=(600, 2))
    y = np.array(["ant", "bee", "<cat>"])[kind]
    clf = pl.ProperLossClassifier().fit(X[:300], y[:300])
    html = clf.report(X[300:], y[300:]).html
    assert len(html) < 1_000_000 and html.count('class="panel"') == 3
    assert "&lt;cat&gt; against the rest" in html.replace("<bdi>", "").replace("</bdi>", "")
    # Rows of the confusion matrix are in the order of classes_.
    called = clf.predict(X[300:])
    for value in clf.classes_:
        counts = [int(((y[300:] == value) & (called == other)).sum()) for other in clf.classes_]
        cells = [
            f'<td class="right">{n}</td>' if other == value else f"<td>{n}</td>"
            for n, other in zip(counts, clf.classes_, strict=True)
        ]
        assert "".join(cells) in html
    card = clf._repr_html_()
    assert "properloss-card" in card and f"plus {clf.guarantee_:.4g} nats" in card
    with pytest.raises(ValueError, match="none of the classes"):
        clf.report(X[300:], np.full(300, "dog"))
