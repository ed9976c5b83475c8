//! J, bias and friction of every slot: what geometry says about contacts and blocks.
//!
//! Buffers: topology, params, pose, motion, contact, contact_map, slots -> constraint (all but Y, G and its inverse).

use super::frame::tangents;
use super::tree_layout::{bias, bilateral_bias, contact, map, slot, slot_reals, tile_slots};
use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{NONE, POSE, Params, SPATIAL, Tree, block, jacobian, moves, nth, param, tile_params};
use crate::math::{Vec3, add, dot, load3, quat_conjugate, quat_log, quat_mul, quat_rotate, scale, sub};
use crate::{Real, Scalar};

/// Frame of a body of a block: on the ground (`NONE`) that of the record itself.
#[inline(always)]
fn block_frame<R: Real>(params: &Params<R>, pose: &[R], body: u32, record: usize) -> (Vec3<R>, [R; 4]) {
    let (position, orientation) = (params.at3(record), params.at4(record + 3));
    if body == NONE {
        return (position, orientation);
    }
    let at = body as usize * POSE;
    let q = std::array::from_fn(|i| pose[at + 3 + i]);
    (add(load3(pose, at), quat_rotate(q, position)), quat_mul(q, orientation))
}

/// A body of each lane as a number; -1: the ground.
#[inline(always)]
fn body_of<R: Real>(map: &[u32], word: usize) -> R {
    let mut body = R::lit(0.0);
    for lane in 0..R::N {
        let index = map[word * R::N + lane];
        body.set_lane(lane, scalar::<R>(if index == NONE { -1.0 } else { f64::from(index) }));
    }
    body
}

/// A number in one lane.
#[inline(always)]
fn scalar<R: Real>(x: f64) -> R::Scalar {
    R::Scalar::from_f64(x)
}

/// One tile; `contact`, `map` and `constraint` are its own slots.
pub fn tree_jacobian<R: Real>(
    tree: &Tree,
    params: &Params<R>,
    pose: &[R],
    motion: &[R],
    contact_in: &[R],
    map_in: &[u32],
    constraint: &mut [R],
) {
    let n_v = tree.dofs.len();
    let size = slot_reals(n_v);
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let per_step = one / params.at(param::TIMESTEP);
    let fraction = params.at(param::CORRECTION_FRACTION);
    let largest = params.at(param::CORRECTION_MAX);
    let slop = params.at(param::CORRECTION_SLOP);
    let c = load3(pose, 0);
    for (s, out) in constraint.chunks_exact_mut(size).enumerate() {
        let words = &map_in[s * map::SIZE * R::N..(s + 1) * map::SIZE * R::N];
        let record = &contact_in[s * contact::SIZE..(s + 1) * contact::SIZE];
        out[..slot::J].fill(zero);
        if s < tree.blocks.len() {
            let held = (0..R::N).fold(zero, |mut held, lane| {
                held.set_lane(lane, scalar::<R>(if words[lane] == map::BLOCK { 1.0 } else { 0.0 }));
                held
            });
            block_slot(tree, params, pose, motion, s, held, [per_step, fraction, largest], out);
            continue;
        }
        let normal = load3(record, contact::NORMAL);
        let [t1, t2] = tangents(normal);
        let offset = sub(load3(record, contact::POINT), c);
        let bodies = [body_of(words, map::BODY_A), body_of(words, map::BODY_B)];
        let (head, rows) = out.split_at_mut(slot::J);
        jacobian(tree, motion, bodies, offset, &[t1, t2, normal], &mut rows[..3 * n_v]);
        let distance = record[contact::DISTANCE];
        let drift = load3(record, contact::DRIFT);
        head[slot::BIAS] = dot(t1, drift);
        head[slot::BIAS + 1] = dot(t2, drift);
        head[slot::BIAS + 2] = bias(distance, per_step, fraction, largest, slop);
        head[slot::DRIFT] = dot(normal, drift);
        head[slot::DISTANCE] = distance;
        head[slot::MU] = record[contact::FRICTION].max(zero);
        head[slot::RESTITUTION] = record[contact::RESTITUTION];
        head[slot::BOUNCE] = (-params.at(param::RESTITUTION_THRESHOLD)).min(-(distance * per_step));
    }
}

/// A bilateral block: world axes as rows, the point of body b as where both bodies' velocities are taken. `held` is 1
/// in lanes whose island is this tree alone, else 0.
#[inline(always)]
fn block_slot<R: Real>(
    tree: &Tree,
    params: &Params<R>,
    pose: &[R],
    motion: &[R],
    s: usize,
    held: R,
    [per_step, fraction, largest]: [R; 3],
    out: &mut [R],
) {
    let n_v = tree.dofs.len();
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let record = &tree.blocks[s];
    let (at, here) = (record.param as usize, |body: u32| R::lit(if body == NONE { -1.0 } else { f64::from(body) }));
    let (point_a, turn_a) = block_frame(params, pose, record.body_a, at + param::BLOCK_FRAME_A);
    let (point_b, turn_b) = block_frame(params, pose, record.body_b, at + param::BLOCK_FRAME_B);
    let axes = [[held, zero, zero], [zero, held, zero], [zero, zero, held]];
    let bodies = [here(record.body_a), here(record.body_b)];
    let error = if record.kind == block::ROTATION {
        for (i, dof) in tree.dofs.iter().enumerate() {
            let weight = held * (moves(dof, bodies[1]) - moves(dof, bodies[0]));
            for k in 0..3 {
                out[slot::J + k * n_v + i] = weight * motion[i * SPATIAL + k];
            }
        }
        quat_log(quat_mul(turn_b, quat_conjugate(turn_a)))
    } else {
        let offset = sub(point_b, load3(pose, 0));
        jacobian(tree, motion, bodies, offset, &axes, &mut out[slot::J..slot::J + 3 * n_v]);
        sub(point_b, point_a)
    };
    let error = scale(error, held);
    for k in 0..3 {
        out[slot::BIAS + k] = bilateral_bias(error[k], per_step, fraction, largest);
    }
    out[slot::MU] = R::select(zero.lt(held), -one, zero);
}

/// Buffers: topology, params, pose, motion, contact, contact_map, slots, constraint.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, pose, motion, contact_in, map_in, slots, constraint] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (size, words) = (slot_reals(dims.n_v as usize), map::SIZE * R::N);
    for t in 0..tiles {
        let [begin, count, ..] = tile_slots(slots.index(), t);
        tree_jacobian(
            &tree,
            &tile_params(dims, params, t),
            nth(pose.tile(), t, dims.n_body * POSE as u32),
            nth(motion.tile(), t, dims.n_v * SPATIAL as u32),
            &contact_in.tile()[begin * contact::SIZE..(begin + count) * contact::SIZE],
            &map_in.index()[begin * words..(begin + count) * words],
            &mut constraint.tile_mut()[begin * size..(begin + count) * size],
        );
    }
}
