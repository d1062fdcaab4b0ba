"""The figures, as SVG with the same bytes for the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt

from links import GRID, VARIANTS
from settings import DATASETS, PAPER, PAPER_ROW

STYLE = {
    "svg.hashsalt": "properloss",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}
COLOURS = {
    "glmtron": "#777777",
    "slisotron": "#d62728",
    "approx": "#9467bd",
    "label": "#1f77b4",
    "bregmantron": "#2ca02c",
    "logistic": "#000000",
}
NAMES = {
    "glmtron": "GLMTron",
    "slisotron": "SLIsotron (PAV)",
    "approx": "approx",
    "label": "label",
    "bregmantron": "BregmanTron",
}
SHOWN = ("synth", "mnist", "fmnist")
SIGMOID = 1.0 / (1.0 + np.exp(-GRID))
LOGISTIC_LOSS = np.logaddexp(0.0, -GRID)


def draw_all(results: dict[str, Any], folder: Path) -> None:
    """Every figure of the report."""
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        for name, draw in FIGURES.items():
            figure = draw(results)
            temporary = folder / f"{name}.svg.tmp"
            figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None})
            temporary.replace(folder / f"{name}.svg")
            plt.close(figure)


def auc_against_iterations(results: dict[str, Any]) -> Any:
    """Test AUC of the score against T, strict setting; the paper's figures at the right edge."""
    shown = ("synth-unit", "mnist", "fmnist")
    floors = {"synth-unit": 88.0, "mnist": 92.0, "fmnist": 85.0}
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6))
    for axis, dataset in zip(axes, shown):
        lowest = 100.0
        for key in NAMES:
            curve = results["table1"]["strict"][dataset][key]["curve"]
            at = [int(count) for count in curve]
            for measured, style in (("auc_score", "-"), ("auc_probability", ":")):
                if measured == "auc_probability" and key != "slisotron":
                    continue
                mean = np.array([100 * curve[str(count)][measured]["mean"] for count in at])
                lowest = min(lowest, mean.min())
                title = NAMES[key] + (", of u" if measured == "auc_probability" else "")
                axis.plot(at, mean, style, color=COLOURS[key], label=title, lw=1.5)
            axis.plot(
                [at[-1] * 1.6], [PAPER[PAPER_ROW[key]][dataset]], "<", color=COLOURS[key], ms=5
            )
        axis.set_xscale("log")
        axis.set_ylim(bottom=max(lowest - 1.0, floors[dataset]), top=100.2 if dataset != "synth-unit" else 93.0)
        axis.set_xlabel("iterations T")
        axis.set_title(DATASETS[dataset])
    axes[0].set_ylabel("test AUC, %")
    handles, titles = axes[0].get_legend_handles_labels()
    marker = plt.Line2D([], [], marker="<", color="#444444", ls="", ms=5)
    figure.legend([*handles, marker], [*titles, "the paper"], loc="outside lower center", ncols=7)
    return figure


def _panels(results: dict[str, Any], paint: Any, ylabel: str, top: float) -> Any:
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.8), sharex=True, sharey=True)
    for row, key in zip(axes, VARIANTS):
        for axis, dataset in zip(row, SHOWN):
            found = results["links"][dataset][key]
            last = list(found["shapes"])[-1]
            paint(axis, found["shapes"][last])
            axis.axvspan(found["scores"][0], found["scores"][2], color="#1f77b4", alpha=0.06, lw=0)
            axis.axvline(0.0, color="#999999", lw=0.6)
            title = "BregmanTron" if key == "bregmantron" else "label variant"
            axis.set_title(f"{dataset}: {title}")
            axis.set_xlim(-6, 6)
            axis.set_ylim(-0.03 * top, top)
    for axis in axes[1]:
        axis.set_xlabel("score v (middle of the link as wide as the sigmoid's)")
        axis.xaxis.label.set_size(8)
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel)
    handles, titles = axes[0, 0].get_legend_handles_labels()
    span = plt.Rectangle((0, 0), 1, 1, color="#1f77b4", alpha=0.1, lw=0)
    figure.legend(
        [*handles, span], [*titles, "98 % of the training scores"], loc="outside lower center", ncols=4
    )
    return figure


def learned_links(results: dict[str, Any]) -> Any:
    """u(v), its mirror image 1 - u(-v), and the sigmoid."""

    def paint(axis: Any, shape: dict[str, Any]) -> None:
        u = np.array(shape["u"])
        axis.plot(GRID, SIGMOID, "--", color="#000000", lw=1, label="sigmoid")
        axis.plot(GRID, 1.0 - u[::-1], color="#ff7f0e", lw=1.2, label="1 − u(−v)")
        axis.plot(GRID, u, color="#1f77b4", lw=1.8, label="u(v), learned")
        axis.plot([0.0], [shape["u_zero"]], "o", color="#1f77b4", ms=4)

    return _panels(results, paint, "probability", 1.03)


