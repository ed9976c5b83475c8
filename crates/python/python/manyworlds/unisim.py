"""A backend for UniSim, a common interface of simulators (`pip install unisim-core`), with torch tensors.

    from unisim.scene import SceneCfg
    backend = manyworlds.unisim.Backend(SceneCfg(model_file="robot.xml"), num_envs=64, sim_dt=0.005)
    backend.materialize()
    backend.step_tensor(torch.zeros(64, backend.num_actuators))
    backend.get_state_views(("qpos", "qvel"))      # float32 tensors (64, n_q) and (64, n_v)

UniSim's own factory knows a fixed list of simulators, so the class is called by its name. What the interface leaves open and this
simulator does not have is refused as UniSim wants it: NotImplementedError that names it.
"""

import time
from pathlib import Path

try:
    from unisim.backend.packed_reset import PackedResetTransaction
    from unisim.contract import (
        PhysicsStateLayout,
        SimBackend,
        TensorDataPlane,
        TensorExecution,
        TensorLifecycleCapabilities,
        TensorProcessTopology,
        validate_torch_device,
    )
    from unisim.backend.base import PlayCapabilities, PublicStateWidths, RootStateLayout, SelectedResetPublication
    from unisim.dr.types import DomainRandomizationCapabilities, validate_tensor_reset_payload
except ImportError as error:
    raise ImportError("manyworlds.unisim needs UniSim, 2.2 or newer: pip install unisim-core") from error
import numpy as np

from manyworlds import _core

__all__ = ["Backend"]

_DEVICES = ("cpu", "cuda")
_FIELDS = ("qpos", "qvel")
# Terms of UniSim's randomization: the parameter of a world that each is, and what has it.
_TERMS = {
    "body_mass": ("body_mass", "body"),
    "body_ipos": ("body_com", "body"),
    "dof_armature": ("joint_armature", "joint"),
    "dof_damping": ("joint_damping", "joint"),
    "dof_frictionloss": ("joint_friction", "joint"),
}


