"""The backend for UniSim, where that is installed."""

from pathlib import Path

import manyworlds as mw
import numpy as np
import pytest

pytest.importorskip("unisim", reason="unisim-core is not installed: mw.unisim is NOT tested")
torch = pytest.importorskip("torch", reason="torch is not installed: mw.unisim is NOT tested")

from unisim.conformance import assert_backend_conformance  # noqa: E402
from unisim.dr.types import TensorResetRandomizationPayload  # noqa: E402
from unisim.scene import SceneCfg  # noqa: E402

ROBOT = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="base" pos="0 0 0.5">
      <freejoint name="root"/>
      <geom type="box" size="0.2 0.2 0.05" mass="2"/>
      <site name="imu"/>
      <body name="arm" pos="0.2 0 0">
        <joint name="elbow" axis="0 1 0" range="-60 60" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.3"/>
      </body>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="elbow" kp="20" kv="1" ctrlrange="-1 1"/></actuator>
  <sensor><jointpos name="angle" joint="elbow"/><framepos name="place" objtype="site" objname="imu"/></sensor>
  <keyframe><key name="home" qpos="0 0 0.3 1 0 0 0 0.1"/></keyframe>
</mujoco>
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(ROBOT)
    return str(path)


def backend(file, kind=None, **settings):
    made = (kind or mw.unisim.Backend)(SceneCfg(model_file=file), num_envs=4, sim_dt=0.002, executor="cpu", **settings)
    made.materialize()
    return made


