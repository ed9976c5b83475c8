"""Camera observations a second of this package beside MuJoCo's renderer, in turns, in one run.

    MUJOCO_GL=egl python crates/python/benches/cameras.py --scene humanoid --rounds 5

Both draw the same model in the same state at the same size. Here colours, distances and segmentation come together, of all
worlds at once; MuJoCo draws one of these of one world at a time, here colours alone, with its defaults and without shadows,
reflections and multisampling. Needs the package mujoco, and for a fair comparison the same kind of adapter on both sides:
on a machine without a GPU both are Mesa's llvmpipe.
"""

import argparse
import os
import pathlib
import statistics
import time

import manyworlds as mw
import mujoco

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scene", default="humanoid", help="a built-in scene whose file MuJoCo reads as well")
parser.add_argument("--worlds", type=int, default=256)
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=2.0)
options = parser.parse_args()

root = pathlib.Path(__file__).parents[3]
batch = mw.Batch(mw.load(options.scene), options.worlds, executor="cpu")
model = mujoco.MjModel.from_xml_path(str(root / "scenes" / f"{options.scene}.xml"))
data = mujoco.MjData(model)
data.qpos[:] = batch.q[0]
mujoco.mj_forward(model, data)


def rate(frames, draw):
    """Frames a second of a call that draws so many."""
    draw()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < options.seconds:
        draw()
        count += frames
    return count / (time.perf_counter() - start)


def mujoco_rate(plain):
    model.vis.quality.offsamples = 0 if plain else 4
    with mujoco.Renderer(model, options.size, options.size) as renderer:
        if plain:
            renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
            renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0

        def draw():
            renderer.update_scene(data)
            renderer.render()

        return rate(1, draw)


ways = {
    "manyworlds": lambda: rate(options.worlds, lambda: batch.observe(None, options.size, options.size)),
    "MuJoCo": lambda: mujoco_rate(False),
    "MuJoCo, plain": lambda: mujoco_rate(True),
}
rounds = [{name: way() for name, way in ways.items()} for _ in range(options.rounds)]
print(f"{options.scene}, {options.size} x {options.size}, MUJOCO_GL={os.environ.get('MUJOCO_GL', 'unset')}")
for name in ways:
    rates = [one[name] for one in rounds]
    ratios = [one["manyworlds"] / one[name] for one in rounds]
    print(f"{name:14} {statistics.median(rates):8.0f} frames/s   ratio {statistics.median(ratios):5.1f}")
