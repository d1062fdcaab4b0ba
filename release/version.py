"""The one version number: `python release/version.py` checks it, `... 0.2.0` sets it.

It lives in `[workspace.package]` of Cargo.toml; the Python package takes it from there. Cargo wants
it repeated for the crates that depend on each other, CITATION.cff and the lock file repeat it too.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
#: File and pattern of every place; the first is the one that counts.
PLACES = [
    ("Cargo.toml", r'^version = "(.+?)"'),
    ("Cargo.toml", r'^properloss[a-z-]* = \{.*version = "(.+?)"'),
    ("CITATION.cff", r"^version: (.+)$"),
    ("Cargo.lock", r'^name = ".+"\nversion = "(.+?)"\n(?!source)'),
]


def read() -> str:
    """The version; stops if a place says another."""
    version, others = None, []
    for name, pattern in PLACES:
        found = re.findall(pattern, (ROOT / name).read_text(), re.MULTILINE)
        if not found:
            sys.exit(f"{name}: no version found by {pattern}")
        version = version or found[0]
        others += [f"{name} says {other}" for other in found if other != version]
    if others:
        sys.exit(f"the version is {version}, but " + ", ".join(others))
    return version


def write(version: str) -> None:
    """Sets it everywhere and starts its section of the changelog."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?", version):
        sys.exit(f"{version} is no version: MAJOR.MINOR.PATCH, or with -alpha.N, -beta.N, -rc.N")
    old = read()
    for name, pattern in PLACES:
        path = ROOT / name
        text = re.sub(
            pattern,
            lambda found: found[0][: found.start(1) - found.start()]
            + version
            + found[0][found.end(1) - found.start() :],
            path.read_text(),
            flags=re.MULTILINE,
        )
        path.write_text(text)
    changelog = ROOT / "CHANGELOG.md"
    text = changelog.read_text()
    if f"## {version}\n" not in text:
        changelog.write_text(text.replace("## Unreleased\n", f"## Unreleased\n\n## {version}\n", 1))
    subprocess.run(["cargo", "metadata", "--locked", "--format-version", "1"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    print(f"{old} -> {read()}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(sys.argv[1])
    else:
        print(read())
