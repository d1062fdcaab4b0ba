"""Learn a classifier together with its proper loss.

The classifiers follow scikit-learn; links, losses and the chain solver work on numpy arrays.
Everything is imported when it is first used, so that ``import properloss`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from properloss._calibrated import ProperCalibratedClassifierCV as ProperCalibratedClassifierCV
    from properloss._calibrator import ProperCalibrator as ProperCalibrator
    from properloss._classifier import ProperLossClassifier as ProperLossClassifier
    from properloss._core import (
        CanonicalLoss as CanonicalLoss,
        Cauchy as Cauchy,
        ChainSolution as ChainSolution,
        ClippedLine as ClippedLine,
        Cloglog as Cloglog,
        CompositeLoss as CompositeLoss,
        InverseLink as InverseLink,
        IsotonicLink as IsotonicLink,
        Loglog as Loglog,
        Loss as Loss,
        Matsushita as Matsushita,
        PiecewiseLink as PiecewiseLink,
        Probit as Probit,
        RelativeLink as RelativeLink,
        Sigmoid as Sigmoid,
        __version__ as __version__,
        isotonic as isotonic,
        link as link,
        links as links,
        solve_chain as solve_chain,
    )
    from properloss._model_file import load as load
    from properloss._report import Report as Report, report as report
    from properloss.estimators import (
        BregmanTronClassifier as BregmanTronClassifier,
        CanonicalLossClassifier as CanonicalLossClassifier,
        CertifiedClassifier as CertifiedClassifier,
        GlmtronClassifier as GlmtronClassifier,
        SlisotronClassifier as SlisotronClassifier,
    )
    from properloss.plotting import (
        ConvergenceDisplay as ConvergenceDisplay,
        DecisionCurveDisplay as DecisionCurveDisplay,
        LinkDisplay as LinkDisplay,
        LossDisplay as LossDisplay,
        MurphyDisplay as MurphyDisplay,
        ReliabilityDisplay as ReliabilityDisplay,
    )

#: Where each public name lives.
_HOME = {
    "properloss._calibrated": "ProperCalibratedClassifierCV",
    "properloss._calibrator": "ProperCalibrator",
    "properloss._classifier": "ProperLossClassifier",
    "properloss._core": "CanonicalLoss Cauchy ChainSolution ClippedLine Cloglog CompositeLoss InverseLink"
    " IsotonicLink Loglog Loss Matsushita PiecewiseLink Probit RelativeLink Sigmoid isotonic link links"
    " solve_chain __version__",
    "properloss._model_file": "load",
    "properloss._report": "Report report",
    "properloss.estimators": "BregmanTronClassifier CanonicalLossClassifier CertifiedClassifier"
    " GlmtronClassifier SlisotronClassifier",
    "properloss.plotting": "ConvergenceDisplay DecisionCurveDisplay LinkDisplay LossDisplay MurphyDisplay"
    " ReliabilityDisplay",
}
_LAZY = {name: module for module, names in _HOME.items() for name in names.split()}
_SUBMODULES = ("estimators", "learners", "metrics", "onnx", "plotting")

__all__ = sorted([*_LAZY, *_SUBMODULES])


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    # The last is no part of `import *`: its import fails where Dask is not installed.
    if name in (*_SUBMODULES, "dask"):
        return importlib.import_module(f"properloss.{name}")
    # Methods of the engine whose class is not written by hand.
    if name.endswith("Classifier"):
        registered = importlib.import_module("properloss._registered").CLASSES
        if name in registered:
            return registered[name]
    raise AttributeError(f"module 'properloss' has no attribute {name!r}")


def __dir__() -> list[str]:
    registered = importlib.import_module("properloss._registered").CLASSES
    return sorted({*globals(), *__all__, *registered})
