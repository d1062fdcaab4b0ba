"""What the parts of the default are worth: `make quality-ablation` (some minutes), written to docs/quality/ablation.md.

Every variant is the default with one part changed by a parameter that still exists, on the sets and families of the
study, splits of seed 3 (which served no choice). Differences of test log-loss to the default, 1e-4 nats, positive is
worse: mean and median over the sets, and how many sets are better / equal / worse at two standard errors.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

HERE = Path(__file__).resolve().parent
OUT = HERE.parent.parent / "docs" / "quality" / "ablation.md"
VARIANTS = {
    "no link, no second fit (the averaged path alone)": {"smoothness": (), "refit": "none"},
    "no second fit of the weights": {"refit": "none"},
    "second fit under the canonical loss": {"refit": "canonical"},
    "one smoothness, 0.3": {"smoothness": (0.3,)},
    "two smoothnesses, 3 and 0.03": {"smoothness": (3.0, 0.03)},
}


def losses(block, name, m, seed):
    """Test log-loss of the default and of every variant; None where the set is too small."""
    import cells
    import real
    import synthetic
    from properloss import ProperLossClassifier

    truth = None
    if block.startswith("real"):
        parts = real.split(name, m, seed)
        if parts is None:
            return None
        x, x_test, y, y_test = parts
    else:
        x, y, x_test, y_test, truth = synthetic.draw(name, m, cells.SYNTHETIC_TEST_ROWS, seed)
    if min(np.bincount(y, minlength=2)) < 8:
        return None

    def loss(options):
        p = ProperLossClassifier(**options).fit(x, y).predict_proba(x_test)[:, 1]
        return cells.scores(p, y_test, truth)["log_loss"]

    return [loss({}), *(loss(options) for options in VARIANTS.values())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--sizes", type=int, nargs="*", default=[250, 500])
    arguments = parser.parse_args()
    sys.path.insert(0, str(HERE))
    import cells
    import real
    import synthetic

    sets = {
        "synthetic-held-out": list(synthetic.HELD_OUT),
        "real-held-out": [name for name in real.HELD_OUT if name != "digits-8"],
        "synthetic": list(synthetic.FAMILIES),
        "real": [*real.NAMES, "digits-8"],
    }
    out = ["# What the parts are worth\n", " ".join(__doc__.split("\n\n", 1)[1].split())]
    out.append(f"\n{arguments.repetitions} repetitions; training rows {', '.join(map(str, arguments.sizes))} together.\n")
    out += ["| block | variant | mean | median | better / equal / worse |", "|---|---|---|---|---|"]
    for block, names in sets.items():
        differences = {variant: [] for variant in VARIANTS}
        for name in names:
            for m in arguments.sizes:
                seeds = [cells.seed_of(block, name, m, r, 3) for r in range(arguments.repetitions)]
                rows = [found for seed in seeds if (found := losses(block, name, m, seed)) is not None]
                if len(rows) >= 3:
                    table = np.array(rows)
                    for k, variant in enumerate(VARIANTS, 1):
                        differences[variant].append(1e4 * (table[:, k] - table[:, 0]))
        for variant, found in differences.items():
            means = [d.mean() for d in found]
            errors = [d.std(ddof=1) / np.sqrt(len(d)) for d in found]
            better = sum(a < -2 * e for a, e in zip(means, errors))
            worse = sum(a > 2 * e for a, e in zip(means, errors))
            out.append(
                f"| {block} | {variant} | {np.mean(means):+.1f} | {statistics.median(means):+.1f} "
                f"| {better} / {len(means) - better - worse} / {worse} |"
            )
        print("\n".join(out[-len(VARIANTS):]), flush=True)
    OUT.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
