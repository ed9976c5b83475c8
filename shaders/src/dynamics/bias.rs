//! Recursive Newton-Euler: body twists, and the bias force c(q, v) with gravity, without passive joint forces.
//!
//! In world axes at c, the motion of a dof changes with the body that carries it: `S' = v x S`, where v holds the
//! motions of the dofs before it; the three rotations of a ball or free joint turn together, so v is that before all
//! three, and the translations of a free joint are fixed in the world. Source: Featherstone 2008, section 5.3, in the
//! order of MuJoCo's `mj_comVel` and `mj_rne`.

use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{
    JointRecord, POSE, Params, SPATIAL, Tree, body_param, joint, nth, nth_mut, param, tile_params, work,
};
use crate::math::{
    Vec3, add, cross, dot, load3, quat_matrix, scale, scale_add, store3, sub, sym_rotate, sym_vec, zero,
};
use crate::real::Real;

/// A motion or force: (angular, linear) or (moment, force), at c.
pub type Spatial<R> = [Vec3<R>; 2];

/// `state`, `pose`, `motion` to `twist` [n_body, 6], `work` [n_body, 22] and `bias` `[n_v]` of one tile of lanes.
pub fn bias<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    pose: &[R],
    motion: &[R],
    twist: &mut [R],
    work: &mut [R],
    bias: &mut [R],
) {
    let c = load3(pose, 0);
    let velocity = &state[tree.dims.v_at()..];
    let rising = scale(params.at3(param::GRAVITY), R::lit(-1.0));
    for b in 0..tree.bodies.len() {
        let body = &tree.bodies[b];
        let (mut v, mut a) = ([zero(), zero()], [zero(), rising]);
        if b > 0 {
            let p = body.parent as usize;
            v = load_spatial(twist, p * SPATIAL);
            a = load_spatial(work, p * work::BODY + work::ACCELERATION);
        }
        let first = body.joint_begin as usize;
        for joint in &tree.joints[first..first + body.joint_count as usize] {
            (v, a) = add_joint(joint, motion, velocity, v, a);
        }
        store_spatial(twist, b * SPATIAL, v);
        let slot = &mut work[b * work::BODY..(b + 1) * work::BODY];
        let inertia = inertia_at(params, b, pose, c);
        slot[..work::ACCELERATION].copy_from_slice(&inertia);
        store_spatial(slot, work::ACCELERATION, a);
        // f = I a + v x* I v
        let (force, momentum) = (apply(&inertia, a), apply(&inertia, v));
        let moment = add(add(force[0], cross(v[0], momentum[0])), cross(v[1], momentum[1]));
        store_spatial(slot, work::FORCE, [moment, add(force[1], cross(v[0], momentum[1]))]);
    }
    for b in (0..tree.bodies.len()).rev() {
        let body = &tree.bodies[b];
        let force = load_spatial(work, b * work::BODY + work::FORCE);
        let first = body.dof_begin as usize;
        for i in first..first + body.dof_count as usize {
            let s = load_spatial(motion, i * SPATIAL);
            bias[i] = dot(s[0], force[0]) + dot(s[1], force[1]);
        }
        if b > 0 {
            let parent = body.parent as usize * work::BODY + work::FORCE;
            let sum = load_spatial(work, parent);
            store_spatial(work, parent, [add(sum[0], force[0]), add(sum[1], force[1])]);
        }
    }
}

#[inline(always)]
pub(crate) fn load_spatial<R: Real>(from: &[R], at: usize) -> Spatial<R> {
    [load3(from, at), load3(from, at + 3)]
}

#[inline(always)]
pub(crate) fn store_spatial<R: Real>(to: &mut [R], at: usize, s: Spatial<R>) {
    store3(to, at, s[0]);
    store3(to, at + 3, s[1]);
}

