"""Draws docs/images/stability-window.svg: the window of Step 3 and the links it leaves.

Needs nothing but Python: `python experiments/stability_window.py`.
"""

from __future__ import annotations

from pathlib import Path

N_LOW, N_HIGH = 0.7, 1.3  # n_t, N_t
ALPHA = BETA = 0.25
SCORES = [0.22, 0.34, 0.47, 0.6, 0.72]
WIDTH, HEIGHT, MARGIN = 560, 360, 40


def u(z: float) -> float:
    """The old link, a line."""
    return min(1.0, max(0.0, z))


def at(z: float, value: float) -> str:
    x = MARGIN + z * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - value * (HEIGHT - 2 * MARGIN)
    return f"{x:.1f},{y:.1f}"


def main() -> None:
    first, last = SCORES[0], SCORES[-1]
    low, high = (1 - BETA) * u(first), (1 + ALPHA) * u(first)
    span = last - first
    cone = [
        at(first, low),
        at(first, high),
        at(last, min(1.0, high + N_HIGH * span)),
        at(last, low + N_LOW * span),
    ]
    (x, top), (_, bottom) = (
        tuple(map(float, at(first, value).split(","))) for value in (high, low)
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<polygon points="{" ".join(cone)}" fill="#4c72b0" fill-opacity="0.18"/>',
        f'<polyline points="{at(0, 0)} {at(1, 0)}" stroke="#888" fill="none"/>',
        f'<polyline points="{at(0, 0)} {at(0, 1)}" stroke="#888" fill="none"/>',
        f'<polyline points="{at(0, 0)} {at(1, 1)}" stroke="#c44e52" stroke-width="2" fill="none"/>',
        f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="#4c72b0" stroke-width="5"/>',
    ]
    for z in SCORES:
        cx, cy = at(z, u(z)).split(",")
        parts.append(f'<circle cx="{cx}" cy="{cy}" r="4" fill="#c44e52"/>')
    labels = [
        (0.8, 0.9, "u_t"),
        (0.24, 0.06, "window for the first value: q_1 [1 - β, 1 + α]"),
        (0.5, 0.25, "links with slopes in [n_t, N_t] through the window"),
        (0.93, -0.08, "score"),
    ]
    for z, value, words in labels:
        x_text, y_text = at(z, value).split(",")
        parts.append(f'<text x="{x_text}" y="{y_text}" fill="#333">{words}</text>')
    parts.append("</svg>")
    target = Path(__file__).parents[1] / "docs" / "images" / "stability-window.svg"
    target.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
