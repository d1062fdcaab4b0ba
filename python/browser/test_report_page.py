"""The report page in a browser: run by `make test-browser`."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import properloss as pl

HOSTILE = "</script><script>window.broken = 1</script>\"'<img src=x onerror=window.broken=1>"
#: Screenshots are written here if it is set: to be looked at.
PICTURES = os.environ.get("PICTURES")


def _rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 4)) * [1.0, 2.0, 0.5, 3.0]
    z = X @ [1.0, -0.6, 1.0, 0.2] - 0.5
    y = rng.random(1500) < 0.04 + 0.92 * (1 - np.exp(-np.exp(z)))
    return X, y.astype(int)


def _classes(seed):
    """Three classes in the plane; one of them has a hostile name, and so has a column."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    kind = rng.choice(3, 1200, p=[0.5, 0.3, 0.2])
    X = np.array([[0.0, 0.0], [2.0, 0.5], [0.5, 2.0]])[kind] + rng.normal(size=(1200, 2))
    return pd.DataFrame(X, columns=[HOSTILE, "x" * 10_000]), np.array(["ant", "bee", HOSTILE])[kind]


@pytest.fixture(scope="session")
def models():
    X, y = _rows(0)
    return pl.ProperLossClassifier().fit(X, y), LogisticRegression().fit(X, y)


@pytest.fixture(scope="session")
def held_out():
    return _rows(1)


@pytest.fixture(scope="session")
def files(models, held_out, tmp_path_factory):
    """The page of one model, of two, and of hostile names."""
    import pandas as pd

    folder = tmp_path_factory.mktemp("pages")
    X, y = held_out
    models[0].report(X, y, folder / "one.html")
    pl.report(models[0], X, y, folder / "two.html", compare=models[1])
    columns = [HOSTILE, "\u202eעברית", "x" * 10_000, "a\"b'c&d"]
    labels = np.array([HOSTILE, "\u202eשלום"])
    X_train, y_train = _rows(0)
    several = _classes(0)
    forest = LogisticRegression().fit(*several)
    pl.report(pl.ProperLossClassifier().fit(*several), *_classes(1), folder / "classes.html", compare=forest)
    hostile = pl.CanonicalLossClassifier().fit(pd.DataFrame(X_train, columns=columns), labels[y_train])
    page = hostile.report(pd.DataFrame(X, columns=columns), labels[y])
    page.save(folder / "hostile.html")
    return folder


class Page:
    """A page that remembers what went wrong."""

    def __init__(self, browser, path: Path, **options):
        self.context = browser.new_context(offline=True, accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.wrong.append(f"{m.type}: {m.text}"))
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.context.close()
        if error[0] is None:
            assert self.wrong == []
            # Nothing but the page itself (and what the user saves).
            assert [url for url in self.requests if not url.startswith(("blob:", "data:"))] == [self.url]


def matrix(page, letter="a"):
    return {
        cell.get_attribute("data-cell"): int(cell.inner_text())
        for cell in page.locator(f"#matrix-{letter} [data-cell]").all()
    }


def counts(p, y, t):
    called = p > t
    return {
        "tp": int((called & (y == 1)).sum()),
        "fp": int((called & (y == 0)).sum()),
        "fn": int((~called & (y == 1)).sum()),
        "tn": int((~called & (y == 0)).sum()),
    }


def threshold(page):
    return float(page.locator("#threshold-value").inner_text())


