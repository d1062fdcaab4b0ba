"""Sixteen families of data whose conditional probability P(y = 1 | x) is known.

A family is a function `rng, m -> (x, p)`. The weights of a family are drawn anew for every
repetition, so that a result is about the family and not about one direction in space.
"""

import numpy as np
from scipy.special import expit
from scipy.stats import norm


def _weights(rng, d, size):
    w = rng.normal(size=d)
    return size * w / np.linalg.norm(w)


def _linear(d, size, link, intercept=0.0):
    """Gaussian rows, score of standard deviation `size`, P = link(score + intercept)."""

    def draw(rng, sizes):
        w = _weights(rng, d, size)
        for m in sizes:
            x = rng.normal(size=(m, d))
            yield x, link(x @ w + intercept)

    return draw


def _step(z):
    return np.where(z > 0.5, 0.9, 0.1)


def _floor_and_ceiling(z):
    return 0.12 + 0.76 * expit(2.0 * z)


def _class_conditional_noise(z):
    p = expit(3.0 * z)
    return 0.95 * p + 0.25 * (1.0 - p)


def _symmetric_noise(z):
    p = expit(3.0 * z)
    return 0.9 * p + 0.1 * (1.0 - p)


def _cauchit(z):
    return 0.5 + np.arctan(2.0 * z) / np.pi


def _cloglog(z):
    return -np.expm1(-np.exp(np.clip(z - 0.5, -30.0, 3.0)))


def _correlated(rng, sizes, d=15):
    mix = rng.normal(size=(4, d))
    w = _weights(rng, d, 1.0)
    scale = None
    for m in sizes:
        x = rng.normal(size=(m, 4)) @ mix + 0.5 * rng.normal(size=(m, d))
        scale = scale or 1.5 / np.std(x @ w)
        yield x, expit(scale * (x @ w))


def _heavy_tailed(rng, sizes, d=8):
    w = _weights(rng, d, 1.0)
    for m in sizes:
        x = rng.standard_t(3, size=(m, d))
        yield x, expit(x @ w)


def _skewed(rng, sizes, d=8):
    w = _weights(rng, d, 0.9)
    for m in sizes:
        x = rng.lognormal(sigma=1.0, size=(m, d))
        yield x, expit((x - np.exp(0.5)) @ w)


def _binary_features(rng, sizes, d=25):
    rate = rng.uniform(0.05, 0.5, size=d)
    w = _weights(rng, d, 4.0)
    for m in sizes:
        x = (rng.uniform(size=(m, d)) < rate).astype(float)
        yield x, expit((x - rate) @ w)


def _unequal_covariance(rng, sizes, d=6):
    """Two Gaussians, the second twice as wide: the Bayes rule is quadratic."""
    mean = _weights(rng, d, 1.5)
    for m in sizes:
        y = rng.uniform(size=m) < 0.5
        x = np.where(y[:, None], mean + 1.6 * rng.normal(size=(m, d)), rng.normal(size=(m, d)))
        wide = -0.5 * np.sum(((x - mean) / 1.6) ** 2, axis=1) - d * np.log(1.6)
        narrow = -0.5 * np.sum(x**2, axis=1)
        yield x, expit(wide - narrow)


def _interaction(rng, sizes, d=8):
    w = _weights(rng, d, 1.2)
    for m in sizes:
        x = rng.normal(size=(m, d))
        yield x, expit(x @ w + 1.2 * x[:, 0] * x[:, 1])


FAMILIES = {
    "logistic": _linear(5, 1.5, expit),
    "logistic-20": _linear(20, 2.0, expit),
    "logistic-wide": _linear(60, 2.0, expit),
    "logistic-rare": _linear(10, 1.5, expit, intercept=-4.0),
    "correlated": _correlated,
    "noise-only": _linear(10, 0.0, expit),
    "probit": _linear(8, 1.5, norm.cdf),
    "cloglog": _linear(8, 1.0, _cloglog),
    "cauchit": _linear(8, 1.5, _cauchit),
    "step": _linear(6, 1.0, _step),
    "floor-ceiling": _linear(10, 1.5, _floor_and_ceiling),
    "class-noise": _linear(10, 1.0, _class_conditional_noise),
    "symmetric-noise": _linear(10, 1.0, _symmetric_noise),
    "heavy-tailed": _heavy_tailed,
    "unequal-covariance": _unequal_covariance,
    "interaction": _interaction,
}

# Not used to choose anything: run once, with the defaults frozen.
HELD_OUT = {
    "skewed": _skewed,
    "binary-features": _binary_features,
    "wide-step": _linear(40, 1.0, lambda z: np.where(np.abs(z) < 0.5, 0.5, expit(4.0 * np.sign(z)))),
    "one-feature-noise": _linear(1, 1.0, lambda z: 0.05 + 0.6 * expit(4.0 * z)),
    "rare-floor": _linear(12, 1.5, lambda z: 0.01 + 0.5 * expit(2.0 * z - 3.0)),
    "gompertz": _linear(15, 1.0, lambda z: np.exp(-np.exp(-2.0 * z))),
}


def _laplace(rng, sizes, d=10):
    w = _weights(rng, d, 1.0)
    for m in sizes:
        x = rng.laplace(size=(m, d))
        yield x, expit(x @ w)


def _categories(rng, sizes, columns=6, levels=5):
    """One-hot columns without the first level, and a link that rises late."""
    effects = rng.normal(size=(columns, levels))
    for m in sizes:
        level = rng.integers(levels, size=(m, columns))
        z = effects[np.arange(columns), level].sum(axis=1)
        x = (level[:, :, None] == np.arange(1, levels)).reshape(m, -1).astype(float)
        yield x, -np.expm1(-np.exp(np.clip(0.6 * z - 0.7, -30.0, 3.0)))


def _low_rank(rng, sizes, d=30, rank=5):
    """Thirty columns of five factors; no probability above .9."""
    mix, w = rng.normal(size=(rank, d)), _weights(rng, rank, 2.0)
    for m in sizes:
        factors = rng.normal(size=(m, rank))
        yield factors @ mix + 0.3 * rng.normal(size=(m, d)), 0.9 * expit(factors @ w)


# As the unseen real sets: written down before any of them was run.
UNSEEN = {
    "laplace": _laplace,
    "categories": _categories,
    "low-rank": _low_rank,
    "low-step": _linear(8, 1.0, lambda z: np.where(z > 0.0, 0.6, 0.05)),
    "two-steps": _linear(5, 1.0, lambda z: np.select([z < -0.7, z < 0.7], [0.05, 0.5], 0.95)),
    "saturating": _linear(12, 1.5, lambda z: expit(3.0 * np.tanh(z))),
    "squared": _linear(10, 1.5, lambda z: expit(z + 1.0) ** 2),
    "steep-ceiling": _linear(15, 1.0, lambda z: 0.8 * expit(4.0 * z)),
    "logistic-30": _linear(30, 1.5, expit),
    "weak": _linear(12, 0.5, expit),
}

# Families where the logistic link is exactly right.
TRULY_LOGISTIC = ["logistic", "logistic-20", "logistic-wide", "logistic-rare", "correlated", "heavy-tailed"]


def draw(name, m, m_test, seed):
    """Training rows with labels and test rows with labels and true probabilities."""
    rng = np.random.default_rng(seed)
    family = (FAMILIES | HELD_OUT | UNSEEN)[name]
    (x, p), (x_test, p_test) = family(rng, (m, m_test))
    y = (rng.uniform(size=m) < p).astype(int)
    y_test = (rng.uniform(size=m_test) < p_test).astype(int)
    return x, y, x_test, y_test, p_test
