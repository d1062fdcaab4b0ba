"""Two builds on the same splits: `python bench/quality/paired.py BEFORE/records.jsonl AFTER/records.jsonl [method]`.

The records are those of run.py with each build's module (`--out BEFORE`, `--out AFTER`, the same seed). Differences of test
log-loss in 1e-4 nats, after less before: negative is better. The error of a mean over sets is that of its draws, the sets being
what they are; better / equal / worse counts sets beyond two standard errors.
"""

import json
import sys
from pathlib import Path

import numpy as np


def losses(path, method):
    """The log-loss of every split of every cell."""
    cells = {}
    for line in Path(path).read_text().splitlines():
        record = json.loads(line)
        if record["method"] == method and "log_loss" in record:
            cell = (record["block"], record["m"], record["name"])
            cells.setdefault(cell, {})[record["repetition"], record["seed"]] = record["log_loss"]
    return cells


def main():
    before, after = (losses(path, sys.argv[3] if len(sys.argv) > 3 else "proper") for path in sys.argv[1:3])
    blocks = {}
    for (block, m, name), of in sorted(after.items(), key=str):
        both = sorted(set(of) & set(before.get((block, m, name), {})))
        if len(both) < 2:
            continue
        d = 1e4 * np.array([of[split] - before[block, m, name][split] for split in both])
        blocks.setdefault((block, m), []).append((name, d.mean(), d.std(ddof=1) / np.sqrt(len(d)), len(d)))
    for (block, m), sets in blocks.items():
        means, errors = np.array([s[1] for s in sets]), np.array([s[2] for s in sets])
        counts = [int(np.sum(c)) for c in (means < -2 * errors, np.abs(means) <= 2 * errors, means > 2 * errors)]
        error = np.sqrt(np.sum(errors**2)) / len(sets)
        print(f"{block} {m or 'all'}: {means.mean():+.1f} ± {error:.1f}, median {np.median(means):+.1f}, "
              f"{'/'.join(map(str, counts))} of {len(sets)} sets, {min(s[3] for s in sets)} draws and more")
        for name, mean, error, _ in sorted(sets, key=lambda s: s[1]):
            print(f"    {name:24}{mean:+8.1f} ± {error:.1f}")


if __name__ == "__main__":
    main()
