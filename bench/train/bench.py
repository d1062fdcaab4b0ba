"""What a training iteration costs, beside the two matrix-vector products of numpy and scipy.

One run measures both in turns on the same machine and the same number of threads:

    cargo build --release -p bench-train
    python bench/train/bench.py [--quick] [--threads 1 2] [--out FILE.json]

Needs numpy, scipy and threadpoolctl. Times are the least of several, in milliseconds. On a machine
that is busy with other work, `--clock cpu --threads 1` compares processor time instead.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

ROOT = Path(__file__).resolve().parents[2]
CLOCK = "wall"
WORKER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "bench-train"


class Worker:
    """The Rust side: one process, one data set, a fixed number of threads."""

    def __init__(self, threads: int) -> None:
        environment = dict(os.environ, RAYON_NUM_THREADS=str(threads), BENCH_CLOCK=CLOCK)
        self.process = subprocess.Popen(
            [WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, *words: object) -> list[str]:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the worker ended at: {' '.join(map(str, words))}")
        return answer.split()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()


def fashion_mnist() -> tuple[str, np.ndarray, np.ndarray]:
    """Odd v even, pixels in [0, 1]; numbers of the same shape if the data are not there."""
    places = [os.environ.get("PROPERLOSS_DATA"), ROOT / "data", ROOT.parent / "shared" / "data"]
    for place in filter(None, places):
        images = Path(place) / "fashion-mnist" / "train-images-idx3-ubyte.gz"
        labels = Path(place) / "fashion-mnist" / "train-labels-idx1-ubyte.gz"
        if images.exists() and labels.exists():
            x = np.frombuffer(gzip.open(images).read(), np.uint8, offset=16).reshape(-1, 784)
            y = np.frombuffer(gzip.open(labels).read(), np.uint8, offset=8) % 2
            return "fashion-mnist odd v even", (x / np.float32(255)).astype(np.float32), y
    print("no fashion-mnist found (set PROPERLOSS_DATA): random numbers of its shape instead")
    x = np.random.default_rng(0).random((60_000, 784), dtype=np.float32)
    return "random", x, (x[:, 0] > 0.5).astype(np.uint8)


def products(x, repeats: int) -> float:
    """Seconds of X w and of X' r, the least of several each."""
    w = np.full(x.shape[1], 1e-3, x.dtype)
    r = np.full(x.shape[0], 1e-3, x.dtype)
    transposed = x.T
    clock = time.process_time if CLOCK == "cpu" else time.perf_counter
    best = [math.inf, math.inf]
    for _ in range(repeats):
        start = clock()
        x @ w
        middle = clock()
        transposed @ r
        end = clock()
        best = [min(best[0], middle - start), min(best[1], end - middle)]
    return sum(best)


def in_turns(worker: Worker, x, threads: int, rounds: int, iterations: int) -> dict[str, float]:
    """Their two products, our two passes, one of our iterations: round after round."""
    theirs = ours = iteration = iteration_auto = math.inf
    with threadpool_limits(threads):
        for _ in range(rounds):
            theirs = min(theirs, products(x, 5))
            scores, adjoint, _ = worker.ask("passes", "unit-rows")
            ours = min(ours, float(scores) + float(adjoint))
            least, *_ = worker.ask("iterations", "labels", "paper", iterations)
            iteration = min(iteration, float(least))
            least, *_ = worker.ask("iterations", "labels", "auto", iterations)
            iteration_auto = min(iteration_auto, float(least))
    return {
        "products_ms": 1e3 * theirs,
        "passes_ms": 1e3 * ours,
        "iteration_ms": 1e3 * iteration,
        "iteration_auto_ms": 1e3 * iteration_auto,
        "passes_ratio": ours / theirs,
        "iteration_ratio": iteration / theirs,
        "iteration_auto_ratio": iteration_auto / theirs,
    }