def test_the_threshold_slider_by_keyboard_and_mouse(browser, files, models, held_out):
    X, y = held_out
    with Page(browser, files / "two.html") as opened:
        page = opened.page
        slider = page.locator("#threshold-slider")
        seen = set()

        def check():
            t = threshold(page)
            seen.add(t)
            for letter, model in zip("ab", models, strict=True):
                assert matrix(page, letter) == counts(model.predict_proba(X)[:, 1], y, t), (letter, t)

        assert threshold(page) == 0.5
        check()
        slider.focus()
        for key in ("ArrowRight", "ArrowRight", "PageUp", "ArrowLeft", "Home", "ArrowRight", "End"):
            page.keyboard.press(key)
            check()
        box = slider.bounding_box()
        for place in (0.2, 0.45, 0.8):
            page.mouse.click(box["x"] + place * box["width"], box["y"] + box["height"] / 2)
            check()
        # The mouse drags too.
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2, steps=3)
        page.mouse.up()
        check()
        assert len(seen) >= 9


def test_the_cost_slider_goes_to_the_least_cost(browser, files, models, held_out):
    X, y = held_out
    p = models[0].predict_proba(X)[:, 1]
    grid = np.unique(np.concatenate([np.arange(10), np.arange(10, 100, 2), np.arange(100, 1000, 10), np.arange(1000, 5001, 50)]))
    grid = np.unique(np.concatenate([grid, 10_000 - grid])) / 10_000
    with Page(browser, files / "one.html") as opened:
        page = opened.page
        page.locator("#cost-slider").focus()
        for key in ["ArrowRight"] * 3 + ["PageUp", "End", "Home"] + ["ArrowRight"] * 2:
            page.keyboard.press(key)
            label = page.locator("#cost-value").inner_text()
            ratio = 1 / float(label[2:]) if label.startswith("1/") else float(label)
            costs = np.array([c["fp"] + ratio * c["fn"] for c in (counts(p, y, t) for t in grid)])
            best = np.flatnonzero(costs <= costs.min() * (1 + 1e-9))
            nearest = np.abs(grid[best] - 1 / (1 + ratio)).min()
            t = threshold(page)
            assert t in grid[best], (label, t)
            assert abs(t - 1 / (1 + ratio)) == pytest.approx(nearest, abs=1e-12)
            assert matrix(page) == counts(p, y, t)


def _values(text):
    return [float(v) for v in re.findall(r": (-?[\d.e-]+)", text)]


def test_read_outs_are_the_models_values(browser, files, models, held_out):
    X, y = held_out
    model = models[0]
    with Page(browser, files / "one.html", viewport={"width": 1200, "height": 900}) as opened:
        page = opened.page

        def close(shown, true):
            # Five digits are shown.
            assert shown == pytest.approx(true, rel=5.1e-5, abs=1e-12)

        def check_link():
            z, u, sigmoid = _values(page.locator("#out-link-a").inner_text())
            close(u, model.link_.inverse_link(z))
            close(sigmoid, 1 / (1 + np.exp(-z)))
            return z

        page.locator("#read-link-a").focus()
        before = check_link()
        for key in ("ArrowRight", "PageDown", "Home", "End", "PageDown"):
            page.keyboard.press(key)
            check_link()
        # Under the pointer: the score that the axis has there.
        page.locator("#figure-link-a svg").scroll_into_view_if_needed()
        box = page.locator("#figure-link-a svg").bounding_box()
        places = []
        for share in (0.3, 0.6, 0.8):
            page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
            places.append(check_link())
        assert places[0] < places[1] < places[2] and before != places[0]

        page.locator("#read-losses-a").focus()
        for key in ("ArrowLeft", "PageUp", "PageUp"):
            page.keyboard.press(key)
            p, zero, one, _, _ = _values(page.locator("#out-losses-a").inner_text().replace("–", "nan"))
            # Over forecasts if the loss is canonical, over scores if it is composite.
            canonical = model.loss_.kind == "canonical"
            cost = model.loss_.partial_loss if canonical else model.loss_.loss
            close(zero, cost(0, p))
            close(one, cost(1, p))

        probability = model.predict_proba(X)[:, 1]
        page.locator("#read-murphy").focus()
        for key in ("PageUp", "ArrowRight", "Home", "PageUp"):
            page.keyboard.press(key)
            t, cost, _ = _values(page.locator("#out-murphy").inner_text())
            c = counts(probability, y, t)
            close(cost, 2 * (t * c["fp"] + (1 - t) * c["fn"]) / len(y))
        page.locator("#read-decision").focus()
        page.keyboard.press("PageUp")
        t, benefit, _ = _values(page.locator("#out-decision").inner_text())
        c = counts(probability, y, t)
        close(benefit, (c["tp"] - c["fp"] * t / (1 - t)) / len(y))


