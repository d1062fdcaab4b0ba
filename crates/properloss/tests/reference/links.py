"""Reference values of every built-in link: python3 links.py > links.csv (needs mpmath).

Definitions only, in 450 digits, at arguments that are exact in f64. Rows: link,function,a,b,value.
"""
import random
from mpmath import (asinh, atan, cos, cot, e1, erf, erfc, erfinv, euler, exp, expm1, findroot, inf, log, log1p, mp, mpf,
                    npdf, nstr, pi, sin, sqrt)

mp.dps = 450
random.seed(20)


def normal_quantile(p):
    # Newton in increasing precision from a double-precision start, on ln Q for the small side.
    q, sign = (p, -1) if p < mpf(1) / 2 else (1 - p, 1)
    if q == mpf(1) / 2:
        return mpf(0)
    x = sqrt(-2 * log(q)) if q < 0.1 else sqrt(2 * pi) * (mpf(1) / 2 - q)
    for _ in range(60):
        tail = erfc(x / sqrt(2)) / 2
        step = log(tail / q) * tail / npdf(x)
        x += step
        if abs(step) < abs(x) * mpf(10) ** -300:
            break
    return sign * x


class Sigmoid:
    u = staticmethod(lambda z: 1 / (1 + exp(-z)))
    c = staticmethod(lambda z: 1 / (1 + exp(z)))
    d = staticmethod(lambda z: exp(-z) / (1 + exp(-z)) ** 2)
    inv = staticmethod(lambda p: log(p / (1 - p)))
    U = staticmethod(lambda z: log1p(exp(z)))
    V = staticmethod(lambda z: log1p(exp(-z)))
    G = staticmethod(lambda p: p * log(p) + (1 - p) * log(1 - p))


class ClippedLine:  # a = 0.3, b = 0.7 as f64
    a, b = mpf(0.3), mpf(0.7)
    line = staticmethod(lambda z: ClippedLine.a * z + ClippedLine.b)
    u = staticmethod(lambda z: min(max(ClippedLine.line(z), 0), 1))
    c = staticmethod(lambda z: 1 - ClippedLine.u(z))
    d = staticmethod(lambda z: ClippedLine.a if 0 <= ClippedLine.line(z) < 1 else mpf(0))
    inv = staticmethod(lambda p: (p - ClippedLine.b) / ClippedLine.a)
    G = staticmethod(lambda p: (p * p / 2 - ClippedLine.b * p) / ClippedLine.a)

    @staticmethod
    def U(z):
        v = ClippedLine.line(z)
        return mpf(0) if v <= 0 else v * v / 2 / ClippedLine.a if v <= 1 else (v - mpf(1) / 2) / ClippedLine.a

    @staticmethod
    def V(z):
        return ClippedLine.U(z) - z + ClippedLine.G(mpf(1))


class Matsushita:
    u = staticmethod(lambda z: (1 + z / sqrt(1 + z * z)) / 2)
    c = staticmethod(lambda z: (1 - z / sqrt(1 + z * z)) / 2)
    d = staticmethod(lambda z: 1 / (2 * sqrt(1 + z * z) ** 3))
    inv = staticmethod(lambda p: (2 * p - 1) / (2 * sqrt(p * (1 - p))))
    U = staticmethod(lambda z: (z + sqrt(1 + z * z)) / 2)
    V = staticmethod(lambda z: (-z + sqrt(1 + z * z)) / 2)
    G = staticmethod(lambda p: -sqrt(p * (1 - p)))


class Probit:
    u = staticmethod(lambda z: erfc(-z / sqrt(2)) / 2)
    c = staticmethod(lambda z: erfc(z / sqrt(2)) / 2)
    d = staticmethod(npdf)
    inv = staticmethod(normal_quantile)
    U = staticmethod(lambda z: z * Probit.u(z) + npdf(z))
    V = staticmethod(lambda z: npdf(z) - z * Probit.c(z))
    G = staticmethod(lambda p: -npdf(normal_quantile(p)))


class Cloglog:
    u = staticmethod(lambda z: -expm1(-exp(z)))
    c = staticmethod(lambda z: exp(-exp(z)))
    d = staticmethod(lambda z: exp(z - exp(z)))
    inv = staticmethod(lambda p: log(-log(1 - p)))
    U = staticmethod(lambda z: e1(exp(z)) + z + euler)
    V = staticmethod(lambda z: e1(exp(z)))
    G = staticmethod(lambda p: p * Cloglog.inv(p) - Cloglog.U(Cloglog.inv(p)))


