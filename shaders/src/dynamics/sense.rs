//! Sensors that show a state: positions, velocities, and what actuators do there; MuJoCo's position and velocity stages
//! (`mj_sensorPos`, `mj_sensorVel`), and actuators' forces. [`super::feel`] has those that show what the step does.

use crate::args::Args;
use crate::dynamics::carried::{orientation, place};
pub use crate::dynamics::sensors::SensorDims as Dims;
use crate::dynamics::sensors::{SensorRecord, Sensors, sensor};
use crate::dynamics::tree::{
    NONE, POSE, Params, SPATIAL, Tree, actuator_param, body_param, nth, nth_mut, param, tile_params,
};
use crate::math::{
    Quat, Vec3, add, clamp, cross, load3, mat_t_vec, mat_vec, quat_conjugate, quat_matrix, quat_mul, quat_normalize,
    quat_rotate, scale, scale_add, store3, sub, sym_vec, zero,
};
use crate::real::Real;

/// A frame at c, and how it moves.
struct Frame<R> {
    place: Vec3<R>,
    turn: Quat<R>,
    linear: Vec3<R>,
    angular: Vec3<R>,
}

/// `state`, `pose`, `twist`, `pull` and `given` `[n_given]` to `reading` `[n_reading]` of one tile of lanes.
pub fn sense<R: Real>(
    tree: &Tree,
    sensors: &Sensors,
    params: Params<R>,
    state: &[R],
    pose: &[R],
    twist: &[R],
    pull: &[R],
    given: &[R],
    reading: &mut [R],
) {
    reading.fill(R::lit(0.0));
    let v = &state[tree.dims.v_at()..];
    for record in sensors.records.iter().filter(|record| record.kind < sensor::LATE) {
        let (at, count, index) = (record.at as usize, record.count as usize, record.index as usize);
        match record.kind {
            sensor::POSITION => reading[at..at + count].copy_from_slice(&state[index..index + count]),
            sensor::QUATERNION => {
                let turn = quat_normalize([state[index], state[index + 1], state[index + 2], state[index + 3]]);
                reading[at..at + 4].copy_from_slice(&turn);
            }
            sensor::VELOCITY => reading[at..at + count].copy_from_slice(&v[index..index + count]),
            sensor::LENGTH..=sensor::EFFORT => {
                reading[at] += along(tree, params, record, state, pull);
            }
            sensor::CENTRE..=sensor::SPIN => {
                store3(reading, at, subtree(tree, params, record, pose, twist));
            }
            sensor::GIVEN => reading[at..at + count].copy_from_slice(&given[index..index + count]),
            sensor::CUT => cut(params, record, reading),
            sensor::TURN => {
                let first = record.param as usize;
                let own = frame(params, first + param::SENSOR_FRAME, record.body, pose, twist);
                let other = frame(params, first + param::SENSOR_OTHER, record.other, pose, twist);
                reading[at..at + 4].copy_from_slice(&quat_mul(quat_conjugate(other.turn), own.turn));
            }
            _ => store3(reading, at, seen(params, record, pose, twist)),
        }
    }
}

/// Bounds a reading both ways.
#[inline(always)]
pub(super) fn cut<R: Real>(params: Params<R>, record: &SensorRecord, reading: &mut [R]) {
    let most = params.at(record.param as usize + param::SENSOR_CUTOFF);
    for x in &mut reading[record.at as usize..(record.at + record.count) as usize] {
        *x = clamp(*x, -most, most);
    }
}

/// What a path and an actuator on it show.
#[inline(always)]
fn along<R: Real>(tree: &Tree, params: Params<R>, record: &SensorRecord, state: &[R], pull: &[R]) -> R {
    let path = &tree.paths[record.index as usize];
    let at = path.pull as usize;
    let mut length = pull[at];
    let mut rate = R::lit(0.0);
    for (k, &i) in tree.path_dofs(path).iter().enumerate() {
        rate = pull[at + 1 + k].mul_add(state[tree.dims.v_at() + i as usize], rate);
    }
    if record.actuator == NONE {
        return if record.kind == sensor::LENGTH { length } else { rate };
    }
    let own = actuator_param(tree.dims, record.actuator as usize);
    let mut gear = R::lit(1.0);
    if path.gear == NONE {
        gear = params.at(own + param::ACTUATOR_GEAR);
    }
    (length, rate) = (gear * length, gear * rate);
    match record.kind {
        sensor::LENGTH => return length,
        sensor::RATE => return rate,
        _ => {}
    }
    let limits = own + param::ACTUATOR_CONTROL;
    let control = state[tree.dims.ctrl_at() + record.actuator as usize];
    let control = clamp(control, params.at(limits), params.at(limits + 1));
    let [constant, position, velocity] = params.at3(own + param::ACTUATOR_BIAS);
    let force = params.at(own + param::ACTUATOR_GAIN).mul_add(control, constant);
    let force = velocity.mul_add(rate, position.mul_add(length, force));
    let limits = own + param::ACTUATOR_FORCE;
    let force = clamp(force, params.at(limits), params.at(limits + 1));
    if record.kind == sensor::ACTUATOR {
        return force;
    }
    gear * pull[at + 1 + record.dof as usize] * force
}

