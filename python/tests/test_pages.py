"""The code on the pages: every Python block is run in order, and a warning is an error."""

from __future__ import annotations

import pathlib
import re
import warnings

import pytest

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
