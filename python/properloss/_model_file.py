"""Model files: JSON, the same that the command line reads and writes."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from properloss import _core, _multiclass, _registry
from properloss._base import ProperClassifier
from properloss._classifier import ProperLossClassifier
from properloss._export import class_names
from properloss._registry import given

_Classifier = TypeVar("_Classifier", bound=ProperClassifier)

#: How classes called their options before the engine's names stood in files.
_FORMER = {"alpha": "l2", "random_state": "seed", "loss": "link"}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file as a fitted classifier (or calibrator) of the class that made it.

    Parameters
    ----------
    path : str or path-like
        A file written by ``save`` of a classifier or by the command line.

    Returns
    -------
    classifier : object
        Ready to predict. Class names that are numbers become numbers again. A model of a table with
        texts, truth values or dates takes data frames with these columns, and others besides.

    Examples
    --------
    >>> import os, tempfile
    >>> import properloss
    >>> clf = properloss.CanonicalLossClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(os.path.join(folder, "model.json"))
    ...     again = properloss.load(os.path.join(folder, "model.json"))
    >>> bool((again.predict_proba([[1.5]]) == clf.predict_proba([[1.5]])).all())
    True
    """
    if _of_several(path):
        return _restore_several(ProperLossClassifier, path)
    import properloss

    content = _core.read_model(path)
    name = json.loads(content["fitted"])["method"]
    if name == "calibrate":
        from properloss._calibrator_file import restore

        return restore(properloss.ProperCalibrator, content, path)
    method = _registry.methods().get(name)
    # A method without a class of its own still predicts.
    name = "CanonicalLossClassifier" if method is None else method["class_name"]
    cls: type[ProperClassifier] = getattr(properloss, name)
    return _restore(cls, content)


def load_as(cls: type[_Classifier], path: str | os.PathLike[str]) -> _Classifier:
    """Read a model file as a classifier of class ``cls``."""
    if _of_several(path):
        return _restore_several(cls, path)
    return _restore(cls, _core.read_model(path))


