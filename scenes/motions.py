#!/usr/bin/env python3
"""Plans the motions of the manipulation scenes and writes them as controls over time (standard library only):

    python3 scenes/motions.py        # nut-turning.csv, dish-piling.csv, jar.csv and so on beside it

The arm is that of arm7.xml with axes 3 and 5 at zero, so that it moves in the vertical plane that axis 1 turns, and with
its flange pointing down.
"""

import math
from pathlib import Path

FOLDER = Path(__file__).parent
SHOULDER = 0.36  # height of axis 2, m
UPPER, LOWER = 0.42, 0.40  # axis 2 to axis 4, axis 4 to axis 6, m
INTERVAL = 0.05  # between rows, s


def arm(azimuth, radius, height, turn):
    """Angles of the seven axes (rad) that bring axis 6 to these cylindrical coordinates (rad, m, m), flange down."""
    rise = height - SHOULDER
    bend = math.acos((radius**2 + rise**2 - UPPER**2 - LOWER**2) / (2 * UPPER * LOWER))
    lean = math.atan2(radius, rise) - math.atan2(LOWER * math.sin(bend), UPPER + LOWER * math.cos(bend))
    return [azimuth, lean, 0.0, -bend, 0.0, math.pi - lean - bend, turn]


class Motion:
    """Rows of controls, from waypoint to waypoint with smooth starts and stops."""

    def __init__(self, pose, controls):
        """From a waypoint (a tuple of numbers); `controls` makes drives' references of one."""
        self.pose, self.controls = pose, controls
        self.time, self.rows = 0.0, [(0.0, controls(pose))]

    def to(self, pose, seconds):
        """Goes to a waypoint in about this time."""
        count = max(1, round(seconds / INTERVAL))
        for i in range(1, count + 1):
            part = 0.5 - 0.5 * math.cos(math.pi * i / count)
            between = [a + part * (b - a) for a, b in zip(self.pose, pose)]
            self.time += INTERVAL
            self.rows.append((self.time, self.controls(between)))
        self.pose = tuple(pose)

    def write(self, name, actuators):
        """Writes the file."""
        write(name, actuators, self.rows)


def write(name, actuators, rows):
    """Writes times and controls to a file."""
    with open(FOLDER / name, "w", encoding="ascii", newline="\n") as file:
        print("t", *actuators, sep=",", file=file)
        for time, controls in rows:
            print(f"{time:.2f}", *(f"{x:.6f}".rstrip("0").rstrip(".") for x in controls), sep=",", file=file)


AXES = [f"axis{i}" for i in range(1, 8)]


def nut_turning():
    """Three strokes of a spanner: down, 300 degrees, up, back."""
    radius, work, clear = 0.55, 0.25, 0.32  # of axis 6, m: the jaws' ends are 0.246 m below
    stroke = math.radians(300)
    play = 0.0003 / 0.02  # until the jaws' edges touch the sides, rad
    start = -stroke / 2
    motion = Motion((clear, start), lambda pose: arm(0.0, radius, *pose))
    motion.to((work, start), 0.6)
    for _ in range(2):
        motion.to((work, start + stroke + play), 1.2)
        motion.to((work, start + stroke), 0.1)
        motion.to((clear, start + stroke), 0.4)
        motion.to((clear, start), 0.8)
        motion.to((work, start), 0.4)
    # On to the floor, until the torque's limit stops it: 822 degrees, and 8.3 for the thread's play.
    home = start + math.radians(822 + 8.3 - 600)
    motion.to((work, home + math.radians(20)), 1.2)
    motion.to((work, home), 0.2)
    motion.to((clear, home), 0.6)
    motion.write("nut-turning.csv", AXES)


# The dishes, where they stand at first: name, azimuth (rad), height (m), on a circle about axis 1.
CIRCLE = 0.5
PLACES = [
    ("lower bowl", 0.0, 0.002),
    ("upper bowl", math.radians(45), 0.002),
    ("plate", math.radians(-45), 0.002),
    ("pot", math.radians(90), 0.003),
]
# Fingers: radius of the knuckles, depth of the tips below them, lengths of the links, m.
PALM, DEPTH, LINKS = 0.05, 0.10, (0.07, 0.05, 0.04)
TIP = 0.006
FINGERS = [f"{joint} {finger}" for finger in range(4) for joint in ("spread", "proximal", "middle", "distal")]


def fingers(radius):
    """Angles of all sixteen joints with the tips on a circle of this radius (m), last links straight down."""
    out, down = radius - PALM, DEPTH - LINKS[2]
    distance = math.hypot(out, down)
    bend = math.acos((distance**2 - LINKS[0] ** 2 - LINKS[1] ** 2) / (2 * LINKS[0] * LINKS[1]))
    lean = math.atan2(out, down) + math.atan2(LINKS[1] * math.sin(bend), LINKS[0] + LINKS[1] * math.cos(bend))
    return 4 * [0.0, lean, -bend, bend - lean]


