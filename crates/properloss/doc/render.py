"""Render the formulas of front.tex.md as MathML into front.md, which rustdoc shows without a network.

    pip install latex2mathml && python3 crates/properloss/doc/render.py
"""
import pathlib
import re

from latex2mathml.converter import convert

here = pathlib.Path(__file__).parent


def mathml(tex: str, display: str) -> str:
    markup = convert(tex, display=display)
    # Markdown reads the text between the tags: nothing in it may look like markup.
    return markup.replace("*", "&#x2217;").replace("_", "&#x5F;").replace("|", "&#x7C;")


def block(match: re.Match) -> str:
    tex = match.group(1)
    return f"<!-- {tex} -->\n<div>{mathml(tex, 'block')}</div>"


text = (here / "front.tex.md").read_text(encoding="utf-8")
text = re.sub(r"^\$\$(.+)\$\$$", block, text, flags=re.M)
text = re.sub(r"\$([^$\n]+)\$", lambda m: mathml(m.group(1), "inline"), text)
(here / "front.md").write_text(text, encoding="utf-8")
