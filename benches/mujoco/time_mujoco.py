#!/usr/bin/env python3
"""Times MuJoCo on the built-in scenes: one world, one thread, contacts on, in the steady state.

Needs `pip install mujoco numpy`. Protocol, the same as this project's benchmark (scenes/README.md): start from the
scene's keyframe; each step, each control is the keyframe's plus `control_amplitude` times half its range (1 without a
range) times a uniform number of [-1, 1), the same numbers as of that benchmark's world 0; step `settle_steps` before anything is measured; then time `--steps` steps, `--repeats` times, going on from where
the last repeat ended; report the median over the repeats.

The steps are timed through `mujoco.rollout`, whose loop is in C: what Python would add a step (0.5 us and more) is not
counted; what rollout adds itself (setting the controls, copying the state out) is well under 0.1 us for these models.
The integrator is Euler, as the scenes' files say; solver, tolerance, iterations and cone are MuJoCo's defaults (Newton,
1e-8, 100, pyramidal) unless options say otherwise.

Prints a table; `--json FILE` (or `-` for standard output, then the table goes to standard error) writes
`{"mujoco": version, "cpu": name, "settings": {...}, "scenes": [{"name", "n_v", "dt", "us_per_step", "us_min", "us_max", "us_cpu",
"contacts_mean", "iterations_mean", "steps", "repeats"}]}`. Microseconds are of the wall clock, but `us_cpu`, the median
processor time: where the two differ, other work disturbed the run.
"""

import argparse
import json
import pathlib
import platform
import statistics
import sys
import time

import mujoco
import mujoco.rollout
import numpy as np

SCENES = pathlib.Path(__file__).resolve().parents[2] / "scenes"


def settings():
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("scenes", nargs="*", metavar="SCENE", help="names from scenes.json (default: all)")
    p.add_argument("--steps", type=int, default=2000, help="steps a repeat (default 2000)")
    p.add_argument("--repeats", type=int, default=7, help="repeats; the median counts (default 7)")
    p.add_argument("--seed", type=int, default=0, help="of the controls (default 0)")
    p.add_argument(
        "--integrator",
        choices=("euler", "implicitfast", "implicit", "discrete"),
        help="default: the scene's, Euler; soft bodies that are stiff need discrete",
    )
    p.add_argument("--solver", choices=("newton", "cg", "pgs"), help="default: MuJoCo's, Newton")
    p.add_argument("--cone", choices=("pyramidal", "elliptic"), help="default: MuJoCo's, pyramidal")
    p.add_argument("--impratio", type=float, help="how much stiffer friction is than normals; default: MuJoCo's, 1")
    p.add_argument("--tolerance", type=float, help="of the solver; default: MuJoCo's, 1e-8")
    p.add_argument("--iterations", type=int, help="limit of the solver; default: MuJoCo's, 100")
    p.add_argument(
        "--differences",
        action="store_true",
        help="time mjd_transitionFD instead, centred, at the state after settling: the derivatives of one step by q, v and "
        "controls from differences of steps",
    )
    p.add_argument("--json", metavar="FILE", help="write the numbers to FILE, - for standard output")
    return p.parse_args()


def load(scene, args):
    """The scene's model with the options of the command line."""
    m = mujoco.MjModel.from_xml_path(str(SCENES / scene["file"]))
    if args.integrator:
        m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{args.integrator.upper()}")
    if args.solver:
        m.opt.solver = getattr(mujoco.mjtSolver, f"mjSOL_{args.solver.upper()}")
    if args.cone:
        m.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{args.cone.upper()}")
    if args.impratio is not None:
        m.opt.impratio = args.impratio
    if args.tolerance is not None:
        m.opt.tolerance = args.tolerance
    if args.iterations is not None:
        m.opt.iterations = args.iterations
    return m


