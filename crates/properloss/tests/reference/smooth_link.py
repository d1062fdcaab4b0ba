"""Writes smooth_link.csv: smooth links by an independent program, for tests/smooth_link.rs.

    python smooth_link.py PROTOTYPE.py > smooth_link.csv

PROTOTYPE.py has `bins`, `knots` and `fit` (Newton's method on the same objective, in numpy and scipy).
Scores are multiples of 1/64, so that equal scores and only those share a cell. The cross-fit takes the
knots of all rows, as the engine does, and every minimisation is repeated until it stands still.
"""

import importlib.util
import sys

import numpy as np

spec = importlib.util.spec_from_file_location("prototype", sys.argv[1])
prototype = importlib.util.module_from_spec(spec)
spec.loader.exec_module(prototype)
LAMBDAS = (3.0, 0.3, 0.03, 0.003)
# What the prior rows at the ends have of the other class, and what each further link costs.
E, PRICE = 0.4, 0.5


def converged(k, rows, lam, v):
    for _ in range(8):
        v = prototype.fit(k, *prototype.bins(*rows), lam, v, e=E)
    return v


def path(k, rows):
    v, values = 0.002 + 0.996 * k, []
    for lam in LAMBDAS:
        v = converged(k, rows, lam, v)
        values.append(v)
    return values


def instances():
    rng = np.random.default_rng(14)
    rounded = lambda z: np.round(64 * z) / 64
    n = 90
    z = rounded(rng.normal(size=n) * 1.5)
    yield "floor", z, rng.uniform(size=n) < 0.25 + 0.6 / (1 + np.exp(-4 * z)), np.ones(n)
    z = rounded(np.linspace(-3, 3, 40))
    yield "separable", z, z > 0, np.ones(40)
    yield "reversed", z, z < 0, np.ones(40)
    z = rounded(rng.integers(-6, 7, size=120) * 0.5)
    yield "ties", z, rng.uniform(size=120) < 1 / (1 + np.exp(1 - z)), rng.uniform(0.1, 5, size=120)
    z = rounded(rng.standard_cauchy(size=60))
    yield "cauchy", z, rng.uniform(size=60) < 0.5 + 0.3 * np.tanh(z), np.ones(60)


def line(name, what, values):
    print(name, what, " ".join(repr(float(value)) for value in np.atleast_1d(values)), sep=",")


print("instance,what,values")
for name, z, y, w in instances():
    z, y, fold = np.asarray(z), np.asarray(y, dtype=float), np.arange(len(z)) % 5
    p = prototype.sigmoid(z)
    k = prototype.knots(prototype.bins(p, y, w)[0])
    whole = path(k, (p, y, w))
    held = np.empty((1 + len(LAMBDAS), len(z)))
    held[0] = p
    for f in range(5):
        seen, unseen = fold != f, fold == f
        for j, v in enumerate(path(k, (p[seen], y[seen], w[seen])), 1):
            held[j, unseen] = np.interp(p[unseen], k, v)
    likelihood = lambda q: (w * np.where(y > 0, np.log(q), np.log1p(-q))).sum(-1)
    scores = likelihood(held) - PRICE * np.arange(len(held))
    a = np.exp(scores - scores.max())
    a /= a.sum()
    for what, values in (("z", z), ("y", y), ("w", w), ("knots", k), ("scores", scores)):
        line(name, what, values)
    for j, v in enumerate(whole):
        line(name, f"v{j}", v)
    line(name, "average", a @ np.array([k, *whole]))
    line(name, "score", likelihood(a @ held))
