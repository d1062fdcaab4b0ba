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

# Families where the logistic link is exactly right.
TRULY_LOGISTIC = ["logistic", "logistic-20", "logistic-wide", "logistic-rare", "correlated", "heavy-tailed"]


def draw(name, m, m_test, seed):
    """Training rows with labels and test rows with labels and true probabilities."""
    rng = np.random.default_rng(seed)
    family = FAMILIES.get(name) or HELD_OUT[name]
    (x, p), (x_test, p_test) = family(rng, (m, m_test))
    y = (rng.uniform(size=m) < p).astype(int)
    y_test = (rng.uniform(size=m_test) < p_test).astype(int)
    return x, y, x_test, y_test, p_test
