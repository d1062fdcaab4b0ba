"""
A first look
============

Fit the default, look at what it learned, and ask whether its probabilities can be trusted. There is nothing to tune.
"""

# %%
# The fit
# -------
# :class:`properloss.ProperLossClassifier` stands where ``LogisticRegressionCV`` stands: same methods, same pipelines.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import properloss as pl

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = pl.ProperLossClassifier().fit(X_train, y_train)
print("accuracy on fresh rows:", clf.score(X_test, y_test))
print("first probabilities:", clf.predict_proba(X_test)[:3, 1])

# %%
# The link that was learned
# -------------------------
# Left: from score to probability, with the share that happened in bins of the score. Right: the probabilities of fresh rows against what happened. A
# calibrated forecast stays inside the shaded band; with 143 rows, nearly all of them close to 0 or 1, the band is wide in the middle.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
pl.LinkDisplay.from_estimator(clf, X_test, y_test, ax=left)
pl.ReliabilityDisplay.from_estimator(clf, X_test, y_test, ax=right)
plt.show()

# %%
# What is proved
# --------------
# ``guarantee_`` bounds the log-loss at every score by that of the sigmoid; ``calibration_bound_`` bounds the distance from the true probabilities with
# 95 % confidence, and is wide for a few hundred rows.
print("log-loss at most that of the sigmoid plus", round(clf.guarantee_, 3), "nats at any point")
print("within", round(clf.calibration_bound_.rms, 3), "of the true probabilities (root mean square, 95 %)")

# %%
# The cross-validation behind it
# ------------------------------
# Strengths of regularisation are not picked but averaged by their held-out log-loss. The curve falls from the model without features to the best
# strengths and rises where the penalty gets too weak: the minimum is where the weight is.
pl.ConvergenceDisplay.from_estimator(clf)
plt.show()
