"""Model files: JSON, the same that the command line reads and writes."""

from __future__ import annotations

import json
import os
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from properloss import _core
from properloss._base import ProperClassifier
from properloss._proper import ProperLossClassifier
from properloss.estimators import (
    BregmanTronClassifier,
    CanonicalLossClassifier,
    GlmtronClassifier,
    SlisotronClassifier,
)

_Classifier = TypeVar("_Classifier", bound=ProperClassifier)

#: The methods of model files: the class that each belongs to, and what it fixes.
_METHODS: dict[str, tuple[type[ProperClassifier], dict[str, Any]]] = {
    "proper": (ProperLossClassifier, {}),
    "certified": (BregmanTronClassifier, {"certified": True}),
    "labels": (BregmanTronClassifier, {"target": "labels"}),
    "refit": (BregmanTronClassifier, {"target": "refit"}),
    "bregmantron": (BregmanTronClassifier, {"target": "previous"}),
    "approx": (BregmanTronClassifier, {"target": "approx"}),
    "slisotron": (SlisotronClassifier, {}),
    "glmtron": (GlmtronClassifier, {}),
    "canonical": (CanonicalLossClassifier, {}),
    "logistic": (CanonicalLossClassifier, {"loss": "sigmoid"}),
}
#: Options that have another name in scikit-learn.
_RENAMED = {"l2": "alpha", "candidate": "target"}


def load(path: str | os.PathLike[str]) -> ProperClassifier:
    """Read a model file as a fitted classifier of the class that made it.

    Parameters
    ----------
    path : str or path-like
        A file written by ``save`` of a classifier or by the command line.

    Returns
    -------
    classifier : object
        Ready to predict. Class names that are numbers become numbers again. A model of a table with
        text columns takes their encoded columns, named ``column=category`` (0 or 1).

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
    content = _core.read_model(path)
    # A method without a class of its own still predicts.
    cls, _ = _METHODS.get(content["method"], (CanonicalLossClassifier, {}))
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
    options = {name: _plain(value) for name, value in estimator.get_params(deep=False).items()}
    options = {name: value for name, value in options.items() if value is not None}
    # How to make the labels of these texts again, and whether the names are the user's.
    options["class_dtype"] = estimator.classes_.dtype.str
    options["named_features"] = names is not None
    if isinstance(estimator, CanonicalLossClassifier):
        options["loss_kind"] = estimator.loss_.kind
    if len(estimator.classes_) > 2:
        return _text_of_several(estimator, names, options)
    history = estimator.history_
    columns = [history[name] for name in ("iteration", "loss", "gap") if name in history]
    return estimator._model.to_json(
        feature_names=None if names is None else [str(name) for name in names],
        classes=(str(estimator.classes_[0]), str(estimator.classes_[1])),
        method=_method(estimator),
        options=json.dumps(options, allow_nan=False),
        termination=estimator.termination_,
        course=[(int(t), float(loss), float(gap)) for t, loss, gap in zip(*columns, strict=True)],
    )


def _of_several(path: str | os.PathLike[str]) -> bool:
    """Whether a model file has version 2, three classes or more; what is wrong with it is said later."""
    try:
        with open(path, encoding="utf-8") as file:
            header = json.load(file)
    except (OSError, ValueError):
        return False
    return isinstance(header, dict) and (header.get("format"), header.get("version")) == (
        "properloss-model",
        2,
    )


def _text_of_several(estimator: Any, names: Any, options: dict[str, Any]) -> str:
    return _core.class_model_to_json(
        np.ascontiguousarray(estimator.coef_, dtype=np.float64),
        [float(b) for b in estimator.intercept_],
        estimator.link_,
        None if names is None else [str(name) for name in names],
        [str(name) for name in estimator.classes_],
        json.dumps(options, allow_nan=False),
        0,
        int(estimator.n_iter_),
    )


def _restore_several(cls: type[_Classifier], path: str | os.PathLike[str]) -> _Classifier:
    if not issubclass(cls, ProperLossClassifier):
        raise ValueError(f"{os.fspath(path)} holds several classes; {cls.__name__} takes two")
    content = _core.read_class_model(path)
    options = json.loads(content["options"])
    known = set(cls._get_param_names())
    kept = {name: _parameter(value) for name, value in options.items() if name in known}
    estimator = cls(**kept)
    estimator.coef_ = content["coefficients"]
    estimator.intercept_ = content["intercepts"]
    estimator.link_ = content["link"]
    estimator.tau_ = content["link"].tau
    estimator.guarantee_ = float(np.log(estimator.tau_))
    estimator.classes_ = _labels(content["classes"], options.get("class_dtype"))
    estimator.n_features_in_ = estimator.coef_.shape[1]
    if options.get("named_features", True):
        estimator.feature_names_in_ = np.array(content["feature_names"], dtype=object)
    estimator.n_iter_ = content["iterations"]
    return estimator


def _restore(cls: type[_Classifier], content: _core.ModelFile) -> _Classifier:
    options = json.loads(content["options"])
    known = set(cls._get_param_names())
    owner, fixed = _METHODS.get(content["method"], (None, {}))
    same = owner is cls
    named = {_RENAMED.get(name, name): value for name, value in options.items()} | fixed
    kept = {k: v for k, v in named.items() if same and k in known and _simple(v)}
    estimator = cls(**{k: _parameter(v) for k, v in kept.items()})
    estimator._model = content["model"]
    estimator._set_derived()
    estimator.n_features_in_ = estimator.coef_.shape[1]
    if options.get("named_features", True):
        estimator.feature_names_in_ = np.array(content["feature_names"], dtype=object)
    estimator.classes_ = _labels(content["classes"], options.get("class_dtype"))
    estimator.n_iter_ = content["iterations"]
    estimator.termination_ = content["termination"]
    estimator.history_ = content["history"] or {}
    for name in ("link", "loss"):
        # A link that has no name is part of the model, not an option.
        if same and name in known and named.get(name) not in _core.links():
            link = estimator._model.link
            composite = name == "loss" and named.get("loss_kind") == "composite"
            estimator.set_params(**{name: _core.CompositeLoss(link) if composite else link})
            estimator._set_derived()
    return estimator


def _method(estimator: ProperClassifier) -> str:
    """The method of a classifier, as model files name it."""
    for method, (cls, fixed) in _METHODS.items():
        if type(estimator) is cls and all(getattr(estimator, k) == v for k, v in fixed.items()):
            return method
    return type(estimator).__name__


def _labels(names: list[str], dtype: str | None) -> NDArray[Any]:
    """The labels that were written as texts."""
    if dtype is not None:
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return np.array([name == "True" for name in names])
        return np.array(names, dtype=object if kind.kind == "O" else None).astype(kind)
    for number in (np.int64, np.float64):
        try:
            return np.array(names).astype(number)
        except ValueError:
            pass
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


def _parameter(value: Any) -> Any:
    """A value of a file as a parameter: lists are tuples, as the defaults are."""
    return tuple(value) if isinstance(value, list) else value
