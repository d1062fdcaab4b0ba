"""Files of calibrators: a model of one column, its score or the log odds of its probability."""

from __future__ import annotations

import json
import os
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from properloss import _core
from properloss._export import class_names
from properloss._model_file import _labels, _labelling

if TYPE_CHECKING:
    from properloss._calibrator import ProperCalibrator

_Calibrator = TypeVar("_Calibrator", bound="ProperCalibrator")


def text_of(calibrator: ProperCalibrator) -> str:
    """The text of the model file of a fitted calibrator."""
    if not isinstance(calibrator.link_, _core.InverseLink):
        raise NotImplementedError("a calibrator of several classes has no file yet; pickle it")
    kind = "scores" if calibrator._margin is None else "probabilities"
    names = getattr(calibrator, "feature_names_in_", None)
    name = ("score" if kind == "scores" else "probability") if names is None else str(names[0])
    encoder = _core.TableEncoder.calibration(name, calibrator._margin)
    options: dict[str, Any] = {"kind": kind, "smoothness": [float(s) for s in calibrator.smoothness]}
    if isinstance(calibrator.cv, Integral):
        options["cv"] = int(calibrator.cv)
    if isinstance(calibrator.random_state, Integral):
        options["seed"] = int(calibrator.random_state)
    fitted = {
        "method": "calibrate",
        "options": options | _labelling(calibrator),
        "learned": calibrator._learned,
        "termination": "converged",
    }
    classes = class_names(calibrator.classes_)
    model = _core.Model.linear([calibrator.slope_], calibrator.intercept_, calibrator.link_)
    return model.to_json(
        classes=classes,
        fitted=json.dumps(fitted, allow_nan=False),
        encoder=encoder.with_label(None, *classes),
    )


def restore(
    cls: type[_Calibrator], content: _core.ModelFile, path: str | os.PathLike[str]
) -> _Calibrator:
    """The calibrator of a model file."""
    fitted = json.loads(content["fitted"])
    if fitted["method"] != "calibrate":
        raise ValueError(
            f"{os.fspath(path)} holds a classifier ({fitted['method']}), no calibrator:"
            " properloss.load reads either"
        )
    options, encoder, model = fitted["options"], content["encoder"], content["model"]
    calibrator = cls(
        kind=options["kind"],
        cv=options.get("cv", 5),
        random_state=options.get("seed", 0),
        smoothness=tuple(options.get("smoothness", ())),
    )
    calibrator.classes_ = _labels(content["classes"], options.get("class_dtype"))
    calibrator.n_features_in_ = 1
    if options.get("named_features", False):
        calibrator.feature_names_in_ = np.array(encoder.columns, dtype=object)
    calibrator.slope_, calibrator.intercept_ = float(model.coefficients[0]), model.intercept
    calibrator._margin = encoder.margin
    calibrator.link_ = model.link
    calibrator.loss_ = _core.Loss.of_link(model.link)
    calibrator._set_learned(fitted.get("learned") or {})
    return calibrator
