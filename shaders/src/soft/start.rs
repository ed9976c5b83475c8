//! The start of a step: the velocity to correct is the state's.

use crate::args::Args;
use crate::dynamics::names::status;
use crate::dynamics::tree::{nth, nth_mut};
use crate::real::Real;
pub use crate::soft::body::SoftDims as Dims;

/// Buffers: state, velocity, status. Starts the status word of the step.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [state, velocity, status] = args.split();
    let (state, velocity) = (state.tile(), velocity.tile_mut());
    let n = dims.n_v() as usize;
    for t in 0..tiles {
        nth_mut(velocity, t, dims.n_v()).copy_from_slice(&nth(state, t, dims.n_state())[n..2 * n]);
    }
    for word in &mut status.index_mut()[..dims.lanes as usize] {
        *word &= status::KEPT;
    }
}
