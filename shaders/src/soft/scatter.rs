//! Solved velocities back to the trees of one set that touch a soft body.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::contact::island::items;
use crate::dynamics::names::status;
use crate::real::Real;
use crate::soft::trees::MetItem;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Degrees of freedom of a tree of this set.
    pub n_v: u32,
    /// Trees of this set.
    pub n_items: u32,
    /// First word of their [`MetItem`]s in `touch_words`.
    pub items_at: u32,
    /// Reals of a lane of `beside`.
    pub n_beside: u32,
    /// Where the velocities of trees begin there.
    pub velocity_at: u32,
}

/// Buffers: touch_words, beside, status (of the soft body), velocity (of the tree set).
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [words, beside, status, velocity] = args.split();
    let (beside, status, velocity) = (beside.tile(), status.index(), velocity.tile_mut());
    for item in items::<MetItem>(words.index(), dims.items_at, dims.n_items) {
        // What is not solved is the host's.
        if status[item.soft as usize] & status::CONVERGED == 0 {
            continue;
        }
        let [soft, lane, n_v] = [item.soft, item.lane, dims.n_v].map(|n| n as usize);
        let from = soft / R::N * dims.n_beside as usize + (dims.velocity_at + item.column) as usize;
        for i in 0..n_v {
            velocity[lane / R::N * n_v + i].set_lane(lane % R::N, beside[from + i].lane(soft % R::N));
        }
    }
}