def save(estimator: ProperClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier."""
    _core.write_text(path, text_of(estimator))


def text_of(estimator: ProperClassifier) -> str:
    """The text of the model file of a fitted classifier."""
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    if len(estimator.classes_) > 2:
        return _text_of_several(estimator, names)
    fitted = {
        **estimator._fitted,
        "options": estimator._fitted["options"] | estimator._own_options() | _labelling(estimator),
        "termination": estimator.termination_,
        "iterations": int(estimator.n_iter_),
    }
    history = estimator.history_
    columns = [history[name] for name in ("iteration", "loss", "gap") if name in history]
    return estimator._model.to_json(
        feature_names=names,
        classes=class_names(estimator.classes_),
        fitted=json.dumps(fitted, allow_nan=False),
        course=[(int(t), float(loss), float(gap)) for t, loss, gap in zip(*columns, strict=True)],
        encoder=_encoder_of(estimator, names),
    )


def _encoder_of(estimator: ProperClassifier, names: list[str] | None) -> _core.TableEncoder | None:
    """How a table becomes features, with the label column if it is known; None: columns of numbers."""
    encoder: _core.TableEncoder | None = getattr(estimator, "_encoder", None)
    label: str | None = getattr(estimator, "_label", None)
    if encoder is None and label is not None and names is not None:
        encoder = _core.TableEncoder.numeric(names)
    if encoder is None or (label is None and estimator._fitted.get("data")):
        # Of a file: it has its label already.
        return encoder
    return encoder.with_label(label, *class_names(estimator.classes_))


def _labelling(estimator: ProperClassifier) -> dict[str, Any]:
    """How to make the labels of their texts again, and whether the names are the user's."""
    return {
        "class_dtype": estimator.classes_.dtype.str,
        "named_features": hasattr(estimator, "feature_names_in_"),
    }


def _of_several(path: str | os.PathLike[str]) -> bool:
    """Whether a model file has version 2, three classes or more; what is wrong with it is said later."""
    try:
        with open(path, encoding="utf-8") as file:
            header = json.load(file)
        return (header["format"], header["version"]) == ("properloss-model", 2)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _text_of_several(estimator: Any, names: list[str] | None) -> str:
    parameters = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    options = given(**parameters) | _labelling(estimator)
    return _core.class_model_to_json(
        np.ascontiguousarray(estimator.coef_, dtype=np.float64),
        [float(b) for b in estimator.intercept_],
        estimator.link_,
        names,
        getattr(estimator, "_encoder", None),
        [str(name) for name in estimator.classes_],
        json.dumps(options, allow_nan=False),
        _multiclass.learned(estimator),
        0,
        int(estimator.n_iter_),
    )


def _restore_several(cls: type[_Classifier], path: str | os.PathLike[str]) -> _Classifier:
    if not issubclass(cls, ProperLossClassifier):
        raise ValueError(f"{os.fspath(path)} holds several classes; {cls.__name__} takes two")
    content = _core.read_class_model(path)
    options = json.loads(content["options"])
    estimator = cls(**_own_parameters(cls, options))
    estimator.coef_ = content["coefficients"]
    estimator.intercept_ = content["intercepts"]
    estimator.link_ = content["link"]
    estimator.tau_ = content["link"].tau
    estimator.guarantee_ = float(np.log(estimator.tau_))
    estimator.classes_ = _labels(content["classes"], options.get("class_dtype"))
    _restore_columns(estimator, content, options)
    estimator.n_iter_ = content["iterations"]
    if content["learned"] is not None:
        _multiclass.set_learned(estimator, json.loads(content["learned"]))
    return estimator


def _restore_columns(estimator: Any, content: Any, options: dict[str, Any]) -> None:
    """What goes in: the columns of a table, or the features themselves."""
    encoder: _core.TableEncoder = content["encoder"]
    names = content["feature_names"]
    if not encoder.plain or "named_features" not in options:
        estimator._encoder = encoder
    if not encoder.plain:
        names = encoder.columns
        if json.loads(encoder.to_json()).get("missing") == "mean":
            estimator.missing = "mean"
    estimator.n_features_in_ = len(names) or estimator.coef_.shape[1]
    if options.get("named_features", True) and names:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _restore(cls: type[_Classifier], content: _core.ModelFile) -> _Classifier:
    fitted = json.loads(content["fitted"])
    options = fitted["options"]
    classes = _labels(content["classes"], options.get("class_dtype"))
    estimator = cls(**_parameters_of(cls, fitted, classes, content["model"].link))
    estimator._model = content["model"]
    estimator._fitted = fitted
    estimator._set_derived()
    _restore_columns(estimator, content, options)
    estimator.classes_ = classes
    estimator.n_iter_ = fitted["iterations"]
    estimator.termination_ = fitted["termination"]
    estimator.history_ = content["history"] or {}
    if isinstance(estimator, ProperLossClassifier):
        estimator._set_learned(fitted.get("learned") or {})
    return estimator


def _parameters_of(
    cls: type[ProperClassifier], fitted: dict[str, Any], classes: NDArray[Any],
    link: _core.InverseLink,
) -> dict[str, Any]:
    """The parameters that the options of a file stand for."""
    method = _registry.methods().get(fitted["method"])
    if method is None or method["class_name"] != cls.__name__:
        return {}
    options = {_FORMER.get(name, name): value for name, value in fitted["options"].items()}
    # What the method itself says is left to it where the class does.
    own = {option["name"]: option["default"] for option in method["options"]}
    left = {name for name, value in _registry.defaults(cls.__name__, {}).items() if value is None}
    options = {
        name: value
        for name, value in options.items()
        if _simple(value) and not (name in left and value == own.get(name))
    }
    total = fitted.get("total_weight") or fitted["data"].get("rows")
    named = cls._parameters(options, total) | method["fixed"]
    kept = _own_parameters(cls, named)
    if isinstance(kept.get("class_weight"), tuple):
        kept["class_weight"] = dict(zip(classes.tolist(), kept["class_weight"], strict=True))
    for option in method["options"]:
        name = cls._option_names.get(option["name"], option["name"])
        if option["kind"] == "link" and kept.get(name) not in _core.links():
            # A link without a name is not among the options; the fixed one is that of the model.
            kept[name] = _link(kept.get(name, "")) or (link if option["name"] == "link" else None)
    if "loss" in kept and options.get("loss_kind") == "composite":
        kept["loss"] = _core.CompositeLoss(link)
    return given(**kept)


def _link(text: str) -> _core.InverseLink | None:
    """A link of a file's options: ``name:a,b``. One without a name is not kept there."""
    name, _, numbers = text.partition(":")
    if name not in _core.links():
        return None
    return _core.link(name, *(float(number) for number in numbers.split(",")))


def _labels(names: list[str], dtype: str | None) -> NDArray[Any]:
    """The labels that were written as texts."""
    if dtype is not None:
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return np.array([name == "True" for name in names])
        return np.array(names, dtype=object if kind.kind == "O" else None).astype(kind)
    for number in (np.int64, np.float64):
        with suppress(ValueError):
            return np.array(names).astype(number)
    return np.array(names)


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it; None if it cannot."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        value = [_plain(item) for item in value]
    return value if _simple(value) else None


def _simple(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_simple(item) for item in value)
    return isinstance(value, str | int | float | bool)


def _own_parameters(cls: type[ProperClassifier], options: dict[str, Any]) -> dict[str, Any]:
    """Those options of a file that are parameters of the class: lists are tuples, as the defaults are."""
    own = {name: options[name] for name in cls._get_param_names() if name in options}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
