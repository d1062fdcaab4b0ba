"""ONNX graphs against the engine, on onnxruntime."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

import properloss as pl
from properloss import _core

from export_models import COLUMNS, MIXED, links, mixed_rows, model_json, rows

FULL = os.environ.get("PROPERLOSS_PROFILE") in ("full", "fuzz")
ROWS = 1_000_000 if FULL else 10_000
WEIGHTS = np.array([0.8, -1.3, 0.5, 0.05, 2.0, -0.3, 0.7, 1.1, -0.9, 0.4])
LINKS = links()
TINY, TOP = np.finfo(np.float64).tiny, 1.0 - 2.0**-53
FORMS = pytest.mark.parametrize("portable", [False, True], ids=["tree", "portable"])


def session(content: bytes):
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(content: bytes, X):
    feed = X if isinstance(X, dict) else {"X": X}
    label, p = session(content).run(["label", "probabilities"], feed)
    return label, p


def inversions(ours, theirs) -> int:
    """Neighbours in our order that are in the other order there."""
    order = np.argsort(ours, kind="stable")
    return int(((np.diff(ours[order]) > 0) & (np.diff(theirs[order]) < 0)).sum())


@FORMS
@pytest.mark.parametrize("name", LINKS)
def test_every_link_gives_our_probabilities(name, portable):
    X = rows(WEIGHTS, ROWS)
    text = model_json(LINKS[name], WEIGHTS)
    ours = _core.Model.from_json(text).predict_proba(X)
    label, p = run(_core.Export.of_model(text).to_bytes(portable=portable), X)
    assert p.dtype == np.float64 and p.shape == ours.shape
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)
    assert inversions(ours[:, 1], p[:, 1]) == 0
    sure = np.abs(ours[:, 1] - 0.5) > 1e-12
    assert (label[sure] == (ours[sure, 1] > 0.5)).all()
    if ":" not in name and name != "clipped-line":
        # Small probabilities of either class keep their digits, too, as far as the score has them: a
        # rounding of 1e-15 in it is 70 times that in exp(-exp(z)) = 1e-30.
        near = np.abs(_core.Model.from_json(text).scores(X)) < 30
        seen = near[:, None] & (ours > 1e-30)
        np.testing.assert_allclose(p[seen], ours[seen], rtol=1e-12)


@FORMS
@pytest.mark.parametrize("name", ["sigmoid", "relative:sigmoid:0.0", "piecewise:7"])
def test_the_default_estimator_never_says_0_or_1(name, portable):
    X = rows(WEIGHTS, 1000)
    text = model_json(LINKS[name], WEIGHTS, method="proper")
    ours = np.clip(_core.Model.from_json(text).predict_proba(X), TINY, TOP)
    _, p = run(_core.Export.of_model(text).to_bytes(portable=portable), X)
    # The sigmoid of an export ends at e^-708.5.
    assert TINY <= p[:, 1].min() <= 1e-306 and p[:, 0].min() > 0 and p.max() == TOP
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)


@FORMS
def test_unit_rows(portable):
    X = rows(WEIGHTS, 2000)
    text = model_json(LINKS["piecewise:300"], 3 * WEIGHTS, unit_rows=True)
    ours = _core.Model.from_json(text).predict_proba(X)
    _, p = run(_core.Export.of_model(text).to_bytes(portable=portable), X)
    # Where the norm itself overflows neither has an answer.
    assert np.isfinite(ours).mean() > 0.99
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)


@FORMS
def test_numbers_that_come_as_float(portable):
    X = rows(WEIGHTS, 2000)[:2000].astype(np.float32)
    text = model_json(LINKS["relative:sigmoid:0.0"], WEIGHTS)
    ours = _core.Model.from_json(text).predict_proba(X)
    export = _core.Export.of_model(text)
    _, p = run(export.to_bytes(portable=portable, float_input=True), X)
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)


def test_missing_numbers_have_no_answer():
    X = np.zeros((3, 10))
    X[1, 4] = np.nan
    for name in ("sigmoid", "piecewise:7", "cloglog", "probit", "relative:cauchy:0.05"):
        for portable in (False, True):
            export = _core.Export.of_model(model_json(LINKS[name], WEIGHTS, method="proper"))
            _, p = run(export.to_bytes(portable=portable), X)
            assert np.isnan(p).tolist() == [[False] * 2, [True] * 2, [False] * 2], name


@FORMS
@pytest.mark.parametrize("unit_rows", [False, True])
def test_text_columns_are_string_inputs(portable, unit_rows):
    cells, X = mixed_rows(2000)
    link = LINKS["relative:sigmoid:0.05"]
    text = model_json(
        link, MIXED, columns=COLUMNS, unit_rows=unit_rows, classes=("no", "yes"), words=("NA",)
    )
    plain = model_json(link, MIXED, unit_rows=unit_rows)
    ours = _core.Model.from_json(plain).predict_proba(X)
    feed = {name: np.asarray(c).reshape(-1, 1) for name, c in cells.items()}
    feed = {name: c if c.dtype.kind == "f" else c.astype(object) for name, c in feed.items()}
    unseen = cells["job"] == "unseen"
    for zeros in (False, True):
        export = _core.Export.of_model(text, unknown_zeros=zeros)
        label, p = run(export.to_bytes(portable=portable), feed)
        known = slice(None) if zeros else ~unseen
        np.testing.assert_allclose(p[known], ours[known], rtol=0, atol=1e-12)
        assert zeros or np.isnan(p[unseen]).all()
        assert set(label) == {"no", "yes"}


def steep_steps(near):
    """A link with up to 400 steps of 1e-8 around scores of rows: every last bit of them is seen."""
    z = np.sort(near)[::10]
    z = z[np.append(True, np.diff(z) > 1e-7)][:400]
    assert len(z) > 100
    z = np.stack([z - 5e-9, z + 5e-9], axis=1).ravel()
    return {"kind": "isotonic", "z": z.tolist(), "u": np.linspace(0, 1, len(z)).tolist()}


@FORMS
@pytest.mark.parametrize(
    ("features", "unit_rows"),
    [(1, False), *((d, unit) for d in (5, 8, 30, 67) for unit in (False, True))],
)
def test_a_steep_link_gets_our_score_to_the_last_bit(features, unit_rows, portable):
    rng = np.random.default_rng(features)
    weights = rng.normal(size=features)
    X = rng.normal(size=(4000, features)) * 10.0 ** rng.integers(-3, 4, size=features)
    flat = model_json(LINKS["sigmoid"], weights, 0.25, unit_rows=unit_rows)
    z = _core.Model.from_json(flat).scores(X)
    link = steep_steps(z)
    text = model_json(link, weights, 0.25, unit_rows=unit_rows)
    ours = _core.Model.from_json(text).predict_proba(X)
    content = _core.Export.of_model(text).to_bytes(portable=portable)
    # All rows by MatMul, and those near a step once more; the product of one weight has no order.
    kinds = {node.op_type for node in onnx.load_from_string(content).graph.node}
    assert ("MatMul" in kinds) == ("ScatterND" in kinds) == (features > 1)
    _, p = run(content, X)
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)
    assert inversions(ours[:, 1], p[:, 1]) == 0
    on_a_step = np.abs(z[:, None] - np.array(link["z"])[None, ::2] - 5e-9).min(axis=1) < 1e-9
    assert on_a_step.sum() > 100


def steep_on_the_sigmoid(scores):
    """The same learned on the sigmoid: steps of 1e-8 in the score."""
    z = np.sort(scores[np.abs(scores) < 4])[::20]
    z = z[np.append(True, np.diff(z) > 1e-4)]
    assert len(z) > 20
    p = 1 / (1 + np.exp(-np.stack([z - 5e-9, z + 5e-9], axis=1).ravel()))
    p = [0.0, *p.tolist(), 1.0]
    rises = np.where(np.arange(len(p) - 1) % 2 == 1, 1.0, 1e-3)
    v = np.concatenate([[0.0], np.cumsum(rises) / rises.sum()])
    v[-1] = 1.0
    return {"kind": "relative", "base": {"kind": "builtin", "name": "sigmoid"}, "p": p, "v": v.tolist()}


@FORMS
@pytest.mark.parametrize("method", ["bregmantron", "proper"])
def test_a_steep_link_on_the_sigmoid(method, portable):
    X = np.random.default_rng(5).normal(size=(4000, 10))
    flat = _core.Model.from_json(model_json(LINKS["sigmoid"], WEIGHTS))
    text = model_json(steep_on_the_sigmoid(flat.scores(X)), WEIGHTS, method=method)
    X = np.concatenate([X, rows(WEIGHTS, 2000)])
    ours = _core.Model.from_json(text).predict_proba(X)
    content = _core.Export.of_model(text).to_bytes(portable=portable)
    assert "ScatterND" in {node.op_type for node in onnx.load_from_string(content).graph.node}
    _, p = run(content, X)
    # The runtime's sigmoid is ours but for its last places, which the slope of a step multiplies.
    link = json.loads(text)["link"]
    slope = (np.diff(link["v"]) / np.diff(link["p"])).max()
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12 + 2 * 2**-53 * slope)
    assert inversions(ours[:, 1], p[:, 1]) == 0


@FORMS
def test_a_steep_link_on_any_number_of_rows_near_its_steps(portable):
    """None, all, missing ones, none at all."""
    X = np.random.default_rng(6).normal(size=(500, 10))
    z = _core.Model.from_json(model_json(LINKS["sigmoid"], WEIGHTS)).scores(X)
    link = {"kind": "piecewise", "z": [-9.0, 20.0, 20.001, 40.0], "u": [0.0, 0.3, 0.7, 1.0]}
    text = model_json(link, WEIGHTS)
    ours = _core.Model.from_json(text)
    near = X * ((20.0005 + 1e-4 * X[:, 0]) / z)[:, None]
    missing = near.copy()
    missing[::3, 2] = np.nan
    content = _core.Export.of_model(text).to_bytes(portable=portable)
    for part in (X, near, X[:0], missing, np.full((3, 10), np.nan)):
        _, p = run(content, part)
        there = ~np.isnan(part).any(axis=1)
        assert p.shape == (len(part), 2) and (np.isnan(p).all(axis=1) == ~there).all()
        if there.any():
            np.testing.assert_allclose(p[there], ours.predict_proba(part[there]), rtol=0, atol=1e-12)
    assert np.ptp(ours.predict_proba(near)[:, 1]) > 0.05


@FORMS
def test_a_steep_link_over_text_columns(portable):
    cells, X = mixed_rows(2000)
    z = _core.Model.from_json(model_json(LINKS["sigmoid"], MIXED)).scores(X)
    text = model_json(steep_steps(z), MIXED, columns=COLUMNS, words=("NA",))
    plain = model_json(steep_steps(z), MIXED)
    known = cells["job"] != "unseen"
    ours = _core.Model.from_json(plain).predict_proba(X)
    feed = {name: np.asarray(c).reshape(-1, 1) for name, c in cells.items()}
    feed = {name: c if c.dtype.kind == "f" else c.astype(object) for name, c in feed.items()}
    for zeros in (False, True):
        export = _core.Export.of_model(text, unknown_zeros=zeros)
        _, p = run(export.to_bytes(portable=portable), feed)
        rows = slice(None) if zeros else known
        np.testing.assert_allclose(p[rows], ours[rows], rtol=0, atol=1e-12)
        assert zeros or np.isnan(p[~known]).all()


@FORMS
def test_numbered_columns_are_inputs_by_name(portable):
    """A model of a sparse file of very many columns: those in use, in their order."""
    text = json.loads(model_json(LINKS["relative:sigmoid:0.05"], WEIGHTS))
    indices = (np.arange(len(WEIGHTS)) * 1_000_003 + 5).tolist()
    text["preprocessing"]["encoder"] |= {
        "columns": [],
        "sparse": {"first": 1, "features": 2**30, "indices": indices},
    }
    text["feature_names"] = []
    content = _core.Export.of_model(json.dumps(text)).to_bytes(portable=portable)
    said = {entry.key: entry.value for entry in onnx.load_from_string(content).metadata_props}
    names = [f"x{index + 1}" for index in indices]
    assert json.loads(said["columns"]) == json.loads(said["features"]) == names
    X = rows(WEIGHTS, 1000)
    ours = _core.Model.from_json(model_json(LINKS["relative:sigmoid:0.05"], WEIGHTS))
    _, p = run(content, X)
    np.testing.assert_allclose(p, ours.predict_proba(X), rtol=0, atol=1e-12)
    source = _core.Export.of_model(json.dumps(text)).to_bytes("python").decode()
    scope = {}
    exec(source, scope)
    answers = [scope["probability"](row) for row in X[:200].tolist()]
    np.testing.assert_allclose(answers, ours.predict_proba(X[:200])[:, 1], rtol=0, atol=1e-12)

    encoder = text["preprocessing"]["encoder"]
    encoder["sparse"]["indices"] = list(range(2**16 + 1))
    text["weights"] = [1.0] * (2**16 + 1)
    with pytest.raises(ValueError, match="of 65537 numbered columns; it must be one of at most 65536"):
        _core.Export.of_model(json.dumps(text))


@FORMS
def test_knots_that_crowd(portable):
    """No grid of a sensible size: the tree and the bisection find the piece."""
    steps = np.full(40, 1e-7)
    z = np.concatenate([[-4.0], -3.0 + np.cumsum(steps), [2.0, 5.0]])
    u = np.concatenate([np.linspace(0.0, 1e-3, len(z) - 1), [1.0]])
    text = model_json({"kind": "piecewise", "z": z.tolist(), "u": u.tolist()}, [1.0], 0.0)
    content = _core.Export.of_model(text).to_bytes(portable=portable)
    operators = {node.op_type for node in onnx.load_from_string(content).graph.node}
    assert ("TreeEnsembleRegressor" in operators) != portable
    X = np.concatenate([z, np.nextafter(z, 9), np.nextafter(z, -9), np.linspace(-5, 6, 999)])
    ours = _core.Model.from_json(text).predict_proba(X[:, None])
    _, p = run(content, X[:, None])
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)


@FORMS
def test_what_the_file_says_of_itself(portable):
    text = model_json(LINKS["piecewise:7"], MIXED, columns=COLUMNS, classes=("no", "yes"))
    model = onnx.load_from_string(_core.Export.of_model(text).to_bytes(portable=portable))
    said = {entry.key: entry.value for entry in model.metadata_props}
    assert said["properloss.version"] == pl.__version__ == model.producer_version
    assert said["classes"] == '["no","yes"]'
    assert said["columns"] == '["age","job","size","town"]'
    assert said["link"] == "piecewise"
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    assert opsets == ({"": 19} if portable else {"": 17, "ai.onnx.ml": 3})
    assert said["opset"] == ("ai.onnx 19" if portable else "ai.onnx 17, ai.onnx.ml 3")
    if portable:
        assert {node.domain for node in model.graph.node} == {""}


@pytest.mark.parametrize("scaling", ["standardise", "unit-rows"])
@FORMS
def test_fitted_classifiers(classifier, data, tmp_path, portable, scaling):
    X, y = data
    if "scaling" in classifier.get_params():
        classifier.set_params(scaling=scaling)
    clf = classifier.fit(X, np.array(["bad", "good"])[y])
    clf.to_onnx(tmp_path / "model.onnx", portable=portable)
    label, p = run((tmp_path / "model.onnx").read_bytes(), X)
    np.testing.assert_allclose(p, clf.predict_proba(X), rtol=0, atol=1e-12)
    assert (label == clf.predict(X)).all()


#: Fitted to the carried table: the default, every method of the paper, every link of the registry.
EXAMPLES = {
    "default": pl.ProperLossClassifier(),
    "bregmantron": pl.BregmanTronClassifier(max_iter=300),
    "bregmantron, previous": pl.BregmanTronClassifier(target="previous", max_iter=300),
    "certified": pl.CertifiedClassifier(max_iter=100),
    "slisotron": pl.SlisotronClassifier(max_iter=300),
    "glmtron": pl.GlmtronClassifier(max_iter=300),
    "averaged": pl.AveragedGlmtronClassifier(max_iter=300),
    **{link: pl.CanonicalLossClassifier(loss=link) for link in _core.links()},
}


@FORMS
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_models(name, portable, tmp_path):
    """Rows like those of the table, rows far away, rows at the ends of f64."""
    X, y = load_breast_cancer(return_X_y=True)
    clf = clone(EXAMPLES[name]).fit(X, y)
    clf.to_onnx(tmp_path / "model.onnx", portable=portable)
    rng = np.random.default_rng(1)
    rows = X[rng.integers(len(X), size=ROWS)] + X.std(axis=0) * rng.normal(size=(ROWS, X.shape[1]))
    far = np.sign(clf.coef_[0]) * 10.0 ** np.linspace(-320, 307, 200)[:, None]
    rows = np.concatenate([rows, far, -far])
    ours = clf.predict_proba(rows)
    label, p = run((tmp_path / "model.onnx").read_bytes(), rows)
    np.testing.assert_allclose(p, ours, rtol=0, atol=1e-12)
    model = onnx.load(tmp_path / "model.onnx")
    if "MatMul" in {node.op_type for node in model.graph.node}:
        # It adds w.x in another order: scores that differ in the last places may change places.
        order = np.argsort(ours[:, 1], kind="stable")
        falls = (np.diff(p[order, 1]) < 0) & (np.diff(clf.decision_function(rows)[order]) > 1e-12)
        assert not falls.any()
    else:
        assert inversions(ours[:, 1], p[:, 1]) == 0
    sure = np.abs(ours[:, 1] - 0.5) > 1e-12
    assert (label[sure] == (ours[sure, 1] > 0.5)).all()


@FORMS
def test_the_default_and_the_calibrators(data, tmp_path, portable):
    X, y = data
    path = tmp_path / "model.onnx"
    clf = pl.ProperLossClassifier().fit(X, y)
    clf.to_onnx(path, portable=portable)
    label, p = run(path.read_bytes(), X)
    np.testing.assert_allclose(p, clf.predict_proba(X), rtol=0, atol=1e-12)
    assert label.dtype == np.int64 and (label == clf.predict(X)).all()

    rng = np.random.default_rng(5)
    z = rng.normal(size=3000) * 3
    labels = (rng.random(3000) < 0.1 + 0.8 / (1 + np.exp(-z))).astype(int)
    for scores, kind in ((z, "scores"), (1 / (1 + np.exp(-2 * z)), "probabilities")):
        calibrator = pl.ProperCalibrator(kind=kind).fit(scores, labels)
        calibrator.to_onnx(path, portable=portable)
        ends = [[0.0], [1.0], [-1e300], [1e300], [0.5], [-4.0], [1.0 + 1e-9]]
        at = np.concatenate([scores[:, None], ends])
        _, p = run(path.read_bytes(), at)
        # What is no probability is refused here; a graph cannot refuse, and takes the nearest one.
        meant = np.clip(at, 0.0, 1.0) if kind == "probabilities" else at
        np.testing.assert_allclose(p, calibrator.predict_proba(meant), rtol=0, atol=1e-12)
        assert inversions(calibrator.predict(meant), p[:, 1]) == 0


def test_no_file_is_left_behind_a_mistake(tmp_path):
    clf = pl.ProperLossClassifier()
    with pytest.raises(Exception, match="not fitted"):
        clf.to_onnx(tmp_path / "model.onnx")
    X, y = np.eye(6), [0, 1, 0, 1, 0, 1]
    with pytest.raises(ValueError, match="dtype is 'float16'"):
        pl.CanonicalLossClassifier().fit(X, y).to_onnx(tmp_path / "model.onnx", dtype="float16")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="missing"):
        pl.CanonicalLossClassifier().fit(X, y).to_onnx(tmp_path / "missing" / "model.onnx")


# -- skl2onnx --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("portable", [False, True])
def test_a_pipeline_converts(data, dtype, portable):
    skl2onnx = pytest.importorskip("skl2onnx")
    import properloss.onnx
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    properloss.onnx.register()
    X, y = data
    X = X.astype(dtype)
    for classifier in (pl.ProperLossClassifier(), pl.BregmanTronClassifier(max_iter=50)):
        pipeline = make_pipeline(StandardScaler(), classifier).fit(X, y)
        options = {"zipmap": False, "portable": portable}
        model = skl2onnx.to_onnx(pipeline, X[:1], options={id(pipeline[-1]): options})
        onnx.checker.check_model(model)
        inference = ort.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        label, p = inference.run(None, {"X": X})
        # skl2onnx scales in the type of the input.
        bound = 1e-12 if dtype == np.float64 else 1e-5
        assert p.dtype == dtype
        np.testing.assert_allclose(p, pipeline.predict_proba(X), rtol=0, atol=bound)
        assert (label == pipeline.predict(X)).all()


def test_a_pipeline_with_dictionaries_of_probabilities(data):
    skl2onnx = pytest.importorskip("skl2onnx")
    import properloss.onnx

    properloss.onnx.register()
    X, y = data
    clf = pl.CanonicalLossClassifier().fit(X, y)
    model = skl2onnx.to_onnx(clf, X[:1].astype(np.float32))
    inference = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    _, p = inference.run(None, {"X": X.astype(np.float32)})
    np.testing.assert_allclose([row[1] for row in p], clf.predict_proba(X)[:, 1], atol=1e-5)


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_calibrated_classifier(data, tmp_path, ensemble):
    pytest.importorskip("skl2onnx")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    X, y = data
    X = X.astype(np.float32).astype(np.float64)
    # The estimators inside answer as exactly as their converters do: in float.
    for inner in (LogisticRegression(), RandomForestClassifier(10, random_state=0)):
        clf = pl.ProperCalibratedClassifierCV(inner, ensemble=ensemble).fit(X, y)
        clf.to_onnx(tmp_path / "model.onnx")
        content = (tmp_path / "model.onnx").read_bytes()
        inference = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
        label, p = inference.run(None, {"X": X})
        np.testing.assert_allclose(p, clf.predict_proba(X), rtol=0, atol=1e-4)
        assert (label == clf.predict(X)).mean() > 0.99
