"""Puts a report of the study into docs/learners.md: `python bench/learners/embed.py target/learners/report-small.md`."""

import sys
from pathlib import Path

START, END = "<!-- study -->\n", "<!-- end of study -->"


def main():
    page = Path(__file__).resolve().parents[2] / "docs" / "learners.md"
    before, rest = page.read_text().split(START)
    _, after = rest.split(END)
    report = Path(sys.argv[1]).read_text().strip()
    page.write_text(f"{before}{START}{report}\n{END}{after}")


if __name__ == "__main__":
    main()
