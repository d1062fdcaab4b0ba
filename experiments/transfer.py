"""A loss learned on one pair of fashion-mnist classes, used to train on another pair.

For a target with ``n`` labels, compared on the same rows:

* ``logistic``: logistic regression;
* ``square``: the canonical loss of the clipped line, a fixed loss that nobody learned;
* ``direct``: BregmanTron on the target's own labels;
* ``transfer``: the loss of a source pair, learned on 1000 of its rows, taken to its minimum.

Every penalised fit chooses C from one grid by 3-fold cross-validation on the ``n`` labels (Brier
score). ``C`` is counted in the loss's own units: a link stretched by ``s`` has the same minimum
with ``s C`` in place of ``C``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pool
import properloss as pl
from data import pair, pixels
from links import width
from methods import build, fit, measure, summary
from settings import Profile

SET = "fmnist"
FOLDS = 3
C_GRID = (1.0, 4.0, 16.0, 64.0, 256.0)
KEPT = ("auc_score", "brier", "log_loss")

Pair = tuple[int, int]


def labelled(directory: str, classes: Pair, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """``rows`` training rows of a pair, in random order."""
    pool_rows, y = pair(directory, SET, "train", classes)
    stream = np.random.RandomState(1_000_000 * seed + 100 * classes[0] + classes[1])
    chosen = stream.permutation(len(y))[:rows]
    return pixels(pool_rows[chosen]), y[chosen]


def test_rows(directory: str, classes: Pair) -> tuple[np.ndarray, np.ndarray]:
    """The test rows of a pair."""
    rows, y = pair(directory, SET, "t10k", classes)
    return pixels(rows), y


def learn(X: np.ndarray, y: np.ndarray, variant: str, iterations: int) -> Any:
    """BregmanTron, strict setting."""
    return fit(build("bregmantron", {"target": variant}, "unit-rows", "paper", iterations), X, y)


def minimise(loss: Any, C: float, X: np.ndarray, y: np.ndarray) -> Any:
    """The linear classifier of a loss, with the penalty ``|w|^2 / (2 C s)``, s the loss's width."""
    link = loss.inverse_link if isinstance(loss, pl.CanonicalLoss) else pl.link(loss)
    estimator = pl.CanonicalLossClassifier(
        loss=loss, C=C * width(link), scaling="unit-rows", solver="newton-cg", tol=1e-4
    )
    return fit(estimator, X, y)


