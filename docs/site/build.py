"""The documentation site, below target/docs/: `make docs` runs this.

Sources are copied to target/docs-source first: the pages of docs/ at its top, those of the
repository's root below project/, with their links between each other kept. What is written for
GitHub is left as it is; only its two spellings of formulas are translated. Afterwards every link
between pages is followed, and a dead one is an error.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
SOURCE = ROOT / "target" / "docs-source"
OUTPUT = ROOT / "target" / "docs"
#: Pages outside docs/ and where they go.
PROJECT = {
    "DESIGN.md": "project/DESIGN.md",
    "CONTRIBUTING.md": "project/CONTRIBUTING.md",
    "CHANGELOG.md": "project/CHANGELOG.md",
    "SECURITY.md": "project/SECURITY.md",
    "bench/README.md": "project/bench/README.md",
}
#: Folders that Sphinx writes into the sources.
GENERATED = ("examples", "api/generated")


def translated(text: str) -> str:
    """GitHub's formulas in MyST: ``$`x`$`` and fences called math; code stays."""
    parts = re.split(r"(^ *```.*?^ *```[^\n]*$)", text, flags=re.MULTILINE | re.DOTALL)
    for k, part in enumerate(parts):
        if k % 2:
            parts[k] = re.sub(r"^( *)```math$", r"\1```{math}", part, count=1, flags=re.MULTILINE)
        else:
            parts[k] = re.sub(r"\$`(.+?)`\$", r"$\1$", part, flags=re.DOTALL)
    return "".join(parts)


def moved_links(text: str, page: str, files: dict[str, bytes]) -> str:
    """Links of a page between docs/ and the root, after the move of :data:`PROJECT`.

    Linked files that are no pages are added to ``files``.
    """
    here = Path(PROJECT.get(page, page.removeprefix("docs/"))).parent

    def link(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if "://" in target or not target:
            return match[0]
        found = ((ROOT / page).parent / target).resolve()
        if not found.exists():
            raise SystemExit(f"{page} links to {target}, which is not there")
        relative = found.relative_to(ROOT).as_posix()
        goal = PROJECT.get(relative, relative.removeprefix("docs/"))
        # An example is a script to GitHub and a page with its pictures here.
        goal = re.sub(r"^gallery/README\.rst$", "examples/index.rst", goal)
        goal = re.sub(r"^gallery/(.+)\.py$", r"examples/\1.rst", goal)
        if goal == relative and found.is_dir():
            raise SystemExit(f"{page} links to the folder {relative}, which the site does not have")
        if goal == relative:
            # A file of the repository that is no page: the site carries it to be downloaded.
            goal = f"files/{relative}"
            files[goal] = found.read_bytes()
        up = "../" * len(here.parts)
        return f"]({up}{goal}{anchor})"

    return re.sub(r"\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)", link, text)


def sources() -> dict[str, bytes]:
    """What the copy holds: path to content."""
    tracked = {}
    for path in sorted((ROOT / "docs").rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and not name.startswith("docs/site/") and "__pycache__" not in name:
            tracked[name] = name.removeprefix("docs/")
    tracked |= PROJECT
    out: dict[str, bytes] = {}
    files: dict[str, bytes] = {}
    for name, goal in tracked.items():
        content = (ROOT / name).read_bytes()
        if name.endswith(".md"):
            content = moved_links(translated(content.decode()), name, files).encode()
        out[goal] = content
    for path in (*SITE.glob("_static/*"), *SITE.glob("_templates/**/*")):
        if path.is_file():
            out[path.relative_to(SITE).as_posix()] = path.read_bytes()
    out |= files
    out["conf.py"] = (SITE / "conf.py").read_bytes()
    return out


def synchronise() -> None:
    """Bring the copy up to date; what has not changed keeps its time, so that Sphinx skips it."""
    wanted = sources()
    for path in SOURCE.rglob("*"):
        name = path.relative_to(SOURCE).as_posix()
        if path.is_file() and name not in wanted and not name.startswith(GENERATED):
            path.unlink()
    for name, content in wanted.items():
        path = SOURCE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def mathjax() -> None:
    """The one file of MathJax, beside the site's own style."""
    import importlib.metadata

    files = importlib.metadata.files("sphinx-mathjax-offline") or []
    (file,) = (f for f in files if f.name == "tex-svg-full.js")
    shutil.copyfile(str(file.locate()), OUTPUT / "_static" / "mathjax.js")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="build everything anew")
    parser.add_argument("--rustdoc", type=Path, default=ROOT / "target" / "doc")
    arguments = parser.parse_args()
    if arguments.fresh:
        for folder in (SOURCE, OUTPUT, ROOT / "target" / "docs-trees"):
            shutil.rmtree(folder, ignore_errors=True)
    synchronise()
    sphinx = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    trees = ROOT / "target" / "docs-trees"
    subprocess.run([*sphinx, "-b", "html", "-d", trees, SOURCE, OUTPUT], check=True)
    mathjax()
    rust = OUTPUT / "rust"
    shutil.rmtree(rust, ignore_errors=True)
    shutil.copytree(arguments.rustdoc, rust, ignore=shutil.ignore_patterns(".lock", "src"))
    wrong = check.dead_links(OUTPUT) + check.foreign_parts(OUTPUT)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        raise SystemExit(f"{len(wrong)} dead links or foreign parts")
    print(f"the site is {OUTPUT.relative_to(Path.cwd()) / 'index.html'}")


if __name__ == "__main__":
    main()
