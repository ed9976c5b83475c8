//! Warm start of constraints that were solved elsewhere in the step before: from the slots of a tree to an island of
//! several trees, or back.

use bytemuck::{Pod, Zeroable};

use super::island::items;
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Constraints to move.
    pub n_items: u32,
    /// First word of their [`MoveItem`]s in `moves`.
    pub items_at: u32,
    /// Reals between the three components where they come from: 1, or the lanes of a tile.
    pub stride_in: u32,
    /// The same where they go to.
    pub stride_out: u32,
}
/// Where the first component of an impulse is, and where it belongs.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct MoveItem {
    /// A real of the step before.
    pub from: u32,
    /// A real of this step.
    pub to: u32,
}

/// All constraints that moved between one tree set and the islands, one way.
pub fn warm_move<T: Scalar>(dims: &Dims, moves: &[u32], impulse_in: &[T], impulse_out: &mut [T]) {
    for item in items::<MoveItem>(moves, dims.items_at, dims.n_items) {
        let x: [T; 3] = std::array::from_fn(|k| impulse_in[item.from as usize + k * dims.stride_in as usize]);
        // What broke down must not do so again.
        let sound = x.iter().all(|x| x.is_finite());
        for (k, x) in x.into_iter().enumerate() {
            impulse_out[item.to as usize + k * dims.stride_out as usize] = if sound { x } else { T::lit(0.0) };
        }
    }
}

/// Buffers: moves, impulse_in, impulse_out.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [moves, impulse_in, impulse_out] = args.split();
    warm_move(&dims, moves.index(), impulse_in.scalars(), impulse_out.scalars_mut());
}
