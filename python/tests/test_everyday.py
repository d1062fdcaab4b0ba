"""What once stood in the way of everyday use, and the test of each that fails where it does again.

The table is checked: every test that it names must exist.

What was wrong                                              | where it is tested
----------------------------------------------------------- | ------------------
`loss_` was None on half of the splits                      | test_losses_of_estimators.py::test_every_estimator_has_a_proper_loss_that_can_be_transferred
`inspect` named no loss, though `transfer` took one         | shell_day.rs::a_day_in_the_shell
`CanonicalLossClassifier(loss=clf.loss_)` failed            | test_ecosystem.py::test_the_loss_of_the_default_estimator_is_transferred
an error recommended a `CompositeLoss` that Python lacked   | test_losses_of_estimators.py::test_a_composite_loss_is_log_loss_under_its_link
nobody said which loss and why                              | test_losses_of_estimators.py::test_the_kind_is_said_with_its_reason
a loss had no file                                          | test_losses_of_estimators.py::test_losses_survive_files_and_pickles
the first picture of the README was empty                   | test_pictures.py::test_the_first_picture_of_the_readme
`ConvergenceDisplay` of the default was empty               | test_pictures.py::test_the_run_of_the_default_is_its_path
displays refused pipelines and calibrated classifiers       | test_pictures.py::test_displays_take_pipelines_and_calibrated_classifiers
what a picture lacks was not said                           | test_pictures.py::test_what_is_missing_is_said_in_a_sentence
colours did not cycle, the legend lay outside               | test_pictures.py::test_diagrams_in_one_axes_have_their_own_colours_and_a_legend_inside
a rare class was a dot in a corner                          | test_pictures.py::test_a_rare_class_is_seen
names of axes lay over their numbers                        | axis.rs::no_number_reaches_the_name_of_its_axis
...                                                         | test_everyday.py::test_no_label_of_a_display_lies_over_another
...                                                         | test_everyday.py::test_drawings_of_the_shell_are_whole
weights that sum to 1 gave a constant model, silently       | test_weights_and_groups.py::test_weights_that_sum_to_one_warn_and_relative_ones_do_not
a calibrated pipeline dropped `sample_weight`               | test_weights_and_groups.py::test_weights_reach_the_last_step_of_a_pipeline
a learner without weights was not said                      | test_weights_and_groups.py::test_a_learner_without_weights_is_said
`groups` were ignored with an integer `cv`                  | test_weights_and_groups.py::test_no_customer_is_on_both_sides_of_a_fold
metadata routing was not followed                           | test_weights_and_groups.py::test_metadata_is_routed_as_scikit_learn_does
`class_weight` moved the probabilities, silently            | test_weights_and_groups.py::test_class_weights_warn_and_can_be_corrected
`evaluate` weighed without a word                           | shell_day.rs::a_day_in_the_shell
a truth value was two features from CSV, one from Parquet   | test_one_encoding.py::test_files_and_frames_give_the_same_bits
a data frame with texts could not be fitted at all          | test_one_encoding.py::test_every_library_gives_the_same_bits
a model of the shell could not predict a data frame         | test_one_encoding.py::test_files_and_frames_give_the_same_bits
unseen categories had a rule for each command               | shell_day.rs::a_day_in_the_shell
which column is the label was not said                      | shell_day.rs::a_day_in_the_shell
identifiers were taken for features                         | shell_day.rs::a_day_in_the_shell
`predict` could not keep identifiers                        | shell_day.rs::a_day_in_the_shell
nor could `calibrate`                                       | test_day_shell.py::test_calibrations_are_saved_and_applied
calibrations of probabilities could not be saved            | test_day_shell.py::test_calibrations_are_saved_and_applied
calibrators of Python had no file                           | test_day_pipelines.py::test_calibrators_have_files
there was no `--group`                                      | test_day_shell.py::test_no_customer_is_on_both_sides
...                                                         | groups.rs::folds_keep_groups_together_and_classes_in_proportion
`compare` had no errors and no baselines                    | test_day_shell.py::test_compare_has_errors_and_baselines
`fit --json` said 0 iterations and no loss                  | test_day_shell.py::test_fit_says_everything
a `.png` or `.parquet` was written as something else        | test_day_shell.py::test_a_name_that_promises_another_format_is_refused
Parquet on standard input was taken for CSV                 | test_day_shell.py::test_parquet_on_standard_input_is_recognised
there was no `--test-last`, no `--ignore a,b`               | shell_day.rs::a_day_in_the_shell
`--json` of some commands was none                          | test_everyday.py::test_json_of_every_command_is_json
the tutorial's first fit warned, the default was not in it  | test_pages.py::test_code_of_a_page_runs_without_a_warning
dates, categories, missing values had an encoding a library | test_many_tables.py::test_a_table_has_one_model_whoever_holds_it
`transfer --help` listed what it does not take              | test_day_shell.py::test_transfer_and_its_help
`evaluate` took a model of arrays for one of class 0        | test_day_shell.py::test_models_of_python_are_measured
3.0 and -2.0 were calibrated as probabilities               | test_pictures.py::test_a_calibrator_of_probabilities_refuses_what_is_none
...                                                         | test_day_shell.py::test_calibrations_are_saved_and_applied
`in_range` is False in every iteration: why, was not said   | test_everyday.py::test_the_conditions_of_certificates_are_explained
"""

