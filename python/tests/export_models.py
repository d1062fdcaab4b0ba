"""Models of every link for the tests of exports: as the text of a model file, without a fit."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess

import numpy as np

from properloss import _core

CC = shutil.which("cc")


def knots(rng, pieces, flat=False, decades=4):
    """Increasing from 0 to 1, steps over some decades; with flat pieces if asked for."""
    steps = 10 ** rng.uniform(-decades, 0, pieces)
    if flat and pieces > 3:
        steps[1::3] = 0.0
    values = np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])
    values[-1] = 1.0
    return values.tolist()


def links():
    """Every registered link with all example parameters, learned ones, and learned on top of each."""
    rng = np.random.default_rng(3)
    found = {}
    for name in _core.links():
        found[name] = {"kind": "builtin", "name": name}
    for a, b in ((1.0, 0.0), (0.01, 0.9), (3.0, -7.0)):
        found[f"clipped-line:{a},{b}"] = {
            "kind": "builtin",
            "name": "clipped-line",
            "params": [a, b],
        }
    for pieces in (1, 2, 3, 7, 300):
        z = (np.array(knots(rng, pieces)) * 12.0 - 7.0).tolist()
        found[f"piecewise:{pieces}"] = {"kind": "piecewise", "z": z, "u": knots(rng, pieces)}
        found[f"isotonic:{pieces}"] = {"kind": "isotonic", "z": z, "u": knots(rng, pieces, True)}
    for name in _core.links():
        for low, high in ((0.0, 1.0), (0.05, 0.9)):
            p = knots(rng, 20, decades=2)
            v = low + (high - low) * np.array(knots(rng, 20, decades=2))
            v[-1] = high
            found[f"relative:{name}:{low}"] = {
                "kind": "relative",
                "base": {"kind": "builtin", "name": name},
                "p": p,
                "v": v.tolist(),
            }
    # Knots in log-odds, as the default's: in probability they crowd at 0 and 1.
    for low, high in ((0.0, 1.0), (0.05, 0.9)):
        scores = np.linspace(-14, 14, 280) + rng.uniform(-0.03, 0.03, 280)
        p = np.concatenate([[0.0], 1 / (1 + np.exp(-scores)), [1.0]])
        steps = rng.uniform(0.1, 4, 281) * np.diff(p)
        v = low + (high - low) * np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])
        v[-1] = high
        for name in ("sigmoid", "probit", "cauchy"):
            found[f"in log-odds:{name}:{low}"] = {
                "kind": "relative",
                "base": {"kind": "builtin", "name": name},
                "p": p.tolist(),
                "v": v.tolist(),
            }
    # Knots at the scores of single rows, as SLIsotron's: some all but meet. Then steps so steep that the
    # last bit of a score is seen.
    z = np.sort(2 * rng.normal(size=569))
    found["at scores:569"] = {"kind": "piecewise", "z": z.tolist(), "u": knots(rng, 568, decades=1)}
    starts = np.linspace(-3, 3, 15)
    z = np.stack([starts, starts + 1e-8], axis=1).ravel()
    u = np.linspace(0, 1, 30)
    found["steep steps"] = {"kind": "isotonic", "z": z.tolist(), "u": u.tolist()}
    inner = found["relative:sigmoid:0.05"]
    found["relative:relative"] = {
        "kind": "relative",
        "base": inner | {"v": [0.0, *inner["v"][1:-1], 1.0]},
        "p": knots(rng, 5, decades=1),
        "v": knots(rng, 5, decades=1),
    }
    return found


def feature_names(columns):
    """The names that the encoder makes of these columns."""
    names = []
    for column in columns:
        if column["kind"] == "numeric":
            names.append(column["name"])
        else:
            names.extend(f"{column['name']}={category}" for category in column["categories"])
    return names


def python_function(source, name):
    """A function of an exported Python module."""
    space: dict = {}
    exec(compile(source, "model.py", "exec"), space)
    return space[name]


#: Calls the function for many rows; texts come one after another.
_MANY = """
void many(const double *numbers, int width, const char *const *texts, int columns, int rows, double *p)
{
    (void)texts, (void)columns;
    for (int i = 0; i < rows; i++) BODY;
}
"""


def c_answers(source, folder, X, answers, body, texts=None):
    """Fills `answers` from exported C; `body` is what is done for row `i`, with CALL for the row's arguments."""
    call = "numbers + (size_t)i * width" + (", texts + (size_t)i * columns" if texts else "")
    (folder / "model.c").write_text(source + _MANY.replace("BODY", body).replace("CALL", call))
    library = folder / "model.so"
    command = [CC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared"]
    subprocess.run([*command, "-fPIC", "-o", library, folder / "model.c", "-lm"], check=True)
    X = np.ascontiguousarray(X, dtype=np.float64)
    encoded = [None if text is None else text.encode() for row in texts or () for text in row]
    ctypes.CDLL(str(library)).many(
        X.ctypes.data_as(ctypes.c_void_p),
        X.shape[1],
        (ctypes.c_char_p * len(encoded))(*encoded),
        len(texts[0]) if texts else 0,
        len(X),
        answers.ctypes.data_as(ctypes.c_void_p),
    )
    return answers


def model_json(
    link,
    weights,
    intercept=0.25,
    *,
    columns=None,
    unit_rows=False,
    method="",
    classes=("0", "1"),
    words=("", "NA"),
):
    """The text of a model file."""
    if columns is None:
        columns = [{"name": f"x{j}", "kind": "numeric"} for j in range(len(weights))]
    names = feature_names(columns)
    return json.dumps(
        {
            "format": "properloss-model",
            "version": 1,
            "weights": list(weights),
            "intercept": intercept,
            "link": link,
            "preprocessing": {
                "encoder": {"columns": columns, "missing_words": list(words)},
                "scaling": {"kind": "unit-rows" if unit_rows else "none"},
            },
            "feature_names": names,
            "classes": list(classes),
            "fitted": {"method": method},
        }
    )


def rows(weights, count, seed=0):
    """Random rows, rows far away, and rows at the ends of f64 (whose score is infinite)."""
    rng = np.random.default_rng(seed)
    weights = np.asarray(weights)
    X = rng.normal(size=(count, len(weights)))
    # Along the weights: scores from -1,000 to 1,000, dense around 0.
    z = np.concatenate([rng.normal(size=count // 4) * 3, rng.uniform(-40, 40, count // 4)])
    X[: len(z)] += np.outer(z, weights / (weights @ weights))
    far = np.sign(weights) * 10.0 ** np.linspace(-320, 307, 200)[:, None]
    return np.concatenate([X, far, -far, np.sign(weights) * [[1.7e308], [-1.7e308], [0.0]]])


#: Two numbers and two texts; a fill for one of each.
COLUMNS = [
    {"name": "age", "kind": "numeric", "fill": 0.5},
    {"name": "job", "kind": "categorical", "categories": ["", "a b", "z'\"\\", "ünï"]},
    {"name": "size", "kind": "numeric"},
    {
        "name": "town",
        "kind": "categorical",
        "categories": ["X", "Y", "Z"],
        "fill": [0.5, 0.25, 0.25],
    },
]
MIXED = [0.3, 1.0, -2.0, 0.5, 0.7, -1.1, 0.2, 0.4, -0.6]


def mixed_rows(count, seed=1):
    """Cells of COLUMNS, and the features that the encoder makes of them (NaN: no answer)."""
    rng = np.random.default_rng(seed)
    age, size = rng.normal(size=(2, count))
    age[rng.random(count) < 0.1] = np.nan
    job = rng.choice(["a b", "ünï", "z'\"\\", "unseen"], count, p=[0.3, 0.3, 0.3, 0.1])
    town = rng.choice(["X", "Y", "Z", "NA"], count)
    X = np.zeros((count, 9))
    X[:, 0] = np.where(np.isnan(age), 0.5, age)
    for k, name in enumerate(COLUMNS[1]["categories"]):
        X[:, 1 + k] = job == name
    X[:, 5] = size
    for k, name in enumerate(COLUMNS[3]["categories"]):
        X[:, 6 + k] = np.where(town == "NA", COLUMNS[3]["fill"][k], town == name)
    return {"age": age, "job": job, "size": size, "town": town}, X
