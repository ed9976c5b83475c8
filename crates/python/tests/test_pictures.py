"""Pictures and camera observations. They need an adapter, which a software one is as well."""

import os
import sys

import gymnasium
import manyworlds as mw
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("MANYWORLDS_NO_ADAPTER") == "1", reason="this machine is said to have no adapter"
)

SCENE = """
<mujoco model="two">
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <camera name="side" pos="0 -4 1" xyaxes="1 0 0 0 0 1" fovy="40"/>
    <body name="red" pos="-1 0 1"><freejoint/><geom type="box" size=".3 .3 .3" rgba="1 0 0 1"/></body>
    <body name="green" pos="1 0 1"><freejoint/><geom type="box" size=".3 .3 .3" rgba="0 1 0 1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def batch(tmp_path):
    path = tmp_path / "two.xml"
    path.write_text(SCENE)
    return mw.Batch(mw.load(path), 3, executor="cpu", precision="f64")


def centre(mask):
    """Mean column of the pixels of a mask."""
    return np.nonzero(mask)[1].mean()


def is_red(picture):
    return (picture[..., 0] > 60) & (picture[..., 1] < 40)


def is_green(picture):
    return (picture[..., 1] > 60) & (picture[..., 0] < 40)


def test_a_picture_is_an_array(batch):
    picture = batch.render(0, "side", 120, 80)
    assert picture.shape == (80, 120, 3) and picture.dtype == np.uint8
    assert centre(is_red(picture)) < 50 < 70 < centre(is_green(picture))
    # By default it shows all that moves, and of the world that is asked for.
    q = batch.q
    q[1, 0], q[1, 7] = 1.0, -1.0
    batch.set_state(q=q)
    assert centre(is_red(batch.render(0))) < centre(is_green(batch.render(0)))
    assert centre(is_red(batch.render(1))) > centre(is_green(batch.render(-2)))


def test_a_camera_that_follows_is_steady(batch):
    before = batch.render(0, None, 120, 80, follow=True)
    q = batch.q
    q[:, [0, 7]] += 40.0
    batch.set_state(q=q)
    after = batch.render(0, None, 120, 80, follow=True)
    # The robots stand where they did in the picture; only the grid of the ground went by.
    assert abs(centre(is_red(before)) - centre(is_red(after))) < 1
    assert (is_red(before) != is_red(after)).mean() < 0.01


def test_contacts_centres_and_axes_are_drawn_when_asked_for(batch):
    q = batch.q
    q[:, [2, 9]] = 0.3
    batch.set_state(q=q)
    batch.step()
    plain = batch.render(0)
    blue = batch.render(0, contacts="penetration")
    is_blue = (blue[..., 2] > 150) & (blue[..., 0] < 90)
    assert is_blue.sum() > 50 and not ((plain[..., 2] > 150) & (plain[..., 0] < 90)).any()
    assert (batch.render(0, contacts="residual") != plain).any(axis=2).sum() > 50
    assert (batch.render(0, centres_of_mass=True) != plain).any()
    # Free joints have no axes.
    assert (batch.render(0, joint_axes=True) == plain).all()
    with pytest.raises(ValueError, match="contacts.*penetration, residual.*red"):
        batch.render(0, contacts="red")


def test_what_is_not_there_is_named(batch):
    with pytest.raises(ValueError, match='"top".*"side"'):
        batch.render(0, "top")
    with pytest.raises(IndexError, match="3"):
        batch.render(3)
    with pytest.raises(ValueError, match="0x80"):
        batch.render(0, None, 0, 80)
    with pytest.raises(ValueError, match="4096x64.*2048"):
        batch.observe(None, 4096, 64)


def test_observations_of_all_worlds(batch):
    q = batch.q
    q[:, 1] = [0.0, 1.0, 2.0]
    batch.set_state(q=q)
    seen = batch.observe("side", 64, 48)
    assert seen.rgb.shape == (3, 48, 64, 3) and seen.rgb.dtype == np.uint8
    assert seen.depth.shape == seen.segmentation.shape == (3, 48, 64)
    assert (seen.depth.dtype, seen.segmentation.dtype) == (np.float32, np.int32)
    for world in range(3):
        # The face of the red box is 4 m - 0.3 m away, and farther from world to world.
        red = seen.segmentation[world] == 1
        assert red.sum() > 20
        np.testing.assert_allclose(seen.depth[world][red].min(), 3.7 + world, atol=1e-3)
        assert is_red(seen.rgb[world])[red].all()
    nothing = seen.segmentation == -1
    assert nothing.any() and np.isinf(seen.depth[nothing]).all() and np.isfinite(seen.depth[~nothing]).all()


def test_observations_where_a_device_has_the_poses(batch):
    # Two groups, so that worlds of the second are counted from its first.
    device = mw.Batch([(batch.model, 2), (batch.model, 3)], executor="gpu", precision="f32")
    q = batch.q
    q[:, 1] = [0.0, 1.0, 2.0]
    batch.set_state(q=q)
    start = device.q
    start[1][:, 1] = [0.0, 1.0, 2.0]
    device.set_state(q=start)
    expected, seen = batch.observe("side", 64, 48), device.observe("side", 64, 48)[1]
    # Rounding decides on edges.
    assert (seen.segmentation != expected.segmentation).mean() < 1e-3
    assert len({(one == 1).sum() for one in seen.segmentation}) == 3


def test_mixed_batches_give_lists(batch):
    cheetah = mw.load("half-cheetah")
    mixed = mw.Batch([(batch.model, 2), (cheetah, 1)], executor="cpu")
    seen = mixed.observe(width=16, height=16)
    assert [len(one.depth) for one in seen] == [2, 1]
    assert is_red(mixed.render(1)).any() and not is_red(mixed.render(2)).any()


def test_showing_in_a_notebook(batch, monkeypatch):
    images = []

    class Image:
        def __init__(self, data, format):
            images.append((data, format))

    display = type(sys)("IPython.display")
    display.Image = Image
    monkeypatch.setitem(sys.modules, "IPython", type(sys)("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    mw.show(batch, width=32, height=24)
    steps = batch.steps
    mw.show(batch, width=32, height=24, steps=50)
    assert batch.steps == steps + 50
    (png, first), (gif, second) = images
    assert (first, png[:8]) == ("png", b"\x89PNG\r\n\x1a\n")
    # Fifty steps of 2 ms at 25 pictures a second: each picture begins with its control block.
    assert (second, gif[:10]) == ("gif", b"GIF89a" + bytes([32, 0, 24, 0]))
    assert gif.count(b"\x21\xf9\x04") == 4


def test_without_a_notebook_the_error_says_so(batch, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ImportError, match="pip install ipython"):
        mw.show(batch)


def test_environments_are_drawn():
    env = gymnasium.make("manyworlds/HalfCheetah-v0", render_mode="rgb_array", width=64, height=48)
    env.reset(seed=1)
    first = env.render()
    assert first.shape == (48, 64, 3) and first.dtype == np.uint8
    for _ in range(5):
        env.step(env.action_space.sample())
    assert (env.render() != first).any()
    envs = gymnasium.make_vec(
        "manyworlds/Hopper-v0",
        num_envs=2,
        vectorization_mode="vector_entry_point",
        render_mode="rgb_array",
        width=32,
        height=32,
    )
    envs.reset(seed=1)
    pictures = envs.render()
    assert len(pictures) == 2 and all(picture.shape == (32, 32, 3) for picture in pictures)
    assert gymnasium.make("manyworlds/Hopper-v0").unwrapped.render() is None
