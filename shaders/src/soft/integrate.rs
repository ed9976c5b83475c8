//! The end of a step: `v = v+`, `q = q + h v+`.

use crate::args::Args;
use crate::dynamics::names::status;
use crate::dynamics::tree::{Params, moving, nth, nth_mut};
use crate::math::finite;
use crate::real::{Mask, Real};
pub use crate::soft::body::SoftDims as Dims;
use crate::soft::body::{soft, soft_params};

/// Faster than this (m/s) counts as not finite: the next squares would overflow in f32.
const FASTEST: f64 = 1e9;

/// `velocity` `[n_v]` into `state` of one tile of lanes, as `dynamics/integrate`: a lane whose velocity is not finite is
/// flagged in `status` and keeps its state, as lanes do that are flagged, frozen or held.
pub fn integrate<R: Real>(params: Params<R>, velocity: &[R], state: &mut [R], status: &mut [u32]) {
    let n = velocity.len();
    let sound = finite_velocity::<R>(velocity);
    for (lane, word) in status.iter_mut().enumerate() {
        if *word & status::HELD == 0 && !sound.lane(lane) {
            *word |= status::NON_FINITE;
        }
    }
    let moves = moving::<R>(status);
    let h = params.at(soft::TIMESTEP);
    let (q, rest) = state.split_at_mut(n);
    for ((q, v), &next) in q.iter_mut().zip(rest).zip(velocity) {
        *q = R::select(moves, h.mul_add(next, *q), *q);
        *v = R::select(moves, next, *v);
    }
}

/// Where every speed is a number below [`FASTEST`].
#[inline(always)]
fn finite_velocity<R: Real>(velocity: &[R]) -> R::Mask {
    let mut sound = finite(R::lit(0.0));
    for &v in velocity {
        sound = sound & v.abs().le(R::lit(FASTEST));
    }
    sound
}

/// Buffers: params, velocity, state, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [params, velocity, state, status] = args.split();
    let (velocity, state, status) = (velocity.tile(), state.tile_mut(), status.index_mut());
    for t in 0..tiles {
        integrate(
            soft_params(&dims, params, t),
            nth(velocity, t, dims.n_v()),
            nth_mut(state, t, dims.n_state()),
            nth_mut(status, t, R::N as u32),
        );
    }
}
