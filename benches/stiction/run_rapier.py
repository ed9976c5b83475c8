#!/usr/bin/env python3
"""Runs the tests of `docs/stiction.md` in rapier (f32). Needs `pip install rapier3d mujoco`.

MuJoCo reads the models; bodies and colliders are made from what it read. Sleeping is switched off: a body asleep does not
creep, and does not answer a change of the grip either. The drives' forces are applied at every step.
"""

import importlib.metadata

import mujoco
import numpy as np
import rapier3d as rp

import cases

# Name, friction model, solver iterations.
SETTINGS = [
    ("default", "SIMPLIFIED", None),
    ("Coulomb", "COULOMB", None),
    ("default, 50 iterations", "SIMPLIFIED", 50),
]


def rotation(quaternion):
    """Axis times angle of a quaternion (w, x, y, z)."""
    turned = np.zeros(3)
    mujoco.mju_quat2Vel(turned, np.array(quaternion), 1.0)
    return tuple(turned)


def collider(model, k):
    """A collider for a geom."""
    geom, size = mujoco.mjtGeom(model.geom_type[k]), model.geom_size[k]
    make = {
        mujoco.mjtGeom.mjGEOM_PLANE: lambda: rp.Collider.halfspace((0.0, 0.0, 1.0)),
        mujoco.mjtGeom.mjGEOM_BOX: lambda: rp.Collider.cuboid(*size),
        mujoco.mjtGeom.mjGEOM_SPHERE: lambda: rp.Collider.ball(size[0]),
        mujoco.mjtGeom.mjGEOM_CAPSULE: lambda: rp.Collider.capsule_z(size[1], size[0]),
    }[geom]
    built = make().translation(tuple(model.geom_pos[k])).rotation(rotation(model.geom_quat[k]))
    built = built.friction(float(model.geom_friction[k][0])).friction_combine_rule(rp.CoefficientCombineRule.MAX)
    body = model.geom_bodyid[k]
    return built.mass(float(model.body_mass[body])) if body else built


def build(case, settings):
    """A world, the handles of its bodies in the model's order, and for each slide its body, gain and damping."""
    _, friction, iterations = settings
    model = mujoco.MjModel.from_xml_string(case.mjcf)
    world = rp.PhysicsWorld(gravity=tuple(model.opt.gravity))
    world.integration_parameters.dt = case.step
    world.integration_parameters.friction_model = getattr(rp.FrictionModel, friction)
    if iterations:
        world.integration_parameters.num_solver_iterations = iterations
    handles = [None]
    for body in range(1, model.nbody):
        builder = rp.RigidBody.dynamic().translation(tuple(model.body_pos[body])).can_sleep(False)
        builder = builder.rotation(rotation(model.body_quat[body]))
        joint = model.body_jntadr[body]
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
            builder = builder.enabled_translations((True, False, False)).enabled_rotations((False, False, False))
            builder = builder.linear_damping(float(model.dof_damping[model.jnt_dofadr[joint]] / model.body_mass[body]))
        handles.append(world.add_body(builder))
    for k in range(model.ngeom):
        body = model.geom_bodyid[k]
        world.add_collider(collider(model, k), handles[body] if body else None)
    return model, world, handles


def step(case, model, world, handles, steps):
    """Steps with the forces of the actuators, or of the rolling test's push."""
    for _ in range(steps):
        for k, control in enumerate(case.controls):
            number = model.jnt_bodyid[model.actuator_trnid[k][0]]
            body = world.rigid_bodies[handles[number]]
            displacement = body.translation.x - model.body_pos[number][0]
            force = model.actuator_gainprm[k][0] * control + model.actuator_biasprm[k][1] * displacement
            body.reset_forces()
            body.add_force((force, 0.0, 0.0))
        world.step()


def main():
    report = cases.Report(f"rapier {importlib.metadata.version('rapier3d')}")
    for settings in SETTINGS:
        for case in cases.holding():
            model, world, handles = build(case, settings)
            body = handles[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, case.body)]
            position = lambda: tuple(world.rigid_bodies[body].translation)
            begin, end = case.steps
            step(case, model, world, handles, begin)
            first = position()
            step(case, model, world, handles, end - begin)
            report.row(settings[0], case.name, cases.creep(case, first, position()))
        case = cases.rolling()
        model, world, handles = build(case, settings)
        begin, end = case.steps
        step(case, model, world, handles, begin)
        world.rigid_bodies[handles[1]].add_force((cases.PUSH, cases.PUSH, 0.0))
        step(case, model, world, handles, end - begin)
        velocities = [tuple(world.rigid_bodies[handle].linvel) for handle in handles[1:]]
        box, ball = cases.rolling_error(velocities, case.measure)
        report.row(settings[0], "rolling box", box)
        report.row(settings[0], "rolling balls", ball)


if __name__ == "__main__":
    main()
