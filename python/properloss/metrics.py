"""How good scores and probabilities are: the same numbers the command line prints."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from properloss import _core
from properloss._docs import documented
from properloss.plotting._axes import labelled, same_length

__all__ = [
    "CalibrationBound",
    "CorpDecomposition",
    "auc",
    "brier",
    "calibration_bound",
    "corp_decomposition",
    "expected_calibration_error",
    "log_loss",
    "maximum_calibration_error",
]

_Columns = tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.float64] | None]


class CorpDecomposition(NamedTuple):
    """``brier = miscalibration - discrimination + uncertainty``."""

    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float


class CalibrationBound(NamedTuple):
    """What :func:`calibration_bound` certifies, and under which assumption."""

    #: RMS distance of the probabilities of these rows from the true ones is at most this.
    rms: float
    #: The same for a fresh row of the same distribution; ``None`` with weights.
    population_rms: float | None
    #: The probability with which it holds.
    confidence: float
    #: Summed log-loss above that of isotonic regression on the same rows, nats.
    log_excess: float
    #: Summed Brier score above that of isotonic regression on the same rows.
    brier_excess: float
    #: E-value against the assumption that the true probability does not decrease with the
    #: predicted one: 20 or more happens to a true assumption once in twenty times at most.
    against_monotone: float
    #: Rows of positive weight.
    n_samples: int
    #: Folds, 1 if there are none.
    n_folds: int

    @property
    def assumption_rejected(self) -> bool:
        """Whether the labels contradict the assumption at the confidence of the bound."""
        return self.against_monotone >= 1 / (1 - self.confidence)


@documented
def auc(
    y_true: ArrayLike, score: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None,
) -> float:
    """Area under the ROC curve; ties count one half.

    Parameters
    ----------
    {y_true}
    score : array-like of shape (n_samples,)
        Scores, larger for positives.
    {sample_weight}
    {pos_label}

    Returns
    -------
    auc : float

    Examples
    --------
    >>> from properloss.metrics import auc
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    return _core.metric_auc(_columns(y_true, score, "score", sample_weight, pos_label))


def log_loss(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None,
) -> float:
    """Mean logarithmic loss in nats; an impossible event that happened costs a large number.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label
        As :func:`auc`, with probabilities of the positive label in place of scores.

    Returns
    -------
    log_loss : float

    Examples
    --------
    >>> from properloss.metrics import log_loss
    >>> round(log_loss([0, 1], [0.5, 0.5]), 6)
    0.693147
    """
    return _core.metric_log_loss(_columns(y_true, y_prob, "y_prob", sample_weight, pos_label))


@documented
def brier(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None,
) -> float:
    """Mean squared error of the probabilities.

    {as_log_loss}

    Returns
    -------
    brier : float

    Examples
    --------
    >>> from properloss.metrics import brier
    >>> brier([0, 1], [0.5, 0.5])
    0.25
    """
    return _core.metric_corp(_columns(y_true, y_prob, "y_prob", sample_weight, pos_label))[0]


@documented
def corp_decomposition(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None,
) -> CorpDecomposition:
    """The Brier score and its parts by isotonic recalibration (no bins to choose).

    {as_log_loss}

    Returns
    -------
    parts : CorpDecomposition
        ``brier``, ``miscalibration``, ``discrimination``, ``uncertainty``.

    Examples
    --------
    >>> from properloss.metrics import corp_decomposition
    >>> corp_decomposition([0, 1], [0.0, 1.0])
    CorpDecomposition(brier=0.0, miscalibration=0.0, discrimination=0.25, uncertainty=0.25)
    """
    columns = _columns(y_true, y_prob, "y_prob", sample_weight, pos_label)
    return CorpDecomposition(*_core.metric_corp(columns))


def calibration_bound(
    y_true: ArrayLike, y_prob: ArrayLike, *,
    folds: ArrayLike | None = None,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None, pos_label: Any = None,
) -> CalibrationBound:
    """How far probabilities can be from the true ones: a certificate, without bins.

    With the stated confidence, whatever the number of rows, the root of the mean squared distance
    of ``y_prob`` from ``P(y = 1 | y_prob)`` is at most ``rms``. It holds if the probabilities have
    not seen the labels of these rows, rows are independent, and ``P(y = 1 | y_prob)`` does not
    decrease; ``against_monotone`` is evidence against the last. Proof: docs/certificate.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label
        As :func:`log_loss`. Weights say how much a row counts in the mean.
    folds : array-like of shape (n_samples,), default=None
        The fold of each row, if every fold has a model of its own that was fitted without it.
    confidence : float, default=0.95
        Strictly between 0 and 1.

    Returns
    -------
    bound : CalibrationBound

    Examples
    --------
    >>> import numpy as np
    >>> from properloss.metrics import calibration_bound
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> bound = calibration_bound(rng.random(5000) < p, p)
    >>> bool(bound.rms < 0.09), bound.assumption_rejected
    (True, False)
    """
    columns = _columns(y_true, y_prob, "y_prob", sample_weight, pos_label)
    numbers = None
    if folds is not None:
        numbers = np.unique(np.asarray(folds), return_inverse=True)[1].astype(np.uint32).ravel()
        same_length(columns[1], numbers)
    confidence = float(confidence)
    bound = _core.metric_calibration_bound(columns, numbers, confidence)
    rms, population, log, brier_, against, rows, count = bound
    return CalibrationBound(rms, population, confidence, log, brier_, against, rows, count)


def expected_calibration_error(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None,
    n_bins: int = 15, strategy: Literal["quantile", "uniform"] = "quantile",
) -> float:
    """Mean distance of predicted probability and share of positives over bins.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label
        As :func:`log_loss`.
    n_bins : int, default=15
        Number of bins.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equal count or of equal width.

    Returns
    -------
    ece : float

    Examples
    --------
    >>> from properloss.metrics import expected_calibration_error
    >>> round(expected_calibration_error([0, 1], [0.25, 0.75], n_bins=2), 6)
    0.25
    """
    columns = _columns(y_true, y_prob, "y_prob", sample_weight, pos_label)
    return _core.metric_calibration(columns, n_bins, strategy == "uniform")[0]


def maximum_calibration_error(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None,
    n_bins: int = 15, strategy: Literal["quantile", "uniform"] = "quantile",
) -> float:
    """Largest distance of predicted probability and share of positives over bins.

    Its parameters are those of :func:`expected_calibration_error`.

    Examples
    --------
    >>> from properloss.metrics import maximum_calibration_error
    >>> round(maximum_calibration_error([0, 1], [0.25, 0.5], n_bins=2), 6)
    0.5
    """
    columns = _columns(y_true, y_prob, "y_prob", sample_weight, pos_label)
    return _core.metric_calibration(columns, n_bins, strategy == "uniform")[1]


def _columns(
    y_true: ArrayLike, values: ArrayLike, name: str, sample_weight: Any, pos_label: Any
) -> _Columns:
    labels, column, weights = labelled(y_true, values, name, sample_weight, pos_label)
    return column, labels.astype(np.uint8), weights