def rows(*numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def start(made, count):
    q = torch.tensor(made.get_default_qpos(), dtype=torch.float32).repeat(count, 1)
    return q, torch.zeros(count, 7)


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("sensors", [True, False])
def test_unisim_s_conformance_helper(tmp_path, precision, sensors):
    begin, end = ROBOT.index("<sensor>"), ROBOT.index("<keyframe>")
    path = tmp_path / "robot.xml"
    path.write_text(ROBOT if sensors else ROBOT[:begin] + ROBOT[end:])
    made = backend(str(path), precision=precision)
    capabilities = made.get_tensor_capabilities()
    # What a reset shows at once: all, where there are no sensors.
    assert capabilities.mask_selected_reset is not sensors and capabilities.packed_reset
    assert_backend_conformance(made)


@pytest.mark.parametrize("task", ["ant", "half_cheetah", "humanoid", "pusher", "quadruped", "drawer"])
def test_it_holds_for_the_environments_models(task):
    folder = Path(__file__).parents[2] / "environments" / "assets"
    assert_backend_conformance(backend(str(folder / f"{task}.xml")))


def test_the_helper_finds_a_backend_that_resets_too_much(file):
    class Broken(mw.unisim.Backend):
        def _host_set_state(self, env_indices, qpos, qvel, randomization=None):
            everyone = np.arange(self.num_envs)
            super()._host_set_state(everyone, np.repeat(qpos[:1], self.num_envs, 0), np.repeat(qvel[:1], self.num_envs, 0))

    with pytest.raises(AssertionError):
        assert_backend_conformance(backend(file, Broken))


def test_steps_are_those_of_a_batch(file):
    made = backend(file)
    model = mw.load(file)
    plain = mw.Batch(model, 4, "cpu", "f64", dt=0.002)
    ctrl = np.linspace(-1, 1, 4)[:, None]
    made.step_tensor(torch.tensor(ctrl, dtype=torch.float32), nsteps=50)
    plain.step(ctrl.astype(np.float32).astype(np.float64), steps=50)
    views = made.get_state_views()
    assert views["qpos"].dtype == torch.float32 and tuple(views["qpos"].shape) == (4, 8)
    assert np.array_equal(views["qpos"].numpy(), plain.q.astype(np.float32))
    assert np.array_equal(views["qvel"].numpy(), plain.v.astype(np.float32))
    assert made.get_physics_state()[:, 0] == pytest.approx([0.1] * 4)


def test_resets_are_seen_at_once_and_leave_others_alone(file):
    made = backend(file)
    made.step_tensor(torch.zeros(4, 1), nsteps=20)
    before = made.get_state_views()["qpos"]
    q, v = start(made, 2)
    q[:, 7] = torch.tensor([0.2, -0.3])
    made.set_state_tensor(rows(2, 0), q, v)
    after = made.get_state_views()["qpos"]
    assert torch.equal(after[rows(1, 3)], before[rows(1, 3)]) and torch.equal(after[rows(2, 0)], q)
    assert made.get_tensor_capabilities().selected_reset_publication is None
    made.step_tensor(torch.zeros(4, 1))
    # Sensors show the state that the step began with.
    assert made.get_sensor_view("angle")[rows(2, 0), 0].tolist() == pytest.approx([0.2, -0.3])
    assert made.get_sensor_view("place")[2].tolist() == pytest.approx([0, 0, 0.5])
    view = made.bind_sensor_data(("place", "angle"))
    assert view.width == 4 and np.asarray(view.read()).shape == (4, 4)


def test_terms_of_a_reset_change_motion(file):
    made = backend(file)
    q, v = start(made, 2)
    gravity = torch.tensor([[0.0, 0, -1], [0, 0, -2]])
    made.set_state_tensor(rows(1, 3), q, v, TensorResetRandomizationPayload(gravity=gravity))
    made.step_tensor(torch.zeros(4, 1), nsteps=10)
    momentum = 2 * made.get_state_views()["qvel"][:, 2]
    assert momentum[1] / momentum[3] == pytest.approx(0.5, rel=1e-3)
    assert momentum[3] / momentum[0] == pytest.approx(2 / 9.81, rel=1e-3)
    # A servo without gain leaves the arm where it is pushed to by nothing.
    made = backend(file)
    q, v = start(made, 4)
    none = TensorResetRandomizationPayload(gravity=torch.zeros(4, 3), kp=torch.tensor([[0.0], [10], [20], [40]]))
    made.set_state_tensor(rows(0, 1, 2, 3), q, v, none)
    made.step_tensor(torch.full((4, 1), 0.5), nsteps=20)
    angles = made.get_state_views()["qpos"][:, 7]
    assert angles[0] == 0 and (angles.diff() > 0.01).all()
    assert made.get_actuator_gains()[0].tolist() == [0]


def test_what_the_interface_asks_of_names(file):
    made = backend(file)
    assert made.num_dof_vel == 1 and made.get_body_ids(["arm"]).tolist() == [2]
    assert made.get_root_state_layout("base").qpos_indices == tuple(range(7))
    assert made.get_joint_range(names=["elbow"])[0] == pytest.approx(np.radians([-60, 60]))
    assert made.get_joint_state_qpos_indices(["elbow"]).tolist() == [7]
    assert made.get_keyframe_qpos("home")[2] == 0.3
    assert [(sensor.name, sensor.width) for sensor in made.get_sensor_inventory()] == [("angle", 1), ("place", 3)]
    for wrong, message in [
        (lambda: made.get_body_ids(["leg"]), "no body 'leg'"),
        (lambda: made.get_keyframe_qpos("lying"), "home"),
        (lambda: made.get_joint_range(names=["knee"]), "no joint 'knee'"),
        (lambda: made.step_tensor(torch.zeros(4, 2)), "ctrl: expected shape"),
        (lambda: made.step_tensor(torch.full((4, 1), torch.nan)), "finite"),
        (lambda: made.set_state_tensor(rows(1, 1), *start(made, 2)), "different numbers"),
        (lambda: made.set_state_tensor(rows(4), *start(made, 1)), "from 0 to 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()
    with pytest.raises(TypeError, match="float32"):
        made.step_tensor(torch.zeros(4, 1, dtype=torch.float64))
    with pytest.raises(NotImplementedError, match="no free joint"):
        made.get_root_state_layout("arm")
    with pytest.raises(NotImplementedError, match="fragment_files"):
        mw.unisim.Backend(SceneCfg(model_file=file, fragment_files=["more.xml"]))
    friction = TensorResetRandomizationPayload(geom_friction=torch.ones(1, 2, 3))
    with pytest.raises(Exception, match="geom_friction"):
        made.set_state_tensor(rows(0), *start(made, 1), friction)