class Backend(SimBackend):
    """`num_envs` worlds of `scene.model_file`, stepped by `sim_dt` seconds.

    scene: a `SceneCfg` with a model file (.xml, .urdf, or the name of a scene of `manyworlds.scenes()`) and nothing beside it.
    executor, precision, solver, tolerance, threads: as of `manyworlds.Batch`. Tensors are float32 whatever the precision.

    Sensors show the state that the last step began with, as MuJoCo's do: after a reset they are to be read after the next step, and
    the adapter says so in its capabilities.

    Actuators that are position servos have the terms "kp" and "kd" of a reset, all models "gravity", "body_mass", "body_ipos",
    "dof_armature", "dof_damping" and "dof_frictionloss".
    """

    backend_type = "manyworlds"
    _play_capabilities = PlayCapabilities(supports_physics_state_playback=True)

    def __init__(self, scene, num_envs=1, sim_dt=0.01, *, executor="auto", precision="f64", **settings):
        for name, ours in [("fragment_files", []), ("terrain", None), ("entity_assets", ()), ("fixed_variant_plan", None)]:
            if getattr(scene, name) != ours:
                raise NotImplementedError(f"manyworlds does not support {name} of a scene")
        self._file = str(scene.model_file)
        self._model = _core.load(self._file)
        self._batch = _core.Batch(self._model, num_envs, executor, precision, dt=sim_dt, **settings)
        self._num_envs, self._dt = num_envs, sim_dt
        self._time = np.zeros(num_envs)
        self._joints = self._model.joints
        first = self._joints[0] if self._joints else None
        self._floats = first is not None and first.kind == "free"
        self._moving = [number for number in range(len(self._model.body_names)) if self._moves(number)]
        self._tables = {term: self._table(term) for term in self._known_terms()}

    # What there is.

    @property
    def num_envs(self):
        return self._num_envs

    @property
    def num_actuators(self):
        return self._model.n_u

    @property
    def num_dof_vel(self):
        return self._model.n_v - (6 if self._floats else 0)

    @property
    def model(self):
        """The `manyworlds.Model`."""
        return self._model

    def get_actuator_ctrl_range(self):
        return self._model.ctrl_range

    def get_actuator_names(self):
        return tuple(self._model.actuator_names)

    def get_scene_model_file(self):
        return self._file

    def get_playback_model(self, env_index=None):
        if not Path(self._file).is_file():
            raise ValueError(f"{self._file}: a scene that comes with manyworlds is no file that MuJoCo could read")
        return self._file

    def get_keyframe_qpos(self, name):
        frames = self._model.keyframes
        if name not in frames:
            known = ", ".join(frames) or "none"
            raise ValueError(f"keyframe {name!r}: {self._file} has {known}")
        return frames[name].q

    def get_default_qpos(self):
        return self._model.initial_q

    def get_default_dof_pos(self):
        return self._model.initial_q[7 if self._floats else 0 :]

    def get_init_qvel(self):
        return np.zeros(self._model.n_v)

    def get_public_state_widths(self):
        return PublicStateWidths(self._model.n_q, self._model.n_v)

    def get_root_state_layout(self, root_body_name):
        body = self.get_body_ids([root_body_name])[0]
        for joint in self._joints:
            if joint.body == body and joint.kind == "free":
                return RootStateLayout(tuple(_range(joint.q)), tuple(_range(joint.v)))
        raise NotImplementedError(f"body {root_body_name!r} of {self._file} has no free joint")

    def get_body_ids(self, names):
        return _numbers(names, self._model.body_names, "body", self._file)

    def get_motion_body_ids(self, names):
        return self.get_body_ids(names)

    def get_geom_names(self):
        return tuple(self._model.geom_names)

    def get_joint_range(self, *, names=None):
        if names is None:
            scalar = [joint for joint in self._joints if joint.kind in ("hinge", "slide")]
        else:
            scalar = [self._scalar(name) for name in names]
        return np.array([joint.range for joint in scalar]).reshape(-1, 2)

    def get_joint_state_qpos_indices(self, names):
        return np.array([self._scalar(name).q.start for name in names], np.int32)

    def get_joint_state_qvel_indices(self, names):
        return np.array([self._scalar(name).v.start for name in names], np.int32)

    def get_sensor_names(self):
        return tuple(self._model.sensor_ranges)

    def get_body_mass(self):
        return self._tables["body_mass"][0].copy()

    def get_gravity(self):
        return self._tables["gravity"][0].copy()

    def get_dof_armature(self):
        return self._tables["dof_armature"][0].copy()

    def get_dof_damping(self):
        return self._tables["dof_damping"][0].copy()

    def get_dof_frictionloss(self):
        return self._tables["dof_frictionloss"][0].copy()

    def get_actuator_gains(self):
        self._has_term("kp")
        return self._tables["kp"][0].copy(), self._tables["kd"][0].copy()

    def _scalar(self, name):
        for joint in self._joints:
            if joint.name == name:
                if joint.kind not in ("hinge", "slide"):
                    raise NotImplementedError(f"joint {name!r} of {self._file} is a {joint.kind} joint, not one number")
                return joint
        raise ValueError(f"{self._file} has no joint {name!r}")

    # What it can do.

    def get_tensor_execution(self):
        return TensorExecution.HOST_BRIDGE

    def get_tensor_capabilities(self):
        # Positions and velocities are those of a reset at once; sensors are once a step has begun with them.
        at_once = not self._model.sensor_names
        return TensorLifecycleCapabilities(
            execution=TensorExecution.HOST_BRIDGE,
            state_views=True,
            state_fields=frozenset(_FIELDS),
            sensor_views=True,
            stepping=True,
            selected_reset=True,
            reset_randomization=True,
            device_reset_randomization=True,
            packed_reset=True,
            packed_reset_fields=frozenset(self._tables),
            process_topology=TensorProcessTopology.IN_PROCESS,
            data_plane=TensorDataPlane.HOST_BRIDGE,
            stream_event_ownership="the caller's stream, waited for at each copy",
            torch_devices=_DEVICES,
            selected_reset_publication=SelectedResetPublication.AUTHORITATIVE_VIEWS if at_once else None,
            mask_selected_reset=at_once,
        )

    def get_dr_capabilities(self):
        terms = frozenset(self._tables)
        return DomainRandomizationCapabilities(supported_reset_terms=terms, supported_device_reset_terms=terms)

    # State.

    def get_state_views(self, fields=None, device=None):
        """Copies of positions and velocities, float32 tensors `(num_envs, n_q)` and `(num_envs, n_v)`."""
        names = _FIELDS if fields is None else (fields,) if isinstance(fields, str) else tuple(fields)
        for name in names:
            if name not in _FIELDS:
                raise KeyError(f"state field {name!r}: there are qpos and qvel")
        numbers = {"qpos": self._batch.q, "qvel": self._batch.v}
        return {name: _tensor(numbers[name], device) for name in names}

    def get_sensor_view(self, name, device=None):
        """A copy of a sensor's readings, a float32 tensor `(num_envs, n)`: of the state that the last step began with, as MuJoCo's."""
        ranges = self._model.sensor_ranges
        if name not in ranges:
            raise KeyError(f"{self._file} has no sensor {name!r}")
        return _tensor(self._batch.sensors[:, ranges[name]], device)

    def _bind_sensor_data_reader(self, names):
        ranges = self._model.sensor_ranges
        for name in names:
            if name not in ranges:
                raise KeyError(f"{self._file} has no sensor {name!r}")
        columns = np.concatenate([_range(ranges[name]) for name in names])
        return lambda: np.ascontiguousarray(self._batch.sensors[:, columns])

    def _host_get_state(self, fields=None):
        return {name: view.numpy() for name, view in self.get_state_views(fields).items()}

    def _host_get_body_pos_w(self, body_ids):
        return self._batch.poses[:, body_ids, :3]

    def _host_get_body_quat_w(self, body_ids):
        return self._batch.poses[:, body_ids, 3:]

    def get_physics_state_layout(self):
        return PhysicsStateLayout(self._model.n_q, self._model.n_v)

    def get_physics_state(self):
        return np.column_stack([self._time, self._batch.q, self._batch.v]).astype(np.float64)

    def set_physics_state(self, state):
        parts = self.get_physics_state_layout().split_state(np.asarray(state, np.float64))
        self._batch.set_state(np.ascontiguousarray(parts.qpos), np.ascontiguousarray(parts.qvel))
        self._time[:] = parts.time

    # Steps and resets.

    def step_tensor(self, ctrl, nsteps=1):
        """Takes `nsteps` steps with the controls, a float32 tensor `(num_envs, num_actuators)`."""
        self._check(ctrl, "ctrl", (self._num_envs, self.num_actuators), "float32", None)
        begin = time.perf_counter()
        self._host_step(ctrl.detach().cpu().numpy(), nsteps)
        return {"timing": {"step_ms": 1e3 * (time.perf_counter() - begin)}}

    def _host_step(self, ctrl, nsteps=1):
        if nsteps < 1:
            raise ValueError(f"nsteps: expected at least 1, found {nsteps}")
        if self._pre_step_control_fn is None:
            self._batch.step(ctrl, steps=nsteps)
        else:
            for _ in range(nsteps):
                self._batch.step(self._apply_pre_step_control(ctrl))
        self._time += self._dt * nsteps

    def set_state_tensor(self, env_indices, qpos, qvel, randomization=None):
        """Puts the environments of `env_indices`, an int64 tensor, into states, float32 tensors of as many rows."""
        self._check(env_indices, "env_indices", None, "int64", None)
        rows, device = env_indices.detach().cpu().numpy(), env_indices.device
        if len(np.unique(rows)) != len(rows) or ((rows < 0) | (rows >= self._num_envs)).any():
            raise ValueError(f"env_indices: expected different numbers from 0 to {self._num_envs - 1}, found {rows.tolist()}")
        self._check(qpos, "qpos", (len(rows), self._model.n_q), "float32", device)
        self._check(qvel, "qvel", (len(rows), self._model.n_v), "float32", device)
        if randomization is not None:
            validate_tensor_reset_payload(randomization, device=device, allowed_terms=self._tables)
        begin = time.perf_counter()
        self._host_set_state(rows, qpos.detach().cpu().numpy(), qvel.detach().cpu().numpy(), randomization)
        return {"timing": {"reset_ms": 1e3 * (time.perf_counter() - begin)}}

    def set_state_tensor_mask(self, reset_mask, qpos, qvel, randomization=None, *, full_refresh=False):
        """The same for the environments of a mask, a tensor of bool `(num_envs,)`; all tensors have `num_envs` rows."""
        if full_refresh:
            raise NotImplementedError("manyworlds has nothing to refresh beside the environments that are reset")
        self._check(reset_mask, "reset_mask", (self._num_envs,), "bool", None)
        self._check(qpos, "qpos", (self._num_envs, self._model.n_q), "float32", reset_mask.device)
        self._check(qvel, "qvel", (self._num_envs, self._model.n_v), "float32", reset_mask.device)
        rows = reset_mask.nonzero().flatten()
        if randomization is not None:
            chosen = {term: getattr(randomization, term)[rows] for term in randomization.requested_terms()}
            randomization = type(randomization)(**chosen)
        return self.set_state_tensor(rows, qpos[rows], qvel[rows], randomization)

    def _host_set_state(self, env_indices, qpos, qvel, randomization=None):
        rows = np.asarray(env_indices)
        if rows.size == 0:
            return
        mask = np.zeros(self._num_envs, bool)
        mask[rows] = True
        q, v = self._batch.q, self._batch.v
        q[rows], v[rows] = qpos, qvel
        terms = {} if randomization is None else {term: getattr(randomization, term) for term in randomization.requested_terms()}
        for term, values in terms.items():
            self._randomize(term, rows, values.detach().cpu().numpy().astype(np.float64))
        self._batch.set_state(q, v, mask)
        self._time[rows] = 0

    def _host_reset(self, env_ids=None):
        self._host_reset_default(env_ids)

    def bind_packed_reset(self, *, device=None):
        return PackedResetTransaction(self, device=device)

    def _check(self, tensor, name, shape, kind, device):
        import torch

        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name}: expected a torch.Tensor, found {type(tensor).__name__}")
        if tensor.dtype != getattr(torch, kind) or not tensor.is_contiguous():
            raise TypeError(f"{name}: expected a contiguous tensor of {kind}, found {tensor.dtype}")
        if shape is None and tensor.ndim != 1:
            raise ValueError(f"{name}: expected one dimension, found {tensor.ndim}")
        if shape is not None and tuple(tensor.shape) != shape:
            raise ValueError(f"{name}: expected shape {shape}, found {tuple(tensor.shape)}")
        if device is not None and tensor.device != device:
            raise ValueError(f"{name}: expected a tensor on {device}, found {tensor.device}")
        validate_torch_device(_DEVICES, tensor.device, label=name)
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"{name}: expected finite numbers")

    # Worlds that differ.

    def _known_terms(self):
        terms = ["gravity", *_TERMS]
        gains, bias = self._read("actuator_gain", self._model.n_u), self._read("actuator_bias", self._model.n_u)
        if len(gains) and (bias[:, 1] == -gains[:, 0]).all():
            terms += ["kp", "kd"]
        return terms

    def _read(self, parameter, count):
        return np.array([self._batch.parameter(parameter, number, 0) for number in range(count)])

    def _moves(self, body):
        """Whether a body ever moves. What never does has no mass that counts, and no parameters."""
        try:
            self._batch.parameter("body_mass", body, 0)
        except ValueError:
            return False
        return True

    def _table(self, term):
        """A term of all environments, `(num_envs, ...)`, as the model has it."""
        if term == "gravity":
            row = np.array(self._batch.parameter("gravity", None, 0))
        elif term == "kp":
            row = self._read("actuator_gain", self._model.n_u)[:, 0]
        elif term == "kd":
            row = -self._read("actuator_bias", self._model.n_u)[:, 2]
        else:
            parameter, owner = _TERMS[term]
            if owner == "body":
                row = np.zeros((len(self._model.body_names), 3 if term == "body_ipos" else 1))
                for number in self._moving:
                    row[number] = self._batch.parameter(parameter, number, 0)
                row = row if term == "body_ipos" else row[:, 0]
            else:
                row = np.zeros(self._model.n_v)
                for number, joint in enumerate(self._joints):
                    row[joint.v] = self._batch.parameter(parameter, number, 0)
        return np.repeat(row[None], self._num_envs, axis=0)

    def _has_term(self, term):
        if term not in self._tables:
            raise NotImplementedError(f"manyworlds does not support the reset term {term!r} of {self._file}")

    def get_reset_term_default(self, term):
        """The term as it is now in every environment."""
        self._has_term(term)
        return self._tables[term].copy()

    def _randomize(self, term, rows, values):
        table = self._tables[term]
        if values.shape != (len(rows), *table.shape[1:]):
            raise ValueError(f"{term}: expected shape {(len(rows), *table.shape[1:])}, found {values.shape}")
        worlds = rows.tolist()
        if term == "gravity":
            self._batch.set_parameter("gravity", None, values, worlds)
        elif term in ("kp", "kd"):
            for number in range(self._model.n_u):
                bias = np.array([self._batch.parameter("actuator_bias", number, world) for world in worlds])
                if term == "kp":
                    self._batch.set_parameter("actuator_gain", number, values[:, [number]], worlds)
                bias[:, 1 if term == "kp" else 2] = -values[:, number]
                self._batch.set_parameter("actuator_bias", number, bias, worlds)
        elif _TERMS[term][1] == "body":
            for number in self._moving:
                own = values[:, number].reshape(len(rows), -1)
                if (own != table[rows, number].reshape(own.shape)).any():
                    self._batch.set_parameter(_TERMS[term][0], number, own, worlds)
        else:
            for number, joint in enumerate(self._joints):
                own = values[:, joint.v]
                if (own != own[:, :1]).any():
                    raise ValueError(f"{term}: degrees of freedom of joint {joint.name!r} have one value, found several")
                if (own != table[rows][:, joint.v]).any():
                    self._batch.set_parameter(_TERMS[term][0], number, own[:, :1], worlds)
        table[rows] = values


def _range(part):
    return range(part.start, part.stop)


def _numbers(names, known, what, file):
    places = {name: number for number, name in enumerate(known)}
    for name in names:
        if name not in places:
            raise ValueError(f"{file} has no {what} {name!r}")
    return np.array([places[name] for name in names], np.int32)


def _tensor(numbers, device):
    """A float32 tensor of its own memory."""
    import torch

    target = torch.device("cpu" if device is None else device)
    validate_torch_device(_DEVICES, target, label="view")
    return torch.from_numpy(np.array(numbers, np.float32, order="C")).to(target)
