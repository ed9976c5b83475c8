#!/usr/bin/env python3
"""Runs the tests of `docs/stiction.md` in this project's simulator. Needs its program, built or named by `--program`."""

import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Name, options.
SETTINGS = [
    ("f64", ["--precision", "f64"]),
    ("f32", ["--precision", "f32"]),
]


def run(program, folder, case, options, steps, **state):
    """Rows of `t, q, v` of every step from a state, and the report at the end."""
    model, start, out = folder / "model.xml", folder / "start.json", folder / "out.csv"
    model.write_text(case.mjcf)
    start.write_text(json.dumps({"ctrl": case.controls} | state))
    command = [program, "sim", model, "--state", start, "--out", out, "--steps", steps, "--executor", "cpu", "--json"]
    done = subprocess.run([str(word) for word in command + options], capture_output=True, text=True, check=True)
    with open(out, newline="") as file:
        rows = list(csv.reader(file))
    return [[float(x) for x in row] for row in rows[1:]], json.loads(done.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--program", default=ROOT / "target" / "release" / "manyworlds", type=pathlib.Path)
    program = p.parse_args().program
    report = cases.Report("manyworlds")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for settings, options in SETTINGS:
            for case in cases.holding():
                begin, end = case.steps
                rows, _ = run(program, folder, case, options, end)
                k = 1 + case.position
                at = {round(row[0] / case.step): row[k : k + 3] for row in rows}
                report.row(settings, case.name, cases.creep(case, at[begin], at[end]))
            case = cases.rolling()
            begin, end = case.steps
            _, rest = run(program, folder, case, options, begin)
            tau = [cases.PUSH, cases.PUSH] + [0.0] * (26 * 6 - 2)
            _, moved = run(program, folder, case, options, end - begin, q=rest["q"], v=rest["v"], tau=tau)
            velocities = [moved["v"][6 * k : 6 * k + 3] for k in range(26)]
            box, ball = cases.rolling_error(velocities, case.measure)
            report.row(settings, "rolling box", box)
            report.row(settings, "rolling balls", ball)


if __name__ == "__main__":
    main()