def test_the_picker_shows_one_class_and_its_sliders_count(browser, files):
    X, y = _classes(1)
    names = [HOSTILE, "ant", "bee"]
    assert np.unique(y).tolist() == names
    several = _classes(0)
    models = pl.ProperLossClassifier().fit(*several), LogisticRegression().fit(*several)
    with Page(browser, files / "classes.html") as opened:
        page = opened.page
        picker = page.locator("#class-picker")
        assert picker.is_visible() and picker.locator("option").count() == 3
        for number in (2, 3, 1):
            picker.select_option(str(number))
            assert [k for k in (1, 2, 3) if page.locator(f"#class-{k}").is_visible()] == [number]
            page.locator(f"#threshold-slider-{number}").focus()
            for key in ("ArrowRight", "PageUp", "ArrowLeft", "PageDown", "PageDown"):
                page.keyboard.press(key)
                t = float(page.locator(f"#threshold-value-{number}").inner_text())
                for letter, model in zip("ab", models, strict=True):
                    p = model.predict_proba(X)[:, number - 1]
                    expected = counts(p, (y == names[number - 1]).astype(int), t)
                    assert matrix(page, f"{letter}-{number}") == expected, (number, letter, t)
        # By keyboard too.
        picker.focus()
        page.keyboard.press("ArrowDown")
        assert page.locator("#class-2").is_visible() and not page.locator("#class-1").is_visible()
        assert page.evaluate("window.broken") is None
        # The whole matrix, of the most probable classes.
        called = models[0].predict(X)
        cells = page.locator("table.confusion").first.locator("td:not(:empty)").all_inner_texts()
        expected = [int(((y == a) & (called == b)).sum()) for a in names for b in names]
        assert [int(cell) for cell in cells] == expected
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/classes.png", full_page=True)


def test_the_link_of_a_class_is_read_out(browser, files):
    model = pl.ProperLossClassifier().fit(*_classes(0))
    with Page(browser, files / "classes.html") as opened:
        page = opened.page
        for number in (1, 3):
            page.locator("#class-picker").select_option(str(number))
            page.locator(f"#read-link-a-{number}").focus()
            for key in ("ArrowRight", "PageDown", "Home", "End", "PageDown"):
                page.keyboard.press(key)
                u, p, softmax = _values(page.locator(f"#out-link-a-{number}").inner_text())
                # The class has log-odds u under the softmax, the others are alike.
                z = np.zeros(3)
                z[number - 1] = u + np.log(2)
                assert p == pytest.approx(model.link_.probabilities(z[None])[0, number - 1], rel=5.1e-5)
                assert softmax == pytest.approx(1 / (1 + np.exp(-u)), rel=5.1e-5)
        # The second model is another program's: its link is not known, and none is drawn.
        assert page.locator("#figure-link-b-1").count() == 0
        page.locator("#class-picker").select_option("2")
        page.locator("#figure-weights-a-2 summary").click()
        text = page.locator("#figure-weights-a-2 table").inner_text()
        assert HOSTILE in text and "(10000 characters)" in text
        assert page.evaluate("window.broken") is None and page.locator("img").count() == 0


def test_classes_are_read_without_a_script(browser, files):
    with Page(browser, files / "classes.html", java_script_enabled=False) as opened:
        page = opened.page
        assert not page.locator("#class-picker").is_visible()
        assert all(page.locator(f"#class-{k}").is_visible() for k in (1, 2, 3))


