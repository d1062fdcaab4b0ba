"""Parts of docstrings that many classes share, each written once.

A line of a docstring that reads ``{name}`` and nothing else gives way to the part of that name, with
the indentation of the line. :func:`documented` does it, for a function or for a class with all it defines.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any, TypeVar

_T = TypeVar("_T")

PARTS = {
    # -- data ------------------------------------------------------------------------------------
    "rows": """\
Parameters
----------
X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
    Rows.""",
    "dask_rows": """\
Parameters
----------
X : dask Array, dask DataFrame, or whatever the local class takes
    Rows.""",
    "scores": """\
Parameters
----------
X : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
    Scores or probabilities, as in ``fit``.""",
    "batches": """\
Without ``y``: a path or a list of paths (Parquet, CSV; patterns such as ``"part-*.parquet"``), a
``pyarrow.dataset.Dataset``, a polars ``LazyFrame``, or a re-iterable of batches ``(X, y)`` or
``(X, y, sample_weight)``. They are decoded once into blocks on disk and need not fit into memory.""",
    "of_batches": """\
label : str, default=None
    The column of the labels in files and tables that are read batch by batch; the last one by
    default.
memory_limit : int or str, default=None
    Bytes (or ``"2GB"``) that reading batch by batch may take, about; 1 GB by default.

Returns
-------
self : object
    The fitted classifier.""",
    "held_out": """\
X, y : data
    Rows and labels that were not used to fit it.""",
    "sample_weight": """\
sample_weight : array-like of shape (n_samples,), default=None
    Weights.""",
    "y_true": """\
y_true : array-like of shape (n_samples,)
    Labels.""",
    "pos_label": """\
pos_label : label, default=None
    The positive label; by default the larger.""",
    "labels_and_scores": """\
Parameters
----------
y : array-like of shape (n_samples,)
    Labels 0 and 1.
z : array-like of shape (n_samples,)
    Scores.""",
    "as_log_loss": """\
Parameters
----------
y_true, y_prob, sample_weight, pos_label
    As :func:`log_loss`.""",
    "on_cancer": """\
Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> X, y = load_breast_cancer(return_X_y=True)""",
    # -- answers ---------------------------------------------------------------------------------
    "two_probabilities": """\
Returns
-------
p : ndarray of shape (n_samples, 2)
    One column for each of ``classes_``, strictly between 0 and 1.""",
    "class_probabilities": """\
Returns
-------
p : ndarray of shape (n_samples, n_classes)
    One column for each of ``classes_``.""",
    "one_a_row": """\
Returns
-------
derivative : ndarray of shape (n_samples,)
    One a row.""",
    "predicted": """\
Returns
-------
y : ndarray of shape (n_samples,)
    Values of ``classes_``.""",
    # -- files -----------------------------------------------------------------------------------
    "path": """\
Parameters
----------
path : str or path-like
    Where to write it.""",
    "file": """\
Parameters
----------
path : str or path-like
    The file.""",
    # -- parameters of the classifiers -----------------------------------------------------------
    "scaled": """\
alpha : float, default=0.0
    Penalty ``alpha / 2 |w|^2`` on the weights of the scaled features; an intercept is free.
max_norm : float, default=None
    Bound on the norm of these weights.
scaling : {"standardise", "none", "unit-rows", "max-norm"}, default="standardise"
    How features are scaled; part of the model.""",
    "max_iter": """\
max_iter : int, default=1000
    At most this many iterations.""",
    "tol": """\
tol : float, default=1e-6
    Stops when loss and weights hardly change; 0 makes ``max_iter`` iterations.""",
    "beside": """\
missing : {"error", "mean"}, default="error"
    Whether missing values are refused or filled, with the mean of the column or the shares of its
    categories.
verbose : int, default=0
    Whether to show progress on stderr.
checkpoint : str or path-like, default=None
    A file for the state of the run. A fit that was cut short goes on from it, and ends in the
    same bits; it is removed at the end.
checkpoint_every : float, default=60.0
    Seconds between two states; 0 is after every iteration.""",
    "smoothness": """\
smoothness : sequence of float, default=(3, 0.3, 0.03, 0.003)
    Strengths of smoothness of the links that are weighed beside the sigmoid, decreasing. None at
    all, ``()``, leaves the sigmoid.""",
    "weights": """\
