"""A pass from the cache against a pass in memory, in turns: `python bench/scale/turns.py --rows 1e7 --turns 3`.

Both are the same fit of the same file with values of 4 bytes, after reading: `memory` holds the rows, `cache`
reads them from blocks in every pass. Seconds are those of the fit alone (what the program says), CPU those of
the process. The last lines are the two ratios that matter: seconds a pass, and seconds of the whole fit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import data
from child import program, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--memory", default="256MB", help="for the fits from the cache")
    parser.add_argument("--folder", help="where files go; removed in the end")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        path = folder / "rows.parquet"
        data.write(path, int(args.rows))
        fit = [program(), "fit", str(path), "-o", str(folder / "model.json"), "--json", "--quiet"]
        cached = [*fit, "--memory", args.memory, "--cache", str(folder / "cache")]
        commands = {"memory": [*fit, "--single-precision"], "cache": cached}
        run(cached)  # writes the cache
        seconds: dict[str, list[float]] = {what: [] for what in commands}
        passes: dict[str, int] = {}
        print(f"{'turn':>4} {'what':<7} {'fit s':>8} {'passes':>6} {'s a pass':>9} {'CPU s':>8} {'peak MB':>8}")
        for turn in range(args.turns):
            for what, command in commands.items():
                done = run(command)
                assert done.code == 0, done.stderr
                said = json.loads(done.stdout)
                seconds[what].append(said["seconds"])
                passes[what] = said["iterations"]
                print(
                    f"{turn + 1:>4} {what:<7} {said['seconds']:>8.2f} {passes[what]:>6}"
                    f" {said['seconds'] / passes[what]:>9.3f} {done.cpu:>8.1f} {done.peak_mb:>8.0f}",
                    flush=True,
                )
        middle = {what: statistics.median(times) for what, times in seconds.items()}
        a_pass = {what: middle[what] / passes[what] for what in middle}
        print(f"speed of a pass, cache / memory: {a_pass['memory'] / a_pass['cache']:.2f} (at least 0.5)")
        print(f"time of the fit, cache / memory: {middle['cache'] / middle['memory']:.2f} (at most 2)")


if __name__ == "__main__":
    main()
