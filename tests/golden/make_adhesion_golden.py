#!/usr/bin/env python3
"""Golden data for adhesion, by MuJoCo.

Needs `pip install mujoco numpy`. Run from anywhere; it rewrites `adhesion.json` beside it. The same versions give the same
bytes. See README.md for the keys.
"""

import json
import pathlib
import zlib

import mujoco
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STATES = 24
# States in which contacts come and go with margins and gaps, m.
SHAKE = 0.015


def main():
    model = mujoco.MjModel.from_xml_path(str(HERE / "models" / "adhesion.xml"))
    rng = np.random.default_rng(zlib.crc32(b"adhesion"))
    cases = []
    for _ in range(STATES):
        data = mujoco.MjData(model)
        mujoco.mj_integratePos(model, data.qpos, SHAKE * rng.uniform(-1, 1, model.nv), 1.0)
        data.ctrl[:] = rng.uniform(-0.5, 1.5, model.nu)
        mujoco.mj_forward(model, data)
        case = {"q": data.qpos.tolist(), "ctrl": data.ctrl.tolist()}
        case |= {"contacts": data.ncon, "actuator": data.qfrc_actuator.tolist(), "force": data.actuator_force.tolist()}
        cases.append(case)

    golden = {"mujoco": mujoco.__version__, "cases": cases}
    (HERE / "adhesion.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")

if __name__ == "__main__":
    main()
