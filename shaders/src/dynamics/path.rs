//! Lengths of the paths that applied forces pull along, and their moment arms: the derivative of a length by each dof that
//! changes it. Tendons go as in MuJoCo's `mj_tendon`, other transmissions as in its `mj_transmission`.
//!
//! Points are taken from c, as motions are.

use crate::args::Args;
use crate::dynamics::carried::{carries, orientation, place};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{
    POSE, Params, PathRecord, SPATIAL, Tree, nth, nth_mut, param, path, point, point_motion, tile_params,
};
use crate::dynamics::wrap::wrap;
use crate::math::{
    Vec3, add, cross, dot, load3, quat_conjugate, quat_log, quat_mul, quat_normalize, quat_rotate, scale, scale_add,
    sub,
};
use crate::real::Real;

/// Lengths below this have no direction.
const SHORTEST: f64 = 1e-15;

/// `state`, `pose` and `motion` to `pull` `[n_pull]` of one tile of lanes.
pub fn path<R: Real>(tree: &Tree, params: Params<R>, state: &[R], pose: &[R], motion: &[R], pull: &mut [R]) {
    pull.fill(R::lit(0.0));
    for record in tree.paths {
        let at = record.pull as usize;
        let pull = &mut pull[at..=at + record.dof_count as usize];
        match record.kind {
            path::LINEAR => linear(tree, params, record, state, pull),
            path::SPATIAL => spatial(tree, params, record, pose, motion, pull),
            path::BALL => ball(params, record, state, pull),
            path::FREE => free(params, record, state, pull),
            path::SITE => site(tree, params, record, pose, motion, pull),
            path::RELATIVE => relative(tree, params, record, pose, motion, pull),
            _ => crank(tree, params, record, pose, motion, pull),
        }
    }
}

/// `pull` is [length, moment arms].
#[inline(always)]
fn linear<R: Real>(tree: &Tree, params: Params<R>, record: &PathRecord, state: &[R], pull: &mut [R]) {
    for item in tree.path_points(record) {
        let coefficient = params.at(item.param as usize + param::POINT);
        pull[0] = coefficient.mul_add(state[item.q as usize], pull[0]);
        pull[1 + item.dof as usize] += coefficient;
    }
}

/// Adds `times` the line between two points to a path. The end belongs to `bodies[1]`, or by a `share` from 0 to 1 to
/// `bodies[2]`; the start belongs to `bodies[0]`.
#[inline(always)]
fn add_line<R: Real>(
    tree: &Tree,
    record: &PathRecord,
    motion: &[R],
    bodies: [u32; 3],
    from: Vec3<R>,
    to: Vec3<R>,
    share: R,
    times: R,
    pull: &mut [R],
) {
    let way = sub(to, from);
    let length = dot(way, way).sqrt();
    let along = scale(way, R::lit(1.0) / length.max(R::lit(SHORTEST)));
    pull[0] = times.mul_add(length, pull[0]);
    for (k, &i) in tree.path_dofs(record).iter().enumerate() {
        let dof = &tree.dofs[i as usize];
        let near = carries::<R>(dof, bodies[1]);
        let end = share.mul_add(carries::<R>(dof, bodies[2]) - near, near);
        let ahead = end * dot(along, point_motion(motion, i as usize, to));
        let behind = carries::<R>(dof, bodies[0]) * dot(along, point_motion(motion, i as usize, from));
        pull[1 + k] = times.mul_add(ahead - behind, pull[1 + k]);
    }
}

#[inline(always)]
fn spatial<R: Real>(tree: &Tree, params: Params<R>, record: &PathRecord, pose: &[R], motion: &[R], pull: &mut [R]) {
    let (none, one) = (R::lit(0.0), R::lit(1.0));
    let points = tree.path_points(record);
    let mut times = one;
    for j in 0..points.len() - 1 {
        let (first, second) = (&points[j], &points[j + 1]);
        if first.kind == point::PULLEY {
            times = one / params.at(first.param as usize + param::POINT);
        }
        if first.kind != point::SITE || second.kind == point::PULLEY {
            continue;
        }
        let from = place(pose, first.body, params.at3(first.param as usize + param::POINT));
        if second.kind == point::SITE {
            let to = place(pose, second.body, params.at3(second.param as usize + param::POINT));
            add_line(tree, record, motion, [first.body, second.body, second.body], from, to, none, times, pull);
            continue;
        }
        // Round an obstacle: validation sees to a site behind it.
        let last = &points[j + 2];
        let to = place(pose, last.body, params.at3(last.param as usize + param::POINT));
        let at = second.param as usize;
        let centre = place(pose, second.body, params.at3(at + param::POINT));
        let turn = quat_mul(orientation(pose, second.body), params.at4(at + param::POINT_ORIENTATION));
        let into = |x: Vec3<R>| quat_rotate(quat_conjugate(turn), sub(x, centre));
        let side = into(place(pose, second.side, params.at3(at + param::POINT_SIDE)));
        let radius = params.at(at + param::POINT_RADIUS);
        let way = wrap(into(from), into(to), side, second.sided == 1, second.kind == point::CYLINDER, radius);
        let share = R::select(way.wraps, one, none);
        let meets = add(centre, quat_rotate(turn, way.first));
        let leaves = add(centre, quat_rotate(turn, way.second));
        let reached = add(to, scale(sub(meets, to), share));
        add_line(tree, record, motion, [first.body, last.body, second.body], from, reached, share, times, pull);
        let bodies = [second.body, last.body, last.body];
        add_line(tree, record, motion, bodies, leaves, to, none, times * share, pull);
        pull[0] = (times * share).mul_add(way.length, pull[0]);
    }
}

