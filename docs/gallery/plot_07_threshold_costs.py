"""
Choosing a threshold under costs
================================

A missed default costs ten times a refused good customer. With calibrated probabilities the threshold follows from the costs alone: cut at 1/(1 + 10).
"""

# %%
# A table of loans with 5 % defaults.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import properloss as pl

COST = 10.0  # of a miss, in false alarms


def loans(rows, seed):
    rng = np.random.default_rng(seed)
    income, debt, age = rng.lognormal(0, 0.5, rows), rng.gamma(2, 0.5, rows), rng.normal(0, 1, rows)
    z = -3.6 + 1.4 * debt - 0.9 * income - 0.3 * age
    late = rng.random(rows) < 0.01 + 0.75 / (1 + np.exp(-1.5 * z))
    return np.column_stack([income, debt, age, debt / income]), late.astype(int)


X, y = loans(6000, seed=0)
X_new, y_new = loans(20_000, seed=1)
models = {
    "properloss": pl.ProperLossClassifier().fit(X, y),
    "naive Bayes": GaussianNB().fit(X, y),
    "logistic": LogisticRegression().fit(X, y),
}

# %%
# What each costs a row if it is cut at the threshold that the costs name, and at the best threshold in hindsight.
best = 1 / (1 + COST)


def cost(p, t):
    called = p > t
    return np.mean(called & (y_new == 0)) + COST * np.mean(~called & (y_new == 1))


grid = np.linspace(0.001, 0.6, 300)
for name, model in models.items():
    p = model.predict_proba(X_new)[:, 1]
    print(f"{name:>12}: {cost(p, best):.4f} at {best:.3f}; in hindsight {min(cost(p, t) for t in grid):.4f}")

# %%
# The decision curve shows the benefit at every threshold, the Murphy diagram the loss at every cost. A forecast that lies below another everywhere is better
# whatever the costs are.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for name, model in models.items():
    p = model.predict_proba(X_new)[:, 1]
    pl.DecisionCurveDisplay.from_predictions(y_new, p, ax=left, name=name)
    pl.MurphyDisplay.from_predictions(y_new, p, ax=right, name=name)
left.set(xlim=(0, 0.5), ylim=(-0.02, 0.08))
for ax in (left, right):
    ax.axvline(best, color="black", lw=0.8, ls=":")
plt.show()
