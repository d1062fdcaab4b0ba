"""Exported graphs against a plain sigmoid graph on onnxruntime: one thread, in turns.

The plain graph is MatMul, Add, Sigmoid in double: one probability a row. Ours give the label and both
probabilities. Times are the processor's, the least of the repeats, so that other work on the machine
counts little; the figure of merit is the ratio. With words: only the links whose name has one of them.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import properloss
from properloss import _core

sys.path.insert(0, "python/tests")
from export_models import knots, model_json

ROWS, FEATURES, REPEATS = 1_000_000, 50, 5


def plain(weights: np.ndarray, kind: int) -> bytes:
    nodes = []
    if kind == TensorProto.FLOAT:
        nodes.append(helper.make_node("Cast", ["X"], ["D"], to=TensorProto.DOUBLE))
    x = "D" if nodes else "X"
    nodes += [
        helper.make_node("MatMul", [x, "w"], ["s"]),
        helper.make_node("Add", ["s", "b"], ["z"]),
        helper.make_node("Sigmoid", ["z"], ["p"]),
    ]
    graph = helper.make_graph(
        nodes,
        "plain",
        [helper.make_tensor_value_info("X", kind, ["rows", FEATURES])],
        [helper.make_tensor_value_info("p", TensorProto.DOUBLE, ["rows", 1])],
        [
            numpy_helper.from_array(weights.reshape(-1, 1), "w"),
            numpy_helper.from_array(np.array([[0.25]]), "b"),
        ],
    )
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()


def session(content: bytes) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def in_log_odds(rng: np.random.Generator, base: dict) -> dict:
    """Knots from -14 to 14 in log-odds: in probability they crowd at 0 and 1."""
    scores = np.linspace(-14, 14, 299) + rng.uniform(-0.03, 0.03, 299)
    p = [0.0, *(1 / (1 + np.exp(-scores))).tolist(), 1.0]
    slopes = rng.uniform(0.5, 2, 300) * np.diff(p)
    v = np.concatenate([[0.0], np.cumsum(slopes) / slopes.sum()])
    v[-1] = 1.0
    return {"kind": "relative", "base": base, "p": p, "v": v.tolist()}


def at_scores(rng: np.random.Generator, rows: int) -> dict:
    """A link whose knots are scores of training rows: some all but meet."""
    z = np.sort(2 * rng.normal(size=rows))
    return {"kind": "piecewise", "z": z.tolist(), "u": np.linspace(0.0, 1.0, rows).tolist()}


def slope(link: dict) -> float:
    """That of the steepest piece: above 256, w.x is added in the engine's order."""
    return float(np.max(np.diff(link["u"]) / np.diff(link["z"])))


def main() -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=FEATURES) / np.sqrt(FEATURES) * 2
    X = rng.normal(size=(ROWS, FEATURES))
    p, v = (knots(rng, 300, decades=1) for _ in range(2))
    z = (np.array(knots(rng, 300, decades=1)) * 16 - 8).tolist()
    sigmoid = {"kind": "builtin", "name": "sigmoid"}
    models = {
        "sigmoid": sigmoid,
        "learned on the sigmoid, 20 pieces": {
            "kind": "relative",
            "base": sigmoid,
            "p": knots(rng, 20, decades=1),
            "v": knots(rng, 20, decades=1),
        },
        "learned on the sigmoid, 300 pieces": {"kind": "relative", "base": sigmoid, "p": p, "v": v},
        "learned on the sigmoid, 300 pieces in log-odds, as the default's": in_log_odds(rng, sigmoid),
        "learned, 300 pieces": {"kind": "piecewise", "z": z, "u": v},
        **{
            f"learned, 569 scores of a sample as knots, slope {slope(link):.0f}": link
            for link in (at_scores(np.random.default_rng(seed), 569) for seed in (0, 13, 16))
        },
        **{name: {"kind": "builtin", "name": name} for name in _core.links() if name != "sigmoid"},
    }
    wanted = sys.argv[1:]
    models = {k: v for k, v in models.items() if not wanted or any(word in k for word in wanted)}
    print(f"properloss {properloss.__version__}, onnxruntime {ort.__version__}, {ROWS} x {FEATURES}")
    for dtype, kind in ((np.float64, TensorProto.DOUBLE), (np.float32, TensorProto.FLOAT)):
        feed = {"X": X.astype(dtype)}
        float_input = dtype == np.float32
        contents = {}
        for name, link in models.items():
            export = _core.Export.of_model(model_json(link, weights, method="proper"))
            contents[name] = export.to_bytes(float_input=float_input)
            if "300" in name:
                content = export.to_bytes(float_input=float_input, portable=True)
                contents[f"{name}, portable"] = content
        base = session(plain(weights, kind))
        print(f"\n| {np.dtype(dtype).name} input | ms | plain graph, ms | ratio |\n|---|---|---|---|")
        for name, content in contents.items():
            # One session beside the plain one at a time: each keeps its memory.
            graph = session(content)
            best = [np.inf, np.inf]
            for _ in range(REPEATS):
                for k, run in enumerate((graph, base)):
                    start = time.process_time()
                    run.run(None, feed)
                    best[k] = min(best[k], time.process_time() - start)
            ms = [1000 * seconds for seconds in best]
            print(f"| {name} | {ms[0]:.0f} | {ms[1]:.0f} | {ms[0] / ms[1]:.2f} |", flush=True)
            del graph


if __name__ == "__main__":
    main()
