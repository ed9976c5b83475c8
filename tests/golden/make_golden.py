#!/usr/bin/env python3
"""Golden data for the dynamics tests: mass matrices, bias forces, accelerations of random states.

Needs `pip install mujoco pin numpy`. Run from anywhere; it rewrites `dynamics/*.json` beside it. The same
versions give the same bytes: every state comes from a generator seeded by the model's name.

Two programs that share no code answer for every state, in double precision:

* MuJoCo reads the model file itself;
* Pinocchio computes on a model built here joint by joint from the compiled parameters (`PinTwin`).

The script fails when they differ by more than `AGREEMENT`, relative to the largest entry of the quantity, and
records the largest difference. What is written are MuJoCo's numbers. See README.md for the keys.
"""

import json
import pathlib
import zlib

import mujoco
import numpy as np
import pinocchio as pin

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODELS = [
    "scenes/cartpole.xml",
    "scenes/hopper.xml",
    "scenes/half-cheetah.xml",
    "scenes/ant.xml",
    "scenes/humanoid.xml",
    "scenes/quadruped.xml",
    "scenes/arm7.xml",
    "tests/golden/models/ball-chain.xml",
    "tests/golden/models/mixed-joints.xml",
    "tests/golden/models/several-trees.xml",
]
# The first state of each model is its own initial state at rest, without controls; the others are random.
STATES = 8
# MuJoCo and Pinocchio sum in different orders; what remains is round-off of systems with a condition number of
# up to about 1e4.
AGREEMENT = 1e-10

FREE, BALL, SLIDE, HINGE = (
    int(k)
    for k in (
        mujoco.mjtJoint.mjJNT_FREE,
        mujoco.mjtJoint.mjJNT_BALL,
        mujoco.mjtJoint.mjJNT_SLIDE,
        mujoco.mjtJoint.mjJNT_HINGE,
    )
)


def quaternion_pin(wxyz):
    """Pinocchio's quaternion of MuJoCo's (w, x, y, z)."""
    return pin.Quaternion(wxyz[0], wxyz[1], wxyz[2], wxyz[3])


def random_quaternion(rng):
    """Uniform over the rotations; half of the time with a negative w, which means the same."""
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


