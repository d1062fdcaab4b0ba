"""Tables of the study, as Markdown."""

from collections import defaultdict

import numpy as np
from scipy.stats import t as student

UNIT = 1e4  # differences are shown in 1e-4 nats
BASELINES = ["plain", "average", "per-fold sigmoid", "per-fold isotonic", "pooled sigmoid", "pooled isotonic"]


def differences(records, ours, theirs):
    """{block: {cell: differences of the splits}}."""
    table = defaultdict(lambda: defaultdict(list))
    for r in records:
        if ours in r["losses"] and theirs in r["losses"]:
            block = (r["kind"], r["noise"], r["leaves"], r["m"])
            table[block][r["name"]].append(UNIT * (r["losses"][ours] - r["losses"][theirs]))
    return table


def outcome(d):
    """A win or a loss is a mean beyond the 97.5 % point of Student's t."""
    d = np.asarray(d)
    if len(d) < 2 or not d.std(ddof=1) > 0:
        return "tie"
    bound = student.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
    return "tie" if abs(d.mean()) <= bound else "win" if d.mean() < 0 else "loss"


def cell(sets):
    """Mean and its standard error over the sets; wins, ties, losses."""
    means = np.array([np.mean(d) for d in sets.values()])
    outcomes = [outcome(d) for d in sets.values()]
    error = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else float("nan")
    counts = "/".join(str(outcomes.count(o)) for o in ("win", "tie", "loss"))
    return f"{means.mean():+.0f} ± {error:.0f} ({counts})"


def title(block):
    kind, noise, leaves, m = block
    trees = "stumps" if leaves == 2 else f"{leaves} leaves"
    what = {"synthetic": "families", "unseen": f"held-out sets, {noise}", "real": f"real sets, {noise}"}[kind]
    return f"{what}, {trees}, {m:,} rows"


def table(records, ours, baselines):
    columns = {b: differences(records, ours, b) for b in baselines}
    blocks = sorted(set().union(*columns.values()), key=lambda b: (b[3], b[2], b[0], b[1]))
    yield "| block | " + " | ".join(baselines) + " |"
    yield "|---" * (len(baselines) + 1) + "|"
    for block in blocks:
        cells = [cell(columns[b][block]) if block in columns[b] else "" for b in baselines]
        yield f"| {title(block)} | " + " | ".join(cells) + " |"


def lost(records, ours, theirs):
    """The sets where `ours` loses, and where its mean is worse by more than 20."""
    for block, sets in sorted(differences(records, ours, theirs).items(), key=str):
        for name, d in sets.items():
            if outcome(d) == "loss" or np.mean(d) > 20:
                mark = ", a loss" if outcome(d) == "loss" else ""
                yield f"- {name} ({title(block)}): {np.mean(d):+.0f}{mark}"


def seconds(records):
    names = ["plain", "pooled", "refit", "pooled, wrapper", "pooled, relink"]
    for leaves in (2, 15):
        part = [r["seconds"] for r in records if r["leaves"] == leaves]
        times = {n: [s[n] for s in part if n in s] for n in names}
        shown = [f"{n} {np.mean(t):.2f}" for n, t in times.items() if t]
        yield f"- {'stumps' if leaves == 2 else f'{leaves} leaves'}: " + ", ".join(shown)


def splits(records):
    """How many splits of every set, as words."""
    sets = defaultdict(int)
    for r in records:
        sets[r["kind"], r["name"], r["noise"], r["leaves"], r["m"]] += 1
    least, most = min(sets.values()), max(sets.values())
    return f"{least} fresh splits" if least == most else f"{least} to {most} fresh splits"


def markdown(records, profile):
    refitted = [r for r in records if "refit" in r["losses"]]
    fewer = f" ({splits(refitted)} a set)" if 0 < len(refitted) < len(records) else ""
    lines = [
        f"Profile `{profile}`: {len(records)} cells, {splits(records)} a set. Differences of test log-loss in 1e-4 nats,"
        " **negative is better**: mean over the sets ± its standard error (wins/ties/losses of sets, by Student's t over the splits).",
        "", "### `ensemble=\"pooled\"` against", "", *table(records, "pooled", BASELINES),
    ]  # fmt: skip
    if refitted:
        lines += [
            "", "### `ensemble=False` (one refit at the median number of rounds) against" + fewer, "",
            *table(records, "refit", ["plain", "refit, uncalibrated", "pooled"]),
            "", "### `relink=True` (stumps only) against the same wrapper without" + fewer, "",
            *table(records, "pooled, relink", ["pooled, wrapper"]),
        ]  # fmt: skip
    for baseline in ("plain", "per-fold sigmoid", "per-fold isotonic"):
        lines += ["", f"### Sets where pooled is worse than {baseline}", "", *(list(lost(records, "pooled", baseline)) or ["None."])]
    changed = [r for r in records if "pooled, relink" in r["losses"] and r["losses"]["pooled, relink"] != r["losses"]["pooled, wrapper"]]
    if changed:
        d = [UNIT * (r["losses"]["pooled, relink"] - r["losses"]["pooled, wrapper"]) for r in changed]
        asked = sum("pooled, relink" in r["losses"] for r in records)
        lines += ["", f"Relink was kept in {len(changed)} of {asked} cells: {np.mean(d):+.0f} there on average, from {min(d):+.0f} to {max(d):+.0f};"
                  f" better in {sum(x < 0 for x in d)}."]  # fmt: skip
    lines += ["", "### Seconds a cell (one thread, training and prediction)", "", *seconds(records), ""]
    return "\n".join(lines)
