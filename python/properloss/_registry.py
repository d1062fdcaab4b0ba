"""The methods of the engine and their options, as the classes need them: one place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from numbers import Integral, Real
from os import PathLike
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from properloss import _core

#: Options that have another name in scikit-learn.
PARAMETERS = {"l2": "alpha", "seed": "random_state"}

#: What every class takes beside the options of its method, with the defaults.
BESIDE: dict[str, Any] = {
    "missing": "error",
    "verbose": 0,
    "checkpoint": None,
    "checkpoint_every": 60.0,
}
BESIDE_CONSTRAINTS: dict[str, list[Any]] = {
    "missing": [StrOptions({"error", "mean"})],
    "verbose": ["verbose"],
    "checkpoint": [str, PathLike, None],
    "checkpoint_every": [Interval(Real, 0, None, closed="left")],
}


def keep(estimator: object, given: Mapping[str, Any]) -> None:
    """The arguments of an ``__init__``, its ``locals()``, become attributes; scikit-learn asks for no more."""
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def given(**named: Any) -> dict[str, Any]:
    """Those arguments that are not None."""
    return {name: value for name, value in named.items() if value is not None}


@cache
def methods() -> dict[str, _core.Method]:
    """Every method of the engine by its name."""
    return {method["name"]: method for method in _core.methods()}


def methods_of(class_name: str) -> list[_core.Method]:
    """The methods that a class has, the most particular first."""
    own = [method for method in methods().values() if method["class_name"] == class_name]
    return sorted(own, key=lambda method: -len(method["fixed"]))


def constraint(option: _core.Option) -> list[Any]:
    """The values of an option, as scikit-learn checks parameters."""
    if option["kind"] == "number":
        low, high = option["low"], option["high"]
        closed = {(True, True): "both", (True, False): "left", (False, True): "right"}
        ends = closed.get(option["taken"], "neither")
        return [Interval(Real, low, None if high == float("inf") else high, closed=ends)]
    kinds: dict[str, list[Any]] = {
        "flag": ["boolean"],
        "count": [Interval(Integral, option.get("low", 0), None, closed="left")],
        "choice": [StrOptions(set(option.get("words", ())))],
        "step": [StrOptions({"auto", "paper"}), Interval(Real, 0, None, closed="neither")],
        "link": [StrOptions(set(_core.links())), _core.InverseLink],
        "class_weight": [StrOptions({"balanced"}), "array-like"],
        "numbers": ["array-like"],
    }
    return kinds[option["kind"]]


def defaults(class_name: str, names: Mapping[str, str] = PARAMETERS) -> dict[str, Any]:
    """The parameters of a class and their defaults; None where it depends on method or data."""
    found: dict[str, Any] = {}
    for method in reversed(methods_of(class_name)):
        for option in method["options"]:
            name = names.get(option["name"], option["name"])
            default = option["default"]
            found[name] = default if found.get(name, default) == default else None
    return {**found, **BESIDE}


def constraints(class_name: str, names: Mapping[str, str] = PARAMETERS) -> dict[str, list[Any]]:
    """The values that the parameters of a class take."""
    found: dict[str, list[Any]] = {}
    for method in methods_of(class_name):
        for option in method["options"]:
            found[names.get(option["name"], option["name"])] = constraint(option)
    for name, default in defaults(class_name, names).items():
        if default is None and name in found:
            found[name].append(None)
    return {**found, **BESIDE_CONSTRAINTS}
