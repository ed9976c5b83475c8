#!/usr/bin/env python3
"""Draws docs/speed.svg, the figure of the README, from the README's table of speed. Needs nothing but Python.

Run it again when the table changes; `xtask/tests/repository.rs` compares the two.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS, THEIRS = "#0b6e99", "#b9b9b9"
# Pixels: where bars begin, how long the longest is, and how high a bar and a scene are.
LEFT, LONGEST, BAR, SCENE, TOP = 150, 470, 16, 52, 66


def table(text):
    """Rows of the README's table of speed: scene, microseconds of manyworlds, of MuJoCo, as they are written."""
    rows = text.split("\n## Speed\n")[1].split("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("|")]
    header = cells[0]
    columns = [header.index(name) for name in ("scene", "manyworlds", "MuJoCo")]
    return [tuple(row[c] for c in columns) for row in cells[2:]]


def draw(rows):
    """The figure: two bars a scene, each with its number."""
    scale = LONGEST / max(float(x) for row in rows for x in row[1:])
    height = TOP + SCENE * len(rows) + 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="{height}" viewBox="0 0 700 {height}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13">',
        f'<rect width="700" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">Microseconds a step of a world, one thread, f64 (less is better)</text>',
    ]
    for x, colour, name in ((LEFT, OURS, "manyworlds, exact contact"), (LEFT + 230, THEIRS, "MuJoCo 4.0, soft contact")):
        out.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{x + 18}" y="47">{name}</text>')
    for i, (scene, ours, theirs) in enumerate(rows):
        y = TOP + SCENE * i
        out.append(f'<text x="{LEFT - 10}" y="{y + BAR + 5}" text-anchor="end">{scene}</text>')
        for top, colour, number in ((y, OURS, ours), (y + BAR + 2, THEIRS, theirs)):
            width = float(number) * scale
            out.append(f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
            out.append(f'<text x="{LEFT + width + 6:.1f}" y="{top + BAR - 3}">{number}</text>')
    return "\n".join(out + ["</svg>", ""])


if __name__ == "__main__":
    rows = table((ROOT / "README.md").read_text())
    (ROOT / "docs" / "speed.svg").write_text(draw(rows))
