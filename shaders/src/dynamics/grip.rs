//! Forces of the actuators that make bodies adhere, `gain u + bias` within their bounds: one number each, for all trees of a
//! world, as a contact pulls the trees of both its bodies. [`super::adhere`] shares them out.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Params, TreeDims, actuator_param, nth, param, tile_params};
use crate::math::clamp;
use crate::real::Real;

/// Words of a lane at the start of `items`: its first item and how many it has.
pub const LANE: usize = 2;

/// An actuator that makes its body adhere.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct GripItem {
    /// Its number among the tree's actuators.
    pub actuator: u32,
    /// Its number in `grip`.
    pub number: u32,
}

/// The force of an actuator at a state, N.
#[inline(always)]
fn grip<R: Real>(dims: &TreeDims, params: Params<R>, actuator: usize, state: &[R]) -> R {
    let own = actuator_param(dims, actuator);
    let limits = own + param::ACTUATOR_CONTROL;
    let control = clamp(state[dims.ctrl_at() + actuator], params.at(limits), params.at(limits + 1));
    let force = params.at(own + param::ACTUATOR_GAIN).mul_add(control, params.at(own + param::ACTUATOR_BIAS));
    let limits = own + param::ACTUATOR_FORCE;
    clamp(force, params.at(limits), params.at(limits + 1))
}

/// Buffers: topology, params, state, items, grip.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let [_topology, params, state, items, out] = args.split();
    let (lanes, items, out) = (dims.lanes as usize, items.index(), out.real_mut());
    let all: &[GripItem] = bytemuck::cast_slice(&items[LANE * lanes..]);
    for lane in 0..lanes {
        let [begin, count] = [items[LANE * lane] as usize, items[LANE * lane + 1] as usize];
        let (tile, within) = (lane / R::N, lane % R::N);
        let params: Params<R> = tile_params(dims, params, tile);
        let state = nth(state.tile(), tile, dims.n_state() as u32);
        for item in &all[begin..begin + count] {
            out[item.number as usize] = grip(dims, params, item.actuator as usize, state).lane(within);
        }
    }
}
