"""
Several classes
===============

The same classifier takes any number of classes: softmax regression whose strength and link are weighed by cross-validation. Here three
species in the plane, with one label in eight replaced by a random one.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import properloss as pl

CENTRES = np.array([[0.0, 0.0], [2.2, 0.4], [0.8, 2.4]])
NAMES = np.array(["adelie", "chinstrap", "gentoo"])


def table(rows, seed):
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    X = CENTRES[kind] + rng.normal(scale=0.7, size=(rows, 2))
    wrong = rng.random(rows) < 0.125
    kind[wrong] = rng.choice(3, wrong.sum())
    return X, NAMES[kind]


X, y = table(1200, seed=0)
X_new, y_new = table(4000, seed=1)
ours = pl.ProperLossClassifier().fit(X, y)
softmax = LogisticRegression().fit(X, y)

# %%
# Log-loss of fresh rows, and what is promised: at every point at most the softmax's plus ``log(tau_)``.
from sklearn.metrics import log_loss

for name, model in {"learned link": ours, "softmax": softmax}.items():
    print(f"{name:>13}: {log_loss(y_new, model.predict_proba(X_new), labels=NAMES):.4f}")
print("bound above the softmax:", round(np.log(ours.tau_), 3), "nats")

# %%
# A reliability diagram for each class against the rest. Labels that are wrong now and then keep the true probabilities away from 0 and 1.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for k, (ax, name) in enumerate(zip(axes, ours.classes_, strict=True)):
    for label, model in {"learned link": ours, "softmax": softmax}.items():
        p = model.predict_proba(X_new)[:, k]
        pl.ReliabilityDisplay.from_predictions((y_new == name).astype(int), p, ax=ax, name=label)
    ax.set_title(name)
plt.show()
