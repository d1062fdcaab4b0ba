"""What a round costs on a cluster: measured on local processes, then by a model for more.

`python bench/scale/workers.py [--rows 2000000]`: a fit with eight blocks on 1, 2, 4 and 8 workers of one thread.
A round of the fit puts one question to every block. Model of a round:

    seconds = t_task * blocks  +  work / min(workers, cores)  +  bytes / bandwidth

`t_task` is measured with empty questions (a task that returns at once), `work` on one worker, `bytes` are
counted. The model is printed beside what was measured, and then for 10, 100 and 1,000 workers with two
blocks each and rows in proportion, for a network of 1 GB/s at the scheduler.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import data
import numpy as np
from distributed import Client, LocalCluster

import properloss.dask as ours

BANDWIDTH = 1e9


def nothing(k: int, question: bytes) -> bytes:
    return question[:8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8])
    args = parser.parse_args()
    cores = os.cpu_count() or 1
    print(f"{int(args.rows)} rows x {data.COLUMNS}, {args.blocks} blocks, {cores} cores")
    print(f"{'workers':>7} {'rounds':>6} {'s a round':>10} {'s a task, empty':>16} {'kB a round':>10} {'model':>8}  bits")
    work = task = size = 0.0
    bits: bytes | None = None
    for workers in args.workers:
        with LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster, Client(cluster) as client:
            task = empty(client, args.blocks)
            X, y = collections(int(args.rows), args.blocks)
            asked: list[tuple[float, int]] = []
            fit = Timed(client=client, blocks=args.blocks, log=asked).fit(X, y)
            seconds = float(np.sum([second for second, _ in asked])) / len(asked)
            size = float(np.mean([count for _, count in asked]))
            if not work:
                work = seconds - task * args.blocks
            model = task * args.blocks + work / min(workers, cores) + size / BANDWIDTH
            own = fit.coef_.tobytes()
            same = "" if bits is None else ("same" if own == bits else "DIFFERENT")
            bits = own
            print(
                f"{workers:>7} {len(asked):>6} {seconds:>10.3f} {task:>16.5f} {size / 1e3:>10.0f}"
                f" {model:>8.3f}  {same}",
                flush=True,
            )
    print("by the model, rows in proportion to the workers (as many a worker as one had here):")
    for workers in (10, 100, 1000):
        blocks = 2 * workers
        sending = size / args.blocks * blocks
        parts = {"tasks": task * blocks, "rows": work, "network": sending / BANDWIDTH}
        words = ", ".join(f"{name} {part:.3f}" for name, part in parts.items())
        print(
            f"{workers:>7} workers, {args.rows * workers:.0e} rows: {sum(parts.values()):.2f} s a round"
            f" ({words}; {sending / 1e6:.1f} MB)"
        )


class Timed(ours.DaskProperLossClassifier):
    """Keeps how long every round took, and the bytes that went out and came back."""

    def __init__(self, *, client: Any = None, blocks: Any = None, log: Any = None) -> None:
        super().__init__(client=client, blocks=blocks)
        self.log = log

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        plain = ours._core.fit_blocks

        def timed(task: Any, method: str, settings: Any) -> Any:
            facts, ask = task["blocks"]

            def measured(question: bytes) -> list[bytes]:
                start = time.perf_counter()
                answers = ask(question)
                moved = len(question) * len(answers) + sum(map(len, answers))
                self.log.append((time.perf_counter() - start, moved))
                return answers

            return plain({**task, "blocks": (facts, measured)}, method, settings)

        ours._core.fit_blocks = timed
        try:
            return super().fit(X, y)
        finally:
            ours._core.fit_blocks = plain


def empty(client: Client, blocks: int) -> float:
    """Seconds a task of a round in which nothing is computed."""
    question = bytes(4000)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        client.gather([client.submit(nothing, k, question, pure=False) for k in range(blocks)])
        best = min(best, time.perf_counter() - start)
    return best / blocks


def collections(rows: int, blocks: int) -> tuple[Any, Any]:
    import dask.array as da

    def part(k: int) -> tuple[Any, Any]:
        made = list(data.batches(rows // blocks, seed=k))
        return np.concatenate([X for X, _ in made]), np.concatenate([y for _, y in made])

    from dask import delayed

    parts = [delayed(part)(k) for k in range(blocks)]
    size = rows // blocks
    X = [da.from_delayed(p[0], (size, data.COLUMNS), dtype=np.float32) for p in parts]
    y = [da.from_delayed(p[1], (size,), dtype=np.int8) for p in parts]
    return da.concatenate(X), da.concatenate(y)


if __name__ == "__main__":
    main()
