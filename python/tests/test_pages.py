"""The code on the pages: every Python block and every command is run in order, and a warning is an error."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import warnings

import pytest
from sklearn.datasets import load_wine

from test_same_bits import cli  # noqa: F401

ROOT = pathlib.Path(__file__).parents[2]
#: Pages whose Python blocks stand on their own, with the least number of blocks.
PAGES = {
    "README.md": 1,
    "python/README.md": 1,
    "docs/tutorial.md": 15,
    "docs/start/python.md": 4,
    "docs/guide/losses.md": 3,
    "docs/guide/guarantees.md": 2,
}


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_runs_without_a_warning(page, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    found = blocks((ROOT / page).read_text(encoding="utf-8"))
    assert len(found) >= PAGES[page]
    namespace: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, code in enumerate(found):
            exec(compile(code, f"{page} block {number + 1}", "exec"), namespace)
    import matplotlib.pyplot as plt

    plt.close("all")


#: Pages whose commands are run as they stand, with the least number of them.
COMMANDS = {"README.md": 5, "docs/start/shell.md": 8, "docs/cli.md": 14}


def commands(text: str) -> list[str]:
    """The commands of the page, but for those that install or build."""
    shown = re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in shown for line in block.splitlines()]
    return [line for line in lines if not line.startswith(("cargo install", "pip install", "make "))]


@pytest.mark.parametrize("page", COMMANDS)
def test_commands_of_a_page_run(page, cli, tmp_path):  # noqa: F811
    """In a folder with the table that the project carries and the files that the page calls the reader's."""
    lines = commands((ROOT / page).read_text(encoding="utf-8"))
    assert len(lines) >= COMMANDS[page] and all(line.startswith("properloss ") for line in lines)
    table = ROOT / "data" / "breast_cancer.csv"
    (tmp_path / "data").mkdir()
    shutil.copy(table, tmp_path / "data")
    if page == "README.md":
        shutil.copy(table, tmp_path / "new.csv")
        shutil.copy(table, tmp_path / "test.csv")
    if page == "docs/cli.md":
        frame = load_wine(as_frame=True).frame.replace({"target": {0: "A", 1: "B", 2: "C"}})
        frame.iloc[::2].to_csv(tmp_path / "wine.csv", index=False)
        frame.iloc[1::2].to_csv(tmp_path / "new.csv", index=False)
    path = os.pathsep.join([str(pathlib.Path(cli).parent), os.environ.get("PATH", "")])
    for line in lines:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert "warning" not in done.stderr, f"{line}\n{done.stderr}"
        for name in re.findall(r"(?:-o|--plot|--loss-out|>) (\S+)", line):
            assert (tmp_path / name).stat().st_size > 0, f"{line}: no {name}"
    if page == "docs/start/shell.md":
        # What they promise is there: 569 rows and a header, a picture, a page.
        shown = {line.split()[1] for line in lines}
        assert shown >= {"fit", "inspect", "predict", "evaluate", "report", "compare", "calibrate"}
        for name in ("probabilities.csv", "calibrated.csv"):
            head, *rows = (tmp_path / name).read_text().splitlines()
            assert head == "probability" and len(rows) == 569
            assert all(0.0 < float(row) < 1.0 for row in rows)
        assert (tmp_path / "model.svg").read_text().startswith("<svg")
        assert "</html>" in (tmp_path / "report.html").read_text()


def test_the_readme_is_short_and_shows_something():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 100
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert (ROOT / picture).exists()


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link


def test_the_rust_example_is_the_tested_one():
    """The crate's own readme is compiled with its documentation."""

    def example(page: str) -> str:
        (code,) = re.findall(r"```rust\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
        return code

    assert example("docs/start/rust.md") == example("crates/properloss/README.md")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_file_that_a_map_names_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:rs|py))`", text)
    assert len(named) > 10
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    tree = {f"/{file}" for file in listed.stdout.splitlines()}
    tree |= {f"/{folder}" for file in listed.stdout.splitlines() for folder in pathlib.Path(file).parents}
    # Data that a checkout may have beside it.
    named = {name for name in named if not name.startswith(("../", "mnist", "fashion-mnist"))}
    ends = {name: "/" + name.removeprefix(".../").rstrip("/") for name in named}
    missing = [name for name, end in ends.items() if not any(path.endswith(end) for path in tree)]
    assert not missing
