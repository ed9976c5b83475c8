//! How fast each body moves at the state at hand, and which way: what comes nearer fast looks farther ahead for contacts.
//!
//! Velocity of a body at c: `V = sum S_i v_i` over the dofs that move it; of its origin p: `v + w x (p - c)`.

use crate::Real;
use crate::args::Args;
use crate::dynamics::carried::moves_body;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{NONE, POSE, SPATIAL, SPEED, Tree, nth, nth_mut};
use crate::math::{add, cross, load3, scale_add, sub};

/// One tile: `speed` gets the velocity of each body's origin, m/s, and its angular velocity, rad/s.
pub fn speed<R: Real>(tree: &Tree, state: &[R], pose: &[R], motion: &[R], speed: &mut [R]) {
    let v = &state[tree.dims.v_at()..];
    let c = load3(pose, 0);
    for (b, body) in tree.bodies.iter().enumerate() {
        let (mut angular, mut linear) = ([R::lit(0.0); 3], [R::lit(0.0); 3]);
        let mut i = body.chain_dof;
        let count = if i == NONE { 0 } else { tree.dofs[i as usize].chain };
        for _ in 0..count {
            let at = i as usize * SPATIAL;
            if tree.dims.bound == 0 || moves_body(&tree.dofs[i as usize], b as u32) {
                angular = scale_add(load3(motion, at), v[i as usize], angular);
                linear = scale_add(load3(motion, at + 3), v[i as usize], linear);
            }
            i = tree.dofs[i as usize].parent;
        }
        let origin = add(linear, cross(angular, sub(load3(pose, b * POSE), c)));
        speed[b * SPEED..][..3].copy_from_slice(&origin);
        speed[b * SPEED + 3..][..3].copy_from_slice(&angular);
    }
}

/// Buffers: topology, params, state, pose, motion, speed.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, state, pose, motion, out] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        speed(
            &tree,
            nth(state.tile(), t, dims.n_state() as u32),
            nth(pose.tile(), t, POSE as u32 * dims.n_body),
            nth(motion.tile(), t, SPATIAL as u32 * dims.n_v),
            nth_mut(out.tile_mut(), t, SPEED as u32 * dims.n_body),
        );
    }
}