weights : {"counts", "relative"}, default="counts"
    What ``sample_weight`` means. ``"counts"``: a weight of 2 is the row twice, so their sum says
    how much data there is. ``"relative"``: only ratios count; they are scaled to mean 1.""",
    # -- what a fit leaves -----------------------------------------------------------------------
    "classes": """\
classes_ : ndarray of shape (2,)
    The two labels.
coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
    ``decision_function(X) = X @ coef_.T + intercept_``.""",
    "learned": """\
link_ : PiecewiseLink
    The learned link; it takes ``linear_score(X)``.
loss_ : CanonicalLoss
    The learned loss.""",
    "to_classes": """\
{beside}

Attributes
----------
{classes}""",
    "short_course": """\
{threshold}
history_ : dict of str to ndarray
    One entry an iteration.
{course}
{features}""",
    "threshold": """\
threshold_ : float
    The score at which the probability is 1/2.""",
    "course": """\
n_iter_ : int
    Iterations made.
termination_ : str
    Why the run ended.""",
    "features": """\
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of str
    Their names, if ``X`` had names.""",
    "slope_ratio": """\
slope_ratio_ : float
    The largest ratio between the slopes of the link and of the sigmoid.""",
    # -- boosters --------------------------------------------------------------------------------
    "booster_parameters": """\
link : InverseLink or str, default="sigmoid"
    From score to probability: a named link, or one that was learned.
loss : {"auto", "canonical", "log"}, default="auto"
    See :class:`Objective`.

Attributes
----------""",
    "booster_attributes": """\
{features}
classes_ : ndarray of shape (2,)
    The two labels.
link_ : InverseLink
    From ``linear_score`` to a probability.
start_ : float
    The start score.
n_rounds_ : int
    Rounds.""",
    # -- displays --------------------------------------------------------------------------------
    "made_by": """\
Use :meth:`from_estimator` or :meth:`from_predictions` to make one.

Parameters
----------""",
    "plot": """\
Parameters
----------
{ax}
name : str, default=None
    The legend's entry, or the title.
{line_kw}

Returns
-------
self : object
    With ``ax_``, ``figure_`` and what was drawn.""",
    "forecasts": """\
Parameters
----------
{y_true}
y_prob : array-like of shape (n_samples,)
    Predicted probabilities of the positive label.
{sample_weight}
{pos_label}""",
    "estimator": """\
estimator : classifier
    A fitted classifier of this package, a pipeline or search that ends in one, or a
    :class:`ProperCalibratedClassifierCV`.""",
    "labels_and_scores_of": """\
Parameters
----------
{y_true}
score : array-like of shape (n_samples,)
    Scores.
{pos_label}""",
    "as_drawn": """\
Parameters
----------
y_true, y_prob, sample_weight, pos_label, ...
    See :meth:`from_predictions`.

Returns
-------
display : object
    Not drawn yet.""",
    "threshold_display": """\
{entry}

Attributes
----------
{axes}
line_, reference_line_ : matplotlib Line2D
    The two curves.""",
    "ax": """\
ax : matplotlib Axes, default=None
    Where; a new figure if None.""",
    "entry": """\
name : str, default=None
    The legend's entry.""",
    "title": """\
name : str, default=None
    The title.""",
    "line_kw": """\
**line_kw : dict
    Passed to ``ax.plot``.""",
    "on_axes": """\
{ax}
{line_kw}

{drawn}""",
    "drawn": """\
Returns
-------
display : object
    Drawn.""",
    "not_drawn": """\
Returns
-------
display : object
    Not drawn yet.""",
    "axes": """\
ax_, figure_ : matplotlib Axes and Figure
    Where it was drawn.""",
}

_LINE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def filled(text: str) -> str:
    """``text`` with the shared parts in the place of their names."""

    def part(found: re.Match[str]) -> str:
        indent, name = found.groups()
        return textwrap.indent(filled(PARTS[name]), indent)

    return _LINE.sub(part, text)


def documented(owner: _T) -> _T:
    """Fill in the docstring of a function, or of a class and of what it defines."""
    members = list(vars(owner).values()) if isinstance(owner, type) else []
    for member in (owner, *members):
        function: Any = getattr(member, "__func__", member)
        if callable(function) and _LINE.search(function.__doc__ or ""):
            function.__doc__ = filled(function.__doc__)
    return owner
