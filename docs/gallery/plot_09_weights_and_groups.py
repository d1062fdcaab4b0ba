"""
Weights and groups
==================

What a weight means, what groups are for, and why weighing the classes costs you the probabilities.
"""

# %%
# A table of 300 customers with several rows each; rows of a customer resemble each other.
import matplotlib.pyplot as plt
import numpy as np

import properloss as pl

rng = np.random.default_rng(0)
customer = np.repeat(np.arange(300), rng.integers(1, 8, 300))
habit = rng.normal(size=300)[customer]
X = np.column_stack([rng.normal(size=(len(customer), 3)), habit])
y = (rng.random(len(customer)) < 1 / (1 + np.exp(3.0 - X @ [1.0, 0.5, 0.0, 1.5]))).astype(int)
print(f"{len(y)} rows, {y.mean():.1%} positive")

# %%
# Weights
# -------
# A weight of 2 is the row twice, so the sum of the weights says how much data there is. If only ratios count, say ``weights="relative"``: they are
# scaled to mean 1.
weight = rng.integers(1, 4, len(y)).astype(float)
counted = pl.ProperLossClassifier().fit(X, y, sample_weight=weight)
ratios = pl.ProperLossClassifier(weights="relative").fit(X, y, sample_weight=weight / weight.sum())
print("as counts:", counted.coef_.round(2), " as ratios:", ratios.coef_.round(2))

# %%
# Groups
# ------
# Rows of a customer must not be on both sides of a fold, or the strengths are chosen by a test that saw the answers.
grouped = pl.ProperLossClassifier().fit(X, y, groups=customer)
print("held-out log-loss, customers kept together:", round(grouped.cv_results_["log_loss"], 4))

# %%
# Classes
# -------
# ``class_weight="balanced"`` answers another question: what if both classes were equally frequent? The probabilities move with it. ``prior_correction=True``
# brings them back.
import warnings

plain = pl.ProperLossClassifier().fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it says so: these are no longer probabilities of the data
    balanced = pl.ProperLossClassifier(class_weight="balanced").fit(X, y)
corrected = pl.ProperLossClassifier(class_weight="balanced", prior_correction=True).fit(X, y)
fig, ax = plt.subplots(layout="constrained")
models = {"plain": plain, "balanced": balanced, "balanced, corrected": corrected}
means = [model.predict_proba(X)[:, 1].mean() for model in models.values()]
ax.barh(list(models), means, color=["#0072B2", "#D55E00", "#009E73"])
ax.axvline(y.mean(), color="black", ls=":", label="share of positives")
ax.set_xlabel("mean probability")
ax.legend()
plt.show()
