"""Recordings for Rerun (https://rerun.io): bodies, contacts and certificates over time.

    pip install rerun-sdk
    python -m manyworlds.rerun humanoid --worlds 4 --steps 400 humanoid.rrd
    rerun humanoid.rrd

Needs the package rerun-sdk; nothing else of manyworlds does.
"""

import argparse
import math

import manyworlds as mw
import numpy as np

try:
    import rerun as rr
except ImportError as error:
    raise ImportError("manyworlds.rerun needs Rerun's package: pip install rerun-sdk") from error

# Gap between worlds that stand side by side, as a part of the width of one.
_GAP = 0.3
# Impulses are drawn over so many seconds: as forces, a metre for so many newtons.
_NEWTONS = 1000.0


class Recorder:
    """Writes worlds of a batch of one model into a recording.

    path: the file, `.rrd`. worlds: their numbers; all when None. `log()` adds them as they are now, `close()` ends the file; in a
    `with` it ends by itself.
    """

    def __init__(self, batch, path, worlds=None):
        if isinstance(batch.model, list):
            raise ValueError("rerun: expected a batch of one model, found a mixed one")
        self._batch = batch
        self._worlds = list(range(len(batch))) if worlds is None else list(worlds)
        for world in self._worlds:
            if not 0 <= world < len(batch):
                raise IndexError(f"world {world}: there are {len(batch)}")
        self._dt = batch.model.timestep
        self._stream = rr.RecordingStream(f"manyworlds {batch.model.name}")
        self._stream.save(path)
        self._stream.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        shapes = batch.model.shapes()
        names = batch.model.body_names
        self._paths = [f"{number}_{name}" if name else str(number) for number, name in enumerate(names)]
        width = self._width(shapes)
        columns = math.ceil(math.sqrt(len(self._worlds)))
        for place, world in enumerate(self._worlds):
            shift = [width * (place % columns), width * (place // columns), 0.0]
            self._stream.log(f"world_{world}", rr.Transform3D(translation=shift), static=True)
            for shape in shapes:
                # One ground for all worlds, which are of one model.
                if shape.body == 0 and place > 0:
                    continue
                path = f"world_{world}/{self._paths[shape.body]}/geom_{shape.geom}"
                self._stream.log(path, _mesh(shape), static=True)

    def _width(self, shapes):
        """How far worlds stand apart: the largest of their widths along x and y at the start."""
        low, high = np.full(2, np.inf), np.full(2, -np.inf)
        poses = self._batch.poses[self._worlds[0]]
        for shape in shapes:
            if shape.body > 0:
                reach = np.linalg.norm(shape.corners, axis=2).max()
                low = np.minimum(low, poses[shape.body, :2] - reach)
                high = np.maximum(high, poses[shape.body, :2] + reach)
        for shape in self._batch.soft_shapes(self._worlds[0]):
            low = np.minimum(low, shape.corners.min(axis=(0, 1))[:2])
            high = np.maximum(high, shape.corners.max(axis=(0, 1))[:2])
        return float((1 + _GAP) * (high - low).max()) if np.isfinite(low).all() else 1.0

    def log(self):
        """Adds the worlds as they are now, at the time of the batch's steps."""
        batch, stream = self._batch, self._stream
        stream.set_time("time", duration=batch.steps * self._dt)
        poses, certificates, contacts = batch.poses, batch.certificates, batch.contacts()
        for world in self._worlds:
            for body, path in enumerate(self._paths):
                if body == 0:
                    continue
                position, (w, x, y, z) = poses[world, body, :3], poses[world, body, 3:]
                turn = rr.Quaternion(xyzw=[x, y, z, w])
                stream.log(f"world_{world}/{path}", rr.Transform3D(translation=position, quaternion=turn))
            for shape in batch.soft_shapes(world):
                stream.log(f"world_{world}/soft_{shape.body}", _mesh(shape))
            own = contacts.world == world
            force = contacts.impulse[own] / (self._dt * _NEWTONS)
            labels = [f"{residual:.1e} N s" for residual in contacts.residual[own]]
            arrows = rr.Arrows3D(origins=contacts.point[own], vectors=force, labels=labels, show_labels=False)
            stream.log(f"world_{world}/contacts", arrows)
            for name in ["residual", "penetration", "contacts"]:
                stream.log(f"certificates/{name}/world_{world}", rr.Scalars(float(getattr(certificates, name)[world])))

    def close(self):
        """Ends the file."""
        self._stream.flush()
        self._stream.disconnect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _mesh(shape):
    """The triangles of a shape."""
    corners = shape.corners.reshape(-1, 3)
    faces = np.cross(shape.corners[:, 1] - shape.corners[:, 0], shape.corners[:, 2] - shape.corners[:, 0])
    faces /= np.maximum(np.linalg.norm(faces, axis=1, keepdims=True), 1e-30)
    return rr.Mesh3D(
        vertex_positions=corners,
        vertex_normals=np.repeat(faces, 3, axis=0),
        triangle_indices=np.arange(len(corners), dtype=np.uint32).reshape(-1, 3),
        vertex_colors=np.tile(shape.colour, (len(corners), 1)),
    )


def main(arguments=None):
    """The program: steps a model without controls and records it."""
    parser = argparse.ArgumentParser(prog="python -m manyworlds.rerun", description=main.__doc__)
    parser.add_argument("model", help="path (.xml MJCF, .urdf) or the name of a built-in scene")
    parser.add_argument("out", help="the recording, .rrd")
    parser.add_argument("--worlds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--every", type=int, default=5, help="steps from picture to picture")
    given = parser.parse_args(arguments)
    if given.worlds < 1 or given.steps < 0 or given.every < 1:
        parser.error("expected at least one world, 0 or more steps, and at least one step from picture to picture")
    batch = mw.Batch(mw.load(given.model), given.worlds, precision="f64")
    with Recorder(batch, given.out) as recorder:
        recorder.log()
        for done in range(0, given.steps, given.every):
            batch.step(None, min(given.every, given.steps - done))
            recorder.log()


if __name__ == "__main__":
    main()
