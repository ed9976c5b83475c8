"""Writes what MuJoCo makes of the MJCF files beside this script, for tests/suite/golden.rs. Needs PyPI's mujoco (4.0.0).

    python crates/model/tests/golden/make.py
"""

import json
import os
import pathlib
import struct
import tempfile
import zlib

import mujoco
import numpy as np

# Directions in which the supports of meshes are compared: MuJoCo recentres their vertices, we do not.
DIRECTIONS = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1], [1, 1, 1], [1, -2, 0.5], [-0.3, 0.4, -1]]
)
SHAPES = ["plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"]
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}


def rotation(quat):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quat)
    return matrix.reshape(3, 3)


def numbers(array):
    return [float(f"{x:.13g}") for x in np.asarray(array, float).ravel()]


def body(m, i):
    axes = rotation(m.body_iquat[i])
    inertia = axes @ np.diag(m.body_inertia[i]) @ axes.T
    return {
        "name": m.body(i).name,
        "parent": int(m.body_parentid[i]),
        "pose": numbers([*m.body_pos[i], *m.body_quat[i]]),
        "mocap": int(m.body_mocapid[i]),
        "mass": float(m.body_mass[i]),
        "com": numbers(m.body_ipos[i]),
        "inertia": numbers(inertia),
    }


def joint(m, i):
    dof = m.jnt_dofadr[i]
    # MuJoCo keeps what actuators add to a joint apart.
    armature, damping = m.dof_armature[dof], m.dof_damping[dof]
    for a in range(m.nu):
        if m.actuator_trnid[a][0] == i:
            gear = m.actuator_gear[a][0] ** 2
            armature += gear * np.ravel(m.actuator_armature[a])[0]
            damping += gear * np.ravel(m.actuator_damping[a])[0]
    scalar = m.jnt_type[i] >= 2
    return {
        "name": m.joint(i).name,
        "kind": ["Free", "Ball", "Slide", "Hinge"][m.jnt_type[i]],
        "body": int(m.jnt_bodyid[i]),
        "anchor": numbers(m.jnt_pos[i]),
        "axis": numbers(m.jnt_axis[i]) if scalar else None,
        "range": numbers(m.jnt_range[i]) if m.jnt_limited[i] else None,
        "stiffness": float(m.jnt_stiffness[i]),
        "spring_reference": float(m.qpos_spring[m.jnt_qposadr[i]]) if scalar else 0.0,
        "damping": float(damping),
        "armature": float(armature),
        "dry_friction": float(m.dof_frictionloss[dof]),
    }


def geom(m, i):
    shape = SHAPES[m.geom_type[i]]
    data = m.geom_dataid[i]
    pose = numbers([*m.geom_pos[i], *m.geom_quat[i]])
    if shape == "mesh":
        start, count = m.mesh_vertadr[data], m.mesh_vertnum[data]
        vertices = m.mesh_vert[start : start + count].astype(float) @ rotation(m.geom_quat[i]).T + m.geom_pos[i]
        size, pose = (vertices @ DIRECTIONS.T).max(0), None
    elif shape == "hfield":
        start, count = m.hfield_adr[data], m.hfield_nrow[data] * m.hfield_ncol[data]
        size = m.hfield_data[start : start + count] * m.hfield_size[data][2]
    else:
        size = m.geom_size[i][: SIZES.get(shape, 0)]
    return {
        "name": m.geom(i).name,
        "shape": shape,
        "body": int(m.geom_bodyid[i]),
        "pose": pose,
        "size": numbers(size),
        "friction": float(m.geom_friction[i][0]),
        "priority": int(m.geom_priority[i]),
    }


def actuator(m, i):
    target = m.actuator_trnid[i][0]
    force = np.array([-np.inf, np.inf])
    if m.actuator_forcelimited[i]:
        force = m.actuator_forcerange[i]
    if m.jnt_type[target] >= 2 and m.jnt_actfrclimited[target]:
        force = np.clip(force, *sorted(m.jnt_actfrcrange[target] / m.actuator_gear[i][0]))
    return {
        "name": m.actuator(i).name,
        "joint": int(target),
        "gear": numbers(m.actuator_gear[i]),
        "gain": float(m.actuator_gainprm[i][0]),
        "bias": numbers(m.actuator_biasprm[i][:3] if m.actuator_biastype[i] == 1 else [0, 0, 0]),
        "ctrl_range": numbers(m.actuator_ctrlrange[i]) if m.actuator_ctrllimited[i] else None,
        "force_range": numbers(force) if np.isfinite(force).all() else None,
    }


def describe(m):
    return {
        "timestep": m.opt.timestep,
        "gravity": numbers(m.opt.gravity),
        "n_q": m.nq,
        "n_v": m.nv,
        "initial_q": numbers(m.qpos0),
        "directions": DIRECTIONS.tolist(),
        "bodies": [body(m, i) for i in range(1, m.nbody)],
        "joints": [joint(m, i) for i in range(m.njnt)],
        "geoms": [geom(m, i) for i in range(m.ngeom)],
        "actuators": [actuator(m, i) for i in range(m.nu)],
        "equalities": [
            {"kind": int(m.eq_type[i]), "objects": [int(m.eq_obj1id[i]), int(m.eq_obj2id[i])], "data": numbers(m.eq_data[i])}
            for i in range(m.neq)
        ],
        "pairs": [
            {"friction": float(m.pair_friction[i][0]), "margin": float(m.pair_margin[i]), "condim": int(m.pair_dim[i])}
            for i in range(m.npair)
        ],
        "keyframes": [
            {"q": numbers(m.key_qpos[i]), "v": numbers(m.key_qvel[i]), "ctrl": numbers(m.key_ctrl[i])}
            for i in range(m.nkey)
        ],
    }


def picture(rows):
    """A PNG of grey levels of 16 bits, of which 8 count."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + struct.pack(f">{len(row)}H", *row) for row in rows)
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 16, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def msh(vertices, triangles):
    """MuJoCo's own binary format of meshes."""
    v, t = np.array(vertices, np.float32), np.array(triangles, np.int32)
    return np.array([len(v), 0, 0, len(t)], np.int32).tobytes() + v.tobytes() + t.tobytes()


here = pathlib.Path(__file__).resolve().parent
assets = here / "assets"
assets.mkdir(exist_ok=True)
rows = [[300, 40000, 7, 65535], [0, 20000, 30000, 50000], [65535, 256, 511, 512]]
(assets / "terrain.png").write_bytes(picture(rows))
# Numbers that single precision has.
wedge = [[0, 0, 0], [0.125, 0, 0], [0, 0.25, 0], [0, 0, 0.375], [0.125, 0, 0.0625]]
faces = [[0, 2, 1], [0, 1, 4], [0, 4, 3], [0, 3, 2], [1, 2, 4], [2, 3, 4]]
(assets / "wedge.msh").write_bytes(msh(wedge, faces))

# MuJoCo logs to where it runs.
os.chdir(tempfile.gettempdir())
for path in sorted(here.glob("*.xml")):
    model = mujoco.MjModel.from_xml_path(str(path))
    text = json.dumps(describe(model), indent=1).replace("\n   ", " ")
    path.with_suffix(".json").write_text(text + "\n")
