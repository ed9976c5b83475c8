//! Accelerations of bodies in a step: `a = a_parent + S' v + S (v+ - v) / h` at c, less gravity, with the velocity v+ that the
//! step ends with. What MuJoCo's `mj_rnePostConstraint` calls `cacc`.

use crate::args::Args;
use crate::dynamics::bias::{add_joint, load_spatial, store_spatial};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Params, SPATIAL, Tree, nth, nth_mut, param, tile_params};
use crate::math::{scale, scale_add, zero};
use crate::real::Real;

/// `state`, `motion`, `twist` and `velocity` to `acceleration` [n_body, 6] of one tile of lanes.
pub fn accelerate<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    motion: &[R],
    twist: &[R],
    velocity: &[R],
    acceleration: &mut [R],
) {
    let per_second = R::lit(1.0) / params.at(param::TIMESTEP);
    let rising = scale(params.at3(param::GRAVITY), R::lit(-1.0));
    let before = &state[tree.dims.v_at()..];
    for (b, body) in tree.bodies.iter().enumerate() {
        let (mut v, mut a) = ([zero(), zero()], [zero(), rising]);
        if b > 0 {
            let p = body.parent as usize * SPATIAL;
            (v, a) = (load_spatial(twist, p), load_spatial(acceleration, p));
        }
        let first = body.joint_begin as usize;
        for joint in &tree.joints[first..first + body.joint_count as usize] {
            (v, a) = add_joint(joint, motion, before, v, a);
        }
        let first = body.dof_begin as usize;
        for i in first..first + body.dof_count as usize {
            let s = load_spatial(motion, i * SPATIAL);
            let rate = (velocity[i] - before[i]) * per_second;
            a = [scale_add(s[0], rate, a[0]), scale_add(s[1], rate, a[1])];
        }
        store_spatial(acceleration, b * SPATIAL, a);
    }
}

/// Buffers: topology, params, state, motion, twist, velocity, acceleration.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, motion, twist, velocity, acceleration] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        accelerate(
            &tree,
            tile_params(dims, params, t),
            nth(state.tile(), t, dims.n_state() as u32),
            nth(motion.tile(), t, SPATIAL as u32 * dims.n_v),
            nth(twist.tile(), t, SPATIAL as u32 * dims.n_body),
            nth(velocity.tile(), t, dims.n_v),
            nth_mut(acceleration.tile_mut(), t, SPATIAL as u32 * dims.n_body),
        );
    }
}
