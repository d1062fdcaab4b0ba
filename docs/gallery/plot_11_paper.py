"""
The paper's methods side by side
================================

BregmanTron of Nock and Menon, its variants and the classical baselines on one small table: the paper's comparison at a size that runs in a second. The whole
of it, with its data and what of it holds: :doc:`../reproduction`.
"""

# %%
# Every method minimises its own loss, so they are compared by AUC (the paper's measure) and by log-loss.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold

import properloss as pl
from properloss import metrics

rng = np.random.default_rng(1)
X = rng.normal(size=(800, 4))
y = (rng.random(800) < 1 - np.exp(-np.exp(X @ [1.0, -0.7, 0.4, 0.0] - 0.3))).astype(int)

METHODS = {
    "default": pl.ProperLossClassifier(),
    "BregmanTron, labels": pl.BregmanTronClassifier(target="labels", max_iter=300, tol=0),
    "BregmanTron, paper": pl.BregmanTronClassifier(target="previous", max_iter=300, tol=0),
    "SLIsotron": pl.SlisotronClassifier(max_iter=300, tol=0),
    "GLMTron": pl.GlmtronClassifier(max_iter=300, tol=0),
    "logistic regression": pl.CanonicalLossClassifier(loss="sigmoid"),
}
results = {name: [] for name in METHODS}
for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
    for name, method in METHODS.items():
        p = method.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        results[name].append((metrics.auc(y[test], p), metrics.log_loss(y[test], p)))

print(f"{'method':>20}   AUC     log-loss")
for name, folds in results.items():
    auc, loss = np.mean(folds, axis=0)
    print(f"{name:>20}   {auc:.4f}  {loss:.4f}")

# %%
# All of them rank alike; what differs is whether their numbers are probabilities. SLIsotron's isotonic link has flat pieces that reach 0 and 1, where a single
# surprise costs without bound (log-loss is clipped at 1e-15).
fig, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
for row, (name, folds) in enumerate(reversed(results.items())):
    losses = np.array(folds)[:, 1]
    ax.plot(losses, np.full(5, row), "o", color="#bbbbbb", ms=4)
    ax.plot(losses.mean(), row, "D", color="#0063b1" if name == "default" else "#444444")
ax.set_yticks(range(len(results)), list(results)[::-1])
ax.set(xlabel="log-loss of fresh rows: five folds and their mean (less is better)")
plt.show()

# %%
# The links they learned, on all rows. The scores have no common scale: each method stretches its link as it likes.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, name in zip(axes, ("BregmanTron, labels", "BregmanTron, paper"), strict=True):
    pl.LinkDisplay.from_estimator(METHODS[name].fit(X, y), X, y, ax=ax, name=name)
plt.show()
