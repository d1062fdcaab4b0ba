"""Are the links between the pages alive, and is every part of a page in the site itself?"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Elements that a browser fetches when it opens a page, with the attribute that says from where.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
#: `<link>` elements that are not fetched.
NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author", "copyright"}


class Page(HTMLParser):
    """The links, anchors and parts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.parts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        attribute = FETCHED.get(tag)
        if attribute in found and not (tag == "link" and NOT_FETCHED & set(found.get("rel", "").split())):
            self.parts.append(found[attribute])


def pages(site: Path) -> dict[Path, Page]:
    """All pages but rustdoc's, which checks its own links, and the theme's templates."""
    others = {site / "rust", site / "_static"}
    return {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if not others & set(path.parents)
    }


def dead_links(site: Path) -> list[str]:
    """A line for every link or part that leads nowhere in the site."""
    known = pages(site)
    dead = []
    for path, page in known.items():
        for link in page.links + page.parts:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not goal.is_file():
                dead.append(f"{path.relative_to(site)}: {link} is not there")
            elif anchor and goal in known and anchor not in known[goal].anchors:
                dead.append(f"{path.relative_to(site)}: {link} has no such anchor")
    return sorted(set(dead))


def foreign_parts(site: Path) -> list[str]:
    """A line for every part of a page that comes from elsewhere."""
    return [
        f"{path.relative_to(site)}: fetches {part}"
        for path, page in pages(site).items()
        for part in page.parts
        if urlsplit(part).netloc or urlsplit(part).scheme in ("http", "https")
    ]
