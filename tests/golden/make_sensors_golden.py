#!/usr/bin/env python3
"""Golden data for sensors, by MuJoCo.

Needs `pip install mujoco numpy`. Run from anywhere; it rewrites the three files beside it. The same versions give the same
bytes. See README.md for the keys.
"""

import json
import pathlib
import zlib

import mujoco
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STATES = 6
MODELS = ["sensors", "outside", "looking"]


def record(name):
    model = mujoco.MjModel.from_xml_path(str(HERE / "models" / f"{name}.xml"))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    cases = []
    for _ in range(STATES):
        data = mujoco.MjData(model)
        mujoco.mj_integratePos(model, data.qpos, 0.8 * rng.uniform(-1, 1, model.nv), 1.0)
        data.qvel[:] = 0.8 * rng.uniform(-1, 1, model.nv)
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        case = {"q": data.qpos.tolist(), "v": data.qvel.tolist(), "ctrl": data.ctrl.tolist()}
        if model.na:
            data.act[:] = rng.uniform(0, 1, model.na)
            case["act"] = data.act.tolist()
        if model.nmocap:
            data.mocap_pos[:] += rng.uniform(-0.3, 0.3, (model.nmocap, 3))
            quaternions = rng.normal(size=(model.nmocap, 4))
            data.mocap_quat[:] = quaternions / np.linalg.norm(quaternions, axis=1)[:, None]
            case["mocap"] = np.hstack([data.mocap_pos, data.mocap_quat]).ravel().tolist()
        mujoco.mj_forward(model, data)
        case["readings"] = {model.sensor(i).name: data.sensor(i).data.tolist() for i in range(model.nsensor)}
        cases.append(case)
    golden = {"mujoco": mujoco.__version__, "cases": cases}
    (HERE / f"{name}.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    for name in MODELS:
        record(name)
