"""The first picture of README.md and of the site: docs/images/first-look.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import properloss as pl

BLUE, ORANGE, RED = "#0063b1", "#d1570a", "#a11c1c"


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Risks between 8 % and 88 %: some of the outcomes no column explains."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    p = 0.08 + 0.80 / (1 + np.exp(-2 * X @ [2.0, -1.5, 1.0, 0.5, 0.0]))
    return X, (rng.random(rows) < p).astype(int)


def main() -> None:
    plt.rcParams.update({"font.size": 10, "svg.hashsalt": "properloss", "svg.fonttype": "path"})
    X, y = table(3000, seed=0)
    X_new, y_new = table(20_000, seed=1)
    ours, logistic = pl.ProperLossClassifier().fit(X, y), LogisticRegression().fit(X, y)
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.9), layout="constrained")

    z = np.linspace(-9, 9, 400)
    left.plot(z, 1 / (1 + np.exp(-z)), "--", color="#7a7a7a", label="sigmoid")
    left.plot(z, ours.link_.inverse_link(z), color=BLUE, lw=2.2, label="learned link")
    for level in (0.08, 0.88):
        left.axhline(level, color=RED, lw=1, ls=":")
    left.text(8.9, 0.095, "true floor", color=RED, ha="right", va="bottom", fontsize=9)
    left.text(-8.9, 0.865, "true ceiling", color=RED, va="top", fontsize=9)
    left.set(title="What was learned", xlabel="score", ylabel="probability", xlim=(-9, 9), ylim=(0, 1))
    left.legend(loc="lower right", bbox_to_anchor=(1.0, 0.16), frameon=False, fontsize=9)

    right.plot([0, 1], [0, 1], "--", color="#7a7a7a", lw=1)
    for name, model, colour in (("logistic regression", logistic, ORANGE), ("properloss", ours, BLUE)):
        p = model.predict_proba(X_new)[:, 1]
        edges = np.quantile(p, np.linspace(0, 1, 21))
        part = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, 19)
        mean = [p[part == k].mean() for k in range(20)]
        rate = [y_new[part == k].mean() for k in range(20)]
        right.plot(mean, rate, "o-", ms=4, color=colour, label=f"{name}")
    right.set(
        title="What it says, and what happened", xlabel="probability said (20,000 fresh rows)", ylabel="share that happened",
        xlim=(0, 1), ylim=(0, 1),
    )
    right.legend(loc="upper left", frameon=False, fontsize=9)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    target = Path(__file__).resolve().parents[1] / "images" / "first-look.svg"
    fig.savefig(target, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