from __future__ import annotations

import itertools
import json
import math
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

import properloss as pl
from loans import FEATURES, loans
from test_same_bits import cli  # noqa: F401

ROOT = pathlib.Path(__file__).parents[2]


def test_every_test_of_the_table_exists() -> None:
    rows = re.findall(r"\| (\w+\.(?:py|rs))::(\w+)$", __doc__ or "", re.MULTILINE)
    assert len(rows) > 30
    sources = [*ROOT.glob("python/tests/*.py"), *ROOT.glob("crates/*/tests/*.rs")]
    sources += ROOT.glob("crates/*/src/**/*.rs")
    for file, name in rows:
        text = "".join(path.read_text() for path in sources if path.name == file)
        keyword = "def" if file.endswith(".py") else "fn"
        assert re.search(rf"\b{keyword} {name}\b", text), f"{file} has no {name}"


def test_the_conditions_of_certificates_are_explained() -> None:
    page = (ROOT / "docs" / "convergence.md").read_text()
    explained = page[page.index("## The conditions of a certificate") :]
    for name in ("step_held", "in_range", "nested", "close"):
        assert f"`{name}`" in explained
    # And it is as the page says: the claim holds without that condition.
    frame = loans(400)
    clf = pl.CertifiedClassifier(missing="mean", max_iter=30, tol=0).fit(frame[FEATURES], frame["default"])
    assert not clf.history_["in_range"].all()
    assert (clf.history_["observed"] >= clf.history_["claimed"] * (1 - 1e-9)).all()


# -- pictures --------------------------------------------------------------------------------


def overlaps(a: Any, b: Any) -> bool:
    return bool(a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1)


def test_no_label_of_a_display_lies_over_another() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    frame = loans(1500)
    rows, y = frame[FEATURES], frame["default"]
    clf = pl.ProperLossClassifier(missing="mean").fit(rows, y)
    displays = [
        pl.LinkDisplay.from_estimator(clf, rows, y),
        pl.LossDisplay.from_estimator(clf, rows, y),
        pl.ReliabilityDisplay.from_estimator(clf, rows, y, n_resamples=10),
        pl.MurphyDisplay.from_estimator(clf, rows, y),
        pl.DecisionCurveDisplay.from_estimator(clf, rows, y),
        pl.ConvergenceDisplay.from_estimator(clf),
    ]
    for display in displays:
        figure = display.figure_
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        for ax in figure.axes:
            for axis in (ax.xaxis, ax.yaxis):
                low, high = sorted(axis.get_view_interval())
                ticks = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
                texts = [t.label1 for t in ticks if t.label1.get_visible() and t.label1.get_text()]
                texts += [axis.label] if axis.label.get_text() else []
                boxes = [text.get_window_extent(renderer) for text in texts]
                for (a, first), (b, second) in itertools.combinations(zip(texts, boxes, strict=True), 2):
                    assert not overlaps(first, second), (display, a.get_text(), b.get_text())
        plt.close(figure)