def against_numpy(threads: list[int], rounds: int, iterations: int, folder: Path) -> list[dict]:
    name, x, y = fashion_mnist()
    labels = folder / "labels"
    y.tofile(labels)
    text = sp.random(60_000, 20_000, density=0.002, format="csr", random_state=0, dtype=np.float32)
    text_labels = folder / "text-labels"
    (np.asarray(text.sum(axis=1)).ravel() > text.sum() / 60_000).astype(np.uint8).tofile(text_labels)
    cases = [
        (f"{name}, f32", x, labels),
        (f"{name}, f64", x.astype(np.float64), labels),
        (f"{name}, CSR f32", sp.csr_matrix(x), labels),
        (f"{name}, CSR f64", sp.csr_matrix(x.astype(np.float64)), labels),
        ("random 60,000 x 20,000, 40 a row, CSR f32", text, text_labels),
    ]
    results = []
    print(f"{'data':<48}{'threads':>8}{'products':>10}{'passes':>8}{'iter.':>8}"
          f"{'passes/products':>17}{'iter./products':>16}{'(step auto)':>13}", flush=True)
    for title, matrix, label_file in cases:
        kind = "f32" if matrix.dtype == np.float32 else "f64"
        shape = matrix.shape
        if sp.issparse(matrix):
            parts = [matrix.indptr.astype("<i4"), matrix.indices.astype("<i4"), matrix.data]
            files = [folder / part for part in ("offsets", "indices", "values")]
            for part, file in zip(parts, files):
                part.tofile(file)
            load = ["csr", kind, *files, *shape]
        else:
            matrix.tofile(folder / "values")
            load = ["dense", kind, folder / "values", *shape]
        for count in threads:
            # scipy's sparse products know one thread only.
            with Worker(count) as worker:
                worker.ask(*load)
                worker.ask("labels", label_file)
                row = in_turns(worker, matrix, count, rounds, iterations)
            row |= {"data": title, "threads": count}
            results.append(row)
            print(f"{title:<48}{count:>8}{row['products_ms']:>10.2f}{row['passes_ms']:>8.2f}"
                  f"{row['iteration_ms']:>8.2f}{row['passes_ratio']:>17.2f}"
                  f"{row['iteration_ratio']:>16.2f}{row['iteration_auto_ratio']:>13.2f}", flush=True)
    return results


def exponent(sizes: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def scaling(threads: int, iterations: int, largest: int) -> list[dict]:
    """Time of an iteration by rows and by columns, with the exponents of the fitted power laws."""
    results = []
    rows = [10_000, 31_623, 100_000, 316_228, 1_000_000]
    columns = [10, 32, 100, 316, 1000]
    sweeps = [
        ("rows, 20 columns", [(m, 20) for m in rows if m <= largest]),
        ("rows, 100 columns", [(m, 100) for m in rows if m <= largest]),
        ("columns, 50,000 rows", [(50_000, d) for d in columns]),
    ]
    print(f"\nscaling of an iteration (labels, step 1), {threads} thread(s), milliseconds")
    with Worker(threads) as worker:
        for title, shapes in sweeps:
            passes, totals = [], []
            for m, d in shapes:
                worker.ask("synthetic", m, d)
                scores, adjoint, _ = worker.ask("passes", "unit-rows")
                passes.append(1e3 * (float(scores) + float(adjoint)))
                totals.append(1e3 * float(worker.ask("iterations", "labels", "paper", iterations)[0]))
            by = 0 if title.startswith("rows") else 1
            sizes = [shape[by] for shape in shapes]
            row = {
                "by": title, "sizes": sizes, "iteration_ms": totals, "passes_ms": passes,
                "iteration_exponent": exponent(sizes, totals),
                "passes_exponent": exponent(sizes, passes),
            }
            results.append(row)
            print(f"  by {title}: " + ", ".join(f"{s:,}: {t:.2f}" for s, t in zip(sizes, totals))
                  + f"; exponent {row['iteration_exponent']:.2f}"
                  + f" (passes alone {row['passes_exponent']:.2f})", flush=True)
    return results


def memory(largest: int) -> list[dict]:
    """Peak resident memory of a run beyond the data, per row."""
    results = []
    print("\npeak memory beyond the data (20 iterations, unit rows)")
    shapes = [(largest, 20), (max(largest // 10, 60_000), 784)]
    for (m, d), target in itertools.product(shapes, ["labels", "previous", "refit"]):
        with Worker(1) as worker:
            worker.ask("synthetic", m, d)
            _, loaded = map(int, worker.ask("memory"))
            worker.ask("iterations", target, "paper", 20)
            peak, _ = map(int, worker.ask("memory"))
        per_row = 1024 * (peak - loaded) / m
        results.append({"rows": m, "columns": d, "target": target, "loaded_kb": loaded,
                        "peak_kb": peak, "bytes_per_row": per_row})
        print(f"  {m:,} x {d}, {target}: data {4 * m * d / 1e6:.0f} MB, "
              f"{per_row:.0f} bytes a row beyond them", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, up to 1e5 rows")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    arguments = parser.parse_args()
    global CLOCK
    CLOCK = arguments.clock
    if not WORKER.exists():
        raise SystemExit(f"{WORKER} is missing: cargo build --release -p bench-train")
    rounds, iterations = (2, 6) if arguments.quick else (6, 12)
    largest = 100_000 if arguments.quick else 1_000_000
    blas = [f"{i['internal_api']} {i['version']} ({i.get('architecture')})"
            for i in threadpool_info() if i["user_api"] == "blas"]
    print(f"numpy {np.__version__}, {', '.join(blas)}; load {os.getloadavg()[0]:.1f}, "
          f"{os.cpu_count()} cores, {CLOCK} clock", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        results = {
            "numpy": np.__version__, "blas": blas, "cores": os.cpu_count(),
            "against_numpy": against_numpy(arguments.threads, rounds, iterations, Path(folder)),
            "scaling": scaling(1, iterations, largest),
            "memory": memory(largest),
        }
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
