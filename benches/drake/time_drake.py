#!/usr/bin/env python3
"""Times Drake's SAP on a built-in scene of free bodies: one world, one thread, in the steady state.

Needs `pip install drake`. The scene is read from its MJCF file; contacts are points of stiffness 1e12 N/m (near-rigid)
and of a relaxation time of one step, friction as in the file. Steps as many as the scene's benchmark settles, then times
`--steps` steps, `--repeats` times, and prints the median in microseconds a step, wall clock and processor time.
"""

import argparse
import json
import pathlib
import statistics
import time
import xml.etree.ElementTree as ElementTree

from pydrake.geometry import DefaultProximityProperties, SceneGraphConfig
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, DiscreteContactApproximation
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

SCENES = pathlib.Path(__file__).resolve().parents[2] / "scenes"


def settings():
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("scene", nargs="?", default="clutter", help="name from scenes.json (default: clutter)")
    p.add_argument("--steps", type=int, default=200, help="steps a repeat (default 200)")
    p.add_argument("--repeats", type=int, default=5, help="repeats; the median counts (default 5)")
    return p.parse_args()


def main():
    args = settings()
    scenes = {s["name"]: s for s in json.loads((SCENES / "scenes.json").read_text())["scenes"]}
    scene = scenes[args.scene]
    path = SCENES / scene["file"]
    step = float(ElementTree.parse(path).getroot().find("option").get("timestep"))
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=step)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.set_contact_model(ContactModel.kPoint)
    properties = DefaultProximityProperties(point_stiffness=1e12, relaxation_time=step)
    scene_graph.set_config(SceneGraphConfig(default_proximity_properties=properties))
    Parser(plant).AddModels(str(path))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    settle = scene["bench"]["settle_steps"] * step
    simulator.AdvanceTo(settle)
    wall, cpu = [], []
    for repeat in range(args.repeats):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        simulator.AdvanceTo(settle + (repeat + 1) * args.steps * step)
        cpu.append((time.process_time() - cpu_begin) / args.steps * 1e6)
        wall.append((time.perf_counter() - begin) / args.steps * 1e6)
    contacts = plant.get_contact_results_output_port().Eval(
        plant.GetMyContextFromRoot(simulator.get_context())
    )
    n, depth = contacts.num_point_pair_contacts(), 0.0
    for i in range(n):
        depth = max(depth, contacts.point_pair_contact_info(i).point_pair().depth)
    print(
        f"{args.scene}: {statistics.median(wall):.1f} us a step, {statistics.median(cpu):.1f} us of processor time,"
        f" {n} contacts, deepest {depth:.2e} m"
    )


if __name__ == "__main__":
    main()
