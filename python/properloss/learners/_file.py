"""Links and labels as JSON data, and the file of a wrapped booster."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from properloss import _core


def spec_of_link(link: _core.InverseLink) -> dict[str, Any]:
    """The link as data, in the words of loss files."""
    if isinstance(link, _core.RelativeLink):
        base = spec_of_link(link.base)
        return {"kind": "relative", "base": base, "p": link.p.tolist(), "v": link.v.tolist()}
    if isinstance(link, (_core.PiecewiseLink, _core.IsotonicLink)):
        kind = "piecewise" if isinstance(link, _core.PiecewiseLink) else "isotonic"
        return {"kind": kind, "z": link.z.tolist(), "u": link.u.tolist()}
    return {"kind": "builtin", "name": link.name, "params": arguments_of(link)}


def arguments_of(link: _core.InverseLink) -> list[float]:
    """The parameters of a named link, in order."""
    reduced: Any = link.__reduce__()
    return [float(argument) for argument in reduced[1]]


def link_from(spec: dict[str, Any]) -> _core.InverseLink:
    """The link of that data."""
    kind = spec["kind"]
    if kind == "relative":
        return _core.RelativeLink(link_from(spec["base"]), spec["p"], spec["v"])
    if kind == "piecewise":
        return _core.PiecewiseLink(spec["z"], spec["u"])
    if kind == "isotonic":
        return _core.IsotonicLink(spec["z"], spec["u"])
    if kind == "builtin":
        return _core.link(spec["name"], *spec.get("params", []))
    raise ValueError(f"unknown kind of link {kind!r}; a newer version of properloss may read it")


def spec_of_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """The two labels as data."""
    values = [value.item() if isinstance(value, np.generic) else value for value in classes]
    if not all(isinstance(value, (bool, int, float, str)) for value in values):
        raise TypeError(f"labels {values!r} cannot be written to a file; use numbers or texts")
    dtype = "object" if classes.dtype == object else classes.dtype.str
    return {"dtype": dtype, "values": values}


def labels_from(spec: dict[str, Any]) -> NDArray[Any]:
    """The labels of that data."""
    return np.array(spec["values"], dtype=np.dtype(spec["dtype"]))


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """The content of a file of that kind of learner."""
    with open(path, encoding="utf-8") as file:
        try:
            content: dict[str, Any] = json.load(file)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} is not JSON: {error}") from None
    found = content.get("format") if isinstance(content, dict) else None
    if found != "properloss-learner":
        raise ValueError(
            f"{os.fspath(path)} is not a file of a learner (format {found!r}); model files of"
            " properloss are read by properloss.load"
        )
    if content.get("version") != 1:
        raise ValueError(
            f"{os.fspath(path)} has version {content.get('version')!r}, this properloss reads"
            " version 1: use the properloss that wrote it, or a newer one"
        )
    if content.get("learner") != kind:
        raise ValueError(
            f"{os.fspath(path)} holds a {content.get('learner')} booster, not one of {kind}; use"
            " properloss.learners.load, which finds the class"
        )
    needed = ("loss", "link", "start", "rounds", "features", "feature_names", "classes", "booster")
    missing = [name for name in needed if name not in content]
    if missing:
        raise ValueError(f"{os.fspath(path)} lacks the field {missing[0]!r}")
    return content