/// Adds the velocity of a joint's dofs to v, and that of their motions to a.
#[inline(always)]
#[must_use]
pub fn add_joint<R: Real>(
    joint: &JointRecord,
    motion: &[R],
    velocity: &[R],
    mut v: Spatial<R>,
    mut a: Spatial<R>,
) -> (Spatial<R>, Spatial<R>) {
    let mut dof = joint.dof_begin as usize;
    if joint.kind == joint::FREE {
        // Axes fixed in the world: nothing to add to a.
        v[1] = add(v[1], load3(velocity, dof));
        dof += 3;
    }
    let count = if joint.kind <= joint::BALL { 3 } else { 1 };
    let mut relative = [zero(), zero()];
    for i in dof..dof + count {
        let s = load_spatial(motion, i * SPATIAL);
        relative = [scale_add(s[0], velocity[i], relative[0]), scale_add(s[1], velocity[i], relative[1])];
    }
    a[0] = add(a[0], cross(v[0], relative[0]));
    a[1] = add(a[1], add(cross(v[0], relative[1]), cross(v[1], relative[0])));
    ([add(v[0], relative[0]), add(v[1], relative[1])], a)
}

/// Spatial inertia of a body at c in world axes: mass, mass * (centre - c), inertia about c.
#[inline(always)]
pub(crate) fn inertia_at<R: Real>(params: Params<R>, b: usize, pose: &[R], c: Vec3<R>) -> [R; 10] {
    let (at, p) = (body_param(b), b * POSE);
    let axes = quat_matrix([pose[p + 3], pose[p + 4], pose[p + 5], pose[p + 6]]);
    let mass = params.at(at + param::BODY_MASS);
    let com = params.at3(at + param::BODY_COM);
    let arm = add(crate::math::mat_vec(&axes, com), sub(load3(pose, p), c));
    let i = at + param::BODY_INERTIA;
    let own = [params.at(i), params.at(i + 1), params.at(i + 2), params.at(i + 3), params.at(i + 4), params.at(i + 5)];
    let turned = sym_rotate(&axes, &own);
    let h = scale(arm, mass);
    let (xx, yy, zz) = (h[0] * arm[0], h[1] * arm[1], h[2] * arm[2]);
    [
        mass,
        h[0],
        h[1],
        h[2],
        turned[0] + (yy + zz),
        turned[1] + (xx + zz),
        turned[2] + (xx + yy),
        (-h[0]).mul_add(arm[1], turned[3]),
        (-h[0]).mul_add(arm[2], turned[4]),
        (-h[1]).mul_add(arm[2], turned[5]),
    ]
}

/// `I s`: momentum of a motion.
#[inline(always)]
pub(crate) fn apply<R: Real>(inertia: &[R; 10], s: Spatial<R>) -> Spatial<R> {
    let [mass, hx, hy, hz, xx, yy, zz, xy, xz, yz] = *inertia;
    let h = [hx, hy, hz];
    [add(sym_vec(&[xx, yy, zz, xy, xz, yz], s[0]), cross(h, s[1])), sub(scale(s[1], mass), cross(h, s[0]))]
}

/// Buffers: topology, params, state, pose, motion, twist, work, bias.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, pose, motion, twist, work, bias] = args.split();
    let tree = Tree::new(dims, topology.index());
    let state = state.tile();
    let pose = pose.tile();
    let motion = motion.tile();
    let twist = twist.tile_mut();
    let work = work.tile_mut();
    let bias = bias.tile_mut();
    for t in 0..tiles {
        self::bias(
            &tree,
            tile_params(dims, params, t),
            nth(state, t, dims.n_state() as u32),
            nth(pose, t, POSE as u32 * dims.n_body),
            nth(motion, t, SPATIAL as u32 * dims.n_v),
            nth_mut(twist, t, SPATIAL as u32 * dims.n_body),
            nth_mut(work, t, dims.n_work() as u32),
            nth_mut(bias, t, dims.n_v),
        );
    }
}
