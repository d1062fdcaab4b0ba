"""Generated C, SQL and Python, compiled and run, against the engine."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import properloss as pl
from properloss import _core

import export_models
from export_models import CC, COLUMNS, MIXED, links, mixed_rows, model_json, rows

WEIGHTS = np.array([0.8, -1.3, 0.5, 0.05, 2.0, -0.3, 0.7, 1.1, -0.9, 0.4])
LINKS = links()
NEEDS_CC = pytest.mark.skipif(CC is None, reason="no C compiler")


def table():
    """10,000 rows: random, far, at the ends of f64."""
    return rows(WEIGHTS, 9597)


def python_function(source):
    return export_models.python_function(source, "probability")


def c_answers(source, folder, X, texts=None):
    body = "p[i] = properloss_probability(CALL)"
    return export_models.c_answers(source, folder, X, np.empty(len(X)), body, texts)


def sql_answers(source, cells):
    """Rows of a table with these columns, in order; NULL as NaN."""
    database = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in cells)
    database.execute(f"CREATE TABLE examples (row INTEGER, {names})")
    columns = [np.asarray(column).tolist() for column in cells.values()]
    values = ", ".join("?" * (1 + len(columns)))
    numbered = zip(range(len(columns[0])), *columns, strict=True)
    database.executemany(f"INSERT INTO examples VALUES ({values})", numbered)
    query = f"SELECT probability FROM ({source.strip().rstrip(';')}) AS answers ORDER BY row"
    return np.array([np.nan if p is None else p for (p,) in database.execute(query)])


@pytest.mark.parametrize("method", ["", "proper"])
@pytest.mark.parametrize("name", LINKS)
def test_every_link_in_every_language(name, method, tmp_path):
    if method and ":" in name and not name.startswith("relative:sigmoid"):
        pytest.skip("only the bounds of the result differ")
    X = table()
    assert len(X) == 10_000
    text = model_json(LINKS[name], WEIGHTS, method=method)
    ours = _core.Model.from_json(text).predict_proba(X)[:, 1]
    if method:
        ours = np.clip(ours, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)
    export = _core.Export.of_model(text)
    function = python_function(export.to_bytes("python").decode())
    theirs = np.array([function(row) for row in X.tolist()])
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12, err_msg="python")
    source = export.to_bytes("sql").decode()
    cells = {f"x{j}": X[:, j] for j in range(10)}
    np.testing.assert_allclose(sql_answers(source, cells), ours, rtol=0, atol=1e-12, err_msg="sql")
    if CC is not None:
        theirs = c_answers(export.to_bytes("c").decode(), tmp_path, X)
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12, err_msg="c")


INFINITE = [[np.inf, 0.0], [-np.inf, 0.0], [0.0, np.inf], [np.nan, 1.0], [np.inf, np.inf]]


@pytest.mark.parametrize("name", LINKS)
def test_infinite_and_missing_cells(name, tmp_path):
    text = model_json(LINKS[name], [1.0, -2.0])
    export = _core.Export.of_model(text)
    link = _core.Model.from_json(text).link
    low, high = link.inverse_link(-np.inf), link.inverse_link(np.inf)
    expected = [high, low, low, np.nan, np.nan]
    function = python_function(export.to_bytes("python").decode())
    np.testing.assert_allclose([function(row) for row in INFINITE], expected, atol=1e-12)
    cells = {"x0": [row[0] for row in INFINITE], "x1": [row[1] for row in INFINITE]}
    answers = sql_answers(export.to_bytes("sql").decode(), cells)
    np.testing.assert_allclose(answers, expected, atol=1e-12)
    if CC is not None:
        answers = c_answers(export.to_bytes("c").decode(), tmp_path, INFINITE)
        np.testing.assert_allclose(answers, expected, atol=1e-12)


@pytest.mark.parametrize("unit_rows", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
def test_text_columns(zeros, unit_rows, tmp_path):
    cells, X = mixed_rows(2000)
    link = LINKS["relative:sigmoid:0.05"]
    text = model_json(link, MIXED, columns=COLUMNS, unit_rows=unit_rows, words=("NA",))
    expected = _core.Model.from_json(model_json(link, MIXED, unit_rows=unit_rows))
    expected = expected.predict_proba(X)[:, 1]
    if not zeros:
        expected[cells["job"] == "unseen"] = np.nan
    export = _core.Export.of_model(text, unknown_zeros=zeros)
    every = list(zip(*(column.tolist() for column in cells.values()), strict=True))
    function = python_function(export.to_bytes("python").decode())
    theirs = [function(row) for row in every]
    np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-12)
    theirs = sql_answers(export.to_bytes("sql").decode(), cells)
    np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-12)
    if CC is not None:
        numbers = np.column_stack([cells["age"], cells["size"]])
        texts = [(row[1], row[3]) for row in every]
        theirs = c_answers(export.to_bytes("c").decode(), tmp_path, numbers, texts)
        np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("language", ["c", "python", "sql"])
def test_unit_rows_at_the_ends_of_the_range(language, tmp_path):
    X = rows(WEIGHTS, 1000)
    text = model_json(LINKS["piecewise:300"], 3 * WEIGHTS, unit_rows=True)
    ours = _core.Model.from_json(text).predict_proba(X)[:, 1]
    source = _core.Export.of_model(text).to_bytes(language).decode()
    if language == "python":
        theirs = np.array([python_function(source)(row) for row in X.tolist()])
    elif language == "sql":
        theirs = sql_answers(source, {f"x{j}": X[:, j] for j in range(10)})
    elif CC is None:
        pytest.skip("no C compiler")
    else:
        theirs = c_answers(source, tmp_path, X)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)


@NEEDS_CC
def test_scores_are_added_up_in_the_order_of_the_engine(tmp_path):
    # Terms of 1e15 cancel: another order would give another score, by thousands of 1e-12.
    rng = np.random.default_rng(8)
    weights = rng.normal(size=21)
    X = rng.normal(size=(500, 21)) * 1e14
    X[:, 20] = -(X[:, :20] @ weights[:20]) / weights[20]
    text = model_json(LINKS["sigmoid"], weights)
    ours = _core.Model.from_json(text).predict_proba(X)[:, 1]
    assert ((ours > 0.001) & (ours < 0.999)).sum() > 100
    export = _core.Export.of_model(text)
    function = python_function(export.to_bytes("python").decode())
    assert np.abs(np.array([function(row) for row in X.tolist()]) - ours).max() < 1e-15
    theirs = c_answers(export.to_bytes("c").decode(), tmp_path, X)
    assert np.abs(theirs - ours).max() < 1e-15
    cells = {f"x{j}": X[:, j] for j in range(21)}
    assert np.abs(sql_answers(export.to_bytes("sql").decode(), cells) - ours).max() < 1e-15


def test_a_fitted_classifier_and_a_calibrator(data):
    X, y = data
    clf = pl.ProperLossClassifier().fit(X, y)
    function = python_function(clf.to_source("python"))
    theirs = [function(row) for row in X.tolist()]
    np.testing.assert_allclose(theirs, clf.predict_proba(X)[:, 1], rtol=0, atol=1e-12)
    p = clf.predict_proba(X)[:, 1]
    calibrator = pl.ProperCalibrator(kind="probabilities").fit(p, y)
    at = [0.0, 1.0, 0.5, *p]
    ours = calibrator.predict(at)
    function = python_function(calibrator.to_source("python"))
    np.testing.assert_allclose([function([s]) for s in at], ours, rtol=0, atol=1e-12)
    theirs = sql_answers(calibrator.to_source("sql"), {"uncalibrated": at})
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)
