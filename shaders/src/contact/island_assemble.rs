//! Jacobians of contacts and bilateral blocks with respect to the trees of one set, and their responses Y = A^-1 J^T.

use bytemuck::{Pod, Zeroable, cast_slice_mut};

use super::frame::tangents;
use super::island::{SideItem, contact, items};
use super::side::side;
use super::workspace::with_workspace;
use crate::args::Args;
use crate::dynamics::tree::{POSE, SPATIAL, Tree, TreeDims};
use crate::math::{Vec3, load3, sub};
use crate::{LANES, Real, Scalar};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// The tree.
    pub tree: TreeDims,
    /// Sides of trees of this set.
    pub n_items: u32,
    /// First word of their [`SideItem`]s in `island_index`.
    pub items_at: u32,
}

/// The directions of the rows: the friction frame of a contact, the world's axes for a bilateral block.
#[inline(always)]
pub fn directions<T: Scalar>(c: &[T]) -> [Vec3<T>; 3] {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    if c[contact::FRICTION] < zero {
        return [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    }
    let n = load3(c, contact::NORMAL);
    let [t1, t2] = tangents(n);
    [t1, t2, n]
}

/// All sides of trees of the set.
pub fn island_assemble<T: Scalar, R: Real<Scalar = T>>(
    dims: &Dims,
    topology: &[u32],
    pose: &[R],
    motion: &[R],
    factor: &[R],
    index: &[u32],
    contacts: &[T],
    jac: &mut [T],
) {
    let tree = Tree::new(&dims.tree, topology);
    let (n_v, n_m) = (dims.tree.n_v as usize, dims.tree.n_m as usize);
    let (n_pose, n_motion) = (POSE * dims.tree.n_body as usize, SPATIAL * n_v);
    with_workspace::<T, _>((4 * n_v).div_ceil(LANES), |work| {
        let (y, _) = cast_slice_mut::<T::Pack, T>(work).as_chunks_mut();
        for item in items::<SideItem>(index, dims.items_at, dims.n_items) {
            let tile = item.lane as usize / R::N;
            let c = &contacts[contact::SIZE * item.constraint as usize..][..contact::SIZE];
            let pose = &pose[tile * n_pose..][..n_pose];
            let motion = &motion[tile * n_motion..][..n_motion];
            let out = &mut jac[item.jac as usize..][..6 * n_v];
            let lane = item.lane as usize % R::N;
            let reference = [0, 1, 2].map(|k| pose[k].lane(lane));
            let place = (directions(c), sub(load3(c, contact::POINT), reference));
            side(&tree, item, place, motion, &factor[tile * n_m..][..n_m], out, y);
        }
    });
}

/// Buffers: topology, params, pose, motion, factor, island_index, island_contact -> island_jac.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [topology, _, pose, motion, factor, index, contacts, jac] = args.split();
    let (pose, motion, factor) = (pose.tile(), motion.tile(), factor.tile());
    island_assemble(&dims, topology.index(), pose, motion, factor, index.index(), contacts.real(), jac.real_mut());
}
