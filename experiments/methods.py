"""A method by its name: the product's estimators, watched at chosen iterations, and measured."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import properloss as pl
from properloss import metrics

MEASURES = ("auc_score", "auc_probability", "accuracy", "log_loss", "brier", "ece")

#: u_0(z) = clip(z + 1/2): y_hat_0 is 1/2 for every row.
HALF = ((-0.5, 0.5), (0.0, 1.0))


def build(kind: str, options: dict[str, Any], scaling: str, step: Any, iterations: int) -> Any:
    """An estimator of the product. GLMTron has no intercept, as in the paper."""
    if kind == "logistic":
        return pl.CanonicalLossClassifier(loss="sigmoid", scaling=scaling, tol=1e-6, **options)
    common = {"scaling": scaling, "step": step, "max_iter": iterations, "tol": 0.0, **options}
    if kind == "glmtron":
        return pl.GlmtronClassifier(link="sigmoid", fit_intercept=False, **common)
    if kind == "slisotron":
        return pl.SlisotronClassifier(**common)
    return pl.BregmanTronClassifier(initial_link=pl.PiecewiseLink(*HALF), **common)


def fit(estimator: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Fit; that ``max_iter`` was reached is what was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y)


def fit_watched(
    estimator: Any, X: np.ndarray, y: np.ndarray, checkpoints: Iterable[int]
) -> dict[int, Any]:
    """Fit once; answer with the model after each of the given numbers of iterations.

    A run that ends early stays where it is for the later ones.
    """
    wanted = set(checkpoints)
    seen: dict[int, Any] = {}
    run = estimator._run

    def watched(task: Any) -> Any:
        def look(numbers: dict[str, float], model: Any) -> bool:
            if int(numbers["iteration"]) in wanted:
                seen[int(numbers["iteration"])] = model
            return False

        task["callback"] = look
        return run(task)

    estimator._run = watched
    try:
        fit(estimator, X, y)
    finally:
        del estimator._run
    for checkpoint in wanted:
        seen.setdefault(checkpoint, estimator._model)
    return dict(sorted(seen.items()))


def measure(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """AUC of the score and of the probability, accuracy, log-loss, Brier score, ECE (15 bins)."""
    p = np.ascontiguousarray(model.predict_proba(X)[:, 1])
    return {
        "auc_score": metrics.auc(y, model.scores(X)),
        "auc_probability": metrics.auc(y, p),
        "accuracy": float(np.mean((p > 0.5) == (y == 1))),
        "log_loss": metrics.log_loss(y, p),
        "brier": metrics.brier(y, p),
        "ece": metrics.expected_calibration_error(y, p),
    }


def pair_counts(y: np.ndarray, values: np.ndarray) -> tuple[int, int, int]:
    """Pairs of a positive and a negative row: ordered rightly, tied, ordered wrongly."""
    negatives = np.sort(values[y == 0])
    positives = values[y == 1]
    below = np.searchsorted(negatives, positives, "left")
    up_to = np.searchsorted(negatives, positives, "right")
    right, tied = int(below.sum()), int((up_to - below).sum())
    return right, tied, len(negatives) * len(positives) - right - tied


def summary(values: Iterable[float]) -> dict[str, float]:
    """Mean and standard error over seeds (0 for one value)."""
    numbers = [float(value) for value in values]
    mean = sum(numbers) / len(numbers)
    if len(numbers) < 2:
        return {"mean": mean, "se": 0.0, "count": len(numbers)}
    variance = sum((value - mean) ** 2 for value in numbers) / (len(numbers) - 1)
    return {"mean": mean, "se": (variance / len(numbers)) ** 0.5, "count": len(numbers)}
