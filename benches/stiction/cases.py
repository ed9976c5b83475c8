"""The tests of `docs/stiction.md`: models, what acts on them, and what is measured. Every engine's script runs these."""

import csv
import dataclasses
import math
import pathlib
import platform
import sys
import time

MODELS = pathlib.Path(__file__).resolve().parent / "models"
GRAVITY = 9.81
FRICTIONS = (0.2, 0.5, 1.0)
SHARES = (0.5, 0.9, 0.99)
# The push of the rolling test along x and along y, N, and what closed form gives, m/s^2.
PUSH = 150 / math.sqrt(2)
BOX_ACCELERATION = (150 - 0.4 * 35 * GRAVITY) / (10 + 25 * 2 / 7)
BALL_ACCELERATION = BOX_ACCELERATION * 2 / 7


@dataclasses.dataclass
class Case:
    """A model, and the body whose motion counts."""

    name: str
    mjcf: str
    # The body, and where its free joint starts among the positions, as MuJoCo orders them.
    body: str
    position: int
    # Constant controls of the actuators.
    controls: list
    # Settling time and measured time, s.
    settle: float = 0.5
    measure: float = 2.0

    @property
    def step(self):
        """The model's time step, s."""
        return float(self.mjcf.split('timestep="')[1].split('"')[0])

    @property
    def steps(self):
        """Steps until the measurement begins, and until it ends."""
        return round(self.settle / self.step), round((self.settle + self.measure) / self.step)


def ramp(friction, share):
    """A box on a slope whose tangent is `share * friction`."""
    slope = math.atan(share * friction)
    words = {"friction": friction, "slope": slope, "x": 0.05 * math.sin(slope), "z": 0.05 * math.cos(slope)}
    text = (MODELS / "ramp.xml").read_text()
    for word, value in words.items():
        text = text.replace("{" + word + "}", repr(value))
    return Case(f"ramp {friction} {share}", text, "box", 0, [])


def holding():
    """Every case in which friction ought to hold: the right creep is zero."""
    cases = [ramp(friction, share) for friction in FRICTIONS for share in SHARES]
    cases.append(Case("pinch", (MODELS / "pinch.xml").read_text(), "capsule", 2, [0.0025, -0.0025]))
    cases.append(Case("cube", (MODELS / "cube.xml").read_text(), "cube", 1, [-20.0]))
    return cases


def rolling():
    """SimBenchmark's rolling test: rest, then a second of push."""
    return Case("rolling", (MODELS / "rolling.xml").read_text(), "box", 0, [], measure=1.0)


def creep(case, first, last):
    """Speed between two positions a measured time apart, um/s."""
    return math.dist(first, last) / case.measure * 1e6


def rolling_error(velocities, seconds):
    """Largest error of the box and of the balls, each against its own closed form: linear velocities, the box's first."""
    errors = []
    for k, velocity in enumerate(velocities):
        speed = (BALL_ACCELERATION if k else BOX_ACCELERATION) * seconds
        right = (speed / math.sqrt(2), speed / math.sqrt(2), 0.0)
        errors.append(math.dist(velocity, right) / speed)
    return errors[0], max(errors[1:])


class Report:
    """Writes a row a figure, and says it on standard error."""

    def __init__(self, engine):
        self.engine = engine
        self.rows = csv.writer(sys.stdout)

    def row(self, settings, case, value):
        """`value`: creep in um/s; of the rolling tests an error relative to closed form."""
        self.rows.writerow([self.engine, settings, case, f"{value:.3g}", platform.machine(), time.strftime("%Y-%m-%d")])
        print(f"{self.engine}, {settings}, {case}: {value:.3g}", file=sys.stderr)