/// A frame of a body.
#[inline(always)]
fn frame<R: Real>(params: Params<R>, at: usize, body: u32, pose: &[R], twist: &[R]) -> Frame<R> {
    let turn = quat_mul(orientation(pose, body), params.at4(at + 3));
    let place = place(pose, body, params.at3(at));
    let (mut linear, mut angular) = (zero(), zero());
    if body != NONE {
        let t = body as usize * SPATIAL;
        angular = load3(twist, t);
        linear = add(load3(twist, t + 3), cross(angular, place));
    }
    Frame { place, turn, linear, angular }
}

/// Three numbers of a frame.
#[inline(always)]
fn seen<R: Real>(params: Params<R>, record: &SensorRecord, pose: &[R], twist: &[R]) -> Vec3<R> {
    if record.kind == sensor::FIELD {
        let at = record.param as usize;
        let turn = quat_mul(orientation(pose, record.body), params.at4(at + param::SENSOR_FRAME + 3));
        return quat_rotate(quat_conjugate(turn), params.at3(at + param::SENSOR_OTHER));
    }
    let first = record.param as usize;
    let own = frame(params, first + param::SENSOR_FRAME, record.body, pose, twist);
    let other = frame(params, first + param::SENSOR_OTHER, record.other, pose, twist);
    let arm = sub(own.place, other.place);
    let (vector, turn) = match record.kind {
        sensor::PLACE => (arm, other.turn),
        sensor::AXIS => {
            let mut axis = zero();
            axis[record.index as usize] = R::lit(1.0);
            (quat_rotate(own.turn, axis), other.turn)
        }
        sensor::LINEAR => {
            let relative = sub(own.linear, other.linear);
            (sub(relative, cross(other.angular, arm)), other.turn)
        }
        sensor::ANGULAR => (sub(own.angular, other.angular), other.turn),
        sensor::OWN_LINEAR => (own.linear, own.turn),
        _ => (own.angular, own.turn),
    };
    quat_rotate(quat_conjugate(turn), vector)
}

/// Centre of mass of a subtree, its velocity, or the angular momentum about it.
#[inline(always)]
fn subtree<R: Real>(tree: &Tree, params: Params<R>, record: &SensorRecord, pose: &[R], twist: &[R]) -> Vec3<R> {
    let bodies = record.body..tree.bodies[record.body as usize].subtree_end;
    let (mut total, mut moment, mut momentum, mut spin) = (R::lit(0.0), zero(), zero(), zero());
    for b in bodies {
        let at = body_param(b as usize);
        let mass = params.at(at + param::BODY_MASS);
        let com = place(pose, b, params.at3(at + param::BODY_COM));
        let t = b as usize * SPATIAL;
        let angular = load3(twist, t);
        let velocity = add(load3(twist, t + 3), cross(angular, com));
        total += mass;
        moment = scale_add(com, mass, moment);
        let linear = scale(velocity, mass);
        momentum = add(momentum, linear);
        if record.kind == sensor::SPIN {
            let axes = quat_matrix(orientation(pose, b));
            let i = at + param::BODY_INERTIA;
            let inertia: [R; 6] = std::array::from_fn(|k| params.at(i + k));
            let own = mat_vec(&axes, sym_vec(&inertia, mat_t_vec(&axes, angular)));
            spin = add(spin, add(own, cross(com, linear)));
        }
    }
    let share = R::lit(1.0) / total;
    let centre = scale(moment, share);
    match record.kind {
        sensor::CENTRE => add(centre, load3(pose, 0)),
        sensor::DRIFT => scale(momentum, share),
        _ => sub(spin, cross(centre, momentum)),
    }
}

/// Buffers: topology, params, state, pose, twist, pull, given, reading.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { tree: dims, sensor_at } = &args.dims::<Dims>();
    let tiles = args.tiles();
    let [topology, params, state, pose, twist, pull, given, reading] = args.split();
    let (tree, sensors) = (Tree::new(dims, topology.index()), Sensors::new(topology.index(), *sensor_at));
    for t in 0..tiles {
        sense(
            &tree,
            &sensors,
            tile_params(dims, params, t),
            nth(state.tile(), t, dims.n_state() as u32),
            nth(pose.tile(), t, POSE as u32 * dims.n_body),
            nth(twist.tile(), t, SPATIAL as u32 * dims.n_body),
            nth(pull.tile(), t, dims.n_pull),
            nth(given.tile(), t, sensors.header.n_given),
            nth_mut(reading.tile_mut(), t, sensors.header.n_reading),
        );
    }
}
