#!/usr/bin/env python3
"""Runs the tests of `docs/stiction.md` in Drake. Needs `pip install drake`."""

import importlib.metadata
import logging
import tempfile

import numpy as np
from pydrake.geometry import (
    AddRigidHydroelasticProperties,
    DefaultProximityProperties,
    ProximityProperties,
    RoleAssign,
    SceneGraphConfig,
)
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, DiscreteContactApproximation
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

import cases

POINT, HYDRO = ContactModel.kPoint, ContactModel.kHydroelasticWithFallback
SAP, LAGGED = DiscreteContactApproximation.kSap, DiscreteContactApproximation.kLagged
# Bodies are compliant, with Drake's own default modulus; what belongs to the world is rigid (see `harden`).
SOFT = {"compliance_type": "compliant", "hydroelastic_modulus": 1e7, "slab_thickness": 0.1, "resolution_hint": 0.02}
# Name, contact model, contact approximation, speed below which friction counts as sticking (m/s), properties of geometries.
SETTINGS = [
    ("SAP, point", POINT, SAP, 1e-3, {}),
    ("SAP, hydroelastic", HYDRO, SAP, 1e-3, SOFT),
    ("lagged, hydroelastic", HYDRO, LAGGED, 1e-3, SOFT),
    ("lagged, hydroelastic, stiction 1e-6", HYDRO, LAGGED, 1e-6, SOFT),
]


def build(case, settings):
    """A simulator, its plant and the plant's context."""
    _, contact, approximation, stiction, properties = settings
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=case.step)
    plant.set_discrete_contact_approximation(approximation)
    plant.set_contact_model(contact)
    plant.set_stiction_tolerance(stiction)
    scene_graph.set_config(SceneGraphConfig(default_proximity_properties=DefaultProximityProperties(**properties)))
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(case.mjcf)
        file.flush()
        Parser(plant).AddModels(file.name)
    if contact == HYDRO:
        harden(plant, scene_graph)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    return simulator, plant, plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())


def harden(plant, scene_graph):
    """Makes the world's geometries rigid: a compliant half-space has no patches with compliant bodies, only points."""
    for geometry in plant.GetCollisionGeometriesForBody(plant.world_body()):
        properties = ProximityProperties(scene_graph.model_inspector().GetProximityProperties(geometry))
        AddRigidHydroelasticProperties(0.05, properties)
        scene_graph.AssignRole(plant.get_source_id(), geometry, properties, RoleAssign.kReplace)


def drive(case, plant, context):
    """Fixes the controls: positions that drives go to in the pinch, a force on the cube's plate."""
    if case.name == "pinch":
        # A drive is a proportional and differential controller here; it takes positions, then velocities.
        port = plant.get_desired_state_input_port(plant.GetModelInstanceByName("pinch"))
        port.FixValue(context, np.array(case.controls + [0.0, 0.0]))
    if case.name == "cube":
        plant.get_actuation_input_port().FixValue(context, np.array(case.controls))


def main():
    # The parser warns of torsional and rolling friction in every file; no model here relies on them.
    logging.getLogger("drake").setLevel(logging.ERROR)
    report = cases.Report(f"Drake {importlib.metadata.version('drake')}")
    for settings in SETTINGS:
        for case in cases.holding():
            simulator, plant, context = build(case, settings)
            drive(case, plant, context)
            body = plant.GetBodyByName(case.body)
            position = lambda: plant.EvalBodyPoseInWorld(context, body).translation()
            simulator.AdvanceTo(case.settle)
            first = position()
            simulator.AdvanceTo(case.settle + case.measure)
            report.row(settings[0], case.name, cases.creep(case, first, position()))
        case = cases.rolling()
        simulator, plant, context = build(case, settings)
        box = plant.GetBodyByName("box")
        forces = np.zeros(plant.num_velocities())
        start = box.floating_velocities_start_in_v() + 3
        forces[start : start + 2] = cases.PUSH
        simulator.AdvanceTo(case.settle)
        plant.get_applied_generalized_force_input_port().FixValue(context, forces)
        simulator.AdvanceTo(case.settle + case.measure)
        names = ["box"] + [f"ball{i}{j}" for i in range(5) for j in range(5)]
        bodies = [plant.GetBodyByName(name) for name in names]
        velocities = [plant.EvalBodySpatialVelocityInWorld(context, body).translational() for body in bodies]
        box_error, ball_error = cases.rolling_error(velocities, case.measure)
        report.row(settings[0], "rolling box", box_error)
        report.row(settings[0], "rolling balls", ball_error)


if __name__ == "__main__":
    main()
