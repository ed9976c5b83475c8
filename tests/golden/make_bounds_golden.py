#!/usr/bin/env python3
"""Golden data for the rows of tendons (bounds, dry friction, couplings), by MuJoCo.

Needs `pip install mujoco numpy`. Run from anywhere; it rewrites `forces/bounds.json` beside it. The same versions give the
same bytes. See README.md for the keys.
"""

import json
import pathlib
import zlib

import mujoco
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STATES = 6
KINDS = {
    mujoco.mjtConstraint.mjCNSTR_EQUALITY: "coupling",
    mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON: "dry friction",
    mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON: "limit",
}


def rows(model, data):
    """What acts: kind, tendon, J, and how far it is from its bound or its law."""
    out = []
    jacobian = data.efc_J.reshape(data.nefc, model.nv)
    for i in range(data.nefc):
        kind = KINDS[mujoco.mjtConstraint(data.efc_type[i])]
        number = int(data.efc_id[i])
        tendon = int(model.eq_obj1id[number]) if kind == "coupling" else number
        out.append({"kind": kind, "tendon": tendon, "jacobian": jacobian[i].tolist(), "error": float(data.efc_pos[i])})
    return out


def case(model, rng):
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, 0.5 * rng.uniform(-1, 1, model.nv), 1.0)
    data.qvel[:] = 0.5 * rng.uniform(-1, 1, model.nv)
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    return {
        "q": data.qpos.tolist(),
        "v": data.qvel.tolist(),
        "mass": mass.ravel().tolist(),
        "bias": data.qfrc_bias.tolist(),
        "passive": data.qfrc_passive.tolist(),
        "tendons": data.ten_length.tolist(),
        "rows": rows(model, data),
    }


def main():
    model = mujoco.MjModel.from_xml_path(str(HERE / "models" / "bounds.xml"))
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    rng = np.random.default_rng(zlib.crc32(b"bounds"))
    golden = {"mujoco": mujoco.__version__, "cases": [case(model, rng) for _ in range(STATES)]}
    (HERE / "forces" / "bounds.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
