"""Where pickles of earlier releases look for the classifier and the calibrators."""

from properloss._calibrated import ProperCalibratedClassifierCV as ProperCalibratedClassifierCV
from properloss._calibrator import ProperCalibrator as ProperCalibrator
from properloss._classifier import ProperLossClassifier as ProperLossClassifier
from properloss._results import Table as _Table
