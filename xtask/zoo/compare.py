#!/usr/bin/env python3
"""Compares what manyworlds and MuJoCo make of model files, and writes a page with a line a model.

    python compare.py --program target/release/manyworlds --packages FOLDER --page docs/zoo.md --target 0.97

FOLDER holds a folder a Python package, unpacked. Of all `.xml` and `.urdf` files in it those count that MuJoCo compiles
and that have a degree of freedom. Both programs read the same file and answer for the same random state: mass matrix,
bias force, passive and actuator forces, sensors of positions and velocities; and for a second of motion without contacts and
limits. `cargo xtask zoo` makes the folder and runs this.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import pathlib
import re
import subprocess
import tempfile
import zlib

import mujoco
import numpy as np

# Largest difference that still counts as the same, relative to the largest entry. Entries are compared in units of each
# degree of freedom's own inertia, so that the fingers of a robot count as much as its trunk.
SAME = 1e-6
# Bodies that overlap by more have contacts in both programs, whatever the functions that find them, m.
OVERLAP = 1e-3
# What is less than this part of the bias is as good as zero: a force that one of the two leaves at rounding. Likewise a
# bias of less than this part of what the state's velocities could make of the largest inertia, or of all weight on the least.
FLOOR = 1e-9
# A step of one world takes milliseconds; a minute is a step that does not end.
SECONDS = 60
# Motion without constraints: time step, s, steps, and what may be between the ends, relative to the largest entry or 1.
STEP, STEPS, MOTION = 1e-4, 10_000, 1e-4
FREE, BALL, SLIDE, HINGE = range(4)
# Heading of the page's last section, which `speed.py` writes.
SPEED = "## Speed"


def candidates(packages):
    """Model files in a fixed order."""
    files = [p for suffix in ("*.xml", "*.urdf") for p in packages.rglob(suffix)]
    return sorted(p for p in files if not p.name.endswith((RESOLVED, UNBOUND)))


# Ending of the copies of URDFs in which `package://` is replaced.
RESOLVED = "-resolved.urdf"
# Ending of the copies of models without constraints.
UNBOUND = "-unbound.xml"


def resolve_packages(path, packages):
    """MuJoCo does not know where `package://` leads: a copy of the file beside it says so, and both programs read that."""
    text = path.read_text(errors="replace")
    if path.suffix != ".urdf" or "package://" not in text:
        return path

    def replace(match):
        name, rest = match.group(1), match.group(2)
        for folder in [path.parent, *path.parents]:
            for candidate in (folder / rest, folder / name / rest):
                if candidate.exists():
                    return str(candidate.resolve())
            if folder == packages:
                break
        return match.group(0)

    copy = path.with_name(path.stem + RESOLVED)
    copy.write_text(re.sub(r"package://([^/\"]+)/([^\"]+)", replace, text))
    return copy


def random_quaternion(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def random_state(m, rng):
    """Free bodies anywhere, joints within their range, velocities of order 1, controls within theirs."""
    q = m.qpos0.copy()
    for j in range(m.njnt):
        p, kind = m.jnt_qposadr[j], m.jnt_type[j]
        if kind == FREE:
            q[p : p + 3] = rng.uniform(-1, 1, 3)
            q[p + 3 : p + 7] = random_quaternion(rng)
        elif kind == BALL:
            q[p : p + 4] = random_quaternion(rng)
        elif m.jnt_limited[j]:
            # Some files write no limit as the largest number.
            q[p] = rng.uniform(*np.clip(m.jnt_range[j], -1e3, 1e3))
        else:
            q[p] = rng.uniform(-np.pi, np.pi) if kind == HINGE else rng.uniform(-1, 1)
    low, high = np.where(m.actuator_ctrllimited[:, None], m.actuator_ctrlrange, [-1.0, 1.0]).T
    state = {"q": q, "v": rng.normal(size=m.nv)}
    # Where MuJoCo has no actuators we may: it takes no notice of transmissions of a URDF.
    if m.nu:
        state["ctrl"] = rng.uniform(low, high)
    if m.nmocap:
        state["mocap_pos"] = rng.uniform(-1, 1, (m.nmocap, 3))
        state["mocap_quat"] = np.array([random_quaternion(rng) for _ in range(m.nmocap)])
    return state


def reference(m, state):
    """MuJoCo's numbers at a state."""
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.ctrl[:] = state["q"], state["v"], state.get("ctrl", [])
    if m.nmocap:
        d.mocap_pos[:], d.mocap_quat[:] = state["mocap_pos"], state["mocap_quat"]
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    forces = {"bias": d.qfrc_bias, "passive": d.qfrc_passive, "actuator": d.qfrc_actuator}
    # Flexes have no geoms. How deep a body may be below a heightfield and still touch it is not a matter of who may touch.
    fields = {int(m.geom_bodyid[g]) for g in range(m.ngeom) if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_HFIELD}
    contacts = (c for c in d.contact if c.dist < -OVERLAP and min(c.geom) >= 0)
    overlaps = ([m.geom_bodyid[g] for g in c.geom] for c in contacts)
    touching = [sorted(map(int, bodies)) for bodies in overlaps]
    touching = [pair for pair in touching if not fields & set(pair)]
    return {"M": M, **{name: force.copy() for name, force in forces.items()}}, (touching, fields), readings(m, d)


