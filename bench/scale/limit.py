"""A file five times the memory limit, under RLIMIT_DATA: `python bench/scale/limit.py [--limit 200MB]`.

The rows take five times the limit in memory. Under the limit the fit in memory is refused; the streamed
fit, told to use less than the limit, goes through. Its probabilities and log-loss are then held against
those of a fit in memory without a limit.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from pathlib import Path

import data
from child import Run, program, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=200, help="MB of data that the process may hold")
    parser.add_argument("--memory", type=float, default=0.75, help="share of it for --memory")
    parser.add_argument("--folder", help="where files go; removed in the end")
    args = parser.parse_args()
    limit = int(args.limit * 2**20)
    rows = int(5 * limit / (4 * data.COLUMNS))
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        path, new = folder / "rows.parquet", folder / "new.parquet"
        data.write(path, rows)
        data.write(new, 100_000, seed=1)
        print(f"{rows} rows, file {path.stat().st_size / 2**20:.0f} MB, limit {args.limit:.0f} MB")
        fit = [program(), "fit", str(path), "--json", "--quiet", "--single-precision", "-o"]
        bound = ["--memory", f"{int(args.memory * limit)}"]
        refused = run([*fit, str(folder / "never.json")], limit)
        print(f"in memory under the limit: exit {refused.code}: {refused.stderr.strip()}")
        streamed = run([*fit, str(folder / "stream.json"), *bound], limit)
        print(f"streamed under the limit: exit {streamed.code} {streamed.stderr.strip()}")
        free = run([*fit, str(folder / "memory.json")])
        show("streamed", streamed)
        show("in memory, no limit", free)
        p = [probabilities(folder / f"{name}.json", new, folder) for name in ("stream", "memory")]
        furthest = max(abs(a - b) for a, b in zip(*p, strict=True))
        print(f"largest difference of probabilities on new rows: {furthest:.2e}")
        losses = [json.loads(done.stdout)["metrics"]["train"]["log_loss"] for done in (streamed, free)]
        print(f"difference of log-loss on the rows: {abs(losses[0] - losses[1]):.2e}")
        assert refused.code != 0 and streamed.code == 0
        assert furthest <= 1e-4 and abs(losses[0] - losses[1]) <= 1e-6


def show(what: str, done: Run) -> None:
    print(f"{what}: {done.seconds:.1f} s, {done.cpu:.1f} s CPU, peak {done.peak_mb:.0f} MB")


def probabilities(model: Path, rows: Path, folder: Path) -> list[float]:
    out = folder / "p.csv"
    done = run([program(), "predict", str(model), str(rows), "-o", str(out), "--quiet"])
    assert done.code == 0, done.stderr
    with out.open() as file:
        return [float(row["probability"]) for row in csv.DictReader(file)]


if __name__ == "__main__":
    main()
