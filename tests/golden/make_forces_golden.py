#!/usr/bin/env python3
"""Golden data for applied forces: gravity compensation, actuators, tendons, fluid, by MuJoCo.

Needs `pip install mujoco numpy`. Run from anywhere; it rewrites `forces/*.json` beside it. The same versions give the same
bytes. See README.md for the keys.
"""

import json
import pathlib
import zlib

import mujoco
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["carried", "actuated", "tendons", "immersed"]
STATES = 6
# The motion of a second.
SECONDS = 1.0


def random_state(model, rng, size):
    """A state near the initial one: positions, velocities, controls and activations."""
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, size * rng.uniform(-1, 1, model.nv), 1.0)
    data.qvel[:] = size * rng.uniform(-1, 1, model.nv)
    data.ctrl[:] = rng.uniform(-1, 1, model.nu)
    data.act[:] = rng.uniform(0, 0.5, model.na)
    return data


def state_of(data):
    return {name: getattr(data, field).tolist() for name, field in STATE.items()}


STATE = {"q": "qpos", "v": "qvel", "ctrl": "ctrl", "act": "act"}


def case(model, data):
    out = state_of(data)
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    out["mass"] = mass.ravel().tolist()
    out["bias"] = data.qfrc_bias.tolist()
    out["passive"] = data.qfrc_passive.tolist()
    out["actuator"] = data.qfrc_actuator.tolist()
    out["tendons"] = data.ten_length.tolist()
    mujoco.mj_step(model, data)
    out["act_after"] = data.act.tolist()
    return out


def motion(model, rng):
    """A second from a random state, by Runge and Kutta's steps of fourth order: next to exact."""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = random_state(model, rng, 0.4)
    out = {"start": state_of(data)}
    while data.time < SECONDS - model.opt.timestep / 2:
        mujoco.mj_step(model, data)
    out["end"] = {"q": data.qpos.tolist(), "v": data.qvel.tolist(), "act": data.act.tolist()}
    return out


def main():
    (HERE / "forces").mkdir(exist_ok=True)
    for name in MODELS:
        model = mujoco.MjModel.from_xml_path(str(HERE / "models" / f"{name}.xml"))
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        golden = {
            "mujoco": mujoco.__version__,
            "cases": [case(model, random_state(model, rng, 0.8)) for _ in range(STATES)],
            "motion": motion(model, rng),
        }
        (HERE / "forces" / f"{name}.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
