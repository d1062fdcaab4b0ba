"""Chebyshev coefficients of src/special/{normal,expint}.rs. Needs mpmath: python3 coefficients.py"""
from mpmath import cos, e1, erfc, exp, factorial, inf, mp, mpf, pi, sqrt

mp.dps = 50


def chebyshev(f, n=64):
    nodes = [pi * (k + mpf(1) / 2) / n for k in range(n)]
    values = [f(cos(t)) for t in nodes]
    return [2 / mpf(n) * sum(v * cos(j * t) for v, t in zip(values, nodes)) for j in range(n)]


def complement(x):
    """K(x) = 1 - x Q(x)/phi(x) of the normal distribution."""
    if x > 5000:
        return 1 / x**2 - 3 / x**4 + 15 / x**6 - 105 / x**8
    with mp.workdps(70):
        return 1 - x * sqrt(pi / 2) * erfc(x / sqrt(2)) * exp(x * x / 2)


def scaled_e1(t):
    if t > 5000:
        return sum((-1) ** k * factorial(k) / t**k for k in range(20)) / t
    return exp(t) * e1(t)


def show(name, c, f):
    # x = 1 + c (1 + s)/(1 - s) maps s in [-1, 1) onto x in [1, inf)
    values = chebyshev(lambda s: f(1 + c * (1 + s) / (1 - s)))
    last = max(i for i, v in enumerate(values) if abs(v) > mpf(2) ** -57)
    print(f"const {name}: [f64; {last + 1}] = [")
    for i, v in enumerate(values[: last + 1]):
        print(f"    {float(v / 2 if i == 0 else v)!r},")
    print("];")


show("COMPLEMENT", 5, lambda x: (1 + x) ** 2 * complement(x))
show("SCALED_E1", 3, lambda t: (1 + t) * scaled_e1(t))
