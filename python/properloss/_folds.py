"""The folds of cross-validation, as scikit-learn spells them and as the engine takes them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from properloss import _core
from properloss._frame import is_missing

#: What ``cv`` may be.
CV: list[Any] = ["cv_object"]


def row_splits(cv: Any, labels: Any, groups: Any, random_state: Any) -> Any:
    """Pairs of row numbers; a number of folds means stratified and shuffled ones."""
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        if groups is not None:
            return PredefinedSplit(_group_folds(int(cv), labels, groups, random_state, None)).split()
        sizes = np.bincount(labels, minlength=2)
        # Of several classes a rare one is held out less often; of two both are needed.
        smallest = int(sizes.min() if len(sizes) == 2 else sizes.max())
        count = min(int(cv), smallest)
        if count < 2:
            raise ValueError(
                f"A class has {smallest} row(s); cross-validation needs at least 2 of each class."
            )
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        splitter = StratifiedKFold(count, shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    return splitter.split(np.zeros(len(labels)), labels, groups)


def engine_folds(
    cv: Any, labels: Any, groups: Any, random_state: Any, weights: Any = None
) -> dict[str, Any]:
    """The engine's folds: a number of stratified ones, or every row's number.

    Rows of weight 0 are dealt to no fold, as if they were removed.
    """
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        if groups is None:
            return {"folds": None, "count": int(cv), "seed": _seed(random_state)}
        of_row = _group_folds(int(cv), labels, groups, random_state, weights)
        return {"folds": of_row, "count": 2, "seed": 0}
    of_row = np.full(len(labels), -1, dtype=np.int64)
    for fold, (_, test) in enumerate(row_splits(cv, labels, groups, random_state)):
        if (of_row[test] >= 0).any():
            raise ValueError("cv puts a row into two test sets; every row must be in exactly one")
        of_row[test] = fold
    if (of_row < 0).any():
        row = int(np.flatnonzero(of_row < 0)[0])
        raise ValueError(f"cv puts row {row} into no test set; every row must be in exactly one")
    return {"folds": of_row.astype(np.uint32), "count": 2, "seed": 0}


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _group_folds(count: int, labels: Any, groups: Any, random_state: Any, weights: Any) -> Any:
    """Every row's fold, dealt as ``properloss fit --group`` deals it: groups stay together."""
    numbers = _group_numbers(groups, len(labels))
    if count < 2:
        raise ValueError(f"cv is {count}; at least 2 folds are needed")
    kept = np.ones(len(labels), dtype=bool) if weights is None else np.asarray(weights) > 0.0
    own = np.asarray(labels, dtype=np.uint32)[kept]
    of_row = np.zeros(len(labels), dtype=np.uint32)
    of_row[kept] = _core.group_folds(own, numbers[kept], count, _seed(random_state))
    return of_row


def _group_numbers(groups: Any, rows: int) -> NDArray[np.uint32]:
    """A number for every group; a missing group is an error, as on the command line."""
    values = np.asarray(column_or_1d(groups))
    if len(values) != rows:
        raise ValueError(f"groups has {len(values)} value(s) for {rows} rows")
    mixed = values.dtype == object
    missing = np.flatnonzero([is_missing(value) for value in values] if mixed else values != values)
    if missing.size:
        raise ValueError(f"groups[{missing[0]}] is missing: every row needs a group")
    if mixed:
        values = np.array([f"{type(value).__name__} {value}" for value in values])
    _, numbers = np.unique(values, return_inverse=True)
    return numbers.ravel().astype(np.uint32)
