#!/usr/bin/env python3
"""Times a step of manyworlds and of MuJoCo on the same model files, and writes a section of a page.

    python speed.py --program target/release/manyworlds --packages FOLDER --page docs/zoo.md

Of all model files in FOLDER those count that both programs read, and that manyworlds runs to the end. Both start from the
file's initial state without controls, on one thread in f64. manyworlds steps a batch of worlds, which is what it is for
(`bench`), and one world alone (`sim`), both at tolerance 1e-6 with certificates; MuJoCo steps one world with the file's own
solver settings. They go in turns, and the best of the rounds counts for each, since the machine may have other work.
`cargo xtask zoo --speed` runs this.
"""

import argparse
import datetime
import json
import pathlib
import platform
import subprocess
import time

import mujoco
import numpy as np
from compare import SPEED, candidates, compiled, message, resolve_packages

# MuJoCo's steps are timed by blocks, so that the call from Python does not count.
BLOCK = 10
TOLERANCE = "1e-6"
# Models that are listed one by one.
LISTED = 20
# What the ratios are to be: of the median, of nine in ten, and of all.
TARGETS = {"median": 0.25, "90th percentile": 0.8, "worst": 2.0}
SECONDS = 300


class Untimed(Exception):
    """Why a model has no time."""


def run(program, verb, path, *options):
    """The report of a run on one thread."""
    command = [str(program), verb, str(path), "--executor", "cpu", "--precision", "f64", "--threads", "1", "--json"]
    try:
        done = subprocess.run(
            [*command, "--tolerance", TOLERANCE, *map(str, options)],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Untimed(f"it takes more than {SECONDS} s") from None
    # With exit code 1 there is a report too: of worlds that missed the tolerance, or failed.
    report = json.loads(done.stdout) if done.stdout.strip() else {}
    if not report or report.get("worlds_failed") or report.get("status") == "non-finite":
        raise Untimed(message(done.stderr))
    return report


def ours(program, path, steps, worlds):
    """Microseconds of a step of one of many worlds and of one alone, and what the batch says of itself."""
    batch = run(program, "bench", path, "--worlds", worlds, "--steps", steps, "--settle", 0, "--controls", 0)
    alone = run(program, "sim", path, "--steps", steps)
    collide = 1e3 * batch["stage_ms"].get("collide", 0.0) / worlds
    said = {"contacts": alone["contacts"], "relaxed": alone["relaxed_steps"], "missed": batch["worlds_over_tolerance"]}
    return {"ours": batch["us_per_world_step"], "alone": alone["microseconds_median"], "collide": collide}, said


def theirs(m, steps):
    """Microseconds of a step: the mean of all, as for the batch, and the median, as for one world alone."""
    d = mujoco.MjData(m)
    times = []
    for _ in range(max(steps // BLOCK, 1)):
        start = time.perf_counter()
        mujoco.mj_step(m, d, nstep=BLOCK)
        times.append(1e6 * (time.perf_counter() - start) / BLOCK)
    return {"theirs": float(np.mean(times)), "theirs_median": float(np.median(times))}


def examine(program, packages, path, args):
    """A row of the table; None for what MuJoCo does not compile, or what cannot move."""
    file = resolve_packages(path, packages)
    if not compiled(file):
        return None
    m = mujoco.MjModel.from_xml_path(str(file))
    row, best = {"model": path.relative_to(packages).as_posix(), "n_v": m.nv}, {}
    for _ in range(args.rounds):
        try:
            times, said = ours(program, file, args.steps, args.worlds)
        except Untimed as why:
            return {**row, "failed": str(why)}
        for name, value in {**times, **theirs(m, args.steps)}.items():
            best[name] = min(value, best.get(name, np.inf))
    ratios = {"ratio": best["ours"] / best["theirs"], "ratio_alone": best["alone"] / best["theirs_median"]}
    return {**row, **said, **best, **ratios}


def percentiles(ratios):
    return {"median": np.median(ratios), "90th percentile": np.percentile(ratios, 90), "worst": np.max(ratios)}


def processor():
    """The name that Linux gives the processor, or what Python knows of it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def table(header, rows):
    lines = [header, "|---" * len(header.strip("|").split("|")) + "|"]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def section(rows, args):
    timed = sorted((row for row in rows if "ratio" in row), key=lambda row: -row["ratio"])
    free = [row for row in timed if row["relaxed"] == 0]
    of = {name: percentiles([row[key] for row in some]) for name, some, key in [
        ("batch", timed, "ratio"), ("free", free, "ratio"), ("alone", timed, "ratio_alone"),
    ]}  # fmt: skip
    lines = [
        SPEED,
        "",
        f"`cargo xtask zoo --speed`, {datetime.date.today().strftime('%d %B %Y')}, MuJoCo {mujoco.__version__}, "
        f"{processor()}, one thread each.",
        "",
        f"The time of a step over MuJoCo's, of the {len(timed)} models that both read and that run {args.steps} steps from the",
        f"file's initial state without controls. Ours is in f64 at tolerance {TOLERANCE}, with certificates: a world's share of",
        f"a batch of {args.worlds} (`bench`), and one world alone (`sim`). MuJoCo's has the file's own solver settings. Both go in",
        f"turns; the best of {args.rounds} rounds counts for each. Of the models, {len(timed) - len(free)} ask in some step for what no motion gives",
        "(their geoms overlap by design).",
        "",
    ]
    header = f"| ratio | target | a batch of {args.worlds} | its models without contradictions | one world alone |"
    lines += table(header, [[name, target, *(f"{of[column][name]:.2f}" for column in of)] for name, target in TARGETS.items()])
    lines += ["", f"The {LISTED} with the largest ratios in a batch; times in µs:", ""]
    header = "| model | n_v | contacts at the end | contradictory steps | a step | of that collision | MuJoCo | ratio |"
    figures = lambda row: (f"{row[key]:.1f}" for key in ("ours", "collide", "theirs"))
    lines += table(header, [
        [row["model"], row["n_v"], row["contacts"], row["relaxed"], *figures(row), f"{row['ratio']:.2f}"]
        for row in timed[:LISTED]
    ])  # fmt: skip
    failed = [[row["model"], row["failed"].replace("|", "\\|")] for row in rows if "failed" in row]
    if failed:
        lines += ["", "Not timed:", "", *table("| model | why |", failed)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="models whose path contains this; the page is not written")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=pathlib.Path, help="every figure, into this file")
    args = parser.parse_args()
    packages, program = args.packages.resolve(), args.program.resolve()
    files = [p for p in candidates(packages) if args.only in str(p)]
    rows = [row for path in files if (row := examine(program, packages, path, args))]
    if not any("ratio" in row for row in rows):
        raise SystemExit("no model is timed")
    if args.json:
        args.json.write_text(json.dumps(rows))
    text = section(rows, args)
    print(text)
    if not args.only:
        kept = args.page.read_text().partition(SPEED)[0].rstrip()
        args.page.write_text(f"{kept}\n\n{text}")


if __name__ == "__main__":
    main()
