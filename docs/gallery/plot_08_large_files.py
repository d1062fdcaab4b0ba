"""
Large tables
============

Rows may be 32-bit floats, sparse, a pandas or polars table, or an Arrow table from Parquet. Rows are read where they lie: nothing is copied, scaled or made
dense. Where they do not fit into memory, ``fit`` takes the file itself.
"""

# %%
# A table of 100,000 rows, written as Parquet and read back as Arrow, of which properloss takes the columns by name.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import properloss as pl

rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 6)).astype(np.float32)
z = X @ np.array([1.0, -0.8, 0.5, 0.3, 0.0, 0.0], dtype=np.float32)
y = (rng.random(len(z)) < 0.03 + 0.9 / (1 + np.exp(-1.5 * z))).astype(np.int8)
names = [f"column_{k}" for k in range(6)]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.parquet"
    pq.write_table(pa.table({name: X[:, k] for k, name in enumerate(names)} | {"y": y}), path)
    print(f"{path.stat().st_size / 1e6:.1f} MB of Parquet")
    table = pq.read_table(path)
    # The same from the file, in blocks on disk and never more memory than this (:doc:`how <../scale>`).
    from_file = pl.ProperLossClassifier().fit(path, label="y", memory_limit="100MB")

clf = pl.ProperLossClassifier().fit(table.select(names), table["y"].to_numpy())
print("passes over the rows:", clf.n_iter_)
print("columns:", list(clf.feature_names_in_))
print("largest difference of a coefficient from the file's:", np.abs(clf.coef_ - from_file.coef_).max())

# %%
# How much is enough? The bound on the distance from the true probabilities shrinks with the rows.
sizes = [500, 2000, 10_000, 40_000]
bounds = [pl.ProperLossClassifier().fit(X[:n], y[:n]).calibration_bound_.rms for n in sizes]
fig, ax = plt.subplots(layout="constrained")
ax.loglog(sizes, bounds, "o-")
ax.set(xlabel="rows of the fit", ylabel="calibration bound (RMS, 95 %)")
plt.show()
