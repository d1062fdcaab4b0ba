"""
Risk scores with a floor of noise
=================================

Some outcomes happen whatever the score says: fraud that no column shows, labels that were keyed in wrongly. The true probability then has a floor and a
ceiling. A sigmoid has neither, so logistic regression must bend its weights to fit; a learned link finds both.
"""

# %%
# The truth: never below 8 %, never above 88 %, and a sigmoid in between.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegressionCV

import properloss as pl


def table(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    z = X @ [2.0, -1.5, 1.0, 0.5, 0.0]
    p = 0.08 + 0.80 / (1 + np.exp(-2 * z))
    return X, (rng.random(rows) < p).astype(int), p


X, y, _ = table(3000, seed=0)
X_new, y_new, p_new = table(20_000, seed=1)
ours = pl.ProperLossClassifier().fit(X, y)
logistic = LogisticRegressionCV(Cs=10, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False).fit(X, y)

# %%
# How far is each from the *true* probability, which only a simulation knows?
for name, model in {"learned link": ours, "logistic regression": logistic}.items():
    p = model.predict_proba(X_new)[:, 1]
    print(f"{name:>20}: {np.sqrt(np.mean((p - p_new) ** 2)):.4f} off (root mean square)")

# %%
# On the left the learned link: its ends are the floor and the ceiling. On the right both forecasts on fresh rows; logistic regression leaves its band.
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
pl.LinkDisplay.from_estimator(ours, X_new, y_new, ax=left)
left.axhline(0.08, color="tab:red", ls=":", lw=1.5, label="true floor and ceiling")
left.axhline(0.88, color="tab:red", ls=":", lw=1.5)
left.legend(loc="upper left")
for name, model in {"learned link": ours, "logistic": logistic}.items():
    pl.ReliabilityDisplay.from_predictions(y_new, model.predict_proba(X_new)[:, 1], ax=right, name=name)
plt.show()
