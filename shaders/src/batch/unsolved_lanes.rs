//! Which worlds their kernels left unsolved, by the trees that are islands by themselves: an invocation a world.
//!
//! A world in which something broke down is not to be solved by anyone: it has [`found::BROKEN`] as well.

use bytemuck::{Pod, Zeroable};

use super::world::found;
use crate::args::Args;
use crate::dynamics::names::status;
use crate::real::Real;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Worlds.
    pub worlds: u32,
    /// Lanes of a world in this tree set.
    pub k: u32,
    /// 1: the first set, which knows nothing of the worlds yet; 0: adds to what is known.
    pub first: u32,
    /// Bits of which an unsolved lane must have one: [`status::ITERATION_LIMIT`], which all have, or [`status::DOUBTFUL`].
    /// What the host solves anyway needs none.
    pub wanted: u32,
    /// Bits of lanes that are solved with others: [`status::SHARED`], or 0 for bodies that deform, whose lanes say it of their world.
    pub apart: u32,
}

/// What one lane's status says of its world.
fn of_lane(word: u32, wanted: u32, apart: u32) -> u32 {
    let mut bits = 0;
    let is_wanted = word & (wanted | status::GAVE_WAY) != 0;
    if word & (status::ITERATION_LIMIT | apart) == status::ITERATION_LIMIT && is_wanted {
        bits |= found::UNSOLVED;
    }
    if word & (status::STOPPED | status::BREAKDOWN) != 0 {
        bits |= found::BROKEN;
    }
    bits
}

/// Buffers: status `[worlds * k]`, unsolved `[worlds]`.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { worlds, k, first, wanted, apart } = args.dims();
    let [status, unsolved] = args.split();
    let lanes = status.index().chunks(k as usize);
    for (lanes, word) in lanes.zip(&mut unsolved.index_mut()[..worlds as usize]) {
        let known = if first == 1 { 0 } else { *word };
        *word = lanes.iter().fold(known, |bits, &lane| bits | of_lane(lane, wanted, apart));
    }
}