@pytest.mark.parametrize("width", [320, 480, 768, 1024, 1920])
@pytest.mark.parametrize("name", ["two", "hostile", "classes"])
def test_no_overflow(browser, files, name, width):
    with Page(browser, files / f"{name}.html", viewport={"width": width, "height": 800}) as opened:
        page = opened.page
        for details in page.locator("details").all():
            details.evaluate("d => { d.open = true }")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{name}-{width}.png", full_page=True)


def test_hostile_names_are_text(browser, files):
    with Page(browser, files / "hostile.html") as opened:
        page = opened.page
        assert page.evaluate("window.broken") is None
        assert page.locator("img").count() == 0
        assert HOSTILE in page.locator("#matrix-a").inner_text()
        page.locator("#figure-weights-a summary").click()
        text = page.locator("#figure-weights-a table").inner_text()
        assert HOSTILE in text and "עברית" in text and "(10000 characters)" in text
    assert len((files / "hostile.html").read_bytes()) < 1_000_000


@pytest.mark.parametrize(
    ("name", "scheme"), [("two", "light"), ("one", "dark"), ("classes", "light"), ("classes", "dark")]
)
def test_axe_finds_nothing_serious(browser, files, name, scheme):
    script = Path(os.environ.get("AXE", "target/browser/node_modules/axe-core/axe.min.js"))
    with Page(browser, files / f"{name}.html", color_scheme=scheme, bypass_csp=True) as opened:
        opened.page.evaluate("() => { for (const d of document.querySelectorAll('details')) d.open = true }")
        opened.page.evaluate(script.read_text())
        result = opened.page.evaluate("axe.run()")
        # It did look: contrast, names of controls, tables.
        assert {"color-contrast", "label", "region"} <= {rule["id"] for rule in result["passes"]}
        found = [
            (v["id"], [n["target"] for n in v["nodes"]][:3])
            for v in result["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert found == []


@pytest.mark.parametrize(("name", "end"), [("one", ""), ("classes", "-1")])
def test_dark_and_print(browser, files, name, end):
    with Page(browser, files / f"{name}.html", color_scheme="dark", viewport={"width": 1000, "height": 800}) as opened:
        page = opened.page

        def style(selector, name):
            return page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{name}")

        def luminance(colour):
            return sum(int(v) for v in re.findall(r"\d+", colour)[:3])

        assert luminance(style("body", "backgroundColor")) < 150 < luminance(style("body", "color"))
        assert luminance(style(f"#figure-murphy{end} svg text", "fill")) > 500
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/dark-{name}.png", full_page=True)
        page.emulate_media(media="print")
        assert luminance(style("body", "backgroundColor")) in (0, 765)
        assert luminance(style("body", "color")) < 200
        assert not page.locator(f"#threshold-slider{end}").is_visible()
        assert page.locator(f"#matrix-a{end}").is_visible()
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/print-{name}.png", full_page=True)
        pdf = page.pdf()
        assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page") > 1


def test_figures_are_saved_without_a_script(browser, files, tmp_path):
    import xml.etree.ElementTree as ElementTree

    with Page(browser, files / "one.html", java_script_enabled=False) as opened:
        page = opened.page
        # Read without the script: the sliders are gone, the matrix at 1/2 and the tables are there.
        assert not page.locator("#threshold-slider").is_visible()
        assert page.locator("#matrix-a [data-cell=tp]").inner_text().isdigit()
        links = page.locator("figure .save a")
        assert links.count() == page.locator("figure").count() >= 8
        for link in links.all():
            start, _, content = link.get_attribute("href").partition(",")
            assert start == "data:image/svg+xml;base64"
            assert ElementTree.fromstring(base64.b64decode(content)).tag.endswith("svg")
        # One is saved for good: Chromium holds back a page that saves many in a row.
        with page.expect_download() as download:
            links.first.click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.name == "reliability-a.svg"
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
