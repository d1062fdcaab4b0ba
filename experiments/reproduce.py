"""Run the paper's experiments; write results.json, the figures and docs/reproduction.md.

    python experiments/reproduce.py [--data DIR] [--full] [--out DIR] [--jobs N]

The fast profile writes ``reproduction.md`` and ``reproduction/`` below ``--out`` (docs/), ``--full``
writes ``reproduction-full.md`` and ``reproduction-full/``. The results do not depend on ``--jobs``
nor on the number of threads.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy
import scipy
import sklearn

import data
import links
import properloss
import slisotron
import table1
import transfer
from settings import FAST, FULL, Profile

PARTS = {
    "table1": table1.run,
    "links": links.run,
    "slisotron": slisotron.run,
    "transfer": transfer.run,
}


def versions() -> dict[str, str]:
    """What the results were made with."""
    return {
        "properloss": properloss.__version__,
        "Python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "matplotlib": matplotlib.__version__,
    }


def compute(directory: Path, profile: Profile, jobs: int) -> dict[str, Any]:
    """Every number of the report."""
    results: dict[str, Any] = {
        "profile": profile.name,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions(),
        "settings": {
            "seeds": profile.seeds,
            "rows": profile.rows,
            "iterations": profile.iterations,
            "full_iterations": profile.full_iterations,
            "full_synth_rows": profile.full_synth_rows,
            "search_seeds": profile.search_seeds,
            "validation_rows": profile.validation_rows,
            "transfer_seeds": profile.transfer_seeds,
            "transfer_rows": profile.transfer_rows,
            "transfer_iterations": profile.transfer_iterations,
            "transfer_labels": profile.transfer_labels,
        },
    }
    for name, part in PARTS.items():
        results[name] = part(str(directory), profile, jobs)
    # Through JSON and back: a report made from the file is the same.
    return json.loads(as_json(results))


def as_json(results: dict[str, Any]) -> str:
    """Floats with six significant digits: more than is printed, and a file of readable size."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.6g}")
        if isinstance(value, dict):
            return {key: rounded(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [rounded(item) for item in value]
        return value

    text = json.dumps(rounded(results), indent=1)
    # Lists and means on one line each.
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda m: " ".join(m.group().split()), text) + "\n"


def write(path: Path, text: str) -> None:
    """A whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def publish(results: dict[str, Any], out: Path) -> Path:
    """Figures and document from the results."""
    import figures
    import report

    name = "reproduction-full" if results["profile"] == "full" else "reproduction"
    figures.draw_all(results, out / name)
    page = out / f"{name}.md"
    write(page, report.page(results, name))
    return page


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Run the paper's experiments and write the report.")
    parser.add_argument("--data", metavar="DIR", help="where mnist/ and fashion-mnist/ are")
    parser.add_argument("--full", action="store_true", help="all seeds and iterations (long)")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=data.ROOT / "docs", help="where to write [docs/]"
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--from", dest="source", metavar="FILE", type=Path, help="only rewrite the report of a results.json"
    )
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error("--jobs must be 1 or more")
    if options.source:
        results = json.loads(options.source.read_text(encoding="utf-8"))
    else:
        try:
            directory = data.find(options.data)
        except data.NoData as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        profile = FULL if options.full else FAST
        results = compute(directory.resolve(), profile, options.jobs)
        name = "reproduction-full" if options.full else "reproduction"
        write(options.out / name / "results.json", as_json(results))
    print(publish(results, options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