def test_drawings_of_the_shell_are_whole(cli: str, tmp_path: pathlib.Path) -> None:  # noqa: F811
    """Well-formed, every number finite, something drawn, no number over the name of its axis."""
    loans(800).to_csv(tmp_path / "loans.csv", index=False)
    roles = "--label default --ignore loan_id,customer,weight --missing mean --quiet"
    for line in (
        f"fit loans.csv -o model.json {roles}",
        f"fit loans.csv -o certified.json {roles} --certified --max-iter 40 --certificate run.svg",
        "inspect model.json --plot link.svg",
        "inspect certified.json --plot learned.svg",
        "evaluate model.json loans.csv --plot reliability.svg",
    ):
        done = subprocess.run([cli, *line.split()], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    drawings = sorted(tmp_path.glob("*.svg"))
    assert [path.stem for path in drawings] == ["learned", "link", "reliability", "run"]
    for path in drawings:
        root = ElementTree.fromstring(path.read_text())
        tags = [element.tag.rpartition("}")[2] for element in root.iter()]
        assert tags.count("path") + tags.count("polyline") > 3, path.name
        for element in root.iter():
            numbers = (element.get(name) for name in ("x", "y", "cx", "cy", "width", "height"))
            assert all(math.isfinite(float(n)) for n in numbers if n and n[-1] != "%"), path.name
            assert "NaN" not in (element.get("d") or "") and "inf" not in (element.get("d") or "")
        for panel in root.iter("{http://www.w3.org/2000/svg}g"):
            texts = [child for child in panel if child.tag.endswith("text")]
            names = [t for t in texts if "rotate" in (t.get("transform") or "")]
            for name in names:
                at = float(re.search(r"translate\(([-\d.]+)", name.get("transform") or "").group(1))  # type: ignore[union-attr]
                left = [t for t in texts if t.get("text-anchor") == "end" and t.get("x") == "-8"]
                for tick in left:
                    assert 8 + 7.3 * len(tick.text or "") < -at + 5, (path.name, tick.text)


# -- small things ----------------------------------------------------------------------------


def test_json_of_every_command_is_json(cli: str, tmp_path: pathlib.Path) -> None:  # noqa: F811
    def run(line: str) -> Any:
        done = subprocess.run([cli, *line.split()], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return json.loads(done.stdout)

    assert run("synth --rows 300 -o train.csv --json")["rows"] == 300
    assert run("fit train.csv -o model.json --loss-out loss.json --json")["written"] == ["model.json", "loss.json"]
    assert run("predict model.json train.csv -o p.csv --json")["rows"] == 300
    assert (tmp_path / "p.csv").read_text().startswith("probability\n")
    assert run("evaluate model.json train.csv --certificate --json")["calibration_bound"]["confidence"] == 0.95
    assert run("inspect loss.json --json")["loss"]["why"]
    assert run("export model.json -o model.c --json")["written"] == "model.c"
    assert run("report model.json train.csv --json")["written"] == "report.html"
    assert run("transfer loss.json train.csv -o moved.json --json")["loss_kind"] in ("canonical", "composite")
    answer = run("compare train.csv --folds 2 --json")
    for row in answer["methods"]:
        losses = [fold["log_loss"] for fold in row["rounds"]]
        assert row["mean"]["log_loss"] == pytest.approx(np.mean(losses), rel=1e-14)
    (tmp_path / "scores.csv").write_text("z,y\n" + "".join(f"{i % 7},{i * 3 % 7 > 2}\n" for i in range(60)))
    assert run("calibrate scores.csv -o c.csv --json")["kind"] == "scores"
    assert run("manual -o man --json")["pages"]