def mix(x):
    """SplitMix64's finaliser, entry by entry."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def symmetric(seed, world, steps, entries):
    """Numbers of [-1, 1), one a step and entry: `manyworlds::random::symmetric`."""
    x = np.full((len(steps), len(entries)), seed, np.uint64)
    for word in (np.uint64(world), steps[:, None], entries[None, :]):
        x = mix(x ^ word)
    return (x >> np.uint64(11)).astype(float) * 2.0**-52 - 1.0


def measure(scene, args):
    """The numbers of one scene."""
    m = load(scene, args)
    d = mujoco.MjData(m)
    if scene["keyframe"] is not None:
        mujoco.mj_resetDataKeyframe(m, d, m.key(scene["keyframe"]).id)
    half = np.where(m.actuator_ctrllimited != 0, np.ptp(m.actuator_ctrlrange, axis=1) / 2, 1.0)
    home, amplitude = d.ctrl.copy(), scene["bench"]["control_amplitude"] * half
    settle, entries = scene["bench"]["settle_steps"], np.arange(m.nu, dtype=np.uint64)

    def controls(first, n):
        steps = np.arange(first, first + n, dtype=np.uint64)
        return home + amplitude * symmetric(args.seed, 0, steps, entries)

    for u in controls(0, settle):
        d.ctrl[:] = u
        mujoco.mj_step(m, d)

    if args.differences:
        return differences(scene, args, m, d)
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(m, spec))
    times, cpu_times, contacts, iterations = [], [], [], []
    with mujoco.rollout.Rollout(nthread=0) as rollout:
        for repeat in range(args.repeats):
            u = controls(settle + repeat * args.steps, args.steps)
            mujoco.mj_getState(m, d, state, spec)
            warm = d.qacc_warmstart.copy()
            out = np.zeros((1, args.steps, state.size))
            sensors = np.zeros((1, args.steps, m.nsensordata))
            timed = mujoco.MjData(m)
            begin, cpu_begin = time.perf_counter(), time.process_time()
            rollout.rollout(
                m, timed, state[None], u[None], state=out, sensordata=sensors, initial_warmstart=warm[None]
            )
            cpu_times.append((time.process_time() - cpu_begin) / args.steps * 1e6)
            times.append((time.perf_counter() - begin) / args.steps * 1e6)
            # The same steps again, to count contacts and iterations and to go on from their end.
            for row in u:
                d.ctrl[:] = row
                mujoco.mj_step(m, d)
                contacts.append(d.ncon)
                iterations.append(int(d.solver_niter[: d.nisland or 1].max(initial=0)))
            mujoco.mj_getState(m, d, state, spec)
            if not np.array_equal(out[0, -1], state):
                raise SystemExit(f"{scene['name']}: the timed steps and the counted ones differ")
    return {
        "name": scene["name"],
        "n_v": m.nv,
        "dt": m.opt.timestep,
        "us_per_step": statistics.median(times),
        "us_min": min(times),
        "us_max": max(times),
        "us_cpu": statistics.median(cpu_times),
        "contacts_mean": float(np.mean(contacts)),
        "iterations_mean": float(np.mean(iterations)),
        "steps": args.steps,
        "repeats": args.repeats,
    }


def differences(scene, args, m, d):
    """Times of mjd_transitionFD, the smallest of the repeats as `us_min`."""
    n = 2 * m.nv + m.na
    a, b = np.zeros((n, n)), np.zeros((n, m.nu))
    times, calls = [], max(1, args.steps // 100)
    for _ in range(args.repeats):
        begin = time.perf_counter()
        for _ in range(calls):
            mujoco.mjd_transitionFD(m, d, 1e-6, 1, a, b if m.nu else None, None, None)
        times.append((time.perf_counter() - begin) / calls * 1e6)
    return {
        "name": scene["name"],
        "n_v": m.nv,
        "dt": m.opt.timestep,
        "us_per_step": statistics.median(times),
        "us_min": min(times),
        "us_max": max(times),
        "us_cpu": float("nan"),
        "contacts_mean": float(d.ncon),
        "iterations_mean": float(d.solver_niter[: d.nisland or 1].max(initial=0)),
        "steps": calls,
        "repeats": args.repeats,
    }


def cpu_name():
    """The processor, as Linux names it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    args = settings()
    scenes = json.loads((SCENES / "scenes.json").read_text())["scenes"]
    unknown = set(args.scenes) - {s["name"] for s in scenes}
    if unknown:
        raise SystemExit(f"no such scene: {', '.join(sorted(unknown))}")
    table = sys.stderr if args.json == "-" else sys.stdout
    print(f"{'scene':16}{'dof':>5}{'dt ms':>8}{'us/step':>10}{'us cpu':>9}{'contacts':>10}{'iterations':>12}", file=table)
    rows = []
    for scene in scenes:
        if args.scenes and scene["name"] not in args.scenes:
            continue
        r = measure(scene, args)
        rows.append(r)
        print(
            f"{r['name']:16}{r['n_v']:5}{r['dt'] * 1e3:8.1f}{r['us_per_step']:10.2f}"
            f"{r['us_cpu']:9.2f}{r['contacts_mean']:10.1f}{r['iterations_mean']:12.1f}",
            file=table,
            flush=True,
        )
    result = {
        "mujoco": mujoco.__version__,
        "cpu": cpu_name(),
        "settings": {
            k: getattr(args, k) for k in ("integrator", "solver", "cone", "impratio", "tolerance", "iterations", "seed")
        },
        "scenes": rows,
    }
    text = json.dumps(result, indent=1) + "\n"
    if args.json == "-":
        sys.stdout.write(text)
    elif args.json:
        pathlib.Path(args.json).write_text(text)


if __name__ == "__main__":
    main()