def readings(m, d):
    """What sensors of positions and velocities show, by name."""
    early = [i for i in range(m.nsensor) if m.sensor_needstage[i] < mujoco.mjtStage.mjSTAGE_ACC.value]
    return {m.sensor(i).name: d.sensor(i).data.copy() for i in early if m.sensor(i).name}


def misread(mine, theirs, speed):
    """Sensors that show something else, and how many both programs have."""
    wrong, common = [], [name for name in theirs if name in mine]
    for name in common:
        a, b = np.array(mine[name], dtype=float), theirs[name]
        # A quaternion and its negative are one orientation.
        a = -a if a.size == 4 and a @ b < 0 else a
        if not np.max(np.abs(a - b)) <= SAME * max(np.max(np.abs(b)), speed, 1.0):
            wrong.append(f"sensor {name}")
    return wrong, len(common)


def strangers(contacts, touching, fields, m):
    """Bodies that overlap for one of the two programs and do not touch for the other: the rules of who may touch differ."""
    ours = [sorted(c["bodies"]) for c in contacts if c["distance"] < -OVERLAP]
    ours = [pair for pair in ours if not fields & set(pair)]
    near = [sorted(c["bodies"]) for c in contacts]
    wrong = [pair for pair in touching if pair not in near] + [pair for pair in ours if pair not in touching]
    return [" and ".join(m.body(b).name or str(b) for b in pair) for pair in wrong]


def differences(mine, theirs, speed, weight):
    """Relative difference of every quantity that both give; `speed`: the largest velocity; `weight`: of all bodies, N."""
    inertia = np.sqrt(np.diag(theirs["M"]))
    least = FLOOR * (np.max(inertia) * speed**2 + weight / np.min(inertia))
    found = {}
    for name, b in theirs.items():
        a = mine.get(name)
        if a is None:
            continue
        # A number that is not finite comes as null.
        a = np.array(a, dtype=float)
        if a.shape != b.shape:
            found[name] = np.inf
            continue
        scale = np.outer(inertia, inertia) if b.ndim == 2 else inertia
        largest = np.max(np.abs(b / scale), initial=0.0)
        if b.ndim == 1:
            largest = max(largest, FLOOR * np.max(np.abs(theirs["bias"] / inertia), initial=0.0))
        difference = np.max(np.abs((a - b) / scale), initial=0.0)
        found[name] = 0.0 if difference == 0.0 else difference / max(largest, least)
    return found


def message(stderr):
    """The last line of an error without the place in this machine's folders."""
    lines = [line for line in stderr.strip().splitlines() if line.startswith("error")]
    text = (lines or stderr.strip().splitlines() or ["no message"])[-1]
    # Backticks would mark paths of the repository.
    return re.sub(r"\S*/([^/\s:]+)", r"\1", text.removeprefix("error: ")).replace("`", "'")


