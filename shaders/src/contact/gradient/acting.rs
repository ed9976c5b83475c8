//! What the derivative of the dynamics holds: v+ and the impulses on bodies, fixed in the world; and the twists with v+.
//!
//! Buffers: topology, params (unused), motion, velocity, places, touch, impulse -> act.

use super::force::{along_axes, axes};
use super::layout::{place, tile_place, touch};
use super::sides::acts;
use crate::args::Args;
use crate::dynamics::derivatives::layout::Act;
use crate::dynamics::derivatives::transport::transport;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{SPATIAL, Tree, nth, nth_mut};
use crate::math::{cross, load3};
use crate::real::{Mask, Real, Scalar};

/// One tile: `touch` and `impulse` are its own slots.
pub fn acting<R: Real>(tree: &Tree, motion: &[R], velocity: &[R], touch_in: &[R], impulse: &[R], act: &mut [R]) {
    let at = Act::new(tree.dims);
    let (after, rest) = act.split_at_mut(at.fixed);
    let (fixed, rest) = rest.split_at_mut(at.twist - at.fixed);
    let (twist, psi) = rest.split_at_mut(at.psi - at.twist);
    transport(tree, motion, velocity, twist, psi);
    after.copy_from_slice(velocity);
    fixed.fill(R::lit(0.0));
    for (record, impulse) in touch_in.chunks_exact(touch::SIZE).zip(impulse.chunks_exact(3)) {
        if !acts([record[touch::BODIES], record[touch::BODIES + 1]]).any() {
            continue;
        }
        let f = along_axes(&axes(load3(record, touch::NORMAL)), impulse);
        let turning = cross(load3(record, touch::ARM), f);
        let wrench = [turning[0], turning[1], turning[2], f[0], f[1], f[2]];
        for side in 0..2 {
            let bodies = record[touch::BODIES + side];
            for lane in 0..R::N {
                let body = bodies.lane(lane).to_f64();
                if body < 0.0 {
                    continue;
                }
                for k in 0..SPATIAL {
                    let to = &mut fixed[body as usize * SPATIAL + k];
                    let x = wrench[k].lane(lane);
                    to.set_lane(lane, if side == 1 { to.lane(lane) + x } else { to.lane(lane) - x });
                }
            }
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, motion, velocity, places, touch_in, impulse, act] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, end) = (at[place::BEGIN], at[place::BEGIN] + at[place::COUNT]);
        acting(
            &tree,
            nth(motion.tile(), t, dims.n_v * SPATIAL as u32),
            nth(velocity.tile(), t, dims.n_v),
            &touch_in.tile()[begin * touch::SIZE..end * touch::SIZE],
            &impulse.tile()[3 * begin..3 * end],
            nth_mut(act.tile_mut(), t, Act::new(dims).reals as u32),
        );
    }
}
