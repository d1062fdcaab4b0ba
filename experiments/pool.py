"""Independent tasks on several processes. Results come in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

Task = tuple[Callable[..., Any], tuple[Any, ...]]


def run(tasks: Sequence[Task], jobs: int, title: str) -> list[Any]:
    """Run every task; ``jobs`` is the number of processes (1: this one)."""
    start = time.monotonic()
    results: list[Any] = []

    def said(result: Any) -> None:
        results.append(result)
        if sys.stderr.isatty():
            print(f"\r{title}: {len(results)}/{len(tasks)}", end="", file=sys.stderr, flush=True)

    if jobs == 1:
        for function, arguments in tasks:
            said(function(*arguments))
    else:
        # Small tasks: one thread each is the fastest. The results do not depend on it.
        os.environ.setdefault("RAYON_NUM_THREADS", "1")
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context) as executor:
            futures = [executor.submit(function, *arguments) for function, arguments in tasks]
            for future in futures:
                said(future.result())
    end = "\r" if sys.stderr.isatty() else ""
    seconds = time.monotonic() - start
    print(f"{end}{title}: {len(tasks)} tasks, {seconds:.0f} s", file=sys.stderr)
    return results


def by_key(
    cell: Callable[..., Any],
    directory: str,
    keys: Sequence[tuple[str, str]],
    seeds: Sequence[int],
    rest: tuple[Any, ...],
    jobs: int,
    title: str,
) -> Iterator[tuple[str, str, list[Any]]]:
    """``cell(directory, dataset, key, seed, *rest)`` of every (dataset, key), the seeds together."""
    tasks = [(cell, (directory, *key, seed, *rest)) for key in keys for seed in seeds]
    results = iter(run(tasks, jobs, title))
    for dataset, key in keys:
        yield dataset, key, [next(results) for _ in seeds]
