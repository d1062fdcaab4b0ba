"""The study in short: `make quality-summary` reads docs/quality/report.md and writes summary.md beside it.

Blocks that served no choice first (*unseen*: listed after the last choice, before any of them was run; *held-out*: not looked at
while the defaults were chosen); medians beside means; the fair baseline (LogisticRegressionCV on our own strengths); re-splits
of one real set counted as what they are: Nadeau and Bengio (2003) put the variance of the mean of J splits with n1
training and n2 test rows at (1/J + n2/n1) s², not s²/J. Synthetic rows are drawn anew, so s²/J is right there.
Where blocks have fewer repetitions than others the largest number is taken, which
makes fewer wins and losses. Errors are read from the report's table, where they are rounded to 1e-4 nats (0 counts as one half).
"""

import math
import re
import statistics
import sys
from pathlib import Path

from scipy.stats import t as student

HERE = Path(__file__).resolve().parent
REPORT = HERE.parent.parent / "docs" / "quality" / "report.md"
BLOCKS = ["real-unseen", "synthetic-unseen", "real-held-out", "synthetic-held-out", "real", "synthetic"]
#: Shares its images with the design set digits-odd, so it is not held out, whatever its block is called.
NOT_HELD_OUT = {"digits-8"}


def cells(text, block):
    """(set, training rows, mean, error, outcome) of a block of the report, against LogisticRegressionCV."""
    part = text.split(f"### {block}, against logistic-cv\n")[1].split("\n### ")[0]
    lines = [[c.strip() for c in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        for m, cell in zip(lines[0][1:], line[1:]):
            found = re.match(r"([+-]\d+) ± (\d+)(?: \*\*(.)\*\*)?", cell)
            if found:
                yield line[0], m, int(found[1]), max(int(found[2]), 0.5), {"w": 0, None: 1, "l": 2}[found[3]]


def corrected(name, m, mean, error, repetitions):
    """Win, tie or loss with the variance of Nadeau and Bengio."""
    import real

    rows = len(real.load(name)[1])
    train = min(int(0.7 * rows), 20_000) if m == "all" else int(m.replace(",", ""))
    test = min(rows - train, 20_000)
    bar = student.ppf(0.975, repetitions - 1) * error * math.sqrt(1 + repetitions * test / train)
    return 0 if mean < -bar else 2 if mean > bar else 1


def count(outcomes):
    return " / ".join(str(outcomes.count(k)) for k in range(3))


def fair(text, block):
    """Wins, ties and losses against LogisticRegressionCV on our own strengths."""
    part = text.split(f"## {block}\n")[1].split("\n## ")[0]
    rows = re.findall(r"\| logistic-grid \|[^|]*\| (\d+) / (\d+) / (\d+)", part)
    return [sum(int(row[k]) for row in rows) for k in range(3)]


def main():
    sys.path.insert(0, str(HERE))
    text = REPORT.read_text()
    repetitions = int(re.search(r"(\d+) repetitions a cell", text)[1])
    out = ["# The study in short\n", "Written by `make quality-summary` from [report.md](report.md). " + " ".join(__doc__.split("\n\n", 1)[1].split()) + "\n"]
    out.append("Wins / ties / losses against LogisticRegressionCV in test log-loss, cells of set and number of rows:\n")
    out.append("| block | cells | as if splits were independent | corrected | fair baseline |")
    out.append("|---|---|---|---|---|")
    medians, clean = [], []
    for block in BLOCKS:
        found = list(cells(text, block))
        outcomes = [cell[4] for cell in found]
        if block.endswith(("unseen", "held-out")):
            clean += [cell[4] for cell in found if cell[0] not in NOT_HELD_OUT]
        again = outcomes
        if block.startswith("real"):
            again = [corrected(*cell[:4], repetitions) for cell in found]
        out.append(f"| {block} | {len(found)} | {count(outcomes)} | {count(again)} | {' / '.join(map(str, fair(text, block)))} |")
        order = lambda m: float("inf") if m == "all" else int(m.replace(",", ""))  # noqa: E731
        sizes = sorted({cell[1] for cell in found}, key=order)
        values = {m: [cell[2] for cell in found if cell[1] == m] for m in sizes}
        means = " / ".join(f"{statistics.mean(values[m]):+.0f}" for m in sizes)
        middle = " / ".join(f"{statistics.median(values[m]):+.0f}" for m in sizes)
        medians.append(f"| {block}, {' / '.join(sizes)} rows | {means} | {middle} |")
    out.append(f"\nUnseen and held-out cells without digits-8: {len(clean)}, {count(clean)}.\n")
    out.append("Differences in 1e-4 nats over the sets, negative is better:\n")
    out += ["| block | mean | median |", "|---|---|---|", *medians]
    (REPORT.parent / "summary.md").write_text("\n".join(out) + "\n")
    print("\n".join(out))


if __name__ == "__main__":
    main()
