"""
Calibrating LightGBM
====================

Boosters rank well and are too sure of themselves. :class:`properloss.ProperCalibratedClassifierCV` fits one booster for each fold, stops it by the fold it has
not seen, and learns **one** calibrator from all held-out scores.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier

import properloss as pl
from properloss import metrics


def table(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 8))
    z = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] - 0.5
    return X, (rng.random(rows) < 0.05 + 0.85 / (1 + np.exp(-2 * z))).astype(int)


X, y = table(1500, seed=0)
X_new, y_new = table(10_000, seed=1)

booster = LGBMClassifier(n_estimators=300, learning_rate=0.1, num_leaves=15, verbose=-1, n_jobs=1)
plain = booster.fit(X, y)
calibrated = pl.ProperCalibratedClassifierCV(booster, early_stopping=True).fit(X, y)

# %%
# The booster alone keeps learning the noise of its rows; stopped and calibrated it says what happens.
fig, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
for name, model in {"LightGBM, 300 rounds": plain, "stopped and calibrated": calibrated}.items():
    p = model.predict_proba(X_new)[:, 1]
    print(f"{name:>22}: log-loss {metrics.log_loss(y_new, p):.4f}, AUC {metrics.auc(y_new, p):.4f}")
    pl.ReliabilityDisplay.from_predictions(y_new, p, ax=ax, name=name)
plt.show()

# %%
# Most of the gain here is the stopping; :doc:`the study of the learners <../learners>` takes the two apart on many tables. A booster that is fitted already: give
# it fresh rows and ``cv="prefit"``.
