"""Statistics of the records, as `report.md`, `summary.json` and two SVG plots."""

import json
from collections import defaultdict

import numpy as np
from scipy.stats import t as student

FEWEST = 3  # repetitions below which a cell says nothing (others had too few of a class)
UNIT = 1e4  # differences are shown in 1e-4 nats
BASELINES = {
    "synthetic": ["logistic-cv", "sigmoid", "isotonic", "logistic-grid", "logistic"],
    "real": ["logistic-cv", "sigmoid", "isotonic", "logistic-grid", "logistic"],
    "calibration": ["uncalibrated", "sigmoid", "isotonic"],
}


def kind_of(block):
    return block.split("-")[0]


def paired(values, other):
    """Mean and standard error of the paired differences, and Student's 97.5 % point."""
    d = np.array(values) - np.array(other)
    error = d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else float("nan")
    return d.mean(), error, student.ppf(0.975, max(len(d) - 1, 1))


def collect(records, metric):
    """{(block, m): {name: {method: [value by repetition]}}}, complete repetitions only."""
    raw = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for r in records:
        if not r.get("skipped") and metric in r:
            raw[r["block"], r["m"]][r["name"]][(r["repetition"], r["seed"])][r["method"]] = r[metric]
    table = {}
    for key, names in raw.items():
        needed = {"proper", *BASELINES[kind_of(key[0])]}
        table[key] = {}
        for name, repetitions in names.items():
            full = [repetitions[r] for r in sorted(repetitions) if needed <= repetitions[r].keys()]
            if len(full) >= FEWEST:
                table[key][name] = {m: [row[m] for row in full] for m in needed}
        if not table[key]:
            del table[key]
    return dict(sorted(table.items(), key=lambda item: (item[0][0], item[0][1] or 10**9)))


def outcome(mean, error, point):
    if not error > 0 or abs(mean) <= point * error:
        return "tie"
    return "win" if mean < 0 else "loss"


def summarise(records):
    table = collect(records, "log_loss")
    summary = []
    for (block, m), names in table.items():
        for baseline in BASELINES[kind_of(block)]:
            cells = []
            for name, methods in names.items():
                mean, error, point = paired(methods["proper"], methods[baseline])
                cells.append(
                    {"name": name, "mean": mean, "error": error, "outcome": outcome(mean, error, point),
                     "repetitions": len(methods["proper"])}
                )
            summary.append(
                {"block": block, "m": m, "baseline": baseline, "cells": cells,
                 "mean": float(np.mean([c["mean"] for c in cells])),
                 "error": float(np.sqrt(np.sum([c["error"] ** 2 for c in cells])) / len(cells)),
                 "wins": sum(c["outcome"] == "win" for c in cells),
                 "ties": sum(c["outcome"] == "tie" for c in cells),
                 "losses": sum(c["outcome"] == "loss" for c in cells)}
            )
    return summary


def size(m):
    return "all" if m is None else f"{m:,}"


def markdown(records, summary):
    yield "# Quality of the defaults\n"
    yield (
        "`ProperLossClassifier` and `ProperCalibrator` with their defaults, against scikit-learn. "
        "Differences of test log-loss in 1e-4 nats, **negative is better**; ± is the standard error "
        "of paired differences over fresh splits. A win or a loss is a difference beyond the 97.5 % "
        "point of Student's t. `held-out` sets and families were not looked at while the defaults "
        "were chosen; `unseen` ones were listed after the last choice, before any of them was run.\n"
    )
    counts = [c["repetitions"] for row in summary for c in row["cells"]]
    repetitions = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else max(counts)
    cells = [c for row in summary if row["baseline"] == "logistic-cv" for c in row["cells"]]
    lost = [c for c in cells if c["outcome"] == "loss"]
    yield (
        f"{repetitions} repetitions a cell. Against LogisticRegressionCV: {len(cells)} cells, "
        f"{sum(c['outcome'] == 'win' for c in cells)} wins, {len(lost)} losses"
        + (": " + ", ".join(f"{c['name']} {UNIT * c['mean']:+.0f} ± {UNIT * c['error']:.0f}" for c in lost) if lost else "")
        + ". By chance alone one cell in 40 would be called a loss. Seconds are those of the processor, one thread.\n"
    )
    yield "![Differences by data set](differences.svg)\n"
    for block in dict.fromkeys(row["block"] for row in summary):
        yield f"## {block}\n"
        yield "| training rows | against | mean | wins / ties / losses | largest loss |"
        yield "|---|---|---|---|---|"
        for row in (r for r in summary if r["block"] == block):
            lost = [c for c in row["cells"] if c["outcome"] == "loss"]
            worst = max(lost, key=lambda c: c["mean"], default=None)
            worst = f"{worst['name']} {UNIT * worst['mean']:+.1f} ± {UNIT * worst['error']:.1f}" if worst else "none"
            yield (
                f"| {size(row['m'])} | {row['baseline']} | {UNIT * row['mean']:+.1f} ± {UNIT * row['error']:.1f} "
                f"| {row['wins']} / {row['ties']} / {row['losses']} | {worst} |"
            )
        yield ""
    yield from absolute(records)
    yield from per_set(summary)


