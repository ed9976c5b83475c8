"""Writes what MuJoCo makes of the flexcomps in soft/, for tests/suite/soft.rs. Needs PyPI's mujoco (4.0.0).

    python crates/model/tests/golden/make_soft.py

soft/ball4.msh was written for this project: a cube of 4 x 4 x 4 cells of six tetrahedra each, blown up to a ball.
"""

import itertools
import json
import os
import pathlib
import tempfile

import mujoco
import numpy as np


def cube(cells, edge):
    """A .msh of version 4.1: a cube of cells of six tetrahedra each, every other one inside out."""
    n = cells + 1
    points = [(np.array(p) / cells - 0.5) * edge for p in itertools.product(range(n), repeat=3)]
    elements = []
    for cell in itertools.product(range(cells), repeat=3):
        for way in itertools.permutations(range(3)):
            # From one corner of the cell to the opposite one along its edges.
            corner, element = np.array(cell), []
            for axis in (None, *way):
                if axis is not None:
                    corner[axis] += 1
                element.append(int(corner @ [n * n, n, 1]) + 1)
            elements.append(element)
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Nodes"]
    lines += [f"1 {len(points)} 1 {len(points)}", f"3 1 0 {len(points)}"]
    lines += [str(i + 1) for i in range(len(points))]
    lines += [" ".join(repr(float(x)) for x in p) for p in points]
    lines += ["$EndNodes", "$Elements", f"1 {len(elements)} 1 {len(elements)}", f"3 1 4 {len(elements)}"]
    lines += [f"{i + 1} " + " ".join(map(str, e)) for i, e in enumerate(elements)]
    return "\n".join([*lines, "$EndElements"]) + "\n"


def numbers(array):
    return [float(f"{x:.13g}") for x in np.asarray(array, float).ravel()]


def flex(m, d, i):
    first, n = m.flex_vertadr[i], m.flex_vertnum[i]
    at = d.flexvert_xpos[first : first + n]
    elements = m.flex_elem[m.flex_elemdataadr[i] :][: 4 * m.flex_elemnum[i]].reshape(-1, 4)
    edges = at[elements[:, 1:]] - at[elements[:, :1]]
    # Free points are bodies of their own; those that are pinned belong to what they are pinned to.
    name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_FLEX, i)
    own = [int(b) for b in m.flex_vertbodyid[first : first + n]]
    free = [b for b in own if m.body(b).name.startswith(f"{name}_")]
    return {
        "name": name,
        "points": numbers(at),
        "elements": int(m.flex_elemnum[i]),
        "volume": float(np.abs(np.linalg.det(edges)).sum() / 6),
        "pinned": [k for k, b in enumerate(own) if b not in free],
        "mass_of_free": float(m.body_mass[free].sum()),
        "q": int(m.jnt_qposadr[m.body_jntadr[free[0]]]),
        "v": int(m.body_dofadr[free[0]]),
        "radius": float(m.flex_radius[i]),
        "friction": float(m.flex_friction[i][0]),
        "margin": float(m.flex_margin[i]),
        "condim": int(m.flex_condim[i]),
        "contype": int(m.flex_contype[i]),
        "conaffinity": int(m.flex_conaffinity[i]),
        "priority": int(m.flex_priority[i]),
    }


here = pathlib.Path(__file__).resolve().parent / "soft"
(here / "cube.msh").write_text(cube(2, 0.05))

# MuJoCo logs to where it runs.
os.chdir(tempfile.gettempdir())
for path in sorted(here.glob("*.xml")):
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    golden = {"n_q": model.nq, "n_v": model.nv, "flexes": [flex(model, data, i) for i in range(model.nflex)]}
    path.with_suffix(".json").write_text(json.dumps(golden) + "\n")
