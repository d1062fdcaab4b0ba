"""The quality study for several classes: `python bench/multiclass/run.py --profile quick|short|full`.

Runs what is missing in `--out`, then writes the report there. Stopped runs go on where they were.
"""

import argparse
import json
import os
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
import methods  # noqa: E402
import sets  # noqa: E402
import unseen  # noqa: E402

PROFILES = {
    "quick": {"repetitions": 3, "real": [150, 500], "synthetic": [150, 500, 2000]},
    "short": {"repetitions": 12, "real": [150, 500, 2000], "synthetic": [150, 500, 2000], "slow": 3},
    "full": {"repetitions": 12, "real": [150, 500, None], "synthetic": [150, 500, 2000]},
}
TEST_ROWS = 10_000


def cell(task):
    """All methods on one split; one record a method."""
    block, name, m, repetition = task["block"], task["name"], task["m"], task["repetition"]
    seed = zlib.crc32(f"{block}/{name}/{m}/{repetition}".encode())
    if block == "synthetic":
        x, y, x_test, truth = sets.draw(name, m, TEST_ROWS, seed)
        if len(np.unique(y)) < truth.shape[1]:
            return []
    else:
        parts = sets.split(name, m, seed)
        if parts is None:
            return []
        x, x_test, y, y_test = parts
        truth = np.eye(y.max() + 1)[y_test]
    records = []
    for method in task["methods"]:
        p = np.clip(methods.quietly(methods.METHODS[method], x, y, x_test), 1e-15, None)
        p /= p.sum(1, keepdims=True)
        key = {k: task[k] for k in ("block", "name", "m", "repetition")}
        loss = float(-(truth * np.log(p)).sum(1).mean())
        records.append({**key, "method": method, "rows": len(y), "log_loss": loss})
    return records


def tasks(arguments, done):
    profile = PROFILES[arguments.profile]
    blocks = {"synthetic": list(sets.FAMILIES), "real": sets.FRESH, "real-served": sets.SERVED, "unseen": unseen.NAMES}
    for repetition in range(arguments.repetitions or profile["repetitions"]):
        for block, names in blocks.items():
            for name in names:
                for m in profile["synthetic" if block == "synthetic" else "real"]:
                    key = (block, name, m, repetition)
                    wanted = arguments.methods or list(methods.METHODS)
                    if repetition >= profile.get("slow", np.inf):
                        wanted = [method for method in wanted if method not in methods.SLOW]
                    missing = [method for method in wanted if (*key, method) not in done]
                    chosen = not arguments.names or name in arguments.names
                    if missing and chosen and (not arguments.blocks or block in arguments.blocks):
                        yield dict(zip(("block", "name", "m", "repetition"), key)) | {"methods": missing}


def report(records):
    """Differences of log-loss, ours minus the peer's, in 1e-4 nats; negative is better."""
    table = {}
    for r in records:
        table.setdefault((r["block"], r["name"], r["m"]), {}).setdefault(r["method"], {})[r["repetition"]] = r
    lines = ["# Several classes: test log-loss against the peers", ""]
    lines += ["Differences in 1e-4 nats, negative is better. W/T/L: cells beyond two standard errors of the",
              "mean (corrected for overlapping training sets, Nadeau and Bengio), of cells with three splits or more.",
              "`real-served`: sets that served the tests; `unseen`: sets that served no choice.", ""]
    sizes = sorted({(block, m) for block, _, m in table}, key=lambda pair: (pair[0], pair[1] or 10**9))
    lines += ["| block | rows | cells | splits | against | mean | median | W/T/L |", "|---|---|---|---|---|---|---|---|"]
    cells = {}
    for block, m in sizes:
        for peer in methods.METHODS:
            if peer == "proper":
                continue
            means, outcome, splits = [], [0, 0, 0], []
            for (b, name, size), found in table.items():
                if (b, size) != (block, m) or "proper" not in found or peer not in found:
                    continue
                both = sorted(set(found["proper"]) & set(found[peer]))
                d = np.array([found["proper"][i]["log_loss"] - found[peer][i]["log_loss"] for i in both]) * 1e4
                ratio = 0.0 if block == "synthetic" else 0.43
                if not len(d):
                    continue
                error = d.std(ddof=1) * np.sqrt(1 / len(d) + ratio) if len(d) > 2 else np.inf
                means.append(d.mean())
                splits.append(len(d))
                if len(d) > 2:
                    outcome[0 if d.mean() < -2 * error else 2 if d.mean() > 2 * error else 1] += 1
                cells.setdefault((block, name, m), {})[peer] = (d.mean(), error)
            if means:
                lines.append(f"| {block} | {m or 'all'} | {len(means)} | {min(splits)} to {max(splits)} | {peer} | {np.mean(means):+.0f} | "
                             f"{np.median(means):+.0f} | {'/'.join(map(str, outcome))} |")
    lines += ["", "## Every cell, against the standardised LogisticRegressionCV", "", "| block | set | rows | difference |", "|---|---|---|---|"]
    for (block, name, m), found in sorted(cells.items(), key=str):
        if "lr-cv" in found:
            mean, error = found["lr-cv"]
            spread = f" +- {error:.0f}" if np.isfinite(error) else ""
            lines.append(f"| {block} | {name} | {m or 'all'} | {mean:+.0f}{spread} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--out", type=Path, default=Path("target/multiclass"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--blocks", nargs="*")
    parser.add_argument("--names", nargs="*")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--report", action="store_true", help="only write the report of what is there")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(r["block"], r["name"], r["m"], r["repetition"], r["method"]) for r in records}
    todo = [] if arguments.report else list(tasks(arguments, done))
    with ProcessPoolExecutor(arguments.processes) as pool, path.open("a") as file:
        futures = [pool.submit(cell, task) for task in todo]
        for number, future in enumerate(as_completed(futures), 1):
            for record in future.result():
                records.append(record)
                file.write(json.dumps(record) + "\n")
            file.flush()
            if number % 50 == 0 or number == len(todo):
                print(f"{number} of {len(todo)} cells", file=sys.stderr, flush=True)
    text = report(records)
    (arguments.out / "report.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
