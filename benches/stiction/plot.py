#!/usr/bin/env python3
"""Draws `docs/stiction.svg` from `results.csv` and prints the tables of `docs/stiction.md`. Needs `pip install matplotlib`."""

import csv
import pathlib

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "stiction", "font.family": "sans-serif"})
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
COLORS = {"manyworlds": "#0b6e4f", "MuJoCo": "#c0392b", "Drake": "#2b5fa8", "rapier": "#b8860b"}
# Case, words on the axis.
DRAWN = [
    ("ramp 0.5 0.5", "ramp, 0.5 of\nthe threshold"),
    ("ramp 0.5 0.9", "ramp, 0.9 of\nthe threshold"),
    ("ramp 0.5 0.99", "ramp, 0.99 of\nthe threshold"),
    ("pinch", "pinched\ncapsule"),
    ("cube", "pressed\ncube"),
]
# Marks in the order in which an engine's settings come.
MARKS = ["o", "s", "^", "D", "v", "P"]
# A slower creep is drawn here.
LEAST = 1e-9


def table(rows, names, title):
    """Markdown: a line for each engine and setting, a column for each case."""
    cases = list(names)
    print(f"| {title} | " + " | ".join(names.values()) + " |")
    print("|---|" + "--:|" * len(cases))
    for engine, settings in dict.fromkeys((r["engine"], r["settings"]) for r in rows):
        values = {r["case"]: float(r["value"]) for r in rows if (r["engine"], r["settings"]) == (engine, settings)}
        print(f"| {engine}, {settings} | " + " | ".join(f"{values[c]:.2g}" for c in cases) + " |")
    print()


def draw(rows):
    """A dot a figure, on a logarithmic axis."""
    figure, axes = pyplot.subplots(figsize=(10, 5.6))
    settings = list(dict.fromkeys((r["engine"], r["settings"]) for r in rows))
    places = {case: k for k, (case, _) in enumerate(DRAWN)}
    marks = {}
    for number, key in enumerate(settings):
        engine = key[0].split()[0]
        mark = marks[engine] = marks.get(engine, -1) + 1
        points = [(places[r["case"]], float(r["value"])) for r in rows if (r["engine"], r["settings"]) == key and r["case"] in places]
        shift = (number - (len(settings) - 1) / 2) * 0.05
        across, up = [x + shift for x, _ in points], [max(y, LEAST) for _, y in points]
        axes.scatter(across, up, color=COLORS[engine], marker=MARKS[mark], s=34, label=", ".join(key), zorder=3)
    axes.set_yscale("log")
    axes.set_ylim(LEAST / 3, 1e7)
    axes.set_yticks([10.0**k for k in range(-9, 8, 2)])
    axes.set_xticks(range(len(DRAWN)), [words for _, words in DRAWN])
    for k in range(1, len(DRAWN)):
        axes.axvline(k - 0.5, color="#dddddd", linewidth=0.8)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_ylabel("creep, µm/s (1e-9: that or less)")
    axes.set_title("Creep of what friction should hold still")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(DOCS / "stiction.svg", bbox_inches="tight", metadata={"Date": None})


def main():
    with open(HERE / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    ramps = {f"ramp {mu} {share}": f"{mu}, {share}" for mu in ("0.2", "0.5", "1.0") for share in ("0.5", "0.9", "0.99")}
    table(rows, ramps, "creep on a ramp, µm/s, by friction and share")
    table(rows, {"pinch": "pinched capsule, µm/s", "cube": "pressed cube, µm/s", "rolling box": "box's error", "rolling balls": "balls' error"}, "engine, settings")
    draw(rows)


if __name__ == "__main__":
    main()
