"""The paper's experiments: they run, their conclusions follow the numbers, the page is current."""

from __future__ import annotations

import copy
import gzip
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))

import conclusions  # noqa: E402
import data  # noqa: E402
import figures  # noqa: E402
import methods  # noqa: E402
import report  # noqa: E402
import reproduce  # noqa: E402
import settings  # noqa: E402
import table1  # noqa: E402

RESULTS = ROOT / "docs" / "reproduction" / "results.json"


def write_idx(path: Path, values: np.ndarray) -> None:
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(head + values.astype(np.uint8).tobytes()))


@pytest.fixture(scope="module")
def tiny_images(tmp_path_factory):
    """Two image sets of ten noisy classes, 5 x 5 pixels."""
    folder = tmp_path_factory.mktemp("images")
    stream = np.random.RandomState(0)
    centres = stream.randint(40, 215, size=(10, 5, 5))
    for name in data.SETS.values():
        (folder / name).mkdir()
        for part, rows in (("train", 600), ("t10k", 200)):
            labels = np.arange(rows) % 10
            images = np.clip(centres[labels] + stream.normal(0, 60, (rows, 5, 5)), 0, 255)
            write_idx(folder / name / f"{part}-images-idx3-ubyte.gz", images)
            write_idx(folder / name / f"{part}-labels-idx1-ubyte.gz", labels)
    return folder


@pytest.fixture(scope="module")
def tiny(tiny_images):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "SYNTH_TEST_ROWS", 300)
        return reproduce.compute(tiny_images, settings.TINY, jobs=1)


@pytest.fixture(scope="module")
def committed():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_everything_runs_on_tiny_images(tiny, tmp_path, monkeypatch):
    # Two of the figures: drawing is slow.
    some = {name: figures.FIGURES[name] for name in ("slisotron", "transfer")}
    monkeypatch.setattr(figures, "FIGURES", some)
    page = reproduce.publish(tiny, tmp_path).read_text(encoding="utf-8")
    for name in figures.FIGURES:
        assert (tmp_path / "reproduction" / f"{name}.svg").read_text().startswith("<?xml")
        assert f"(reproduction/{name}.svg)" in page
    cell = tiny["table1"]["strict"]["mnist"]["glmtron"]["auc_score"]
    assert f"| GLMTron, sigmoid | {100 * cell['mean']:.2f} ± {100 * cell['se']:.2f} | 99.6 |" in page
    assert "nan" not in page and "None" not in page


def test_the_search_sees_no_test_row(tiny_images):
    """The chosen setting is the same whatever the test rows are."""
    with pytest.MonkeyPatch.context() as patch:
        arguments = (str(tiny_images), "mnist", "glmtron", 1000, 60, 40, 20)
        chosen = table1.choose([table1.search_cell(*arguments)])

        def none(*_):
            return np.full((4, 25), np.nan, np.float32), np.array([0, 1, 0, 1], np.uint8)

        patch.setattr(data, "test_part", none)
        assert table1.choose([table1.search_cell(*arguments)]) == chosen


def test_the_page_is_that_of_the_committed_results(committed):
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert report.page(committed, "reproduction") == page, "run experiments/reproduce.py --from"


def test_conclusions_follow_the_numbers(committed):
    said = " ".join(sum(conclusions.all_of_them(committed).values(), []))
    assert "Not reached" not in said
    changed = copy.deepcopy(committed)
    for setting in conclusions.SETTINGS:
        changed["table1"][setting]["fmnist"]["bregmantron"]["auc_score"]["mean"] = 0.9
    assert "Not reached: BregmanTron on fmnist; the nearest is −7.90 points" in " ".join(
        conclusions.on_the_table(changed)
    )
    changed = copy.deepcopy(committed)
    for cases in changed["transfer"]["survey"]["labels"].values():
        for case in cases.values():
            for source in case["sources"].values():
                source["auc_score - logistic"] = {"mean": 0.01, "se": 0.001, "count": 5}
    assert "helps more often than it hurts" in " ".join(conclusions.on_transfer(changed))
    for dataset in settings.IMAGES:
        changed["table1"]["strict"][dataset]["bregmantron"]["ece"]["mean"] = 0.005
    assert "about as well calibrated" in " ".join(conclusions.on_calibration(changed))


def test_pairs_are_counted_with_their_ties():
    y = np.array([0, 0, 1, 1, 1])
    values = np.array([0.1, 0.5, 0.5, 0.7, 0.0])
    # 0.5: above one, tied with one; 0.7: above both; 0.0: below both.
    assert methods.pair_counts(y, values) == (3, 1, 2)


def test_summary_is_mean_and_standard_error():
    found = methods.summary([1.0, 2.0, 3.0, 6.0])
    assert found["mean"] == 3.0
    assert found["se"] == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)


def test_missing_images_are_explained(tmp_path, capsys):
    assert reproduce.main(["--data", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert str(tmp_path) in error and "hint: `properloss data get mnist" in error


def test_real_images_give_the_committed_digits(committed):
    try:
        directory = str(data.find())
    except data.NoData as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"skipped: no data ({error})")
    cells = [
        table1.strict_cell(directory, "mnist", "glmtron", seed, 1000, 50) for seed in range(5)
    ]
    found = methods.summary(cell["measures"]["auc_score"] for cell in cells)
    wanted = committed["table1"]["strict"]["mnist"]["glmtron"]["curve"]["50"]["auc_score"]
    # The file holds six significant digits.
    assert found["mean"] == pytest.approx(wanted["mean"], abs=1e-6)
    assert found["se"] == pytest.approx(wanted["se"], rel=1e-5)
