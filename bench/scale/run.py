"""Time, peak memory and rounds from 1e5 rows on: `python bench/scale/run.py --rows 1e5 1e6 1e7`.

Each line is one child process on one Parquet file (20 columns of 4 bytes). `memory`: the command with all
rows in memory. `stream`: with `--memory`. `cache`: the same again from its cache, nothing decoded. Then
the fit of rows that are made while they are read and never are a file (Python), and
the passes of other libraries that hold one batch at a time. CPU is the processor time of all threads, which
other programs on the machine change less than the clock.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib.util import find_spec
from pathlib import Path

import data
from child import program, python, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--memory", default="256MB", help="for the streamed fits")
    parser.add_argument("--in-memory-up-to", type=float, default=1e7)
    parser.add_argument("--peers-up-to", type=float, default=1e7)
    parser.add_argument("--generated-up-to", type=float, default=1e7, help="made twice: slow")
    parser.add_argument("--folder", help="where files go; removed in the end")
    args = parser.parse_args()
    print(f"{'rows':>10} {'what':<23} {'seconds':>8} {'CPU s':>8} {'peak MB':>8} {'rounds':>6} {'log-loss':>9}")
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        for rows in (int(rows) for rows in args.rows):
            path = folder / f"{rows}.parquet"
            data.write(path, rows)
            lines(path, rows, folder, args)
            path.unlink()


def lines(path: Path, rows: int, folder: Path, args: argparse.Namespace) -> None:
    fit = [program(), "fit", str(path), "-o", str(folder / "model.json"), "--json", "--quiet"]
    cache = folder / "cache"
    stream = [*fit, "--memory", args.memory, "--cache", str(cache)]
    table: list[tuple[str, list[str]]] = []
    if rows <= args.in_memory_up_to:
        table.append(("memory", fit))
    table += [(f"stream, {args.memory}", stream), (f"cache, {args.memory}", stream)]
    if rows <= args.generated_up_to:
        table.append((f"generated, {args.memory}", python("generated.py", rows, args.memory)))
    if rows <= args.peers_up_to:
        table.append(("SGDClassifier, 5 passes", python("peers.py", "sgd", path, 5)))
        table.append(("ours on Dask, 4 blocks", python("peers.py", "dask", path)))
        for name, module, words in (
            ("xgboost", "xgboost", "xgboost, 10 trees"),
            ("lightgbm", "lightgbm", "LightGBM Dask, 10 trees"),
            ("dask-ml", "dask_ml", "dask-ml, ADMM, 10"),
        ):
            if find_spec(module):
                table.append((words, python("peers.py", name, path, 10)))
    for what, command in table:
        done = run(command)
        if done.code != 0:
            print(f"{rows:>10} {what:<23} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
            continue
        # Some libraries talk before the answer.
        said = json.loads(done.stdout[done.stdout.index("{") :])
        rounds = said.get("passes", said.get("iterations"))
        peak = max(done.peak_mb, said.get("workers_mb", 0.0))
        loss = said["log_loss"] if "log_loss" in said else said["metrics"]["train"]["log_loss"]
        print(
            f"{rows:>10} {what:<23} {done.seconds:>8.1f} {done.cpu:>8.1f} {peak:>8.0f}"
            f" {rounds:>6} {loss:>9.6f}",
            flush=True,
        )
    for file in cache.glob("*"):
        file.unlink()


if __name__ == "__main__":
    main()
