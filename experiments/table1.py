"""Table 1 of the paper under three settings: strict, full training set, validated."""

from __future__ import annotations

from typing import Any

import pool
from data import draw
from methods import MEASURES, build, fit_watched, measure, summary
from properloss import metrics
from settings import (
    DATASETS,
    METHODS,
    SEARCH_C,
    SEARCH_SCALINGS,
    SEARCH_STEPS,
    SEARCHED,
    Profile,
    checkpoints,
    strict_scaling,
)


def strict_cell(directory: str, dataset: str, key: str, seed: int, rows: int, iterations: int):
    """One method on ``rows`` drawn rows: unit rows, step 1, slopes in [0.01, 1], y_hat_0 = 1/2."""
    kind, options = METHODS[key][2]
    drawn = draw(directory, dataset, seed, rows)
    scaling = strict_scaling(dataset)
    estimator = build(kind, options, scaling, "paper", iterations)
    if kind == "logistic":
        reached = fit_watched(estimator, drawn.X, drawn.y, [])
        model = estimator._model
    else:
        reached = fit_watched(estimator, drawn.X, drawn.y, checkpoints(iterations))
        model = reached[iterations]
    curve = {}
    for count, at in reached.items():
        p = at.predict_proba(drawn.X_test)[:, 1].copy()
        curve[count] = (
            metrics.auc(drawn.y_test, at.scores(drawn.X_test)),
            metrics.auc(drawn.y_test, p),
        )
    return {"measures": measure(model, drawn.X_test, drawn.y_test), "curve": curve}


def full_cell(directory: str, dataset: str, key: str, rows: int | None, iterations: int):
    """The strict setting on all training rows."""
    kind, options = METHODS[key][2]
    drawn = draw(directory, dataset, 0, rows)
    estimator = build(kind, options, strict_scaling(dataset), "paper", iterations)
    reached = fit_watched(estimator, drawn.X, drawn.y, checkpoints(iterations))
    curve = {
        count: metrics.auc(drawn.y_test, at.scores(drawn.X_test))
        for count, at in reached.items()
        if kind != "logistic"
    }
    return {"measures": measure(estimator._model, drawn.X_test, drawn.y_test), "curve": curve}


def _candidates(key: str) -> list[tuple[str, dict[str, Any], str, str]]:
    """Estimator, options, scaling, step of every run of the search."""
    if key == "logistic":
        return [
            ("logistic", {"C": C}, scaling, "paper") for scaling in SEARCH_SCALINGS for C in SEARCH_C
        ]
    kind, options = METHODS[key][2]
    return [
        (kind, options, scaling, step) for scaling in SEARCH_SCALINGS for step in SEARCH_STEPS
    ]


def search_cell(
    directory: str, dataset: str, key: str, seed: int, rows: int, validation: int, iterations: int
):
    """Validation AUC of every candidate, at every checkpoint. The test rows are not looked at."""
    drawn = draw(directory, dataset, seed, rows, validation)
    found = []
    for kind, options, scaling, step in _candidates(key):
        estimator = build(kind, options, scaling, step, iterations)
        reached = fit_watched(estimator, drawn.X, drawn.y, checkpoints(iterations))
        if kind == "logistic":
            reached = {0: estimator._model}
        for count, model in reached.items():
            auc = metrics.auc(drawn.y_validation, model.scores(drawn.X_validation))
            choice = {"scaling": scaling, "auc": auc}
            if kind == "logistic":
                choice["C"] = options["C"]
            else:
                choice |= {"step": step, "iterations": count}
            found.append(choice)
    return found


def choose(searches: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """The candidate with the largest mean validation AUC; the first of equals."""
    means = [sum(found["auc"] for found in same) / len(same) for same in zip(*searches)]
    best = max(range(len(means)), key=lambda index: (means[index], -index))
    chosen = {name: value for name, value in searches[0][best].items() if name != "auc"}
    return chosen | {"validation_auc": means[best], "candidates": len(means)}


def validated_cell(
    directory: str, dataset: str, key: str, chosen: dict[str, Any], seed: int, rows: int
):
    """The chosen setting on fresh draws of the training rows."""
    drawn = draw(directory, dataset, seed, rows)
    if key == "logistic":
        kind, options = "logistic", {"C": chosen["C"]}
    else:
        kind, options = METHODS[key][2]
    estimator = build(
        kind, options, chosen["scaling"], chosen.get("step"), chosen.get("iterations", 1)
    )
    fit_watched(estimator, drawn.X, drawn.y, [])
    return measure(estimator._model, drawn.X_test, drawn.y_test)


def run(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    """Every cell of the table."""
    return {
        "full": _full(directory, profile, jobs),
        "strict": _strict(directory, profile, jobs),
        "validated": _validated(directory, profile, jobs),
    }


def _summaries(results: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    return {name: summary(result[name] for result in results) for name in MEASURES}


def _strict(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    keys = [(dataset, key) for dataset in DATASETS for key in METHODS]
    rest, title = (profile.rows, profile.iterations), "table 1, strict"
    table: dict[str, Any] = {dataset: {} for dataset in DATASETS}
    for dataset, key, cells in pool.by_key(
        strict_cell, directory, keys, profile.seeds, rest, jobs, title
    ):
        curve = {
            str(count): {
                "auc_score": summary(cell["curve"][count][0] for cell in cells),
                "auc_probability": summary(cell["curve"][count][1] for cell in cells),
            }
            for count in cells[0]["curve"]
        }
        table[dataset][key] = _summaries([cell["measures"] for cell in cells]) | {"curve": curve}
    return table


def _full(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    # Without a penalty to speak of, separable rows have no minimum: C = 10^6 is left out.
    keys = [(dataset, key) for dataset in DATASETS for key in METHODS if key != "logistic-1e6"]
    # The long ones first.
    keys.sort(key=lambda pair: -list(DATASETS).index(pair[0]))
    tasks = []
    for dataset, key in keys:
        rows = profile.full_synth_rows if dataset.startswith("synth") else None
        iterations = profile.full_iterations[dataset]
        tasks.append((full_cell, (directory, dataset, key, rows, iterations)))
    table: dict[str, Any] = {dataset: {} for dataset in DATASETS}
    for (dataset, key), cell in zip(keys, pool.run(tasks, jobs, "table 1, full training sets")):
        curve = {str(count): auc for count, auc in cell["curve"].items()}
        table[dataset][key] = _summaries([cell["measures"]]) | {"curve": curve}
    return table


def _validated(directory: str, profile: Profile, jobs: int) -> dict[str, Any]:
    keys = [(dataset, key) for dataset in DATASETS for key in SEARCHED]
    size = (profile.rows, profile.validation_rows, profile.iterations)
    tasks = [
        (search_cell, (directory, dataset, key, seed, *size))
        for dataset, key in keys
        for seed in profile.search_seeds
    ]
    results = iter(pool.run(tasks, jobs, "table 1, search on validation rows"))
    chosen = {pair: choose([next(results) for _ in profile.search_seeds]) for pair in keys}
    tasks = [
        (validated_cell, (directory, *pair, chosen[pair], seed, profile.rows))
        for pair in keys
        for seed in profile.seeds
    ]
    results = iter(pool.run(tasks, jobs, "table 1, validated"))
    table: dict[str, Any] = {dataset: {} for dataset in DATASETS}
    for dataset, key in keys:
        cells = [next(results) for _ in profile.seeds]
        table[dataset][key] = _summaries(cells) | {"chosen": chosen[dataset, key]}
    return table
