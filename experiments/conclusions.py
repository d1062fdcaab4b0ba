"""Conclusions in plain words. Every number, and which sentence is said, comes from the results."""

from __future__ import annotations

from typing import Any

from settings import IMAGES, PAPER, PAPER_ROW, PAPER_TRANSFER, SEARCHED, TITLES

#: How near an AUC should come to the paper's, in points.
BAR = {"logistic": 0.5, "glmtron": 1.0, "approx": 1.0, "label": 1.0, "bregmantron": 1.0}
SETTINGS = ("strict", "full", "validated")
ROW_TITLES = {
    "logistic": "Logistic regression",
    "glmtron": "GLMTron",
    "slisotron": "SLIsotron",
    "approx": "BregmanTron approx",
    "label": "BregmanTron label",
    "bregmantron": "BregmanTron",
}

Results = dict[str, Any]


def points(value: float, digits: int = 2) -> str:
    """A signed number of AUC points."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text.lstrip("+−") if float(f"{value:.{digits}f}") == 0.0 else text


def joined(items: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def distances(results: Results, row: str, dataset: str) -> dict[str, tuple[str, float]]:
    """By setting: the nearest of our rows to the paper's figure, and its difference in points."""
    found = {}
    for setting in SETTINGS:
        cells = results["table1"][setting][dataset]
        rows = SEARCHED if setting == "validated" else PAPER_ROW
        candidates = []
        for key in cells:
            paper_row = rows[key][1] if setting == "validated" else rows[key]
            if paper_row == row:
                difference = 100 * cells[key]["auc_score"]["mean"] - PAPER[row][dataset]
                candidates.append((abs(difference), key, difference))
        _, key, difference = min(candidates)
        title = SEARCHED[key][0] if setting == "validated" else TITLES[key]
        found[setting] = (title, difference)
    return found


def within_bar(results: Results) -> list[dict[str, Any]]:
    """For every row of the bar on the image sets: is one of the settings near enough?"""
    lines = []
    for row, bar in BAR.items():
        for dataset in IMAGES:
            by_setting = distances(results, row, dataset)
            passed = [s for s in SETTINGS if abs(by_setting[s][1]) <= bar]
            lines.append(
                {"row": row, "dataset": dataset, "bar": bar, "by": by_setting, "passed": passed}
            )
    return lines


