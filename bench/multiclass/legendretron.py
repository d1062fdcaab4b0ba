"""A small LegendreTron (Lam, Walder, Penev and Nock, ICML 2023), for comparison.

    p = softmax+(f_2(f_1(W x + b)))       softmax+(z) = (e^z_1, .., e^z_(K-1), 1) / (1 + sum e^z)
    f(z) = s z + t sum_h a_h sigmoid(u_h.z + c_h) u_h,   s, t, a > 0: the gradient of an input-convex network

Two blocks, Adam at .01 that falls by 5 % every fourth epoch, batches of 64, 240 epochs and a penalty of .005 on
every squared parameter are those of its published code. A network has one hidden layer of eight units here, where it has four
layers of two there, and columns are standardised.
"""

import numpy as np

UNITS, BLOCKS, EPOCHS, BATCH, RATE, DECAY = 8, 2, 240, 64, 0.01, 0.01


def _softplus(x):
    return np.logaddexp(0.0, x)


def _sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _start(columns, classes, rng):
    k = classes - 1
    parameters = {"w": rng.standard_normal((columns, k)) / np.sqrt(columns), "b": np.zeros(k)}
    for i in range(BLOCKS):
        parameters[f"u{i}"] = rng.standard_normal((UNITS, k)) / np.sqrt(k)
        parameters[f"c{i}"], parameters[f"a{i}"] = np.zeros(UNITS), np.zeros(UNITS)
        # softplus of these is 1 (the identity) and log 2.
        parameters[f"s{i}"], parameters[f"t{i}"] = np.array(np.log(np.expm1(1.0))), np.array(0.0)
    return parameters


def _forward(q, x):
    z, kept = x @ q["w"] + q["b"], []
    for i in range(BLOCKS):
        s = _sigmoid(z @ q[f"u{i}"].T + q[f"c{i}"])
        inner = (s * _softplus(q[f"a{i}"])) @ q[f"u{i}"]
        kept.append((z, s, inner))
        z = _softplus(q[f"s{i}"]) * z + _softplus(q[f"t{i}"]) * inner
    z = np.column_stack([z, np.zeros(len(z))])
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), kept


def _gradient(q, x, one_hot):
    """Of the mean log-loss plus DECAY/2 of all squares."""
    p, kept = _forward(q, x)
    g, slopes = (p - one_hot)[:, :-1] / len(x), {}
    for i in reversed(range(BLOCKS)):
        (z, s, inner), u = kept[i], q[f"u{i}"]
        a, t = _softplus(q[f"a{i}"]), _softplus(q[f"t{i}"])
        slopes[f"s{i}"] = (g * z).sum() * _sigmoid(q[f"s{i}"])
        slopes[f"t{i}"] = (g * inner).sum() * _sigmoid(q[f"t{i}"])
        pulled = t * g @ u.T
        slopes[f"a{i}"] = (pulled * s).sum(0) * _sigmoid(q[f"a{i}"])
        bent = pulled * a * s * (1.0 - s)
        slopes[f"u{i}"] = t * (s * a).T @ g + bent.T @ z
        slopes[f"c{i}"] = bent.sum(0)
        g = _softplus(q[f"s{i}"]) * g + bent @ u
    slopes["w"], slopes["b"] = x.T @ g, g.sum(0)
    return {name: slopes[name] + DECAY * q[name] for name in q}


def fit_predict(x, y, x_test, seed=0):
    """Probabilities of the test rows."""
    mean, deviation = x.mean(0), x.std(0)
    deviation[deviation == 0] = 1.0
    x, x_test = (x - mean) / deviation, (x_test - mean) / deviation
    rng = np.random.default_rng(seed)
    one_hot = np.eye(y.max() + 1)[y]
    q = _start(x.shape[1], one_hot.shape[1], rng)
    first, second = ({name: np.zeros_like(v) for name, v in q.items()} for _ in range(2))
    step = 0
    for epoch in range(EPOCHS):
        rate = RATE * 0.95 ** (epoch // 4)
        order = rng.permutation(len(y))
        for at in range(0, len(y), BATCH):
            rows = order[at : at + BATCH]
            step += 1
            for name, g in _gradient(q, x[rows], one_hot[rows]).items():
                first[name] += 0.1 * (g - first[name])
                second[name] += 0.001 * (g * g - second[name])
                scale = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                q[name] = q[name] - scale * first[name] / (np.sqrt(second[name]) + 1e-8)
    return _forward(q, x_test)[0]


if __name__ == "__main__":
    # The gradient against finite differences.
    rng = np.random.default_rng(1)
    x, one_hot = rng.standard_normal((9, 3)), np.eye(4)[rng.integers(0, 4, 9)]
    q = {name: np.array(v + 0.3 * rng.standard_normal(v.shape)) for name, v in _start(3, 4, rng).items()}

    def value():
        p = _forward(q, x)[0]
        return -(one_hot * np.log(p)).sum(1).mean() + 0.5 * DECAY * sum((v**2).sum() for v in q.values())

    for name, g in _gradient(q, x, one_hot).items():
        for at in np.ndindex(q[name].shape):
            kept = q[name]
            ends = []
            for h in (1e-6, -1e-6):
                q[name] = np.array(kept)
                q[name][at] += h
                ends.append(value())
            q[name] = kept
            assert abs((ends[0] - ends[1]) / 2e-6 - g[at]) < 1e-8, (name, at)
    print("the gradient is right")
