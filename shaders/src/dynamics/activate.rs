//! The end of a step for activations: those of lanes that move go to where their dynamics take them.

use crate::args::Args;
use crate::dynamics::activation::{bounded_control, next_activation};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{NONE, Params, Tree, moving, nth_mut, tile_params};
use crate::real::Real;

/// The activations in `state` of one tile of lanes; those of lanes that are flagged, frozen or held stay.
pub fn activate<R: Real>(tree: &Tree, params: Params<R>, state: &mut [R], status: &[u32]) {
    let moves = moving::<R>(status);
    for record in tree.forces.iter().filter(|record| record.act != NONE) {
        let at = tree.dims.act_at() + record.act as usize;
        let control = bounded_control(tree, params, record, state);
        let next = next_activation(params, record, control, state[at]);
        state[at] = R::select(moves, next, state[at]);
    }
}

/// Buffers: topology, params, state, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, status] = args.split();
    let tree = Tree::new(dims, topology.index());
    let state = state.tile_mut();
    let status = status.index();
    for t in 0..tiles {
        activate(
            &tree,
            tile_params(dims, params, t),
            nth_mut(state, t, dims.n_state() as u32),
            &status[t * R::N..(t + 1) * R::N],
        );
    }
}
