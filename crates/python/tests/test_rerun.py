"""Recordings for Rerun, read back."""

import manyworlds as mw
import numpy as np
import pytest

rr = pytest.importorskip("rerun", reason="needs rerun-sdk")


def rows(path):
    """Columns by name of all that was recorded, by entity."""
    from rerun.chunk import RrdReader

    found = {}
    for chunk in RrdReader(path).stream():
        columns = found.setdefault(chunk.entity_path.strip("/"), {})
        table = chunk.to_record_batch()
        # The others are times.
        for name in [name for name in table.schema.names if ":" in name]:
            columns.setdefault(name, []).extend(table.column(name).to_pylist())
    return found


def test_a_recording_has_bodies_contacts_and_certificates(tmp_path):
    from manyworlds.rerun import Recorder

    batch = mw.Batch(mw.load("free-box"), 2, executor="cpu", precision="f64")
    path = tmp_path / "box.rrd"
    heights = []
    with Recorder(batch, path, worlds=[1]) as recorder:
        for _ in range(4):
            batch.step(None, 50)
            recorder.log()
            heights.append(batch.poses[1, 1, 2])
    assert path.stat().st_size > 1000
    found = rows(path)
    (body,) = [name for name in found if name.startswith("world_1/1") and name.count("/") == 1]
    logged = [row[0][2] for row in found[body]["Transform3D:translation"]]
    assert np.allclose(sorted(logged), sorted(heights), atol=1e-6)
    assert not any(name.startswith("world_0/") for name in found)
    residuals = found["certificates/residual/world_1"]["Scalars:scalars"]
    assert len(residuals) == 4 and max(row[0] for row in residuals) < 1e-5
    assert any("Mesh3D:vertex_positions" in columns for columns in found.values())


def test_the_program_writes_a_file(tmp_path):
    from manyworlds import rerun

    path = tmp_path / "pinch.rrd"
    rerun.main(["soft-pinch", str(path), "--steps", "4", "--every", "2"])
    assert any("soft_" in name for name in rows(path))
    with pytest.raises(SystemExit):
        rerun.main(["soft-pinch", str(path), "--worlds", "0"])


def test_what_cannot_be_recorded_is_named(tmp_path):
    from manyworlds.rerun import Recorder

    batch = mw.Batch(mw.load("free-box"), 2, executor="cpu")
    with pytest.raises(IndexError, match="world 2"):
        Recorder(batch, tmp_path / "box.rrd", worlds=[2])
    mixed = mw.Batch([(mw.load("free-box"), 1)], executor="cpu")
    with pytest.raises(ValueError, match="mixed"):
        Recorder(mixed, tmp_path / "box.rrd")