def absolute(records):
    yield "## Means by method\n"
    yield "Excess is the log-loss beyond that of the true probability, where it is known.\n"
    yield "| block | method | log-loss | excess | Brier | AUC | ECE | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    metrics = ["log_loss", "excess", "brier", "auc", "ece", "seconds"]
    tables = {metric: collect(records, metric) for metric in metrics}
    blocks = dict.fromkeys(block for block, _ in tables["log_loss"])
    for block in blocks:
        for method in ["proper", *BASELINES[kind_of(block)]]:
            cells = []
            for metric in metrics:
                values = [
                    np.mean(methods[method])
                    for (b, _), names in tables[metric].items() if b == block
                    for methods in names.values()
                ]
                cells.append(f"{np.mean(values):.4f}" if values else "")
            yield f"| {block} | {method} | " + " | ".join(cells) + " |"
    yield ""


def per_set(summary):
    yield "## By data set\n"
    for block in dict.fromkeys(row["block"] for row in summary):
        baseline = BASELINES[kind_of(block)][0]
        rows = [r for r in summary if r["block"] == block and r["baseline"] == baseline]
        names = dict.fromkeys(c["name"] for r in rows for c in r["cells"])
        yield f"### {block}, against {baseline}\n"
        yield "| set | " + " | ".join(size(r["m"]) for r in rows) + " |"
        yield "|---" * (len(rows) + 1) + "|"
        for name in names:
            cells = []
            for r in rows:
                cell = next((c for c in r["cells"] if c["name"] == name), None)
                mark = {"win": " **w**", "loss": " **l**", "tie": ""}
                cells.append(
                    f"{UNIT * cell['mean']:+.0f} ± {UNIT * cell['error']:.0f}{mark[cell['outcome']]}" if cell else ""
                )
            yield f"| {name} | " + " | ".join(cells) + " |"
        yield ""


def plot(summary, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "properloss"
    blocks = list(dict.fromkeys(row["block"] for row in summary))
    columns = min(3, len(blocks))
    lines = -(-len(blocks) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(4 * columns, 3.4 * lines), squeeze=False)
    for empty in axes.flat[len(blocks):]:
        empty.set_axis_off()
    colours = {"win": "#1b7837", "tie": "#999999", "loss": "#b2182b"}
    blocks.sort(key=lambda block: (block.removeprefix(f"{kind_of(block)}"), ["real", "synthetic", "calibration"].index(kind_of(block))))
    for axis, block in zip(axes.flat, blocks):
        baseline = BASELINES[kind_of(block)][0]
        rows = [r for r in summary if r["block"] == block and r["baseline"] == baseline]
        for position, row in enumerate(rows):
            cells = sorted(row["cells"], key=lambda c: c["mean"])
            shift = np.linspace(-0.3, 0.3, len(cells))
            for s, cell in zip(shift, cells):
                axis.errorbar(
                    position + s, UNIT * cell["mean"], UNIT * cell["error"], fmt="o",
                    markersize=3, linewidth=0.8, color=colours[cell["outcome"]],
                )
            axis.plot([position - 0.35, position + 0.35], [UNIT * row["mean"]] * 2, color="black")
        axis.axhline(0.0, color="black", linewidth=0.6)
        axis.set_yscale("symlog", linthresh=20)
        axis.set_xticks(range(len(rows)), [size(r["m"]) for r in rows])
        axis.set_title(f"{block}, against {baseline}", fontsize=9)
        axis.set_xlabel("training rows")
    for line in axes:
        line[0].set_ylabel("difference of log-loss, 1e-4 nats\n(below 0: better)")
    figure.suptitle("Each dot a data set: green won, grey tied, red lost; the bar is the mean", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def write(records, out):
    summary = summarise(records)
    if not summary:
        print(f"{out}: records only; a report needs three repetitions of all methods")
        return
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    (out / "report.md").write_text("\n".join(markdown(records, summary)) + "\n")
    plot(summary, out / "differences.svg")
    print(out / "report.md")
