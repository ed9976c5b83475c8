//! A recording of worlds for the viewer Rerun, with the paths of the Python package's `manyworlds.rerun`: shapes once, then at
//! each step where bodies are, what contacts do, and the certificate.

use std::path::Path;

use manyworlds_render::{Piece, Placed, Scene};
use manyworlds_view::{Moment, Worlds};
use re_sdk::{RecordingStream, RecordingStreamBuilder};
use re_sdk_types::archetypes::{Arrows3D, Mesh3D, Scalars, Transform3D, ViewCoordinates};
use re_sdk_types::datatypes::Quaternion;

use crate::failure::Failure;
use crate::output;

/// Half width of the square that stands for an endless ground, m.
const GROUND: f64 = 10.0;
/// Force of an arrow of one metre, N.
const NEWTONS: f64 = 1000.0;

/// Writes a recording of so many seconds; gives the number of steps.
pub(super) fn record(simulation: &mut Worlds, path: &Path, seconds: f64) -> Result<u64, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", path.display()));
    let stream = RecordingStreamBuilder::new("manyworlds")
        .recording_name(simulation.model().name.clone())
        .save(path)
        .map_err(|error| failed(&error))?;
    let steps = (seconds / simulation.time_step()).round() as u64;
    log(simulation, &stream, steps)?.map_err(|error| failed(&error))?;
    stream.flush_blocking().map_err(|error| failed(&error))?;
    Ok(steps)
}

/// Logs worlds as they are now and after each of some steps; the inner error is the recording's.
fn log(
    simulation: &mut Worlds,
    stream: &RecordingStream,
    steps: u64,
) -> Result<re_sdk::RecordingStreamResult<()>, Failure> {
    let scene = Scene::new(simulation.model());
    let paths = paths(simulation);
    if let Err(error) = log_shapes(simulation, &scene, stream, &paths) {
        return Ok(Err(error));
    }
    let bar = output::progress(steps, "recording");
    for step in 0..=steps {
        if step > 0 {
            simulation.step()?;
            bar.inc(1);
        }
        let moments = simulation.moments(true)?;
        let certificates = simulation.summaries()?;
        stream.set_duration_secs("time", simulation.time());
        for (world, (moment, summary)) in moments.iter().zip(&certificates).enumerate() {
            let known = [
                ("residual", summary.residual),
                ("penetration", summary.penetration),
                ("contacts", f64::from(summary.contacts)),
            ];
            let logged = log_world(simulation, &scene, stream, &paths, world, moment).and_then(|()| {
                known.iter().try_for_each(|(name, value)| {
                    stream.log(format!("certificates/{name}/world_{world}"), &Scalars::single(*value))
                })
            });
            if let Err(error) = logged {
                return Ok(Err(error));
            }
        }
    }
    bar.finish_and_clear();
    Ok(Ok(()))
}

/// Of each body its number, and its name where it has one.
fn paths(simulation: &Worlds) -> Vec<String> {
    let path = |(number, body): (usize, &manyworlds::model::Body)| {
        if body.name.is_empty() { number.to_string() } else { format!("{number}_{}", body.name) }
    };
    simulation.model().bodies.iter().enumerate().map(path).collect()
}

/// What stays the same: which way is up, where worlds stand, shapes on their bodies.
fn log_shapes(
    simulation: &Worlds,
    scene: &Scene,
    stream: &RecordingStream,
    paths: &[String],
) -> re_sdk::RecordingStreamResult<()> {
    stream.log_static("/", &ViewCoordinates::RIGHT_HAND_Z_UP())?;
    let pieces = scene.pieces(GROUND);
    for (world, shift) in simulation.shifts().iter().enumerate() {
        let place: [f64; 3] = (*shift).into();
        stream.log_static(format!("world_{world}"), &Transform3D::from_translation(place))?;
        // One ground for all worlds, which are of one model.
        for piece in pieces.iter().filter(|piece| piece.body > 0 || world == 0) {
            let path = format!("world_{world}/{}/geom_{}", paths[piece.body], piece.geom);
            stream.log_static(path, &mesh(piece))?;
        }
    }
    Ok(())
}

