"""Where pickles of earlier releases look for the classifier and the calibrators."""

from properloss._calibrated import ProperCalibratedClassifierCV
from properloss._calibrator import ProperCalibrator
from properloss._classifier import ProperLossClassifier
from properloss._results import Table as _Table

__all__ = [
    "ProperCalibratedClassifierCV",
    "ProperCalibrator",
    "ProperLossClassifier",
    "_Table",
]