class PinTwin:
    """A MuJoCo model as Pinocchio sees it.

    A MuJoCo body with joints 1..k stands at `X = B . J1(q1) ... Jk(qk)`, B its frame at rest in its parent's and
    `Ji = T(anchor_i) motion_i T(-anchor_i)`. Pinocchio's joints move about their own frame, so joint i gets the
    frame at anchor_i; all but the last carry no mass.
    """

    def __init__(self, m):
        self.m = m
        self.model = pin.Model()
        self.model.gravity.linear = m.opt.gravity.copy()
        # per MuJoCo body: the Pinocchio joint it moves with, and its frame there
        self.carrier = [(0, pin.SE3.Identity())]
        for b in range(1, m.nbody):
            self.add_body(b)
        self.data = self.model.createData()

    def add_body(self, b):
        m = self.m
        joint, frame = self.carrier[m.body_parentid[b]]
        rest = pin.SE3(quaternion_pin(m.body_quat[b]).matrix(), m.body_pos[b])
        frame = frame * rest
        for j in range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]):
            kind, axis = m.jnt_type[j], m.jnt_axis[j]
            if kind == FREE:
                frame, anchor, kind = pin.SE3.Identity(), np.zeros(3), pin.JointModelFreeFlyer()
            else:
                anchor = m.jnt_pos[j]
                kind = {
                    BALL: lambda: pin.JointModelSpherical(),
                    SLIDE: lambda: pin.JointModelPrismaticUnaligned(axis),
                    HINGE: lambda: pin.JointModelRevoluteUnaligned(axis),
                }[kind]()
            at_anchor = pin.SE3(np.eye(3), anchor)
            joint = self.model.addJoint(joint, kind, frame * at_anchor, f"joint{j}")
            frame = at_anchor.inverse()
        self.carrier.append((joint, frame))
        if joint != 0:
            inertia = pin.Inertia(m.body_mass[b], m.body_ipos[b], body_inertia(m, b))
            self.model.appendBodyToJoint(joint, inertia, frame)

    def state(self, qpos, qvel):
        """(q, v, T, drift): Pinocchio's state; v = T qvel, dv/dt = T dqvel/dt + drift."""
        m = self.m
        q, T, drift = pin.neutral(self.model), np.eye(m.nv), np.zeros(m.nv)
        for j in range(m.njnt):
            p, d, kind = m.jnt_qposadr[j], m.jnt_dofadr[j], m.jnt_type[j]
            if kind == FREE:
                # MuJoCo: linear velocity along the world's axes; Pinocchio: along the body's
                R = quaternion_pin(qpos[p + 3 : p + 7]).matrix()
                q[p : p + 3] = qpos[p : p + 3]
                q[p + 3 : p + 7] = np.roll(qpos[p + 3 : p + 7], -1)
                T[d : d + 3, d : d + 3] = R.T
                drift[d : d + 3] = -np.cross(qvel[d + 3 : d + 6], R.T @ qvel[d : d + 3])
            elif kind == BALL:
                q[p : p + 4] = np.roll(qpos[p : p + 4], -1)
            else:
                q[p] = qpos[p] - m.qpos0[p]
        return q, T @ qvel, T, drift

    def solve(self, qpos, qvel, force):
        """M, bias and M^-1 (force - bias) in MuJoCo's coordinates, and the poses of the bodies."""
        q, v, T, drift = self.state(qpos, qvel)
        model, data = self.model, self.data
        model.armature = np.zeros(model.nv)
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        bias = T.T @ (pin.nonLinearEffects(model, data, q, v) + M @ drift)
        # T is orthogonal and 1 but at free joints, where armature is the same along all axes
        model.armature = self.m.dof_armature.copy()
        acceleration = T.T @ (pin.aba(model, data, q, v, T @ (force) + model.armature * drift) - drift)
        pin.forwardKinematics(model, data, q)
        poses = [data.oMi[joint] * frame if joint else frame for joint, frame in self.carrier]
        return T.T @ M @ T + np.diag(self.m.dof_armature), bias, acceleration, poses


def random_state(m, rng):
    """Free bodies anywhere, joints within their range, velocities of order 1, controls within theirs."""
    q = m.qpos0.copy()
    for j in range(m.njnt):
        p, kind = m.jnt_qposadr[j], m.jnt_type[j]
        if kind == FREE:
            q[p : p + 3] = rng.uniform(-1, 1, 3)
            q[p + 3 : p + 7] = random_quaternion(rng)
        elif kind == BALL:
            q[p : p + 4] = random_quaternion(rng)
        elif m.jnt_limited[j]:
            q[p] = rng.uniform(*m.jnt_range[j])
        else:
            q[p] = rng.uniform(-np.pi, np.pi) if kind == HINGE else rng.uniform(-1, 1)
    v = rng.normal(size=m.nv)
    low, high = np.where(m.actuator_ctrllimited[:, None], m.actuator_ctrlrange, [-1.0, 1.0]).T
    return q, v, rng.uniform(low, high)


# Order of the six entries of a rotational inertia, as in MJCF's `fullinertia`.
ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def body_inertia(m, b):
    """Rotational inertia of a body about its centre of mass in the axes of its frame."""
    principal = quaternion_pin(m.body_iquat[b]).matrix()
    return principal @ np.diag(m.body_inertia[b]) @ principal.T


def lower(M):
    """The lower triangle of a symmetric matrix, row after row."""
    return [float(M[i, j]) for i in range(len(M)) for j in range(i + 1)]


def relative(a, b):
    """Largest difference relative to the largest entry."""
    return float(np.max(np.abs(np.asarray(a) - b), initial=0.0) / max(1e-300, np.max(np.abs(b), initial=0.0)))