/// What moves in a world.
fn log_world(
    simulation: &Worlds,
    scene: &Scene,
    stream: &RecordingStream,
    paths: &[String],
    world: usize,
    moment: &Moment,
) -> re_sdk::RecordingStreamResult<()> {
    let shift = simulation.shifts()[world];
    let placed: Placed = moment.placed.clone().shifted(-shift);
    for (body, pose) in placed.poses.iter().enumerate().skip(1) {
        let turn = pose.rotation.cast::<f32>();
        let turn = Quaternion::from_xyzw([turn.i, turn.j, turn.k, turn.w]);
        let at: [f64; 3] = pose.translation.vector.into();
        let frame = Transform3D::from_translation(at).with_quaternion(turn);
        stream.log(format!("world_{world}/{}", paths[body]), &frame)?;
    }
    for piece in scene.soft_pieces(&placed) {
        stream.log(format!("world_{world}/soft_{}", piece.body), &mesh(&piece))?;
    }
    let metres = 1.0 / (simulation.time_step() * NEWTONS);
    let found = moment.contacts.iter();
    let arrows = Arrows3D::from_vectors(found.clone().map(|solved| solved.contact.impulse.map(|x| x * metres)))
        .with_origins(found.clone().map(|solved| {
            let [x, y, z] = solved.contact.point;
            [x - shift.x, y - shift.y, z - shift.z]
        }))
        .with_labels(found.map(|solved| format!("{:.1e} N s", solved.residual)))
        .with_show_labels(false);
    stream.log(format!("world_{world}/contacts"), &arrows)
}

/// The triangles of a shape, each flat.
fn mesh(piece: &Piece) -> Mesh3D {
    let normals = piece.corners.chunks_exact(3).flat_map(|corners| {
        let [a, b, c] = [0, 1, 2].map(|k: usize| manyworlds::model::Vec3::from(corners[k].map(f64::from)));
        let normal: [f64; 3] = (b - a).cross(&(c - a)).try_normalize(0.0).unwrap_or_default().into();
        [normal; 3]
    });
    let triangles = (0..piece.corners.len() as u32 / 3).map(|number| [3 * number, 3 * number + 1, 3 * number + 2]);
    let [r, g, b] = piece.colour;
    Mesh3D::new(piece.corners.iter().copied())
        .with_vertex_normals(normals)
        .with_triangle_indices(triangles)
        .with_albedo_factor([r, g, b, 255])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use manyworlds::{BatchOptions, Executor, ImportOptions, Precision, State};
    use manyworlds_view::{Drive, Start};
    use re_sdk::log::{Chunk, LogMsg};

    use super::*;

    fn worlds(count: usize) -> Worlds {
        let model = manyworlds::load("quadruped-drop", &ImportOptions::default()).unwrap().model;
        let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
        let zeros = |n| vec![0.0; n];
        let (v, ctrl, act) = (zeros(model.n_v), zeros(model.actuators.len()), zeros(model.n_act()));
        let start = Start { state: State { q: model.initial_q(), tau: v.clone(), v, ctrl, act }, mocap: Vec::new() };
        Worlds::new(model, options, count, &["auto".to_owned()], start, Drive::default()).unwrap()
    }

    #[test]
    fn a_recording_has_shapes_once_and_the_rest_at_each_step() {
        let mut worlds = worlds(2);
        let (stream, memory) = RecordingStreamBuilder::new("test").memory().unwrap();
        log(&mut worlds, &stream, 5).unwrap().unwrap();
        stream.flush_blocking().unwrap();
        let mut rows: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        for message in memory.take() {
            if let LogMsg::ArrowMsg(_, message) = message {
                let chunk = Chunk::from_arrow_msg(&message).unwrap();
                let entry = rows.entry(chunk.entity_path().to_string()).or_default();
                entry.0 += chunk.num_rows();
                entry.1 |= chunk.is_static();
            }
        }
        let bodies = worlds.model().bodies.len();
        let moving = |(path, rows): &(&String, &(usize, bool))| {
            path.starts_with("/world_1/") && path.matches('/').count() == 2 && **rows == (6, false)
        };
        // All bodies but the ground, and the contacts.
        assert_eq!(rows.iter().filter(moving).count(), bodies, "{rows:?}");
        assert_eq!(rows["/certificates/residual/world_0"], (6, false));
        let geoms = rows.iter().filter(|(path, _)| path.contains("/geom_"));
        assert!(geoms.clone().count() > bodies && geoms.clone().all(|(_, rows)| *rows == (1, true)), "{rows:?}");
        assert_eq!(geoms.filter(|(path, _)| path.starts_with("/world_1/0")).count(), 0, "one ground");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nowhere/a.rrd");
        let failure = record(&mut worlds(1), &path, 0.01).unwrap_err();
        assert!(failure.to_string().contains("nowhere"), "{failure}");
        let path = folder.path().join("a.rrd");
        record(&mut worlds(1), &path, 0.01).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"RRF") && bytes.len() > 10_000, "{} bytes", bytes.len());
    }
}
