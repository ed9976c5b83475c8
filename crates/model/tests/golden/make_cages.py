"""Writes what MuJoCo makes of the cages in cages/, for tests/suite/cages.rs. Needs PyPI's mujoco (4.0.0).

    python crates/model/tests/golden/make_cages.py
"""

import json
import os
import pathlib
import tempfile

import mujoco
import numpy as np


def numbers(array):
    return [float(f"{x:.13g}") for x in np.asarray(array, float).ravel()]


def flex(m, d, moved, i):
    """A cage at rest, and its vertices where `moved` has them."""
    name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_FLEX, i)
    bodies = m.flex_nodebodyid[m.flex_nodeadr[i] :][: m.flex_nodenum[i]]
    # Nodes that are free are bodies of their own.
    free = [int(b) for b in bodies if m.body(b).name.startswith(f"{name}_")]
    vertices = slice(m.flex_vertadr[i], m.flex_vertadr[i] + m.flex_vertnum[i])
    return {
        "name": name,
        "free": numbers(d.xpos[free]),
        "masses": numbers(m.body_mass[free]),
        "v": [int(m.body_dofadr[b]) for b in free],
        "elements": int(m.flex_elemnum[i]),
        "at_rest": numbers(d.flexvert_xpos[vertices]),
        "moved": numbers(moved.flexvert_xpos[vertices]),
    }


here = pathlib.Path(__file__).resolve().parent / "cages"
# MuJoCo logs to where it runs.
os.chdir(tempfile.gettempdir())
for path in sorted(here.glob("*.xml")):
    model = mujoco.MjModel.from_xml_path(str(path))
    rest, moved = mujoco.MjData(model), mujoco.MjData(model)
    moved.qpos[:] = [0.01 * np.sin(k) for k in range(model.nq)]
    for data in (rest, moved):
        mujoco.mj_forward(model, data)
    flexes = [flex(model, rest, moved, i) for i in range(model.nflex)]
    golden = {"n_q": model.nq, "n_v": model.nv, "q": numbers(moved.qpos), "flexes": flexes}
    path.with_suffix(".json").write_text(json.dumps(golden) + "\n")