#[inline(always)]
fn ball<R: Real>(params: Params<R>, record: &PathRecord, state: &[R], pull: &mut [R]) {
    let q = record.q as usize;
    let turn = quat_normalize([state[q], state[q + 1], state[q + 2], state[q + 3]]);
    let mut gear = params.at3(record.gear as usize);
    if record.in_parent == 1 {
        gear = quat_rotate(quat_conjugate(turn), gear);
    }
    pull[0] = dot(gear, quat_log(turn));
    pull[1..4].copy_from_slice(&gear);
}

#[inline(always)]
fn free<R: Real>(params: Params<R>, record: &PathRecord, state: &[R], pull: &mut [R]) {
    let q = record.q as usize + 3;
    let mut gear = params.at3(record.gear as usize + 3);
    if record.in_parent == 1 {
        let turn = quat_normalize([state[q], state[q + 1], state[q + 2], state[q + 3]]);
        gear = quat_rotate(quat_conjugate(turn), gear);
    }
    pull[1..4].copy_from_slice(&params.at3(record.gear as usize));
    pull[4..7].copy_from_slice(&gear);
}

#[inline(always)]
fn site<R: Real>(tree: &Tree, params: Params<R>, record: &PathRecord, pose: &[R], motion: &[R], pull: &mut [R]) {
    let at = record.param as usize + param::PATH_FRAME;
    let x = place(pose, record.body, params.at3(at));
    let turn = quat_mul(orientation(pose, record.body), params.at4(at + 3));
    let force = quat_rotate(turn, params.at3(record.gear as usize));
    let torque = quat_rotate(turn, params.at3(record.gear as usize + 3));
    for (k, &i) in tree.path_dofs(record).iter().enumerate() {
        let i = i as usize;
        pull[1 + k] = dot(force, point_motion(motion, i, x)) + dot(torque, load3(motion, i * SPATIAL));
    }
}

#[inline(always)]
fn relative<R: Real>(tree: &Tree, params: Params<R>, record: &PathRecord, pose: &[R], motion: &[R], pull: &mut [R]) {
    let (at, other) = (record.param as usize + param::PATH_FRAME, record.param as usize + param::PATH_OTHER);
    let (x, from) = (place(pose, record.body, params.at3(at)), place(pose, record.other, params.at3(other)));
    let (own, base) = (params.at4(at + 3), params.at4(other + 3));
    let (body, reference) = (orientation(pose, record.body), orientation(pose, record.other));
    let turn = quat_mul(reference, base);
    let seen = quat_rotate(quat_conjugate(turn), sub(x, from));
    // MuJoCo's turn, which takes the site's orientation in its body before that of the body.
    let turned = quat_log(quat_mul(quat_conjugate(quat_mul(base, reference)), quat_mul(own, body)));
    let (shift, spin) = (params.at3(record.gear as usize), params.at3(record.gear as usize + 3));
    pull[0] = dot(shift, seen) + dot(spin, turned);
    let (force, torque) = (quat_rotate(turn, shift), quat_rotate(turn, spin));
    for (k, &i) in tree.path_dofs(record).iter().enumerate() {
        let dof = &tree.dofs[i as usize];
        let (held, moved) = (carries::<R>(dof, record.other), carries::<R>(dof, record.body));
        let i = i as usize;
        let (ahead, behind) = (dot(force, point_motion(motion, i, x)), dot(force, point_motion(motion, i, from)));
        pull[1 + k] = moved * ahead - held * behind + (moved - held) * dot(torque, load3(motion, i * SPATIAL));
    }
}

#[inline(always)]
fn crank<R: Real>(tree: &Tree, params: Params<R>, record: &PathRecord, pose: &[R], motion: &[R], pull: &mut [R]) {
    let (none, one) = (R::lit(0.0), R::lit(1.0));
    let (at, other) = (record.param as usize + param::PATH_FRAME, record.param as usize + param::PATH_OTHER);
    let (x, from) = (place(pose, record.body, params.at3(at)), place(pose, record.other, params.at3(other)));
    let turn = quat_mul(orientation(pose, record.other), params.at4(other + 3));
    let axis = quat_rotate(turn, [none, none, one]);
    let rod = params.at(record.param as usize + param::PATH_ROD);
    let way = sub(x, from);
    // length = a.w - sqrt(det), det = (a.w)^2 + r^2 - w.w; where the rod does not reach, a.w.
    let along = dot(axis, way);
    let det = along.mul_add(along, rod.mul_add(rod, -dot(way, way)));
    let reaches = none.lt(det);
    let root = R::select(reaches, det, none).sqrt();
    pull[0] = along - root;
    let inverse = R::select(reaches, one, none) / R::select(reaches, root, one);
    let slope = (-along).mul_add(inverse, one);
    let by_way = scale_add(way, inverse, scale(axis, slope));
    let by_axis = scale(way, slope);
    for (k, &i) in tree.path_dofs(record).iter().enumerate() {
        let dof = &tree.dofs[i as usize];
        let (held, moved) = (carries::<R>(dof, record.other), carries::<R>(dof, record.body));
        let i = i as usize;
        let spin = cross(load3(motion, i * SPATIAL), axis);
        let shift = add(scale(point_motion(motion, i, x), moved), scale(point_motion(motion, i, from), -held));
        pull[1 + k] = held.mul_add(dot(by_axis, spin), dot(by_way, shift));
    }
}

/// Buffers: topology, params, state, pose, motion, pull.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, pose, motion, pull] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        path(
            &tree,
            tile_params(dims, params, t),
            nth(state.tile(), t, dims.n_state() as u32),
            nth(pose.tile(), t, POSE as u32 * dims.n_body),
            nth(motion.tile(), t, SPATIAL as u32 * dims.n_v),
            nth_mut(pull.tile_mut(), t, dims.n_pull),
        );
    }
}
