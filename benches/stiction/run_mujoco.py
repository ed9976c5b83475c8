#!/usr/bin/env python3
"""Runs the tests of `docs/stiction.md` in MuJoCo. Needs `pip install mujoco`."""

import mujoco

import cases

# Name, cone, impratio, sweeps of the solver that takes slip away afterwards, its tolerance, the main solver's tolerance.
SETTINGS = [
    ("default", "PYRAMIDAL", 1, 0, 1e-6, 1e-8),
    ("elliptic", "ELLIPTIC", 1, 0, 1e-6, 1e-8),
    ("elliptic, impratio 10", "ELLIPTIC", 10, 0, 1e-6, 1e-8),
    ("elliptic, impratio 1000", "ELLIPTIC", 1000, 0, 1e-6, 1e-8),
    ("elliptic, impratio 10, noslip 10", "ELLIPTIC", 10, 10, 1e-6, 1e-8),
    ("elliptic, impratio 10, noslip 1000, tolerances 0 and 1e-14", "ELLIPTIC", 10, 1000, 0.0, 1e-14),
]


def load(case, settings):
    """A model with the settings, and its data with the controls."""
    _, cone, impratio, noslip, noslip_tolerance, tolerance = settings
    model = mujoco.MjModel.from_xml_string(case.mjcf)
    model.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone}")
    model.opt.impratio = impratio
    model.opt.noslip_iterations = noslip
    model.opt.noslip_tolerance = noslip_tolerance
    model.opt.tolerance = tolerance
    data = mujoco.MjData(model)
    data.ctrl[:] = case.controls
    return model, data


def main():
    report = cases.Report(f"MuJoCo {mujoco.__version__}")
    for settings in SETTINGS:
        for case in cases.holding():
            model, data = load(case, settings)
            begin, end = case.steps
            mujoco.mj_step(model, data, nstep=begin)
            first = data.qpos[case.position : case.position + 3].copy()
            mujoco.mj_step(model, data, nstep=end - begin)
            report.row(settings[0], case.name, cases.creep(case, first, data.qpos[case.position : case.position + 3]))
        case = cases.rolling()
        model, data = load(case, settings)
        begin, end = case.steps
        mujoco.mj_step(model, data, nstep=begin)
        data.qfrc_applied[:2] = cases.PUSH
        mujoco.mj_step(model, data, nstep=end - begin)
        velocities = [data.qvel[6 * k : 6 * k + 3] for k in range(26)]
        box, ball = cases.rolling_error(velocities, case.measure)
        report.row(settings[0], "rolling box", box)
        report.row(settings[0], "rolling balls", ball)


if __name__ == "__main__":
    main()
