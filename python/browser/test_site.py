"""The documentation site from file://, offline: run by `make test-browser` after `make docs`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "target" / "docs"
PICTURES = os.environ.get("PICTURES")
#: One page of each kind: formulas, a gallery, a live report, an interface.
PAGES = (
    "index.html",
    "start/python.html",
    "certificate.html",
    "examples/index.html",
    "examples/plot_02_noise_floor.html",
    "examples/plot_12_report_page.html",
    "api/generated/properloss.ProperLossClassifier.html",
    "tutorial.html",
)

pytestmark = pytest.mark.skipif(
    not SITE.joinpath("index.html").exists() and os.environ.get("CI") != "true",
    reason="the site is not built: make docs",
)


class Opened:
    """A page of the site that remembers what went wrong and what was asked for."""

    def __init__(self, browser, name, **options):
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: m.type == "error" and self.wrong.append(m.text))
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        path, _, query = name.partition("?")
        self.page.goto((SITE / path).as_uri() + (f"?{query}" if query else ""))

    def __enter__(self):
        return self.page

    def __exit__(self, *error):
        self.context.close()
        if error[0] is None:
            assert self.wrong == []
            local = ("file:", "data:", "blob:", "about:")
            assert [url for url in self.requests if not url.startswith(local)] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_network(browser, name):
    with Opened(browser, name, viewport={"width": 1280, "height": 900}) as page:
        page.wait_for_load_state()
        assert page.locator("h1").first.is_visible()
        # Every picture is there.
        broken = "[...document.images].filter(i => i.complete && i.naturalWidth === 0).map(i => i.src)"
        page.evaluate("() => { for (const i of document.images) i.loading = 'eager' }")
        assert page.evaluate(broken) == []
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/site-{name.removesuffix('.html').replace('/', '-')}.png")


def test_search_finds_calibration(browser):
    with Opened(browser, "search.html?q=calibration") as page:
        page.wait_for_selector("#search-results li", timeout=30_000)
        found = page.locator("#search-results li").all_inner_texts()
        assert len(found) >= 5
        assert any("calibration" in text.lower() for text in found)
        links = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
        assert any("certificate" in link for link in links)
    # A word that is nowhere is found nowhere.
    with Opened(browser, "search.html?q=zyxwvutq") as page:
        page.get_by_text("did not match").first.wait_for(timeout=30_000)
        assert page.locator("#search-results li").count() == 0


def test_formulas_are_drawn(browser):
    with Opened(browser, "certificate.html") as page:
        page.wait_for_selector("mjx-container svg", timeout=30_000)
        assert page.locator("mjx-container").count() > 30
        assert page.locator("mjx-merror").count() == 0


@pytest.mark.parametrize("width", [320, 768, 1920])
@pytest.mark.parametrize("name", ["index.html", "tutorial.html", "examples/index.html", "learners.html"])
def test_no_overflow(browser, name, width):
    with Opened(browser, name, viewport={"width": width, "height": 800}) as page:
        page.wait_for_load_state()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
