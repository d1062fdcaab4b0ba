"""One page about a classifier: whether to trust it, what it learned, where to put the threshold."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from properloss import _core
from properloss._base import ProperClassifier
from properloss._export import class_names
from properloss._input import not_finite_explained, prediction_input
from properloss._model_file import text_of
from properloss._registry import given
from properloss.plotting._axes import finite_column

#: Longest table of ``cv_results_`` that the page shows.
_LONGEST = 1000


class Report:
    """A page of HTML in one piece: offline, without requests, below 1 MB.

    Made by :func:`report`. A notebook shows it in place.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Where to write it.
        """
        _core.write_text(path, self.html)

    def _repr_html_(self) -> str:
        # The page brings its own policy and style; a frame keeps both to itself.
        source = html.escape(self.html, quote=True)
        return (
            f'<iframe title="Report" sandbox="allow-scripts allow-downloads" srcdoc="{source}"'
            ' style="width:100%;height:40em;border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report({len(self.html)} characters of HTML; save(path) writes it)"


def report(
    model: Any,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str] | None = None,
    *,
    compare: Any = None,
    sample_weight: ArrayLike | None = None,
    names: tuple[str, ...] | None = None,
) -> Report:
    """Make a page about a classifier on labelled rows, or about two side by side.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this package, or any with ``predict_proba``: then the page has no
        section on what was learned. With three classes or more each is held against the rest, and
        a picker chooses the class to look at.
    X, y : data
        Rows and labels that were not used to fit it.
    path : str or path-like, default=None
        Where to write the page.
    compare : classifier, default=None
        Another fitted classifier, measured on the same rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights.
    names : tuple of str, default=None
        What the models are called on the page; by default their class names.

    Returns
    -------
    report : Report
        Its ``html`` is the page.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import properloss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = properloss.CanonicalLossClassifier().fit(X[::2], y[::2])
    >>> page = properloss.report(clf, X[1::2], y[1::2]).html
    >>> "can be trusted" in page or "recalibrate" in page
    True
    """
    models = [model] if compare is None else [model, compare]
    for each in models:
        check_is_fitted(each)
    classes = np.asarray(model.classes_)
    if len(classes) < 2:
        raise ValueError(f"{type(model).__name__} has a single class: there is nothing to report on")
    if compare is not None and not np.array_equal(classes, compare.classes_):
        raise ValueError(f"the models have different classes: {model.classes_} and {compare.classes_}")
    y = np.asarray(column_or_1d(y))
    labels = _positions(y, classes)
    weights = None
    if sample_weight is not None:
        weights = finite_column(sample_weight, "sample_weight")
        check_consistent_length(y, weights)
    titles = _titles(models) if names is None else list(names)
    if len(titles) != len(models):
        raise ValueError(f"names has {len(titles)} entries for {len(models)} models")
    data = "rows given in Python"
    side: Callable[..., Any] = _side if len(classes) == 2 else _class_side
    first, *others = [side(each, title, X, y) for each, title in zip(models, titles, strict=True)]
    second = others[0] if others else None
    if len(classes) == 2:
        html = _core.report_page(first, second, labels.astype(np.uint8), weights, data)
    else:
        texts = [str(value) for value in classes]
        html = _core.report_page_of_classes(first, second, texts, labels, weights, data)
    page = Report(html)
    if path is not None:
        page.save(path)
    return page


def _positions(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.uint32]:
    """The number of the class of every row."""
    labels = np.full(len(y), len(classes), dtype=np.uint32)
    for k, value in enumerate(classes):
        labels[np.asarray(y == value, dtype=bool)] = k
    strangers = np.flatnonzero(labels == len(classes))
    if strangers.size:
        raise ValueError(
            f"y[{strangers[0]}] is {y[strangers[0]]!r}, none of the classes {classes.tolist()}"
        )
    return labels


def _titles(models: list[Any]) -> list[str]:
    titles = [type(model).__name__ for model in models]
    if len(set(titles)) < len(titles):
        titles = [f"{title} ({letter})" for title, letter in zip(titles, "AB", strict=False)]
    return titles


def _side(model: Any, title: str, X: Any, y: Any) -> _core._Side:
    text: str | None = None
    rows: Any = None
    if isinstance(model, ProperClassifier):
        text, rows = text_of(model), prediction_input(model, X)
        with not_finite_explained(model, rows):
            scores = model._model.scores(rows)
    else:
        scores = np.array(np.asarray(model.predict_proba(X))[:, 1], dtype=np.float64)
    check_consistent_length(scores, y)
    details = json.dumps(_details(model), allow_nan=False)
    return title, text, class_names(model.classes_), details, scores, rows


def _class_side(model: Any, title: str, X: Any, y: Any) -> _core._ClassSide:
    """The same for three classes or more: probabilities, whoever made them."""
    p = np.ascontiguousarray(model.predict_proba(X), dtype=np.float64)
    check_consistent_length(p, y)
    tau = getattr(model, "tau_", None)
    provenance = [("method", type(model).__name__)]
    text: str | None = None
    rows: Any = None
    if isinstance(model, ProperClassifier):
        text, rows = text_of(model), prediction_input(model, X)
        options = given(**model.get_params(deep=False))
        provenance += [("features", str(model.n_features_in_))]
        provenance += [(f"option {name}", str(value)) for name, value in options.items()]
    details = json.dumps(_details(model), allow_nan=False)
    return title, text, p, None if tau is None else float(tau), details, provenance, rows


#: What readers of a page call these numbers of an estimator.
_NAMES = {"n_iter_": "iterations", "threshold_": "score at the decision boundary"}


def _details(model: Any) -> dict[str, Any]:
    """The fitted numbers of an estimator that its file has not: scalars, tables, certificates."""
    details: dict[str, Any] = {}
    results = getattr(model, "cv_results_", None)
    if not (isinstance(model, ProperClassifier) and isinstance(results, dict)):
        for name, value in vars(model).items():
            public = name.endswith("_") and not name.startswith(("_", "n_features"))
            if public and _is_finite_number(value):
                details[_NAMES.get(name, name.rstrip("_"))] = _plain(value)
        if isinstance(results, dict):
            details |= _tables(results)
    history = getattr(model, "history_", {})
    if "claimed" in history:
        names = ("iteration", "claimed", "observed", "least_gap", "gap_bound")
        details["certificate"] = {name: _column(history[name]) for name in names if name in history}
    return details


def _is_finite_number(value: Any) -> bool:
    return isinstance(value, Real | np.number) and bool(np.isfinite(float(value)))


def _tables(results: dict[str, Any]) -> dict[str, Any]:
    """Columns ``name`` and ``name_...`` become a table ``name``; numbers stay."""
    columns = {k: v for k, v in results.items() if np.ndim(v) == 1 and 0 < np.size(v) <= _LONGEST}
    out: dict[str, Any] = {
        f"held-out {name.removeprefix('held_out_')}": _plain(value)
        for name, value in results.items()
        if _is_finite_number(value)
    }
    for name in columns:
        same = [k for k in columns if k.startswith(f"{name}_") and len(columns[k]) == len(columns[name])]
        if same:
            table = {name: _column(columns[name])}
            out[f"{name} by cross-validation"] = table | {
                k.removeprefix(f"{name}_"): _column(columns[k]) for k in same
            }
    return out


def _column(values: NDArray[Any]) -> list[Any]:
    return [_plain(value) for value in np.asarray(values)]


def _plain(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    number = float(value)
    return number if np.isfinite(number) else None
