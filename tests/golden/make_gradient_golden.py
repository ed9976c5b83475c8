#!/usr/bin/env python3
"""Golden derivatives of inverse dynamics: Pinocchio's `computeRNEADerivatives` for random states.

Needs `pip install mujoco pin numpy`. Run from anywhere; it rewrites `gradients/*.json` beside it. Models without free
joints, so that tangent spaces and velocities are the same in both conventions. See README.md for the keys.
"""

import json
import zlib

import mujoco
import numpy as np
import pinocchio as pin
from make_golden import FREE, HERE, ROOT, PinTwin, random_state, short

MODELS = [
    "scenes/half-cheetah.xml",
    "scenes/arm7.xml",
    "tests/golden/models/ball-chain.xml",
    "tests/golden/models/mixed-joints.xml",
]
STATES = 4


def golden(path):
    """The golden record of one model file, or None with a free joint."""
    m = mujoco.MjModel.from_xml_path(str(ROOT / path))
    if any(kind == FREE for kind in m.jnt_type):
        return None
    twin = PinTwin(m)
    twin.model.armature = np.zeros(m.nv)
    rng = np.random.default_rng(zlib.crc32(path.encode()))
    cases = []
    for _ in range(STATES):
        q, v, _ = random_state(m, rng)
        a = rng.normal(size=m.nv)
        q_pin, v_pin, _, _ = twin.state(q, v)
        dq, dv, _ = pin.computeRNEADerivatives(twin.model, twin.data, q_pin, v_pin, a)
        arrays = {"q": q, "v": v, "a": a, "dtau_dq": dq.ravel(), "dtau_dv": dv.ravel()}
        cases.append({key: short(array.tolist()) for key, array in arrays.items()})
    return {"model": path, "made_with": {"mujoco": mujoco.__version__, "pinocchio": pin.__version__}, "cases": cases}


def main():
    out = HERE / "gradients"
    out.mkdir(exist_ok=True)
    for path in MODELS:
        record = golden(path)
        if record is None:
            raise SystemExit(f"{path}: has a free joint")
        text = json.dumps(record, separators=(",", ":"))
        (out / path.split("/")[-1].replace(".xml", ".json")).write_text(text + "\n")
        print(path, len(text) // 1024, "kB")


if __name__ == "__main__":
    main()
