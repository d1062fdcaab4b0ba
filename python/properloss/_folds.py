"""The folds of cross-validation, as scikit-learn spells them and as the engine takes them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

#: What ``cv`` may be.
CV: list[Any] = ["cv_object"]


def row_splits(cv: Any, labels: Any, groups: Any, random_state: Any) -> Any:
    """Pairs of row numbers; a number of folds means stratified and shuffled ones."""
    if isinstance(cv, Integral) or cv is None:
        from sklearn.model_selection import StratifiedKFold

        if groups is not None:
            return _group_folds(cv).split(np.zeros(len(labels)), labels, groups)
        sizes = np.bincount(labels, minlength=2)
        # Of several classes a rare one is held out less often; of two both are needed.
        smallest = int(sizes.min() if len(sizes) == 2 else sizes.max())
        count = min(5 if cv is None else int(cv), smallest)
        if count < 2:
            raise ValueError(
                f"A class has {smallest} row(s); cross-validation needs at least 2 of each class."
            )
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        splitter = StratifiedKFold(count, shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    return splitter.split(np.zeros(len(labels)), labels, groups)


def engine_folds(cv: Any, labels: Any, groups: Any, random_state: Any) -> dict[str, Any]:
    """The engine's folds: a number of stratified ones, or every row's number."""
    if (isinstance(cv, Integral) or cv is None) and groups is None:
        seed = random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(2**31 - 1)
        return {"folds": None, "count": 5 if cv is None else int(cv), "seed": int(seed)}
    if isinstance(cv, Integral) or cv is None:
        cv = _group_folds(cv)
    of_row = np.full(len(labels), -1, dtype=np.int64)
    for number, (_, test) in enumerate(row_splits(cv, labels, groups, random_state)):
        if (of_row[test] >= 0).any():
            raise ValueError("cv puts a row into two test sets; every row must be in exactly one")
        of_row[test] = number
    if (of_row < 0).any():
        row = int(np.flatnonzero(of_row < 0)[0])
        raise ValueError(f"cv puts row {row} into no test set; every row must be in exactly one")
    return {"folds": of_row.astype(np.uint32), "count": 2, "seed": 0}


def _group_folds(cv: Any) -> Any:
    """Stratified folds that keep groups together."""
    from sklearn.model_selection import StratifiedGroupKFold

    return StratifiedGroupKFold(5 if cv is None else int(cv))