def learned_losses(results: dict[str, Any]) -> Any:
    """l(+1, v), l(-1, -v), and the logistic loss."""

    def paint(axis: Any, shape: dict[str, Any]) -> None:
        axis.plot(GRID, LOGISTIC_LOSS, "--", color="#000000", lw=1, label="logistic loss")
        mirrored = np.array(shape["loss_negative"])[::-1]
        axis.plot(GRID, mirrored, color="#ff7f0e", lw=1.2, label="ℓ(−1, −v)")
        axis.plot(GRID, shape["loss_positive"], color="#1f77b4", lw=1.8, label="ℓ(+1, v), learned")

    return _panels(results, paint, "loss, in units of the width", 6.0)


def evolution(results: dict[str, Any]) -> Any:
    """The link at T = 1, 10, 100, ..."""
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.6), sharex=True, sharey=True)
    for row, key in zip(axes, VARIANTS):
        for axis, dataset in zip(row, SHOWN):
            shapes = results["links"][dataset][key]["shapes"]
            colours = plt.get_cmap("viridis")(np.linspace(0.9, 0.1, len(shapes)))
            axis.plot(GRID, SIGMOID, "--", color="#000000", lw=1, label="sigmoid")
            for (count, shape), colour in zip(shapes.items(), colours):
                axis.plot(GRID, shape["u"], color=colour, lw=1.5, label=f"T = {count}")
            title = "BregmanTron" if key == "bregmantron" else "label variant"
            axis.set_title(f"{dataset}: {title}")
            axis.set_xlim(-6, 6)
    for axis in axes[1]:
        axis.set_xlabel("score v (middle of the link as wide as the sigmoid's)")
        axis.xaxis.label.set_size(8)
    for axis in axes[:, 0]:
        axis.set_ylabel("probability u(v)")
    handles, titles = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=len(titles))
    return figure


def slisotron_ties(results: dict[str, Any]) -> Any:
    """AUC of scores and of probabilities of SLIsotron, PAV and Lipschitz, against T."""
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6))
    for axis, dataset in zip(axes, ("synth-unit", "mnist", "fmnist")):
        for key, colour, title in (
            ("slisotron", "#d62728", "PAV"),
            ("slisotron-lipschitz", "#1f77b4", "Lipschitz"),
        ):
            found = results["slisotron"]["strict"][dataset][key]
            at = [int(count) for count in found]

            def mean(name: str, found: Any = found, at: Any = at) -> list[float]:
                return [100 * found[str(count)][name]["mean"] for count in at]

            axis.plot(at, mean("auc_score"), color=colour, lw=1.6, label=f"{title}: score")
            axis.plot(at, mean("auc"), "--", color=colour, lw=1.4, label=f"{title}: probability")
            axis.fill_between(
                at,
                mean("auc_ties_lost"),
                mean("auc_ties_won"),
                color=colour,
                alpha=0.12,
                lw=0,
                label=f"{title}: ties lost to won",
            )
        paper = PAPER["slisotron"][dataset]
        axis.axhline(paper, color="#000000", lw=1, ls=":", label="the paper")
        axis.set_xscale("log")
        axis.set_xlabel("iterations T")
        axis.set_title(DATASETS[dataset])
    axes[0].set_ylabel("test AUC, %")
    handles, titles = axes[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=4)
    return figure


def transfer_survey(results: dict[str, Any]) -> Any:
    """For every target and number of labels: AUC of each source's loss minus logistic regression's."""
    survey = results["transfer"]["survey"]["labels"]
    figure, axes = plt.subplots(1, len(survey), figsize=(10.5, 3.6), sharey=True, squeeze=False)
    looks = {"disjoint": "#1f77b4", "shared": "#ff7f0e", "same": "#d62728"}
    words = {
        "disjoint": "no class in common",
        "shared": "one class in common",
        "same": "the target itself",
    }
    for axis, (target, cases) in zip(axes[0], survey.items()):
        for place, (labels, case) in enumerate(cases.items()):
            sources = list(case["sources"].values())
            for kind, colour in looks.items():
                found = [s for s in sources if s["kind"] == kind]
                spread = np.linspace(-0.22, 0.22, max(len(found), 2))[: len(found)]
                if kind == "same":
                    spread = np.zeros(len(found))
                value = [100 * s["auc_score - logistic"]["mean"] for s in found]
                label = words[kind] if place == 0 else None
                axis.plot(place + spread, value, ".", color=colour, ms=4, alpha=0.8, label=label)
            square = 100 * (case["square"]["auc_score"]["mean"] - case["logistic"]["auc_score"]["mean"])
            direct = 100 * (case["direct"]["auc_score"]["mean"] - case["logistic"]["auc_score"]["mean"])
            first = place == 0
            axis.plot([place - 0.3, place + 0.3], [square] * 2, "-", color="#000000", lw=1.3, label="square loss, not learned" if first else None)
            axis.plot([place - 0.3, place + 0.3], [direct] * 2, ":", color="#2ca02c", lw=1.8, label="learned on the target's labels" if first else None)
        axis.axhline(0.0, color="#666666", lw=0.8)
        axis.set_xticks(range(len(cases)), list(cases))
        axis.set_title(f"target {target}")
        axis.set_xlabel("labels of the target")
    axes[0, 0].set_ylabel("test AUC − logistic regression's, points")
    handles, titles = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=5)
    return figure


FIGURES = {
    "auc": auc_against_iterations,
    "links": learned_links,
    "losses": learned_losses,
    "evolution": evolution,
    "slisotron": slisotron_ties,
    "transfer": transfer_survey,
}
