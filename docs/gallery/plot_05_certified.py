"""
Training with a certificate
===========================

:class:`properloss.CertifiedClassifier` learns weights and link in turns, and every iteration carries a proof: the loss falls by at least a stated amount. What
was claimed and what was observed can be checked afterwards.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import properloss as pl

X, y = load_breast_cancer(return_X_y=True)
clf = pl.CertifiedClassifier(max_iter=300, tol=0).fit(X, y)
history = clf.history_
print("iterations:", clf.n_iter_)
print("every claim kept:", bool(np.all(history["observed"] >= history["claimed"])))

# %%
# Above: the loss. Below: the decrease that was promised before the step, and the one that came. The points of the second never lie under those of the first; both
# fall because there is less and less left to gain.
fig, (top, bottom) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
top.plot(history["iteration"], history["loss"])
top.set(ylabel="loss", yscale="log")
bottom.plot(history["iteration"], history["observed"], ".", ms=4, label="observed decrease")
bottom.plot(history["iteration"], history["claimed"], "-", lw=1, label="claimed decrease")
bottom.set(xlabel="iteration", ylabel="decrease", yscale="log")
bottom.legend()
plt.show()

# %%
# The theorem, its proof and where the paper's own falls short: :doc:`../convergence`.
