"""
The report page
===============

One file to send to a colleague: can these probabilities be trusted, what was learned, where to put the threshold. It is below 1 MB for any number of
rows and asks for nothing from anywhere.
"""

# %%
# ``clf.report(X, y, "report.html")`` writes it; ``properloss report model.json test.csv -o report.html`` does the same in the shell. Here it stands in the page, as it
# does in a notebook: move its sliders.
import numpy as np
from sklearn.linear_model import LogisticRegression

import properloss as pl


def table(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    p = 0.05 + 0.9 * (1 - np.exp(-np.exp(X @ [1.2, -0.8, 0.5, 0.0] - 0.5)))
    return X, (rng.random(rows) < p).astype(int)


X, y = table(2000, seed=0)
X_new, y_new = table(3000, seed=1)
clf = pl.ProperLossClassifier().fit(X, y)
page = clf.report(X_new, y_new)
page

# %%
# Two models side by side: ``compare=`` takes any classifier, and the page says which is better on the same rows and by how many standard errors.
both = pl.report(clf, X_new, y_new, compare=LogisticRegression().fit(X, y))
print(both)

# sphinx_gallery_thumbnail_path = 'images/report.png'
