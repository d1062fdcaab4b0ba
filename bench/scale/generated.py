"""Rows that are never a file: `generated.py ROWS MEMORY`. They are made while they are read, batch by batch."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import data
import numpy as np

from properloss import ProperLossClassifier


class Batches:
    """The same batches whenever they are asked for."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        return iter(data.batches(self._rows))


if __name__ == "__main__":
    rows, memory = int(float(sys.argv[1])), sys.argv[2]
    fit = ProperLossClassifier().fit(Batches(rows), memory_limit=memory)
    total = count = 0.0
    for X, y in Batches(min(rows, 1 << 20)):
        p = fit.predict_proba(X)[range(len(y)), y.astype(int)]
        total, count = total - float(np.log(p).sum()), count + len(y)
    print(json.dumps({"log_loss": total / count, "passes": fit.n_iter_, "bound": fit.link_error_bound_}))
