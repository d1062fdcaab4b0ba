"""Classes of those methods of the engine that have none written by hand.

A method that is added to the registry of the engine is a scikit-learn class at once: its options are
the parameters, its summary and their help the documentation.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from properloss import _core, _registry, estimators
from properloss._base import ProperClassifier
from properloss._classifier import ProperLossClassifier
from properloss._docs import filled

_ATTRIBUTES = """
Attributes
----------
{classes}
link_ : InverseLink
    From ``linear_score(X)`` to a probability.
loss_ : CanonicalLoss or CompositeLoss
    The proper loss that goes with it.
{threshold}
history_ : dict of str to ndarray
    One entry an iteration.
{course}
{features}
"""


def _class_of(method: _core.Method) -> type[ProperClassifier]:
    name = method["class_name"]
    defaults = _registry.defaults(name)
    parameters = [
        inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY, default=default)
        for parameter, default in defaults.items()
    ]
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def __init__(self: Any, **given: Any) -> None:
        for parameter in given:
            if parameter not in defaults:
                raise TypeError(f"{name}() got an unexpected keyword argument {parameter!r}")
        _registry.keep(self, defaults | given)

    setattr(__init__, "__signature__", inspect.Signature([this, *parameters]))
    return type(
        name,
        (ProperClassifier,),
        {
            "__init__": __init__,
            "__doc__": _documentation(method, defaults),
            "__module__": __name__,
            "_parameter_constraints": _registry.constraints(name),
        },
    )


def _documentation(method: _core.Method, defaults: dict[str, Any]) -> str:
    lines = [f"{method['summary']}.", "", "Parameters", "----------"]
    for option in method["options"]:
        parameter = _registry.PARAMETERS.get(option["name"], option["name"])
        lines += [
            f"{parameter} : {option['expected']}, default={defaults[parameter]!r}",
            # A norm between bars is code: to Sphinx a bar begins a substitution.
            "    " + re.sub(r"\|[^|]+\|(\^\d)?", r"``\g<0>``", option["help"]) + ".",
        ]
    return filled("\n".join([*lines, "{beside}", _ATTRIBUTES]))


_BY_HAND = {*vars(estimators), ProperLossClassifier.__name__}
#: The classes by their name.
CLASSES: dict[str, type[ProperClassifier]] = {
    method["class_name"]: _class_of(method)
    for method in _registry.methods().values()
    if method["class_name"] not in _BY_HAND
}
globals().update(CLASSES)
