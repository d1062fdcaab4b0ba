"""Several classes as ONNX, C, SQL and Python, run against the engine."""

from __future__ import annotations

import json
import os
import sqlite3

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import properloss as pl
from properloss import _core

import export_models
from export_models import CC, COLUMNS, feature_names, knots, mixed_rows

FULL = os.environ.get("PROPERLOSS_PROFILE") in ("full", "fuzz")
ROWS = 1_000_000 if FULL else 10_000
CLASSES = {3: ["cod", "eel", 'r"a y'], 4: ["3", "1", "0", "7"], 10: [f"c{k}" for k in range(10)]}
FORMS = pytest.mark.parametrize("portable", [False, True], ids=["tree", "portable"])


def links():
    """`(softmaxes, floor, ramps)`: each part alone, and everything together."""
    rng = np.random.default_rng(5)
    found = {"softmax": ([(1.0, 1.0)], [0.0] * 3, [])}
    found["temperatures"] = (
        [(0.2, 1.0), (0.1, 0.25), (0.1, 0.5), (0.2, 0.7), (0.1, 1.4), (0.2, 2.0), (0.1, 4.0)],
        [0.0] * 4,
        [],
    )
    found["odd temperature"] = ([(0.6, 1.0), (0.4, 1.7)], [0.0] * 3, [])
    found["floor"] = ([(0.7, 1.0)], [0.1, 0.0, 0.2], [])
    def ramp(pieces):
        values = np.minimum(knots(rng, pieces, True, decades=1), 1.0)
        return knots(rng, pieces, decades=1), values.tolist()

    found["ramp"] = ([(0.5, 1.0)], [0.0] * 3, [(0.5, 1, *ramp(7))])
    found["steep ramp"] = ([(0.5, 1.0)], [0.0] * 3, [(0.5, 2, [0.0, 0.4, 0.4001, 1.0], [0, 0, 1, 1])])
    # Two of one class.
    found["ramps"] = (
        [(0.3, 1.0), (0.1, 4.0)],
        [0.1, 0.0, 0.0, 0.1],
        [(0.1, 0, *ramp(14)), (0.1, 2, *ramp(3)), (0.1, 2, *ramp(14)), (0.1, 3, *ramp(2))],
    )
    found["ten classes"] = (
        [(0.2, 1.0), (0.1, 0.7), (0.1, 2.0)],
        [0.01] * 10,
        [(0.05, k, *ramp(14)) for k in range(10)],
    )
    return found


LINKS = links()


def within(name):
    """1e-12, and what the steepest ramp makes of a last place of the softmax, which rounds in another order there."""
    ramps = LINKS[name][2]
    return 1e-12 + 2.0**-52 * max((mass * np.max(np.diff(y) / np.diff(x)) for mass, _, x, y in ramps), default=0.0)


def model_json(name, weights, intercepts, columns=None, classes=None):
    softmax, floor, ramps = LINKS[name]
    if columns is None:
        columns = [{"name": f"x{j}", "kind": "numeric"} for j in range(len(weights[0]))]
    link = {
        "softmax": [{"mass": mass, "t": t} for mass, t in softmax],
        "floor": floor,
        "ramps": [{"mass": m, "class": k, "p": p, "r": r} for m, k, p, r in ramps],
    }
    return json.dumps(
        {
            "format": "properloss-model",
            "version": 2,
            "weights": np.asarray(weights).tolist(),
            "intercepts": list(intercepts),
            "link": link,
            "preprocessing": {
                "encoder": {"columns": columns, "missing_words": ["", "NA"]},
                "scaling": {"kind": "none"},
            },
            "feature_names": feature_names(columns),
            "classes": classes or CLASSES[len(floor)],
            "fitted": {"method": "proper"},
        }
    )


def example(name, count):
    """Random rows, far rows, and rows at the ends of f64, with the engine's answers."""
    rng = np.random.default_rng(1)
    classes = len(LINKS[name][1])
    weights, intercepts = rng.normal(size=(classes, 10)), rng.normal(size=classes)
    X = rng.normal(size=(count, 10)) * np.exp(rng.uniform(-2, 2, size=(count, 1)))
    far = rng.normal(size=(200, 10)) * 10.0 ** np.linspace(-300, 306, 200)[:, None]
    X = np.concatenate([X, far, -far, np.full((1, 10), 1.7e308), np.zeros((1, 10))])
    z = _core.multiclass_scores(X, weights, intercepts)
    with np.errstate(invalid="ignore"):
        ours = _core.VectorMixture(*LINKS[name]).probabilities(z)
    ours[~np.isfinite(z).all(1)] = np.nan
    assert np.isfinite(ours).all(1).mean() > 0.99
    return model_json(name, weights, intercepts), X, z, ours


def python_function(source):
    return export_models.python_function(source, "probabilities")


def c_answers(source, folder, X, classes, texts=None):
    body = "properloss_probabilities(CALL, p + (size_t)i * CLASSES)"
    return export_models.c_answers(source, folder, X, np.empty((len(X), classes)), body, texts)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def sql_answers(source, cells, classes):
    database = sqlite3.connect(":memory:")
    names = ", ".join(quoted(name) for name in cells)
    database.execute(f"CREATE TABLE examples (row INTEGER, {names})")
    columns = [np.asarray(column).tolist() for column in cells.values()]
    values = ", ".join("?" * (1 + len(columns)))
    numbered = zip(range(len(columns[0])), *columns, strict=True)
    database.executemany(f"INSERT INTO examples VALUES ({values})", numbered)
    wanted = ", ".join(quoted(f"probability_{name}") for name in classes)
    query = f"SELECT {wanted} FROM ({source.strip().rstrip(';')}) AS answers ORDER BY row"
    found = [[np.nan if p is None else p for p in row] for row in database.execute(query)]
    return np.array(found)