def bodies(program, path):
    """How many bodies there are; MuJoCo has less where it unites those that no joint parts (of URDF, and on demand)."""
    done = subprocess.run([str(program), "check", str(path), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["bodies"]


def judge(program, path):
    """(verdict, detail) of one model: same, differs, refused, or no step."""
    m = mujoco.MjModel.from_xml_path(str(path))
    state = random_state(m, np.random.default_rng(zlib.crc32(path.name.encode())))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({name: values.tolist() for name, values in state.items()}, file)
        file.flush()
        command = [str(program), "step", str(path), "--state", file.name, "--executor", "cpu", "--threads", "1", "--json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "no step", f"a step takes more than {SECONDS} s"
    if not done.stdout.strip():
        verdict = "refused" if done.returncode == 2 else "no step"
        return verdict, message(done.stderr)
    mine, (theirs, touching, shown) = json.loads(done.stdout), reference(m, state)
    speed = np.max(np.abs(state["v"]))
    weight = np.sum(m.body_mass) * np.linalg.norm(m.opt.gravity)
    found = differences(mine, theirs, speed, weight)
    # Written so that a NaN differs.
    wrong = [f"{name} by {x:.1e}" for name, x in found.items() if not x <= SAME]
    if bodies(program, path) == m.nbody - 1:
        wrong += [f"contacts of {pair}" for pair in strangers(mine["contacts"], *touching, m)]
        found["contacts"] = 0.0
    misreadings, common = misread(mine["sensors"], shown, speed)
    wrong += misreadings
    if wrong:
        return "differs", ", ".join(wrong)
    sensors = [f"{common} of {len(shown)} sensors"] if shown else []
    return "same", ", ".join([*found, *sensors])


def unbound(path):
    """A copy of a model beside it without contacts, limits, equalities and dry friction, whose laws are not the same."""
    flags = "".join(f' {what}="disable"' for what in ("contact", "limit", "equality", "frictionloss"))
    text, count = re.subn(r"</mujoco>\s*$", f"<option><flag{flags}/></option></mujoco>", path.read_text(errors="replace"))
    if path.suffix != ".xml" or not count:
        return None
    copy = path.with_name(path.stem + UNBOUND)
    copy.write_text(text)
    return copy


def largest(a, b):
    """Largest difference of two lists, relative to the largest entry or 1; infinite where one is not finite."""
    a, b = np.array(a, dtype=float), np.array(b, dtype=float)
    difference = np.max(np.abs(a - b), initial=0.0) / max(np.max(np.abs(b), initial=0.0), 1.0)
    return difference if np.isfinite(difference) else np.inf


def moved(program, path, integrator, state, step):
    """Positions and velocities after a second, of both programs, and why there are none."""
    m = mujoco.MjModel.from_xml_path(str(path))
    steps = round(STEP * STEPS / step)
    m.opt.timestep = step
    m.opt.integrator = getattr(mujoco.mjtIntegrator, "mjINT_EULER" if integrator == EXPLICIT else "mjINT_IMPLICITFAST")
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.ctrl[:] = state["q"], state["v"], state.get("ctrl", [])
    if m.nmocap:
        d.mocap_pos[:], d.mocap_quat[:] = state["mocap_pos"], state["mocap_quat"]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({name: values.tolist() for name, values in state.items()}, file)
        file.flush()
        command = [str(program), "sim", str(path), "--state", file.name, "--steps", str(steps), "--dt", str(step)]
        command += ["--integrator", integrator, "--executor", "cpu", "--threads", "1", "--json"]
        seconds = SECONDS * STEP / step
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return None, f"{steps} steps take more than {seconds:g} s"
    if not done.stdout.strip():
        return None, message(done.stderr)
    for _ in range(steps):
        mujoco.mj_step(m, d)
        if d.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            return None, "MuJoCo's motion is unstable"
    mine = json.loads(done.stdout)
    pairs = [(mine["q"], d.qpos), (mine["v"], d.qvel)]
    return [[np.array(x, dtype=float) for x in pair] for pair in pairs], ""


def apart(ends):
    """Largest difference of the ends of two motions."""
    return max(largest(mine, theirs) for mine, theirs in ends)


def limit(ends):
    """Where both motions end as steps get small, from ends with a step, half and a quarter of it (Richardson's extrapolation)."""
    return [[(a - 6.0 * b + 8.0 * c) / 3.0 for a, b, c in zip(*pairs)] for pairs in zip(*ends)]


# Said of motions that are further apart than that.
APART = ", **apart**"
# One rule in both programs: velocities by the forces at a state, then positions by those velocities.
EXPLICIT = "symplectic-euler"
# What is stiff or has tendons, fluid or activations: forces that depend on velocity are those of the end of a step, and with us
# those of springs, too.
IMPLICIT = "linearly-implicit"


def motion(program, path, m):
    """What a second of motion without constraints is: a number and a rule, or why there is none."""
    copy = unbound(path)
    if copy is None:
        return "no motion compared: no MJCF"
    rng = np.random.default_rng(zlib.crc32(path.name.encode()))
    state = random_state(m, rng)
    # Slow, and near the initial position: a tumbling chain multiplies roundings.
    q = m.qpos0.copy()
    mujoco.mj_integratePos(m, q, 0.1 * rng.normal(size=m.nv), 1.0)
    state |= {"q": q, "v": 0.1 * state["v"]}
    if "ctrl" in state:
        state["ctrl"] = 0.01 * state["ctrl"]
    found = []
    try:
        for integrator in (EXPLICIT, IMPLICIT):
            ends, reason = moved(program, copy, integrator, state, STEP)
            found.append((apart(ends) if ends else np.inf, integrator, reason))
            if found[-1][0] <= MOTION:
                break
        if ends and min(found)[0] > MOTION:
            # The two rules treat springs differently: their errors are as large as the step, and not the same.
            shorter = [moved(program, copy, IMPLICIT, state, part * STEP)[0] for part in (0.5, 0.25)]
            if all(shorter):
                found.append((apart(limit([ends, *shorter])), f"{IMPLICIT}, the limit of small steps", ""))
    finally:
        copy.unlink()
    difference, integrator, reason = min(found)
    if not np.isfinite(difference):
        return f"no motion: {reason or 'not finite'}"
    return f"motion {difference:.0e} ({integrator})" + (APART if difference > MOTION else "")


def compiled(path):
    """What MuJoCo says of a file: degrees of freedom, or None where it does not compile it."""
    try:
        return mujoco.MjModel.from_xml_path(str(path)).nv
    except (ValueError, OSError):
        return None


def examine(program, packages, path):
    """A row of the page; None for what is no model, or one that cannot move."""
    file = resolve_packages(path, packages)
    n_v = compiled(file)
    if not n_v:
        return None
    verdict, detail = judge(program, file)
    moves = motion(program, file, mujoco.MjModel.from_xml_path(str(file))) if verdict == "same" else ""
    return {"model": path.relative_to(packages).as_posix(), "n_v": n_v, "verdict": verdict, "detail": detail, "motion": moves}


def page(rows, versions, target):
    counts = collections.Counter(row["verdict"] for row in rows)
    per_package = collections.defaultdict(collections.Counter)
    for row in rows:
        per_package[row["model"].split("/")[0]][row["verdict"]] += 1
    verdicts = ["same", "differs", "refused", "no step"]
    share = counts["same"] / max(len(rows), 1)
    lines = [
        "# The zoo: models of public packages, beside MuJoCo",
        "",
        f"`cargo xtask zoo`, {datetime.date.today().strftime('%d %B %Y')}, MuJoCo {mujoco.__version__}.",
        "",
        "Every model file of the packages below that MuJoCo compiles and that has a degree of freedom. Both programs read",
        "the same file and answer for the same random state: mass matrix `M`, bias force, which bodies overlap and touch",
        "(where both have the same bodies), and passive and actuator forces where `step --json` gives them, and what sensors of positions and velocities show. *Same* is",
        f"within {SAME:g} of the largest entry, in units of each degree of freedom's own inertia. MuJoCo does not resolve package URIs in URDF files: both programs read a copy with paths.",
        "",
        f"**{counts['same']} of {len(rows)} are read and the same ({share:.1%}); the target is {target:.0%}.** "
        + f"{counts['differs']} differ, {counts['refused']} are refused, {counts['no step']} do not step. "
        + "Of 39 other packages [another page](zoo-others.md) tells.",
        "",
        "| package | models | " + " | ".join(verdicts) + " |",
        "|---|---|" + "---|" * len(verdicts),
    ]
    for package, counted in sorted(per_package.items()):
        numbers = " | ".join(str(counted[v]) for v in verdicts)
        name, version = package, versions.get(package, "")
        lines.append(f"| {name} {version} | {sum(counted.values())} | {numbers} |")
    reasons = collections.Counter(reason(row) for row in rows if row["verdict"] == "refused")
    if reasons:
        lines += ["", "| refused because | models |", "|---|---|"]
        lines += [f"| {why} | {n} |" for why, n in sorted(reasons.items(), key=lambda x: (-x[1], x[0]))]
    motions = [row["motion"] for row in rows if row["motion"].startswith("motion ")]
    close = sum(APART not in moves for moves in motions)
    lines += [
        "",
        f"**A second of motion**, {STEPS} steps of {STEP:g} s without contacts, limits, equalities and dry friction, from one state",
        f"near the initial one: {close} of the {len(motions)} models in MJCF that can be compared end within {MOTION:g} of MuJoCo's positions and",
        "velocities, relative to the largest or 1. The rule is symplectic Euler in both programs (MuJoCo's Euler without its",
        "implicit damping), and they agree to rounding; where stiff dampers, tendons, fluids or activations do not allow that rule, ours is",
        "the linearly implicit one and MuJoCo's `implicitfast`, which differ in springs: ours take their force at the end of the step.",
        "Where that is more than the bound, both motions are compared in the limit of small steps, by Richardson's extrapolation from",
        "this step, half and a quarter of it.",
    ]
    lines += ["", "| model | n_v | verdict | motion |", "|---|---|---|---|"]
    for row in rows:
        said = {"same": "same: ", "differs": "**differs**: ", "refused": "refused: ", "no step": "**no step**: "}
        detail = row["detail"].replace("|", "\\|")
        moves = row["motion"].replace("|", "\\|")
        lines.append(f"| {row['model']} | {row['n_v']} | {said[row['verdict']]}{detail} | {moves} |")
    return "\n".join(lines) + "\n"


def reason(row):
    """What a refusal is about, without file, line and element."""
    return row["detail"].rsplit(">: ", 1)[-1].replace("|", "\\|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, help="what is not the same is printed without one")
    parser.add_argument("--target", type=float, required=True)
    parser.add_argument("--versions", type=json.loads, default={}, help="JSON: package to version")
    parser.add_argument("--only", default="", help="models whose path contains this; the page is not written")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    packages = args.packages.resolve()
    files = [p for p in candidates(packages) if args.only in str(p)]
    with concurrent.futures.ProcessPoolExecutor(args.processes) as pool:
        jobs = [pool.submit(examine, args.program.resolve(), packages, path) for path in files]
        rows = [row for job in jobs if (row := job.result())]
    if args.only:
        for row in rows:
            print(row["verdict"], row["model"], row["detail"], row["motion"])
        return
    counts = collections.Counter(row["verdict"] for row in rows)
    summary = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()) + f" of {len(rows)}"
    if not args.page:
        for row in rows:
            if row["verdict"] != "same":
                print(row["verdict"], row["model"], row["detail"])
        print(summary)
        return
    # The section on speed is another script's.
    kept = args.page.read_text().partition(SPEED)[1:] if args.page.exists() else ()
    args.page.write_text("\n".join([page(rows, args.versions, args.target), "".join(kept)]).rstrip() + "\n")
    print(summary)
    if counts["differs"] or counts["no step"] or counts["same"] < args.target * len(rows):
        raise SystemExit(f"the target is {args.target:.0%} the same, and none that differs or does not step")


if __name__ == "__main__":
    main()