class Loglog:
    u = staticmethod(lambda z: exp(-exp(-z)))
    c = staticmethod(lambda z: -expm1(-exp(-z)))
    d = staticmethod(lambda z: exp(-z - exp(-z)))
    inv = staticmethod(lambda p: -log(-log(p)))
    U = staticmethod(lambda z: e1(exp(-z)))
    V = staticmethod(lambda z: e1(exp(-z)) - z + euler)
    G = staticmethod(lambda p: p * Loglog.inv(p) - Loglog.U(Loglog.inv(p)))


class Cauchy:
    u = staticmethod(lambda z: mpf(1) / 2 + atan(z) / pi)
    c = staticmethod(lambda z: mpf(1) / 2 - atan(z) / pi)
    d = staticmethod(lambda z: 1 / (pi * (1 + z * z)))
    inv = staticmethod(lambda p: -cot(pi * p))
    U = staticmethod(lambda z: z / 2 + (z * atan(z) - log(1 + z * z) / 2) / pi)
    V = None
    G = staticmethod(lambda p: -log(sin(pi * p)) / pi)


LINKS = {"sigmoid": Sigmoid, "clipped-line": ClippedLine, "matsushita": Matsushita, "probit": Probit,
         "cloglog": Cloglog, "loglog": Loglog, "cauchy": Cauchy}


def row(name, function, a, b, value):
    if abs(value) > mpf(2.2250738585072014e-308) and abs(value) < mpf(1.797e308):
        print(f"{name},{function},{a!r},{b!r},{nstr(value, 22, min_fixed=0, max_fixed=0)}")


def scores():
    fixed = [0.0, 1e-9, -1e-9, 0.25, -0.5, 1.0, -1.0, 2.0, 3.7, -3.7, 6.5, -6.5, 25.0, -25.0, 37.0, -37.0, 300.0, -300.0,
             700.0, -700.0, 1e4, -1e4]
    return fixed + [random.uniform(-8, 8) for _ in range(16)]


def probabilities():
    fixed = [0.5, 0.5 + 1e-9, 0.25, 0.75, 0.3678794411714423, 0.6321205588285577, 0.632, 1e-5, 1e-20, 1e-100, 1e-300,
             1 - 1e-5, 1 - 1e-12, 1 - 2.0**-53]
    return fixed + [random.random() for _ in range(12)]


for name, link in LINKS.items():
    heavy = name in ("matsushita", "cauchy")
    for z in scores():
        m = mpf(z)
        if name in ("cloglog", "loglog") and abs(z) > 12:
            # e1 of a huge argument is far below f64
            functions = [("u", link.u), ("complement", link.c), ("derivative", link.d)] if abs(z) < 30 else []
        else:
            functions = [("u", link.u), ("complement", link.c), ("derivative", link.d), ("potential", link.U)]
            if link.V:
                functions.append(("upper", link.V))
        if not heavy and name != "clipped-line" and abs(z) > 800:
            functions = []
        for label, f in functions:
            row(name, label, z, 0.0, f(m))
    for p in probabilities():
        row(name, "inverse", p, 0.0, link.inv(mpf(p)))
        row(name, "conjugate", p, 0.0, link.G(mpf(p)))
        row(name, "inverse-of-complement", p, 0.0, link.inv(1 - mpf(p)))
    centres = [-30.0, -9.3, -2.0, -0.4, 0.1, 0.9, 3.0, 5.5, 30.0] if name not in ("cloglog", "loglog") else \
        [-6.0, -2.0, -0.4, 0.1, 0.9, 3.0, 5.5]
    for b in centres:
        for gap in (1e-9, 1e-6, 1e-3, 0.04, 0.3, 1.0, 6.0):
            a = b + random.choice((-1, 1)) * gap * random.uniform(0.5, 1)
            A, B = mpf(a), mpf(b)
            row(name, "divergence", a, b, link.U(A) - link.U(B) - (A - B) * link.u(B))
    for q in (1e-12, 0.003, 0.2, 0.5, 0.85, 0.9999):
        for gap in (1e-9, 1e-6, 1e-3, 0.04, 0.3):
            p = q + random.choice((-1, 1)) * gap * random.uniform(0.5, 1)
            if 0 < p < 1:
                P, Q = mpf(p), mpf(q)
                row(name, "dual", p, q, link.G(P) - link.G(Q) - (P - Q) * link.inv(Q))
