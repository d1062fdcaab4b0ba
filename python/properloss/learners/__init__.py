"""The learned loss inside boosters, networks and linear models.

``Objective`` is a proper loss as boosters want it; ``ProperLGBMClassifier``,
``ProperXGBClassifier`` and ``ProperCatBoostClassifier`` own the link and the start score, which the
packages forget. ``LinkLayer`` and ``ProperLoss`` are PyTorch modules, ``GlumLink`` is a link for
glum. The packages are optional; each is imported when its class is used.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from properloss._docs import documented

if TYPE_CHECKING:
    from properloss.learners._base import Learner as Learner
    from properloss.learners._catboost import ProperCatBoostClassifier as ProperCatBoostClassifier
    from properloss.learners._glum import GlumLink as GlumLink
    from properloss.learners._lightgbm import ProperLGBMClassifier as ProperLGBMClassifier
    from properloss.learners._objective import Objective as Objective
    from properloss.learners._torch import (
        LinkLayer as LinkLayer,
        LinkProbability as LinkProbability,
        ProperLoss as ProperLoss,
    )
    from properloss.learners._xgboost import ProperXGBClassifier as ProperXGBClassifier

_HOME = {
    "GlumLink": "_glum",
    "LinkLayer": "_torch",
    "LinkProbability": "_torch",
    "Objective": "_objective",
    "ProperCatBoostClassifier": "_catboost",
    "ProperLGBMClassifier": "_lightgbm",
    "ProperLoss": "_torch",
    "ProperXGBClassifier": "_xgboost",
}
_CLASSES = {
    "lightgbm": "ProperLGBMClassifier",
    "xgboost": "ProperXGBClassifier",
    "catboost": "ProperCatBoostClassifier",
}

__all__ = sorted([*_HOME, "load"])


@documented
def load(path: str | os.PathLike[str]) -> Learner:
    """Read a file written by ``save`` of any wrapped booster.

    {file}

    Returns
    -------
    classifier : object
        A fitted classifier of the class that wrote it.
    """
    import json

    with open(path, encoding="utf-8") as file:
        try:
            kind = json.load(file).get("learner")
        except (ValueError, AttributeError):
            kind = None
    if kind not in _CLASSES:
        # The reader of a class says what is wrong with the file.
        kind = "lightgbm"
    learner: Learner = __getattr__(_CLASSES[kind]).load(path)
    return learner


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"properloss.learners.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'properloss.learners' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
