//! Warm start: the impulse that each slot's feature had one step ago; zero for a new one.

pub use super::tree_layout::LaneDims as Dims;
use super::tree_layout::{map, tile_slots};
use crate::Real;
use crate::args::Args;
use crate::math::finite;

/// One tile: its words of `contact_map`, its impulses of the step before, and those of this step.
pub fn tree_warm<R: Real>(map_in: &[u32], impulse_in: &[R], impulse: &mut [R]) {
    for (words, out) in map_in.chunks_exact(map::SIZE * R::N).zip(impulse.chunks_exact_mut(3)) {
        out.fill(R::lit(0.0));
        for lane in 0..R::N {
            let warm = words[map::WARM * R::N + lane] as usize;
            if warm > 0 {
                for f in 0..3 {
                    out[f].set_lane(lane, impulse_in[(warm - 1) * 3 + f].lane(lane));
                }
            }
        }
        // A lane that broke down must not do so again after its reset.
        let sound = finite(out[0]) & finite(out[1]) & finite(out[2]);
        for x in out {
            *x = R::select(sound, *x, R::lit(0.0));
        }
    }
}

/// Buffers: slots, contact_map, impulse_in, impulse_out.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let tiles = args.tiles();
    let [slots, map_in, impulse_in, impulse_out] = args.split();
    for t in 0..tiles {
        let [begin, count, before, count_before] = tile_slots(slots.index(), t);
        let words = map::SIZE * R::N;
        tree_warm(
            &map_in.index()[begin * words..(begin + count) * words],
            &impulse_in.tile()[3 * before..3 * (before + count_before)],
            &mut impulse_out.tile_mut()[3 * begin..3 * (begin + count)],
        );
    }
}
