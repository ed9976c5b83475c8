#!/usr/bin/env python3
"""Golden data for sensors, by MuJoCo.

Needs `pip install mujoco numpy`. Run from anywhere; it rewrites `sensors.json` beside it. The same versions give the same
bytes. See README.md for the keys.
"""

import json
import pathlib
import zlib

import mujoco
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STATES = 6


def main():
    model = mujoco.MjModel.from_xml_path(str(HERE / "models" / "sensors.xml"))
    rng = np.random.default_rng(zlib.crc32(b"sensors"))
    cases = []
    for _ in range(STATES):
        data = mujoco.MjData(model)
        mujoco.mj_integratePos(model, data.qpos, 0.8 * rng.uniform(-1, 1, model.nv), 1.0)
        data.qvel[:] = 0.8 * rng.uniform(-1, 1, model.nv)
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        mujoco.mj_forward(model, data)
        case = {"q": data.qpos.tolist(), "v": data.qvel.tolist(), "ctrl": data.ctrl.tolist()}
        case["readings"] = {model.sensor(i).name: data.sensor(i).data.tolist() for i in range(model.nsensor)}
        cases.append(case)
    golden = {"mujoco": mujoco.__version__, "cases": cases}
    (HERE / "sensors.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
