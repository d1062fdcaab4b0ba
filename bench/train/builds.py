"""An iteration of two builds, in turns: `python bench/train/builds.py BEFORE AFTER`, two `bench-train` programs.

Processor time on one thread; of every case the least of all turns counts, and the ratio is after / before. Then the peak memory
of twenty iterations beyond the data, bytes a row, each in a process of its own.
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench

SHAPES = [(60_000, 784), (100_000, 100), (1_000_000, 20)]
TARGETS = ["labels", "previous", "refit"]
TURNS = 6


def worker(program):
    bench.WORKER, bench.CLOCK = program, "cpu"
    return bench.Worker(1)


def times(programs):
    for m, d in SHAPES:
        workers = [worker(program) for program in programs]
        for each in workers:
            each.ask("synthetic", m, d)
        cases = [("passes", "unit-rows"), *(("iterations", target, "paper", 8) for target in TARGETS)]
        least = {case: [math.inf, math.inf] for case in cases}
        for turn in range(TURNS):
            for case in cases:
                # Who begins changes with the turn.
                for k in (0, 1) if turn % 2 else (1, 0):
                    answer = workers[k].ask(*case)
                    seconds = float(answer[0]) + (float(answer[1]) if case[0] == "passes" else 0.0)
                    least[case][k] = min(least[case][k], seconds)
        for case, (before, after) in least.items():
            print(f"{m:>9,} x {d:<4} {' '.join(map(str, case[:2])):20}{1e3 * before:9.2f}{1e3 * after:9.2f}"
                  f"{after / before:7.2f}", flush=True)
        for each in workers:
            each.__exit__()


def memory(programs):
    for m, d in SHAPES:
        for target in TARGETS:
            rows = []
            for program in programs:
                with worker(program) as each:
                    each.ask("synthetic", m, d)
                    _, loaded = map(int, each.ask("memory"))
                    each.ask("iterations", target, "paper", 20)
                    peak, _ = map(int, each.ask("memory"))
                rows.append(1024 * (peak - loaded) / m)
            print(f"{m:>9,} x {d:<4} {target:20}{rows[0]:9.1f}{rows[1]:9.1f} bytes a row", flush=True)


if __name__ == "__main__":
    print(f"{'rows x columns':17} {'case':20}{'before':>9}{'after':>9}{'ratio':>7}   milliseconds of the processor")
    times(sys.argv[1:3])
    memory(sys.argv[1:3])