@pytest.mark.parametrize("name", LINKS)
def test_every_part_in_every_language(name, tmp_path):
    text, X, _, ours = example(name, 3_000 if not FULL else 10_000)
    export = _core.Export.of_class_model(text)
    classes = json.loads(text)["classes"]
    function = python_function(export.to_bytes("python").decode())
    theirs = np.array([function(row) for row in X.tolist()])
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12, err_msg="python")
    cells = {f"x{j}": X[:, j] for j in range(10)}
    theirs = sql_answers(export.to_bytes("sql").decode(), cells, classes)
    # A score beyond 1e300 is no answer in SQL.
    seen = np.isfinite(theirs).all(1)
    assert seen.mean() > 0.99
    np.testing.assert_allclose(theirs[seen], ours[seen], rtol=0, atol=1e-12, err_msg="sql")
    if CC is not None:
        theirs = c_answers(export.to_bytes("c").decode(), tmp_path, X, len(classes))
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12, err_msg="c")


def run(content: bytes, feed):
    onnx = pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    feed = feed if isinstance(feed, dict) else {"X": feed}
    return session.run(["label", "probabilities"], feed)


@FORMS
@pytest.mark.parametrize("name", LINKS)
def test_onnx_gives_our_probabilities(name, portable):
    text, X, _, ours = example(name, ROWS)
    label, p = run(_core.Export.of_class_model(text).to_bytes(portable=portable), X)
    assert p.dtype == np.float64 and p.shape == ours.shape
    np.testing.assert_allclose(p, ours, rtol=0, atol=within(name))
    classes = json.loads(text)["classes"]
    integers = all(name.isdigit() for name in classes)
    classes = np.array([int(name) for name in classes] if integers else classes)
    top = np.sort(ours, axis=1)
    sure = np.isfinite(ours).all(1) & (top[:, -1] - top[:, -2] > 1e-12)
    assert (label[sure] == classes[ours[sure].argmax(1)]).all()
    # Ranks within a row are kept where the probabilities differ by more than their rounding.
    order = np.argsort(ours[sure], axis=1)
    assert np.diff(np.take_along_axis(p[sure], order, axis=1), axis=1).min() > -1e-12


@FORMS
def test_text_columns(portable, tmp_path):
    cells, X = mixed_rows(2_000)
    rng = np.random.default_rng(2)
    weights, intercepts = rng.normal(size=(4, 9)), rng.normal(size=4)
    text = model_json("ramps", weights, intercepts, COLUMNS)
    z = _core.multiclass_scores(X, weights, intercepts)
    ours = _core.VectorMixture(*LINKS["ramps"]).probabilities(z)
    unknown = cells["job"] == "unseen"
    feed = {
        name: np.asarray(values, dtype=object if values.dtype.kind == "U" else float)[:, None]
        for name, values in cells.items()
    }
    zeros = _core.Export.of_class_model(text, unknown_zeros=True)
    _, p = run(zeros.to_bytes(portable=portable), feed)
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)
    strict = _core.Export.of_class_model(text)
    _, p = run(strict.to_bytes(portable=portable), feed)
    assert np.isnan(p[unknown]).all()
    np.testing.assert_allclose(p[~unknown], ours[~unknown], rtol=0, atol=1e-12)
    if portable:
        return
    rows = list(zip(*(np.asarray(cells[c["name"]]).tolist() for c in COLUMNS), strict=True))
    function = python_function(zeros.to_bytes("python").decode())
    np.testing.assert_allclose([function(row) for row in rows], ours, rtol=0, atol=1e-12)
    if CC is not None:
        numbers = np.column_stack([cells["age"], cells["size"]])
        texts = list(zip(cells["job"].tolist(), cells["town"].tolist(), strict=True))
        source = zeros.to_bytes("c").decode()
        answers = c_answers(source, tmp_path, numbers, 4, texts)
        np.testing.assert_allclose(answers, ours, rtol=0, atol=1e-12)
    named = {**cells, "age": [None if np.isnan(age) else age for age in cells["age"]]}
    answers = sql_answers(zeros.to_bytes("sql").decode(), named, CLASSES[4])
    np.testing.assert_allclose(answers, ours, rtol=0, atol=1e-12)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_fitted_models_and_calibrators(load, tmp_path):
    X, y = load(return_X_y=True)
    clf = pl.ProperLossClassifier().fit(X, y)
    path = tmp_path / "model.onnx"
    clf.to_onnx(path)
    label, p = run(path.read_bytes(), X)
    np.testing.assert_allclose(p, clf.predict_proba(X), rtol=0, atol=1e-12)
    assert (label == clf.predict(X)).mean() > 0.99
    function = python_function(clf.to_source("python"))
    theirs = [function(row) for row in X.tolist()]
    np.testing.assert_allclose(theirs, clf.predict_proba(X), rtol=0, atol=1e-12)
    for scores in (clf.decision_function(X), clf.predict_proba(X)):
        calibrator = pl.ProperCalibrator().fit(scores, y)
        calibrator.to_onnx(path)
        _, p = run(path.read_bytes(), scores)
        np.testing.assert_allclose(p, calibrator.predict_proba(scores), rtol=0, atol=1e-12)
        function = python_function(calibrator.to_source("python"))
        theirs = [function(row) for row in scores.tolist()]
        np.testing.assert_allclose(theirs, calibrator.predict_proba(scores), rtol=0, atol=1e-12)
