//! Sensors that show what a step does: accelerations, forces between bodies, and contacts; MuJoCo's acceleration stage
//! (`mj_sensorAcc`), with mean values over the step.
//!
//! A lane whose world waits for its solution, or does not move, keeps its readings: its turn comes when it moves.

use crate::args::Args;
use crate::dynamics::bias::{Spatial, apply, inertia_at, load_spatial};
use crate::dynamics::carried::{orientation, place};
use crate::dynamics::sense::cut;
pub use crate::dynamics::sensors::SensorDims as Dims;
use crate::dynamics::sensors::{SensorRecord, Sensors, sensor};
use crate::dynamics::tree::{NONE, POSE, Params, SPATIAL, Tree, moving, nth, nth_mut, param, tile_params};
use crate::math::{Vec3, add, cross, load3, quat_conjugate, quat_mul, quat_rotate, scale, store3, sub, zero};
use crate::real::{Mask, Real};

/// `pose`, `twist`, `acceleration`, `load` `[n_load]` and `status` to `reading` `[n_reading]` of one tile of lanes.
pub fn feel<R: Real>(
    tree: &Tree,
    sensors: &Sensors,
    params: Params<R>,
    pose: &[R],
    twist: &[R],
    acceleration: &[R],
    load: &[R],
    status: &[u32],
    reading: &mut [R],
) {
    let moves = moving::<R>(status);
    if !moves.any() {
        return;
    }
    // Those of limits are another kernel's.
    for record in sensors.records.iter().filter(|record| (sensor::LATE..sensor::BOUND).contains(&record.kind)) {
        let at = record.at as usize;
        let mut new = [R::lit(0.0); 4];
        new[..record.count as usize].copy_from_slice(&reading[at..at + record.count as usize]);
        match record.kind {
            sensor::LOAD => new[0] = load[record.index as usize],
            sensor::CUT_LATE => {
                let whole = SensorRecord { at: 0, ..*record };
                cut(params, &whole, &mut new);
            }
            sensor::FORCE | sensor::TORQUE => {
                store3(&mut new, 0, joint(tree, params, record, pose, twist, acceleration, load))
            }
            _ => store3(&mut new, 0, rate(params, record, pose, twist, acceleration)),
        }
        for (to, &x) in reading[at..at + record.count as usize].iter_mut().zip(&new) {
            *to = R::select(moves, x, *to);
        }
    }
}

/// Acceleration of a frame: that of the point of the body which is there, in the world, less gravity.
#[inline(always)]
fn rate<R: Real>(params: Params<R>, record: &SensorRecord, pose: &[R], twist: &[R], acceleration: &[R]) -> Vec3<R> {
    let at = record.param as usize + param::SENSOR_FRAME;
    let (mut v, mut a) = ([zero(), zero()], [zero(), scale(params.at3(param::GRAVITY), R::lit(-1.0))]);
    if record.body != NONE {
        let b = record.body as usize * SPATIAL;
        (v, a) = (load_spatial(twist, b), load_spatial(acceleration, b));
    }
    if record.kind == sensor::TURNING {
        return a[0];
    }
    let x = place(pose, record.body, params.at3(at));
    let velocity = add(v[1], cross(v[0], x));
    let linear = add(add(a[1], cross(a[0], x)), cross(v[0], velocity));
    if record.kind == sensor::WORLD_ACCELERATION {
        return linear;
    }
    let turn = quat_mul(orientation(pose, record.body), params.at4(at + 3));
    quat_rotate(quat_conjugate(turn), linear)
}

/// What the parent of a body exerts on it: what the motion of its subtree takes, less what contacts give.
#[inline(always)]
fn joint<R: Real>(
    tree: &Tree,
    params: Params<R>,
    record: &SensorRecord,
    pose: &[R],
    twist: &[R],
    acceleration: &[R],
    load: &[R],
) -> Vec3<R> {
    let c = load3(pose, 0);
    let mut sum: Spatial<R> = [zero(), zero()];
    for b in record.body..tree.bodies[record.body as usize].subtree_end {
        let at = b as usize * SPATIAL;
        let inertia = inertia_at(params, b as usize, pose, c);
        let (v, a, given) = (load_spatial(twist, at), load_spatial(acceleration, at), load_spatial(load, at));
        let (force, momentum) = (apply(&inertia, a), apply(&inertia, v));
        let moment = add(add(force[0], cross(v[0], momentum[0])), cross(v[1], momentum[1]));
        sum[0] = add(sum[0], sub(moment, given[0]));
        sum[1] = add(sum[1], sub(add(force[1], cross(v[0], momentum[1])), given[1]));
    }
    let at = record.param as usize + param::SENSOR_FRAME;
    let mut vector = sum[1];
    if record.kind == sensor::TORQUE {
        vector = sub(sum[0], cross(place(pose, record.body, params.at3(at)), sum[1]));
    }
    let turn = quat_mul(orientation(pose, record.body), params.at4(at + 3));
    quat_rotate(quat_conjugate(turn), vector)
}

/// Buffers: topology, params, pose, twist, acceleration, load, reading, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { tree: dims, sensor_at } = &args.dims::<Dims>();
    let tiles = args.tiles();
    let [topology, params, pose, twist, acceleration, load, reading, status] = args.split();
    let (tree, sensors) = (Tree::new(dims, topology.index()), Sensors::new(topology.index(), *sensor_at));
    for t in 0..tiles {
        feel(
            &tree,
            &sensors,
            tile_params(dims, params, t),
            nth(pose.tile(), t, POSE as u32 * dims.n_body),
            nth(twist.tile(), t, SPATIAL as u32 * dims.n_body),
            nth(acceleration.tile(), t, SPATIAL as u32 * dims.n_body),
            nth(load.tile(), t, sensors.header.n_load),
            nth(status.index(), t, R::N as u32),
            nth_mut(reading.tile_mut(), t, sensors.header.n_reading),
        );
    }
}
