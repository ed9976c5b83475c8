"""Draws what ppo.py and shac.py wrote with --out, and says what the curves reach.

    pip install matplotlib
    python examples/python/curves.py docs/learning-python.csv docs/learning-python.svg      # draws the file
    python examples/python/curves.py --gather RUNS docs/learning-python.csv                 # makes it of RUNS/TASK-KIND-SEED.csv

Rows of the file: task, kind (simulator and algorithm), seed, seconds, steps, return.
"""

import argparse
import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

# Kinds, as they are called in the figure, and their colours.
KINDS = {
    "manyworlds": ("PPO here", "#0072b2"),
    "gymnasium": ("PPO on Gymnasium's", "#d55e00"),
    "shac": ("SHAC here", "#009e73"),
}
POINTS = 60


def gather(folder, out):
    rows = []
    for path in sorted(Path(folder).glob("*.csv")):
        named = re.fullmatch(r"(\w+)-(\w+)-(\d+)", path.stem)
        if named is None or named[2] not in KINDS:
            continue
        with open(path) as file:
            points = list(csv.DictReader(file))
        # A curve has some sixty points: means of what lies between.
        for part in np.array_split(np.arange(len(points)), min(POINTS, len(points))):
            last, value = points[part[-1]], np.mean([float(points[i]["return"]) for i in part])
            rows.append([*named.groups(), f"{float(last['seconds']):.1f}", last["steps"], f"{value:.1f}"])
    with open(out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["task", "kind", "seed", "seconds", "steps", "return"])
        writer.writerows(rows)


def read(path):
    """Task to kind to seed to an array of seconds, steps, return."""
    curves = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    with open(path) as file:
        for row in csv.DictReader(file):
            point = float(row["seconds"]), float(row["steps"]), float(row["return"])
            curves[row["task"]][row["kind"]][row["seed"]].append(point)
    return {task: {kind: {seed: np.array(p) for seed, p in runs.items()} for kind, runs in kinds.items()} for task, kinds in curves.items()}


def table(curves):
    print("| task | | return at the end (each seed) | steps |\n|---|---|---|---|")
    for task, kinds in curves.items():
        for kind in (kind for kind in KINDS if kind in kinds):
            runs = kinds[kind]
            ends = [run[-1] for run in runs.values()]
            each = ", ".join(f"{end[2]:.0f}" for end in ends)
            print(f"| {task} | {KINDS[kind][0]} | {np.mean([e[2] for e in ends]):.0f} ({each}) | {np.mean([e[1] for e in ends]) / 1e6:.2f} M |")


def draw(curves, path):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "manyworlds", "svg.fonttype": "none"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(curves), figsize=(3.4 * len(curves), 2.9), squeeze=False)
    for axis, (task, kinds) in zip(axes[0], curves.items()):
        for kind in (kind for kind in KINDS if kind in kinds):
            runs = kinds[kind]
            name, colour = KINDS[kind]
            end = min(run[-1, 0] for run in runs.values())
            seconds = np.linspace(max(run[0, 0] for run in runs.values()), end, 200)
            each = np.array([np.interp(seconds, run[:, 0], run[:, 2]) for run in runs.values()])
            axis.plot(seconds, each.mean(0), color=colour, label=name, linewidth=1.6)
            for one in each:
                axis.plot(seconds, one, color=colour, linewidth=0.5, alpha=0.6)
        axis.set(title=task, xlabel="seconds of one core", ylabel="return")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=7, loc="best")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if str(path).endswith("svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("figure", nargs="?")
    parser.add_argument("--gather", metavar="RUNS")
    asked = parser.parse_args()
    if asked.gather:
        gather(asked.gather, asked.data)
    curves = read(asked.data)
    table(curves)
    if asked.figure:
        draw(curves, asked.figure)


if __name__ == "__main__":
    main()