def golden(path):
    """The golden record of one model file."""
    m = mujoco.MjModel.from_xml_path(str(ROOT / path))
    # no contacts, limits, dry friction or equalities: qacc is M^-1 (actuators + springs and dampers - bias)
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    d = mujoco.MjData(m)
    twin = PinTwin(m)
    rng = np.random.default_rng(zlib.crc32(path.encode()))
    worst = {"mass": 0.0, "bias": 0.0, "acceleration": 0.0, "pose": 0.0}
    cases = []
    for k in range(STATES):
        q, v, ctrl = random_state(m, rng)
        if k == 0:
            q, v, ctrl = m.qpos0.copy(), np.zeros(m.nv), np.zeros(m.nu)
        d.qpos[:], d.qvel[:], d.ctrl[:] = q, v, ctrl
        mujoco.mj_forward(m, d)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        force = d.qfrc_passive + d.qfrc_actuator
        M_pin, bias_pin, acceleration_pin, poses = twin.solve(q, v, force)
        positions = np.array([X.translation for X in poses])[1:]
        rotations = np.array([X.rotation for X in poses])[1:]
        for name, difference in (
            ("mass", relative(M_pin, M)),
            ("bias", relative(bias_pin, d.qfrc_bias)),
            ("acceleration", relative(acceleration_pin, d.qacc)),
            ("pose", max(relative(positions, d.xpos[1:]), relative(rotations.reshape(-1, 9), d.xmat[1:]))),
        ):
            worst[name] = max(worst[name], difference)
        cases.append(
            {
                "q": q.tolist(),
                "v": v.tolist(),
                "ctrl": ctrl.tolist(),
                "body_position": d.xpos[1:].ravel().tolist(),
                "body_quaternion": d.xquat[1:].ravel().tolist(),
                "mass_lower": lower(M),
                "bias": d.qfrc_bias.tolist(),
                "passive_force": d.qfrc_passive.tolist(),
                "actuator_force": d.qfrc_actuator.tolist(),
                "acceleration": d.qacc.tolist(),
            }
        )
    for name, difference in worst.items():
        # written so that a NaN fails
        if not difference < AGREEMENT:
            raise SystemExit(f"{path}: MuJoCo and Pinocchio differ by {difference:.1e} in {name}")
    inertia = [body_inertia(m, b) for b in range(1, m.nbody)]
    return {
        "model": path,
        "made_with": {"mujoco": mujoco.__version__, "pinocchio": pin.__version__},
        "n_q": m.nq,
        "n_v": m.nv,
        "n_u": m.nu,
        "n_bodies": m.nbody - 1,
        "body_mass": m.body_mass[1:].tolist(),
        "body_com": m.body_ipos[1:].ravel().tolist(),
        "body_inertia": np.array([I[i, j] for I in inertia for i, j in ENTRIES]).tolist(),
        "largest_relative_difference_to_pinocchio": worst,
        "cases": cases,
    }


def short(x):
    """Whole numbers without their fraction, zeros without a sign: JSON knows one kind of number."""
    if isinstance(x, list):
        return [short(y) for y in x]
    return int(x) if x == int(x) else x


def dump(record):
    """JSON with a line per array, so that a change can be read in a diff."""
    head = {k: v for k, v in record.items() if k != "cases"}
    lines = [f" {json.dumps(k)}: {json.dumps(v)}," for k, v in head.items()]
    cases = []
    for case in record["cases"]:
        body = ",\n".join(f"   {json.dumps(k)}: {json.dumps(short(v), separators=(',', ':'))}" for k, v in case.items())
        cases.append("  {\n" + body + "\n  }")
    return "{\n" + "\n".join(lines) + '\n "cases": [\n' + ",\n".join(cases) + "\n ]\n}\n"


def main():
    out = HERE / "dynamics"
    out.mkdir(exist_ok=True)
    for path in MODELS:
        record = golden(path)
        file = out / (pathlib.Path(path).stem + ".json")
        text = dump(record)
        file.write_text(text)
        json.loads(text)
        worst = record["largest_relative_difference_to_pinocchio"]
        print(f"{path:40} {len(text) // 1024:4} kB ", " ".join(f"{k} {v:.1e}" for k, v in worst.items()))


if __name__ == "__main__":
    main()
