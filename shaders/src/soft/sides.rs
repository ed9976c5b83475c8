//! The sides of trees of one set in the contacts of a soft body: see [`super::touch`].

use bytemuck::{Pod, Zeroable, cast_slice_mut};

use crate::LANES;
use crate::args::Args;
use crate::contact::island::{SideItem, items};
use crate::contact::side::side;
use crate::contact::workspace::with_workspace;
use crate::dynamics::tree::{SPATIAL, Tree, TreeDims, nth};
use crate::math::{Vec3, load3};
use crate::real::{Real, Scalar};
use crate::soft::touch::{frame, tree_side};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// The tree.
    pub tree: TreeDims,
    /// Sides of trees of this set.
    pub n_items: u32,
    /// First word of their [`SideItem`]s in `touch_words`: `constraint` is the first real of a side's frame in `touches`, `jac` that of
    /// its Jacobian.
    pub items_at: u32,
}

/// The trace of `J Y`, of a side `[2][3][n_v]`.
fn mobility<S: Scalar>(own: &[S]) -> S {
    let (jacobian, responses) = own.split_at(own.len() / 2);
    let mut trace = S::lit(0.0);
    for (&j, &y) in jacobian.iter().zip(responses) {
        trace = j.mul_add(y, trace);
    }
    trace
}

/// Buffers: topology, params, motion, factor (of the tree set), touch_words, touches (of the soft body).
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [topology, _, motion, factor, words, touches] = args.split();
    let tree = Tree::new(&dims.tree, topology.index());
    let (motion, factor, touches) = (motion.tile(), factor.tile(), touches.real_mut());
    let n_v = dims.tree.n_v;
    with_workspace::<R::Scalar, _>((4 * n_v as usize).div_ceil(LANES), |work| {
        let (y, _) = cast_slice_mut::<_, R::Scalar>(work).as_chunks_mut();
        for item in items::<SideItem>(words.index(), dims.items_at, dims.n_items) {
            let t = item.lane as usize / R::N;
            let given = &touches[item.constraint as usize..][..frame::SIZE];
            let axes: [Vec3<R::Scalar>; 3] = [0, 3, 6].map(|row| load3(given, frame::AXES + row));
            let place = (axes, load3(given, frame::OFFSET));
            let (before, own) = touches.split_at_mut(item.jac as usize);
            let own = &mut own[..6 * n_v as usize];
            side(&tree, item, place, nth(motion, t, SPATIAL as u32 * n_v), nth(factor, t, dims.tree.n_m), own, y);
            before[before.len() - tree_side::JACOBIAN + tree_side::MOBILITY] = mobility(own);
        }
    });
}
