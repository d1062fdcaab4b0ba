"""What is run: the paper's figures, the methods, the settings, the two profiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

DATASETS = {
    "synth": "synth, means ±(1, 1)",
    "synth-unit": "synth, means ±(1, 1)/√2",
    "mnist": "mnist, 0 against 8",
    "fmnist": "fmnist, even against odd classes",
}
IMAGES = ("mnist", "fmnist")

#: Table 1 of the paper: test AUC in %.
PAPER = {
    "logistic": {"synth": 92.2, "mnist": 99.9, "fmnist": 98.5},
    "glmtron": {"synth": 92.2, "mnist": 99.6, "fmnist": 98.1},
    "slisotron": {"synth": 91.6, "mnist": 94.6, "fmnist": 90.7},
    "approx": {"synth": 92.2, "mnist": 99.3, "fmnist": 94.6},
    "label": {"synth": 90.1, "mnist": 99.6, "fmnist": 97.7},
    "bregmantron": {"synth": 92.3, "mnist": 99.7, "fmnist": 97.9},
}
for figures in PAPER.values():
    figures["synth-unit"] = figures["synth"]
PAPER_TRANSFER = {
    "source": 0.85,
    "source logistic": 0.86,
    "transferred": 0.879,
    "direct": 0.879,
    "logistic": 0.877,
}

#: Rows of the tables: key, title, the row of the paper it stands beside, estimator and options.
METHODS = {
    "logistic-1": ("logistic regression, C = 1", "logistic", ("logistic", {"C": 1.0})),
    "logistic-100": ("logistic regression, C = 100", "logistic", ("logistic", {"C": 100.0})),
    "logistic-1e6": ("logistic regression, C = 10⁶", "logistic", ("logistic", {"C": 1e6})),
    "glmtron": ("GLMTron, sigmoid", "glmtron", ("glmtron", {})),
    "slisotron": ("SLIsotron, PAV", "slisotron", ("slisotron", {"isotonic": "pav"})),
    "slisotron-lipschitz": (
        "SLIsotron, Lipschitz",
        "slisotron",
        ("slisotron", {"isotonic": "lipschitz"}),
    ),
    "approx": ("BregmanTron approx", "approx", ("bregmantron", {"target": "approx"})),
    "label-bregman": (
        "BregmanTron label, Bregman objective (as written)",
        "label",
        ("bregmantron", {"target": "labels", "objective": "bregman"}),
    ),
    "label": (
        "BregmanTron label, quadratic objective",
        "label",
        ("bregmantron", {"target": "labels"}),
    ),
    "bregmantron": ("BregmanTron", "bregmantron", ("bregmantron", {"target": "previous"})),
    "refit": ("refit (not in the paper)", None, ("bregmantron", {"target": "refit"})),
}
TITLES = {key: title for key, (title, _, _) in METHODS.items()}
PAPER_ROW = {key: row for key, (_, row, _) in METHODS.items()}

#: Searched on validation rows: every scaling with every step (or C), and the checkpoints of T.
SEARCH_SCALINGS = ("unit-rows", "none", "standardise")
SEARCH_STEPS = ("paper", "auto")
SEARCH_C = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
#: Methods of the search; a key stands for its estimator, its C or step is searched.
SEARCHED = {
    "logistic": ("logistic regression", "logistic"),
    "glmtron": ("GLMTron, sigmoid", "glmtron"),
    "slisotron": ("SLIsotron, PAV", "slisotron"),
    "slisotron-lipschitz": ("SLIsotron, Lipschitz", "slisotron"),
    "approx": ("BregmanTron approx", "approx"),
    "label-bregman": ("BregmanTron label, Bregman objective (as written)", "label"),
    "label": ("BregmanTron label, quadratic objective", "label"),
    "bregmantron": ("BregmanTron", "bregmantron"),
    "refit": ("refit (not in the paper)", None),
}


def strict_scaling(dataset: str) -> str:
    """Rows of norm at most 1, as a step of 1 presumes.

    Images: unit rows. In the plane unit rows would keep the angle only: the largest norm is made 1.
    """
    return "unit-rows" if dataset in IMAGES else "max-norm"


def checkpoints(last: int) -> list[int]:
    """1, 2, 5, 10, ... up to and with ``last``."""
    steps = [base * 10**power for power in range(6) for base in (1, 2, 5)]
    return [step for step in steps if step < last] + [last]


@dataclass(frozen=True)
class Profile:
    """How much is run."""

    name: str
    #: Seeds of the drawn training rows.
    seeds: tuple[int, ...]
    #: Training rows and iterations of the strict setting.
    rows: int
    iterations: int
    #: Iterations on the full training sets (synth: rows drawn, iterations).
    full_iterations: dict[str, int]
    full_synth_rows: int
    #: The search: seeds of its draws (not among ``seeds``) and validation rows.
    search_seeds: tuple[int, ...]
    validation_rows: int
    #: Training rows of the sweep of SLIsotron.
    slisotron_rows: tuple[int, ...]
    #: Transfer.
    transfer_seeds: tuple[int, ...]
    transfer_rows: int
    transfer_iterations: int
    transfer_targets: tuple[tuple[int, int], ...]
    transfer_sources: tuple[tuple[int, int], ...]
    transfer_labels: tuple[int, ...]
    transfer_variants: tuple[str, ...]
    #: Labels of the paper's own transfer, 0 v 6 to 2 v 4.
    transfer_paper_labels: tuple[int, ...]


ALL_PAIRS = tuple(combinations(range(10), 2))
TARGETS = ((2, 4), (0, 6), (7, 9), (2, 6))

FAST = Profile(
    name="fast",
    seeds=tuple(range(5)),
    rows=1000,
    iterations=2000,
    full_iterations={"synth": 1000, "synth-unit": 1000, "mnist": 1000, "fmnist": 300},
    full_synth_rows=10_000,
    search_seeds=(1000,),
    validation_rows=5000,
    slisotron_rows=(50, 100, 200, 500, 1000),
    transfer_seeds=tuple(range(5)),
    transfer_rows=1000,
    transfer_iterations=500,
    transfer_targets=TARGETS,
    transfer_sources=ALL_PAIRS,
    transfer_labels=(50, 100, 200, 500),
    transfer_variants=("labels",),
    transfer_paper_labels=(100, 200, 500, 1000),
)
FULL = replace(
    FAST,
    name="full",
    seeds=tuple(range(20)),
    full_iterations=dict.fromkeys(DATASETS, 2000),
    full_synth_rows=100_000,
    search_seeds=(1000, 1001, 1002),
    transfer_seeds=tuple(range(20)),
    transfer_variants=("labels", "previous", "refit"),
    transfer_paper_labels=(100, 200, 500, 1000, 12_000),
)
#: For the tests: everything, in seconds, on any images.
TINY = Profile(
    name="tiny",
    seeds=(0, 1),
    rows=60,
    iterations=20,
    full_iterations=dict.fromkeys(DATASETS, 10),
    full_synth_rows=100,
    search_seeds=(1000,),
    validation_rows=40,
    slisotron_rows=(20, 40),
    transfer_seeds=(0, 1),
    transfer_rows=30,
    transfer_iterations=10,
    transfer_targets=((2, 4), (0, 6)),
    transfer_sources=((0, 6), (2, 4), (1, 3)),
    transfer_labels=(20,),
    transfer_variants=("labels",),
    transfer_paper_labels=(20, 30),
)