def choose_C(loss: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The C with the least Brier score on held-out folds."""
    fold = np.arange(len(y)) % FOLDS
    errors = []
    for C in C_GRID:
        error = 0.0
        for k in range(FOLDS):
            model = minimise(loss, C, X[fold != k], y[fold != k])
            p = model.predict_proba(X[fold == k])[:, 1]
            error += float(np.sum((p - y[fold == k]) ** 2))
        errors.append(error)
    return C_GRID[int(np.argmin(errors))]


def under(loss: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray):
    """Test figures of a loss with its chosen C."""
    C = choose_C(loss, X, y)
    found = measure(minimise(loss, C, X, y)._model, X_test, y_test)
    return {name: found[name] for name in KEPT} | {"C": C}


def baseline_cell(directory: str, target: Pair, seed: int, profile: Profile):
    """Logistic regression, the square loss and direct learning at every number of labels."""
    X, y = labelled(directory, target, seed, max(profile.transfer_labels))
    test = test_rows(directory, target)
    found = {}
    for labels in profile.transfer_labels:
        part = (X[:labels], y[:labels])
        direct = measure(
            learn(*part, "labels", profile.transfer_iterations)._model, *test
        )
        found[labels] = {
            "logistic": under("sigmoid", *part, *test),
            "square": under("clipped-line", *part, *test),
            "direct": {name: direct[name] for name in KEPT},
        }
    return found


def source_cell(directory: str, source: Pair, variant: str, seed: int, profile: Profile):
    """The loss of a source pair on every target, at every number of labels."""
    X, y = labelled(directory, source, seed, profile.transfer_rows)
    loss = learn(X, y, variant, profile.transfer_iterations).loss_
    found = {}
    for target in profile.transfer_targets:
        X, y = labelled(directory, target, seed, max(profile.transfer_labels))
        test = test_rows(directory, target)
        for labels in profile.transfer_labels:
            found[target, labels] = under(loss, X[:labels], y[:labels], *test)
    return found


def paper_cell(directory: str, labels: int, seed: int, profile: Profile):
    """The paper's own case, 0 v 6 to 2 v 4, with ``labels`` labels on either side."""
    source, target = (0, 6), (2, 4)
    X, y = labelled(directory, source, seed, labels)
    own, test = test_rows(directory, source), test_rows(directory, target)
    X_target, y_target = labelled(directory, target, seed, labels)
    found = {
        "source logistic": under("sigmoid", X, y, *own)["auc_score"],
        "logistic": under("sigmoid", X_target, y_target, *test)["auc_score"],
        "square": under("clipped-line", X_target, y_target, *test)["auc_score"],
    }
    for variant in ("previous", "labels", "refit"):
        learned = learn(X, y, variant, profile.iterations)
        direct = learn(X_target, y_target, variant, profile.iterations)
        transferred = under(learned.loss_, X_target, y_target, *test)
        found[f"{variant}: source"] = measure(learned._model, *own)["auc_score"]
        found[f"{variant}: direct"] = measure(direct._model, *test)["auc_score"]
        found[f"{variant}: transferred"] = transferred["auc_score"]
    # The paper does not say how rows are scaled: BregmanTron on standardised features as well.
    for name, rows, labels_of, tested in (
        ("standardised: source", X, y, own),
        ("standardised: direct", X_target, y_target, test),
    ):
        estimator = build(
            "bregmantron", {"target": "previous"}, "standardise", "paper", profile.iterations
        )
        found[name] = measure(fit(estimator, rows, labels_of)._model, *tested)["auc_score"]
    return found


def run(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    """The paper's case and the survey of all sources."""
    return {
        "paper": _paper(directory, profile, jobs),
        "survey": _survey(directory, profile, jobs),
    }


def _paper(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    sizes = sorted(profile.transfer_paper_labels, reverse=True)
    tasks = [
        (paper_cell, (directory, labels, seed, profile))
        for labels in sizes
        for seed in profile.transfer_seeds
    ]
    results = iter(pool.run(tasks, jobs, "transfer, 0 v 6 to 2 v 4"))
    table = {}
    for labels in sizes:
        cells = [next(results) for _ in profile.transfer_seeds]
        table[str(labels)] = {name: summary(c[name] for c in cells) for name in cells[0]}
    return dict(sorted(table.items(), key=lambda item: int(item[0])))


def _survey(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    seeds = profile.transfer_seeds
    baselines = [
        (baseline_cell, (directory, target, seed, profile))
        for target in profile.transfer_targets
        for seed in seeds
    ]
    sources = [
        (source_cell, (directory, source, variant, seed, profile))
        for variant in profile.transfer_variants
        for source in profile.transfer_sources
        for seed in seeds
    ]
    results = iter(pool.run(baselines + sources, jobs, "transfer, survey of sources"))
    base = {
        (target, seed): next(results) for target in profile.transfer_targets for seed in seeds
    }
    moved = {
        (variant, source, seed): next(results)
        for variant in profile.transfer_variants
        for source in profile.transfer_sources
        for seed in seeds
    }
    table: dict[str, Any] = {}
    for variant in profile.transfer_variants:
        table[variant] = {
            _name(target): {
                str(labels): _case(base, moved, variant, target, labels, profile)
                for labels in profile.transfer_labels
            }
            for target in profile.transfer_targets
        }
    return table


def _name(classes: Pair) -> str:
    return f"{classes[0]} v {classes[1]}"


def kind_of(source: Pair, target: Pair) -> str:
    """A source may be the target itself, share a class with it, or be disjoint from it."""
    if source == target:
        return "same"
    return "shared" if set(source) & set(target) else "disjoint"


def _case(base, moved, variant: str, target: Pair, labels: int, profile: Profile):
    """One target at one number of labels: baselines, and every source against them, seed by seed."""
    seeds = profile.transfer_seeds
    case: dict[str, Any] = {
        name: {
            measured: summary(base[target, seed][labels][name][measured] for seed in seeds)
            for measured in KEPT
        }
        for name in ("logistic", "square", "direct")
    }
    case["sources"] = {}
    others = [source for source in profile.transfer_sources if source != target]
    for source in profile.transfer_sources:
        cells = {seed: moved[variant, source, seed][target, labels] for seed in seeds}
        case["sources"][_name(source)] = {
            "kind": kind_of(source, target),
            "auc_score": summary(cells[seed]["auc_score"] for seed in seeds),
        } | {
            f"auc_score - {name}": summary(
                cells[seed]["auc_score"] - base[target, seed][labels][name]["auc_score"]
                for seed in seeds
            )
            for name in ("logistic", "square", "direct")
        }
    # All sources but the target itself, averaged within a seed: seeds are independent, sources not.
    for name in ("logistic", "square", "direct"):
        for measured in KEPT:
            case[f"mean {measured} - {name}"] = summary(
                sum(
                    moved[variant, source, seed][target, labels][measured]
                    - base[target, seed][labels][name][measured]
                    for source in others
                )
                / len(others)
                for seed in seeds
            )
    return case
