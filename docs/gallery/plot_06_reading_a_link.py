"""
Reading a link
==============

The link says how a score becomes a probability. Four truths, four links: what each shape means for the data it came from.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import properloss as pl

TRUTHS = {
    "the sigmoid: nothing to learn": lambda z: 1 / (1 + np.exp(-z)),
    "a floor: some positives at any score": lambda z: 0.2 + 0.8 / (1 + np.exp(-2 * z)),
    "both ends: labels wrong either way": lambda z: 0.15 + 0.7 / (1 + np.exp(-3 * z)),
    "slow start, sudden end (cloglog)": lambda z: 1 - np.exp(-np.exp(z - 0.4)),
}

# %%
# Each panel: the learned link, the sigmoid (dashed), and the truth in the units of the learned score (red, dotted).
fig, axes = plt.subplots(2, 2, figsize=(9, 7.2), layout="constrained")
weights = np.array([1.5, -1.0, 0.7])
for ax, (title, truth) in zip(axes.flat, TRUTHS.items(), strict=True):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 3))
    z = X @ weights
    clf = pl.ProperLossClassifier().fit(X, rng.random(len(z)) < truth(z))
    pl.LinkDisplay.from_estimator(clf, ax=ax, name="learned link")
    score = clf.linear_score(X)
    slope, offset = np.polyfit(z, score, 1)
    order = np.argsort(z)
    ends = np.linspace(*np.quantile(score, [0.001, 0.999]), 200)
    ax.plot(ends, 1 / (1 + np.exp(-ends)), "--", color="0.5", lw=1, label="sigmoid")
    ax.plot(slope * z[order] + offset, truth(z[order]), ":", color="tab:red", lw=2, label="truth")
    ax.set_xlim(*np.quantile(score, [0.001, 0.999]))
    ax.set_title(f"{title}\n(slopes up to {clf.slope_ratio_:.1f} times the sigmoid's)", fontsize=10)
    ax.legend(fontsize=8)
plt.show()

# %%
# How to read one:
#
# - it ends above 0 or below 1: that share of the rows is noise to these columns, whatever the score;
# - it is steeper than the sigmoid in the middle: the columns separate better than a linear score can say;
# - it lies on the sigmoid: logistic regression was right, and nothing was lost by asking.
#
# Every point of it is bounded: ``slope_ratio_`` is the largest ratio between its slopes and those of the sigmoid, at most 10.
