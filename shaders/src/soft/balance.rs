//! Whether what momentum lacks after a round is little enough, and whether another round may make it so.
//!
//! A lane goes on while rounds bring its balance closer, but for the first, whose way is taken whatever it leaves. It ends as
//! converged or, flagged as at its iteration limit, as the host's: its matrix may want a line search, or positive elements.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::contact::tree_layout::info;
use crate::dynamics::names::status;
use crate::dynamics::tree::{nth, nth_mut};
use crate::math::finite;
use crate::real::{Mask, Real};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Lanes in use.
    pub lanes: u32,
    /// Degrees of freedom.
    pub n_v: u32,
    /// Rounds that were.
    pub round: u32,
    /// 1: there is no other.
    pub last: u32,
    /// What may be left, N s, bits of an f32.
    pub tolerance: u32,
}

/// `b` `[n_v]` of one tile to what its `info` and `status` say.
pub fn balance<R: Real>(dims: &Dims, b: &[R], info: &mut [R], status: &mut [u32]) {
    let mut square = R::lit(0.0);
    for &x in b {
        square = x.mul_add(x, square);
    }
    let left = square.sqrt();
    let little = left.le(R::lit(f64::from(f32::from_bits(dims.tolerance))));
    let closer = left.lt(info[info::STOPPED_AT]);
    let sound = finite(left);
    for (lane, word) in status.iter_mut().enumerate().filter(|(_, word)| **word & status::SETTLED == 0) {
        let done = dims.round > 0 && little.lane(lane);
        let falls = dims.round < 2 || closer.lane(lane);
        if done {
            *word |= status::CONVERGED;
        } else if dims.last == 1 || !falls || !sound.lane(lane) {
            *word |= status::ITERATION_LIMIT;
        }
        for at in [info::RESIDUAL, info::STOPPED_AT] {
            info[at].set_lane(lane, left.lane(lane));
        }
        info[info::SWEEPS].set_lane(lane, R::lit(f64::from(dims.round)).lane(lane));
    }
}

/// Buffers: b, info, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [b, info, status] = args.split();
    let (b, info, status) = (b.tile(), info.tile_mut(), status.index_mut());
    for t in 0..tiles {
        let info = nth_mut(info, t, info::reals(dims.n_v as usize) as u32);
        balance(&dims, nth(b, t, dims.n_v), info, nth_mut(status, t, R::N as u32));
    }
}
