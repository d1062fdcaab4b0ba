"""The public interface of the core as text, read from its documentation.

    python release/public_api.py --write     (make public-api)
    python release/public_api.py             compares, and prints what differs (part of make test)

rustdoc's pages hold every public item with its declaration, on the stable compiler; its JSON would need
an unstable flag. The listing is `crates/properloss/public-api.txt`: every item with its fields, variants
and methods, and the traits it implements (not the automatic ones). Run `make doc` first.
"""

from __future__ import annotations

import difflib
import pathlib
import re
import sys
from html.parser import HTMLParser

ROOT = pathlib.Path(__file__).parents[1]
PAGES = ROOT / "target" / "doc" / "properloss"
LISTING = ROOT / "crates" / "properloss" / "public-api.txt"
#: The first word of the names of pages that hold an item.
KINDS = ("constant", "enum", "fn", "macro", "static", "struct", "trait", "type", "union")


class Page(HTMLParser):
    """The declaration of an item, its methods and the traits it implements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.declaration = ""
        self.methods: list[str] = []
        self.traits: list[str] = []
        self._section = ""
        self._into: str | None = None
        self._text = ""
        self._skipping = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        classes = known.get("class", "").split()
        if tag == "h2" and "section-header" in classes:
            self._section = known["id"]
        if self._into is None and (
            (tag == "pre" and "item-decl" in classes and not self.declaration)
            or (tag in ("h3", "h4") and "code-header" in classes)
        ):
            self._into, self._text = tag, ""
        elif self._into and tag == "summary":
            # `Show 14 methods`
            self._skipping += 1

    def handle_endtag(self, tag: str) -> None:
        if self._into and tag == "summary":
            self._skipping -= 1
        if tag != self._into:
            return
        text, self._into = self._text, None
        if tag == "pre":
            self.declaration = text
        elif self._section == "implementations" and tag == "h4":
            self.methods.append(" ".join(text.split()))
        elif self._section == "trait-implementations" and tag == "h3":
            self.traits.append(" ".join(text.split()))

    def handle_data(self, data: str) -> None:
        if self._into and not self._skipping:
            self._text += data


def item(path: pathlib.Path) -> list[str]:
    """The lines of one item, its full name first."""
    name = path.stem.partition(".")[2]
    full = "::".join(["properloss", *path.parent.relative_to(PAGES).parts, name])
    page = Page(path.read_text())
    if not page.declaration:
        sys.exit(f"{path}: no declaration found: has rustdoc changed its pages?")
    lines = [line.rstrip() for line in page.declaration.splitlines()]
    lines = [line for line in lines if line and not re.match(r"\s*(//|#\[must_use)", line)]
    inside = [f"    {line}" for line in lines]
    # Sorted: their order on a page says nothing. `impl Trait for Type` is short `Trait`.
    inside += sorted({f"    {method}" for method in page.methods})
    short = {re.sub(rf"^impl (\S+) for {name}$", r"\1", trait) for trait in page.traits}
    plain = sorted(trait for trait in short if " " not in trait and trait != "StructuralPartialEq")
    inside += [f"    {trait}" for trait in sorted(short) if " " in trait]
    inside += [f"    is {', '.join(plain)}"] if plain else []
    return [full, *inside, ""]


def listing() -> str:
    paths = [path for path in PAGES.rglob("*.html") if path.name.split(".")[0] in KINDS]
    if not paths:
        sys.exit("target/doc/properloss is empty: run `make doc` first")
    # Files of items that are gone stay in target/doc: `all.html` says what is there.
    there = set(re.findall(r'href="([^"]+\.html)"', (PAGES / "all.html").read_text()))
    paths = [path for path in paths if path.relative_to(PAGES).as_posix() in there]
    items = sorted(item(path) for path in paths)
    return "\n".join(line for lines in items for line in lines)


def main() -> None:
    new = listing()
    if "--write" in sys.argv:
        LISTING.write_text(new)
        return
    old = LISTING.read_text()
    if old != new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "public-api.txt", "the code", lineterm="", n=1)
        print("\n".join(lines))
        sys.exit("the public interface changed: if that is meant, run `make public-api` and commit the file")


if __name__ == "__main__":
    main()