def dish_motion():
    """Bowl, plate and pot, one after the other, onto the lower bowl."""
    tips = 0.06 + DEPTH + 0.081  # below axis 6, m

    def controls(pose):
        azimuth, height, grip = pose
        return arm(azimuth, CIRCLE, height + tips, 0.0) + fingers(grip)

    travel, margin = 0.26, 0.02  # of the tips above the floor; of the open hand around a rim, m
    # Each: its place, the height of the grip above its origin, the outer radius there, how far the drives' references
    # lie within it, the time of its swing (s), the height at which it is let go.
    dishes = [
        (PLACES[1], 0.0455, 0.077, 0.002, 1.0, 0.0085),
        (PLACES[2], 0.0155, 0.112, 0.002, 1.0, 0.0560),
        (PLACES[3], 0.0800, 0.0802, 0.012, 2.0, 0.0610),
    ]
    motion = None
    for (_, azimuth, stands), grip, radius, squeeze, swing, goal in dishes:
        opened = radius + TIP + margin
        closed = radius + TIP - squeeze
        if motion is None:
            motion = Motion((azimuth, travel, opened), controls)
        motion.to((azimuth, travel, opened), 1.0)
        motion.to((azimuth, stands + grip, opened), 0.7)
        motion.to((azimuth, stands + grip, closed), 0.4)
        motion.to((azimuth, travel, closed), 0.7)
        motion.to((0.0, travel, closed), swing)
        motion.to((0.0, goal + grip, closed), 0.9)
        motion.to((0.0, goal + grip, opened), 0.5)
        motion.to((0.0, travel, opened), 0.7)
    motion.to(motion.pose, 0.05)
    return motion


def tilted(azimuth, radius, height, tilt):
    """As `arm`, with the flange turned outward and up from straight down by `tilt` (rad)."""
    angles = arm(azimuth, radius, height, 0.0)
    angles[5] -= tilt
    return angles


# Where the right arm, which stands at (1, 0) and looks back, has the bowl: azimuth (rad), radius (m).
BOWL = (math.radians(60), 0.60)


def jar_motion():
    """The left hand takes the lid off the jar and lays it down; the right hand takes the jar, pours it into the bowl and
    puts it back; the left hand puts the lid on it again."""
    tips = 0.06 + DEPTH + 0.081  # below axis 6, m

    def controls(pose):
        left, right = pose[:5], pose[5:]
        return [x for p in (left, right) for x in tilted(p[0], p[1], p[2] + tips, p[3]) + fingers(p[4])]

    # Of each hand: azimuth, radius, height of the tips, tilt, circle of the tips (rad, m). Radii as in `dish_motion`.
    margin = 0.02
    lid, jar = 0.059 + TIP, 0.053 + TIP
    travel, aside = 0.3, math.radians(-60)
    rest = (math.radians(60), 0.5, travel, 0.0, jar + margin)

    def left(azimuth, height, grip):
        return (azimuth, CIRCLE, height, 0.0, grip)

    def right(azimuth, height, grip, tilt=0.0, radius=CIRCLE):
        return (azimuth, radius, height, tilt, grip)

    motion = Motion(left(0.0, travel, lid + margin) + rest, controls)
    off, hold = lid - 0.003, jar - 0.008
    for pose, seconds in [
        (left(0.0, 0.138, lid + margin) + rest, 0.7),
        (left(0.0, 0.138, off) + rest, 0.4),
        (left(0.0, travel, off) + rest, 0.7),
        (left(aside, travel, off) + rest, 1.2),
        (left(aside, 0.013, off) + right(0.0, travel, jar + margin), 1.0),
        (left(aside, 0.013, lid + margin) + right(0.0, 0.115, jar + margin), 0.7),
    ]:
        motion.to(pose, seconds)
    gone = left(aside, travel, lid + margin)
    motion.to(gone + right(0.0, 0.115, hold), 0.5)
    azimuth = BOWL[0]
    wrist, tilt, pour = 0.45, math.radians(115), 0.1  # radius of axis 6, turn of the flange, height of untilted tips, m
    motion.to(gone + right(0.0, travel, hold), 0.7)
    motion.to(gone + right(azimuth, travel, hold, 0.0, wrist), 1.2)
    motion.to(gone + right(azimuth, travel, hold, math.radians(60), wrist), 0.6)
    motion.to(gone + right(azimuth, pour, hold, tilt, wrist), 1.2)
    motion.to(gone + right(azimuth, pour, hold, tilt, wrist), 1.0)
    motion.to(gone + right(azimuth, travel, hold, 0.0, wrist), 1.2)
    motion.to(gone + right(azimuth, travel, hold, 0.0, wrist), 0.3)
    motion.to(gone + right(0.0, travel, hold), 1.2)
    motion.to(gone + right(0.0, 0.116, hold), 0.9)
    motion.to(left(aside, 0.013, lid + margin) + right(0.0, 0.116, jar + margin), 0.6)
    motion.to(left(aside, 0.013, off) + right(0.0, travel, jar + margin), 0.6)
    motion.to(left(aside, travel, off) + rest, 1.0)
    motion.to(left(0.0, travel, off) + rest, 1.2)
    motion.to(left(0.0, 0.140, off) + rest, 0.9)
    motion.to(left(0.0, 0.140, lid + margin) + rest, 0.5)
    motion.to(left(0.0, travel, lid + margin) + rest, 0.7)
    motion.to(motion.pose, 0.5)
    return motion


