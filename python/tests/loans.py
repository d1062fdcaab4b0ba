"""Loans as they come: identifiers, dates, truth values, categories, missing values, weights, customers.

About 3 % default. The table is the same everywhere: it comes from one seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Columns that are no features.
BESIDE = ["loan_id", "customer", "weight", "default"]
FEATURES = ["opened", "paid_at", "purpose", "owner", "income", "age", "region"]


def loans(rows: int = 2000, seed: int = 0, purposes: tuple[str, ...] = ("car", "house", "study")) -> Any:
    """A pandas frame, in the order of time."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    customer = rng.integers(0, rows // 3, rows)
    income = np.round(rng.lognormal(8.0, 0.5, rows))
    owner = rng.random(rows) < 0.4
    age = rng.integers(18, 80, rows)
    purpose = rng.choice(purposes, rows)
    day = np.sort(rng.integers(0, 700, rows))
    z = -3.0 - 1.4 * (np.log(income) - 8.0) - 0.9 * owner + 0.6 * (purpose == "car") + 0.03 * (40 - age)
    frame = pd.DataFrame(
        {
            "loan_id": 70_000 + rng.permutation(rows),
            "opened": np.datetime64("2023-01-01") + day,
            "paid_at": np.datetime64("2023-01-01T00:00:00.000")
            + (day * 86_400_000 + rng.integers(0, 86_400_000, rows)),
            "purpose": purpose,
            "owner": owner,
            "income": income,
            "age": age,
            # Numbers written as texts, and a few texts that are none: a category.
            "region": rng.choice(["01", "02", "north"], rows, p=[0.2, 0.2, 0.6]),
            "customer": customer,
            "weight": rng.integers(1, 4, rows),
            "default": (rng.random(rows) < 1.0 / (1.0 + np.exp(-z))).astype(int),
        }
    )
    frame.loc[rng.random(rows) < 0.05, "income"] = np.nan
    frame.loc[rng.random(rows) < 0.02, "purpose"] = None
    frame["opened"] = frame["opened"].astype("datetime64[s]")
    frame["paid_at"] = frame["paid_at"].astype("datetime64[ms]")
    frame.loc[rng.random(rows) < 0.02, "paid_at"] = np.datetime64("NaT")
    return frame
