"""What several files of tests step."""

import manyworlds as mw
import pytest

MUSCLES = """<mujoco><option timestep="0.002"/><worldbody><site name="fixed" pos="-0.1 0 0.1"/>
  <body name="arm"><joint name="shoulder" axis="0 1 0" damping="0.05"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0" conaffinity="0"/><site name="arm" pos="0.15 0 0.03"/></body>
  </worldbody><tendon><spatial name="string" stiffness="20" damping="0.3"><site site="fixed"/><site site="arm"/></spatial></tendon>
  <actuator><muscle name="muscle" tendon="string" lengthrange="0.1 0.4" force="30"/></actuator></mujoco>"""


@pytest.fixture
def muscles(tmp_path):
    """Arms held by a muscle, whose activation is a state."""
    path = tmp_path / "muscles.xml"
    path.write_text(MUSCLES)
    return mw.Batch(mw.load(path), 2, executor="cpu", precision="f64")
