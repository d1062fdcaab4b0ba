"""The study of boosters and calibration: `python bench/learners/run.py --profile small|full`.

Runs what is missing in `--out`, then writes the report there. Stopped runs go on where they were, split by
split. `--pooled-only` leaves out the refit and `relink`, which take five sixths of the time; a later run without it
adds them.
"""

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

# One thread a process: the cells run in parallel, and seconds stay comparable.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

HERE = Path(__file__).resolve().parent
# The data sets are those of the quality study.
sys.path[:0] = [str(HERE), str(HERE.parent / "quality")]

REAL = [
    "Pima", "OJ", "biopsy", "spam7", "Mroz", "Titanic", "HMDA", "DoctorVisits", "SmokeBan",
    "attrition", "cells", "credit",
]  # fmt: skip
# Held out by the quality study: no setting of the calibrator was chosen on them.
UNSEEN = ["HealthInsurance", "telco", "Wells", "Arrests", "k401ksubs", "nwtco", "rotterdam", "digits-8"]
FAMILIES = [
    "logistic", "logistic-rare", "probit", "cauchit", "cloglog", "step", "floor-ceiling",
    "class-noise", "symmetric-noise", "heavy-tailed", "unequal-covariance", "interaction",
]  # fmt: skip
PROFILES = {
    "small": {"splits": 3, "rows": [1000], "real": REAL, "unseen": UNSEEN},
    "full": {"splits": 12, "rows": [1000, 4000], "real": REAL, "unseen": UNSEEN},
}
FIELDS = ("kind", "name", "noise", "leaves", "m", "split", "seed")


def tasks(profile, splits, seed, done, options):
    """The cells that are not done, the first split of all sets first."""
    import cells

    for split in range(splits or profile["splits"]):
        for m in profile["rows"]:
            for leaves in (2, 15):
                blocks = [("real", n, e) for n in profile["real"] for e in cells.NOISE]
                blocks += [("unseen", n, e) for n in profile["unseen"] for e in cells.NOISE]
                blocks += [("synthetic", n, "own") for n in FAMILIES]
                for kind, name, noise in blocks:
                    key = (kind, name, noise, leaves, m, split, seed)
                    if key not in done:
                        yield dict(zip(FIELDS, key), options=options)


def read(path):
    """The records by their fields: a cell that was run again counts once."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(r[k] for k in FIELDS): r for r in map(json.loads, lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="small")
    parser.add_argument("--out", type=Path, default=Path("target/learners"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--splits", type=int, help="fresh splits of every set")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other splits")
    parser.add_argument("--pooled-only", action="store_true", help="without the refit and relink")
    parser.add_argument("--report-only", action="store_true")
    arguments = parser.parse_args()
    import cells
    import report

    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"records-{arguments.profile}.jsonl"
    records = read(path)
    if not arguments.report_only:
        options = not arguments.pooled_only
        done = {key for key, r in records.items() if not options or "refit" in r["losses"]}
        profile = PROFILES[arguments.profile]
        todo = list(tasks(profile, arguments.splits, arguments.seed, done, options))
        with ProcessPoolExecutor(arguments.processes) as pool, path.open("a") as file:
            futures = [pool.submit(cells.run, task) for task in todo]
            for number, future in enumerate(as_completed(futures), 1):
                record = future.result()
                records[tuple(record[k] for k in FIELDS)] = record
                file.write(json.dumps(record) + "\n")
                file.flush()
                if sys.stderr.isatty() or number % 50 == 0 or number == len(todo):
                    print(f"\r{number} of {len(todo)} cells", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    text = report.markdown(list(records.values()), arguments.profile)
    (arguments.out / f"report-{arguments.profile}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
