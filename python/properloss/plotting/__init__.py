"""Plots in scikit-learn's Display style; matplotlib is imported when a plot is drawn."""

from properloss.plotting._convergence import ConvergenceDisplay
from properloss.plotting._costs import DecisionCurveDisplay, MurphyDisplay
from properloss.plotting._link import LinkDisplay
from properloss.plotting._loss import LossDisplay
from properloss.plotting._reliability import ReliabilityDisplay

__all__ = [
    "ConvergenceDisplay", "DecisionCurveDisplay", "LinkDisplay", "LossDisplay", "MurphyDisplay",
    "ReliabilityDisplay",
]