HANDS = [f"{side} {name}" for side in ("left", "right") for name in AXES + FINGERS]


def soft_gripper():
    """Grips, lifts by 0.1 m, waits, shakes for three seconds in a circle of 10 mm at 4 Hz, waits."""
    lift, radius, rate, grip = 0.1, 0.01, 4.0, 6.0  # m, m, Hz, N

    def smooth(time, start, seconds):
        part = min(max((time - start) / seconds, 0.0), 1.0)
        return 0.5 - 0.5 * math.cos(math.pi * part)

    def pose(time):
        shaking = radius * (smooth(time, 1.7, 0.5) - smooth(time, 4.2, 0.5))
        angle = 2 * math.pi * rate * time
        return shaking * math.sin(angle), lift * smooth(time, 0.4, 0.8) + shaking * math.cos(angle)

    write("soft-gripper.csv", ["along", "up", "grip"], [(i / 100, [*pose(i / 100), grip]) for i in range(541)])


def stretch():
    """Closes the jaws, draws them by 0.28 m in two seconds, waits."""
    drawn, grip = 0.31, 120.0  # m, N
    rows = []
    for i in range(71):
        time = i / 20
        part = min(max((time - 0.5) / 2.0, 0.0), 1.0)
        rows.append((time, [drawn * (0.5 - 0.5 * math.cos(math.pi * part))] + 4 * [grip]))
    write("stretch.csv", ["draw", "upper 1", "lower 1", "upper 2", "lower 2"], rows)


def soft_ball_hand():
    """Closes the fingers about the ball, takes away the table, holds for ten seconds."""
    opened, closed = 0.060, 0.037  # of the tips' centres, m
    start = fingers(opened)

    def controls(pose):
        return [pose[1], *(angle - zero for angle, zero in zip(fingers(pose[0]), start))]

    motion = Motion((opened, 0.0), controls)
    motion.to((closed, 0.0), 0.6)
    motion.to((closed, 0.0), 0.4)
    motion.to((closed, -0.1), 1.0)
    motion.to((closed, -0.1), 10.0)
    motion.write("soft-ball-hand.csv", ["table", *FINGERS])


def pneunet():
    """Raises the pressure in the fingers, lifts the palm, holds."""
    pressure, lift = 16e6, 0.1  # Pa, m
    motion = Motion((0.0, 0.0), lambda pose: [pose[0], *3 * [pose[1]]])
    motion.to((0.0, pressure), 1.0)
    motion.to((0.0, pressure), 0.3)
    motion.to((lift, pressure), 1.0)
    motion.to((lift, pressure), 3.0)
    motion.write("pneunet.csv", ["lift", *(f"finger {i}:activation" for i in range(3))])


def tomato():
    """From straight up to the tomato, with it to the scale, away."""
    jaws = 0.081 + 0.145  # below axis 6, m
    floor, pan, clear = 0.03, 0.089, 0.2  # heights of the tomato's middle where it lies, on the scale and on its way, m
    azimuth, opened, closed = math.radians(30), 0.0, 0.027

    def controls(pose):
        raised, angle, height, grip = pose
        return [raised * axis for axis in arm(angle, 0.5, height + jaws, 0.0)] + [grip, grip]

    motion = Motion((0.0, azimuth, clear, opened), controls)
    motion.to((1.0, azimuth, clear, opened), 1.0)
    motion.to((1.0, azimuth, floor, opened), 0.6)
    motion.to((1.0, azimuth, floor, closed), 0.5)
    motion.to((1.0, azimuth, clear, closed), 0.6)
    motion.to((1.0, -azimuth, clear, closed), 1.0)
    motion.to((1.0, -azimuth, pan, closed), 0.6)
    motion.to((1.0, -azimuth, pan, opened), 0.6)
    motion.to((1.0, -azimuth, clear, opened), 0.6)
    motion.to((1.0, -azimuth, clear, opened), 2.0)
    motion.write("tomato.csv", [*AXES, "front", "back"])


def soft_press():
    """Presses, more and more, and waits."""
    motion = Motion((0.0,), list)
    motion.to((8.0,), 1.0)
    motion.to((8.0,), 0.5)
    motion.write("soft-press.csv", ["down"])


if __name__ == "__main__":
    nut_turning()
    dish_motion().write("dish-piling.csv", AXES + FINGERS)
    jar_motion().write("jar.csv", HANDS)
    soft_gripper()
    stretch()
    soft_ball_hand()
    pneunet()
    tomato()
    soft_press()