def on_the_table(results: Results) -> list[str]:
    """Does Table 1 come out?"""
    lines = within_bar(results)
    missed = [line for line in lines if not line["passed"]]
    strict = [line for line in lines if "strict" in line["passed"]]
    said = [
        f"Of {len(lines)} figures of Table 1 on mnist and fmnist (SLIsotron aside), {len(strict)} come out in the "
        f"strict setting and {len(lines) - len(missed)} in one of the three settings, within 1.0 point of AUC (logistic "
        "regression: 0.5)."
    ]
    for line in missed:
        nearest = min(line["by"].items(), key=lambda item: abs(item[1][1]))
        said.append(
            f"Not reached: {ROW_TITLES[line['row']]} on {line['dataset']}; the nearest is "
            f"{points(nearest[1][1])} points away ({nearest[0]} setting)."
        )
    said += [_nearest_on_curve(results, line) for line in lines if "strict" not in line["passed"]]
    strict = results["table1"]["strict"]
    for dataset in IMAGES:
        written, quadratic = (strict[dataset][key]["auc_score"] for key in ("label-bregman", "label"))
        if written["se"] > 0.01:
            said.append(
                f"As written, with the Bregman objective, label is unstable on {dataset} ({_percent(written)}); with the "
                f"quadratic objective it is not ({_percent(quadratic)})."
            )
        curve = strict[dataset]["approx"]["curve"]
        first, last = list(curve)[len(curve) // 2], list(curve)[-1]
        early, late = (100 * curve[count]["auc_score"]["mean"] for count in (first, last))
        if late - early > 5.0:
            said.append(
                f"T, which the paper does not state, decides the figure of approx on {dataset}: {early:.1f} at T = {first}, "
                f"{late:.1f} at T = {last}."
            )
    return said


def _nearest_on_curve(results: Results, line: dict[str, Any]) -> str:
    """The T of the strict setting that is nearest to the paper, for a row that misses at the last T."""
    paper = PAPER[line["row"]][line["dataset"]]
    found = []
    for key, cell in results["table1"]["strict"][line["dataset"]].items():
        if PAPER_ROW[key] == line["row"]:
            for count, value in cell["curve"].items():
                auc = 100 * value["auc_score"]["mean"]
                found.append((abs(auc - paper), TITLES[key], count, auc))
    start = (
        f"{ROW_TITLES[line['row']]} on {line['dataset']} is {points(line['by']['strict'][1])} points away in the strict setting at "
        "the last T"
    )
    if not found:
        return start + "."
    _, title, count, auc = min(found)
    return f"{start}; over T the nearest to {paper} is {auc:.1f}, at T = {count} ({title})."


def _percent(value: dict[str, float]) -> str:
    return f"{100 * value['mean']:.1f} ± {100 * value['se']:.1f}"


def on_the_order(results: Results) -> list[str]:
    """The paper's three observations."""
    said = []
    strict = results["table1"]["strict"]
    for dataset in IMAGES:
        auc = {key: 100 * cell["auc_score"]["mean"] for key, cell in strict[dataset].items()}
        best = max(auc["logistic-1"], auc["logistic-100"], auc["logistic-1e6"])
        gap = auc["bregmantron"] - best
        word = "keeps up with" if gap > -0.5 else "stays behind"
        said.append(
            f"{dataset}: BregmanTron {word} logistic regression ({points(gap)} points in the strict setting); "
            f"the label variant, {points(auc['label'] - auc['bregmantron'])} points against BregmanTron, is "
            f"{'better, not slightly worse as the paper has it' if auc['label'] > auc['bregmantron'] else 'not better'}; "
            f"approx is {points(auc['approx'] - auc['bregmantron'])} points against BregmanTron."
        )
    return said


def on_calibration(results: Results) -> list[str]:
    """What AUC does not show."""
    strict = results["table1"]["strict"]
    ece = {
        key: [strict[dataset][key]["ece"]["mean"] for dataset in IMAGES]
        for key in ("bregmantron", "approx", "label", "logistic-100")
    }
    spans = {key: f"{min(v):.3f} to {max(v):.3f}" for key, v in ece.items()}
    if min(ece["bregmantron"]) <= 2 * max(ece["label"]):
        return ["BregmanTron's probabilities are about as well calibrated as the label variant's."]
    return [
        "AUC hides that BregmanTron's probabilities are poor: its calibration error (ECE) on the images is "
        f"{spans['bregmantron']}, against {spans['label']} for the label variant and {spans['logistic-100']} for logistic "
        "regression (strict setting). The paper gives no figure for probabilities."
    ]


def on_slisotron(results: Results) -> list[str]:
    """Why SLIsotron's figures in the paper are low."""
    said = []
    lasts = {}
    for dataset in IMAGES:
        found = results["slisotron"]["strict"][dataset]
        last = list(found["slisotron"])[-1]
        pav, lipschitz = found["slisotron"][last], found["slisotron-lipschitz"][last]
        lasts[dataset] = pav
        said.append(
            f"{dataset}: the scores of SLIsotron (PAV) have AUC {100 * pav['auc_score']['mean']:.1f}, its probabilities "
            f"{100 * pav['auc']['mean']:.1f}, and {100 * pav['auc_ties_lost']['mean']:.1f} if tied pairs count as errors "
            f"({100 * pav['ties']['mean']:.1f} % of the pairs are tied); the paper has {PAPER['slisotron'][dataset]}. With the "
            f"Lipschitz bound the probabilities reach {100 * lipschitz['auc']['mean']:.1f}."
        )
    if all(
        100 * lasts[dataset]["auc_score"]["mean"] > PAPER["slisotron"][dataset] + 1.0 for dataset in IMAGES
    ):
        strict = results["table1"]["strict"]
        better = [
            dataset
            for dataset in IMAGES
            if strict[dataset]["slisotron"]["auc_score"]["mean"]
            >= strict[dataset]["bregmantron"]["auc_score"]["mean"]
        ]
        said.append(
            "What is low is the AUC of SLIsotron's probabilities, which plain isotonic regression ties at a few levels. By its "
            f"scores it ranks at least as well as BregmanTron on {len(better)} of {len(IMAGES)} image sets"
            + (
                ": BregmanTron beats it only if the probabilities, with their ties, are ranked."
                if len(better) == len(IMAGES)
                else "."
            )
        )
        said += [_nearest_in_sweep(results, dataset) for dataset in IMAGES]
        full = results["table1"]["full"]
        said.append(
            "More training rows undo it: on the full training sets the probabilities reach "
            + joined(
                [
                    f"{100 * full[dataset]['slisotron']['auc_probability']['mean']:.1f} on {dataset}"
                    for dataset in IMAGES
                ]
            )
            + "."
        )
        synth = results["slisotron"]["strict"]["synth-unit"]["slisotron"]
        said.append(
            f"synth (means ±(1, 1)/√2): probabilities {100 * synth[list(synth)[-1]]['auc']['mean']:.1f}, the paper "
            f"{PAPER['slisotron']['synth-unit']}."
        )
    return said


def _nearest_in_sweep(results: Results, dataset: str) -> str:
    paper = PAPER["slisotron"][dataset]
    found = []
    for scaling, by_rows in results["slisotron"]["sweep"][dataset].items():
        for rows, figures in by_rows.items():
            for name, words in (("auc", "half"), ("auc_ties_lost", "lost")):
                value = 100 * figures[name]["mean"]
                found.append((words, abs(value - paper), value, rows, scaling))
    half, lost = (min(f for f in found if f[0] == words) for words in ("half", "lost"))
    return (
        f"Over {len(found) // 2} combinations of training rows and scaling the nearest to the paper's {paper} on {dataset} is "
        f"{half[2]:.1f} with tied pairs as a half ({half[3]} rows, {half[4]}) and {lost[2]:.1f} with tied pairs lost "
        f"({lost[3]} rows, {lost[4]})."
    )


def on_synth(results: Results) -> list[str]:
    """Which reading of synth fits."""
    strict = results["table1"]["strict"]
    stated = strict["synth"]["logistic-100"]
    unit = strict["synth-unit"]["logistic-100"]
    paper = PAPER["logistic"]["synth"]
    return [
        f"synth as stated has AUC {100 * stated['auc_score']['mean']:.1f} (logistic regression), not {paper}; "
        f"{paper} is near its accuracy, {100 * stated['accuracy']['mean']:.1f}, or the AUC with means ±(1, 1)/√2, "
        f"{100 * unit['auc_score']['mean']:.1f}. All methods but SLIsotron are within "
        f"{_spread(strict['synth-unit']):.2f} points of each other there."
    ]


def _spread(cells: dict[str, Any]) -> float:
    values = [
        100 * cell["auc_score"]["mean"] for key, cell in cells.items() if "slisotron" not in key
    ]
    return max(values) - min(values)


def on_links(results: Results) -> list[str]:
    """Are the learned links asymmetric?"""
    said = []
    for key, title in (("bregmantron", "BregmanTron"), ("label", "the label variant")):
        zero = {d: results["links"][d][key]["u_zero"] for d in ("synth", "mnist", "fmnist")}
        off = [d for d, s in zero.items() if abs(s["mean"] - 0.5) > 2 * s["se"]]
        figures = joined([f"{s['mean']:.3f} ± {s['se']:.3f} on {d}" for d, s in zero.items()])
        said.append(
            f"u(0) of {title} is {figures}: off 1/2 by more than twice its standard error on "
            f"{len(off)} of {len(zero)} sets."
        )
    sets = ("synth", "mnist", "fmnist")
    raw, centred = (
        [results["links"][d]["bregmantron"][name]["mean"] for d in sets]
        for name in ("link_asymmetry", "centred_asymmetry")
    )
    if max(centred) < 0.2 * max(raw):
        said.append(
            f"BregmanTron's asymmetry is a missing intercept: the largest |u(v) − 1 + u(−v)| is up to {max(raw):.2f}, and up to "
            f"{max(centred):.2f} once u = 1/2 is moved to zero; what is left is nearly a straight line, the square loss."
        )
    synth = results["links"]["synth"]["bregmantron"]["u_zero"]
    if abs(synth["mean"] - 0.5) <= 2 * synth["se"]:
        said.append(
            "On synth, whose truth is symmetric, u(0) is off 1/2 by no more than the sample explains (less than two standard "
            "errors)."
        )
    return said


def survey_counts(results: Results, variant: str, against: str) -> dict[str, dict[str, float]]:
    """By number of labels: how many source-target cases gained, lost, by how much."""
    counts: dict[str, dict[str, float]] = {}
    for cases in results["transfer"]["survey"][variant].values():
        for labels, case in cases.items():
            line = counts.setdefault(labels, {"cases": 0, "up": 0, "down": 0, "sum": 0.0, "targets": 0})
            for source in case["sources"].values():
                if source["kind"] == "same":
                    continue
                difference = source[f"auc_score - {against}"]
                line["cases"] += 1
                line["up"] += difference["mean"] > 2 * difference["se"]
                line["down"] += difference["mean"] < -2 * difference["se"]
                line["sum"] += 100 * difference["mean"]
    for line in counts.values():
        line["mean"] = line["sum"] / line["cases"]
    return counts


def on_transfer(results: Results) -> list[str]:
    """Does a transferred loss help?"""
    said = []
    paper = results["transfer"]["paper"]
    last = list(paper)[-1]
    case = {name: value["mean"] for name, value in paper[last].items()}
    said.append(
        f"0 v 6 to 2 v 4 with {last} labels: transferred {case['previous: transferred']:.3f} (label variant "
        f"{case['labels: transferred']:.3f}), logistic regression {case['logistic']:.3f}, a fixed square loss "
        f"{case['square']:.3f}, BregmanTron trained directly {case['previous: direct']:.3f} (label variant "
        f"{case['labels: direct']:.3f}). The paper has 0.879, 0.877 and 0.879 for transferred, logistic and direct."
    )
    nearest = min(paper, key=lambda n: abs(paper[n]["logistic"]["mean"] - PAPER_TRANSFER["logistic"]))
    gap = 100 * (PAPER_TRANSFER["direct"] - case["previous: direct"])
    standardised = 100 * (PAPER_TRANSFER["direct"] - case["standardised: direct"])
    said.append(
        f"The paper's figure of logistic regression is nearest to ours with {nearest} labels "
        f"({paper[nearest]['logistic']['mean']:.3f})."
    )
    if gap > 1.0:
        said.append(
            f"BregmanTron trained directly on 2 v 4 depends on the scaling: it is {gap:.1f} points below the paper with unit rows, "
            f"{standardised:.1f} with standardised features ({last} labels)."
        )
    counts = survey_counts(results, "labels", "logistic")
    cases = sum(line["cases"] for line in counts.values())
    up = sum(line["up"] for line in counts.values())
    down = sum(line["down"] for line in counts.values())
    by_labels = joined([f"{points(line['mean'])} at {n}" for n, line in counts.items()])
    if up > 2 * down:
        verdict = "A transferred loss helps more often than it hurts"
    elif down > 2 * up:
        verdict = "A transferred loss hurts more often than it helps"
    else:
        verdict = "A transferred loss helps about as often as it hurts"
    said.append(
        f"{verdict}: of {cases} cases (source, target, number of labels) it is better than logistic regression by more than "
        f"twice the standard error in {up}, worse in {down}. Mean differences in AUC points by number of labels: {by_labels}. (The cases of one target share its rows: they are "
        "not independent.)"
    )
    near, far = _closeness(results)
    said.append(
        f"What is transferred is mostly not learned: a transferred loss differs from the fixed square loss by {near:.2f} "
        f"points of AUC on average (absolute), from logistic regression by {far:.2f}."
        if near < far
        else f"A transferred loss differs from the fixed square loss by {near:.2f} points of AUC on average (absolute), "
        f"from logistic regression by {far:.2f}."
    )
    return said


def _closeness(results: Results) -> tuple[float, float]:
    near, far, count = 0.0, 0.0, 0
    for cases in results["transfer"]["survey"]["labels"].values():
        for case in cases.values():
            for source in case["sources"].values():
                near += 100 * abs(source["auc_score - square"]["mean"])
                far += 100 * abs(source["auc_score - logistic"]["mean"])
                count += 1
    return near / count, far / count


def all_of_them(results: Results) -> dict[str, list[str]]:
    """Conclusions by subject."""
    return {
        "Table 1": on_the_table(results),
        "The paper's observations": on_the_order(results),
        "Probabilities": on_calibration(results),
        "SLIsotron": on_slisotron(results),
        "synth": on_synth(results),
        "Asymmetric links": on_links(results),
        "Transfer": on_transfer(results),
    }


__all__ = ["BAR", "all_of_them", "distances", "points", "survey_counts", "within_bar"]
