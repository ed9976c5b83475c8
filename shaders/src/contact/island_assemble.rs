//! Jacobians of contacts and bilateral blocks with respect to the trees of one set, and their responses Y = A^-1 J^T.

use bytemuck::{Pod, Zeroable};

use super::frame::tangents;
use super::island::{SideItem, contact, items};
use crate::args::Args;
use crate::dynamics::tree::{NONE, POSE, SPATIAL, Tree, TreeDims};
use crate::math::{Vec3, dot, load3, sub};
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

crate::dims!(Dims { tree, n_items, items_at });

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

/// One side: `jac` is `[2][3][n_v]`, J then Y. `pose`, `motion` and `factor` are the tile of its lane.
pub fn side<T: Scalar>(
    tree: &Tree,
    item: &SideItem,
    pose: &[T::Pack],
    motion: &[T::Pack],
    factor: &[T::Pack],
    c: &[T],
    jac: &mut [T],
) {
    let (lane, n) = (item.lane as usize % LANES, tree.dofs.len());
    let reference: Vec3<T> = std::array::from_fn(|k| pose[k].lane(lane));
    let offset = sub(load3(c, contact::POINT), reference);
    let axes = directions(c);
    let (j, y) = jac.split_at_mut(3 * n);
    let moves =
        |body: u32, first: u32, end: u32| T::lit(if body != NONE && first <= body && body < end { 1.0 } else { 0.0 });
    for (i, dof) in tree.dofs.iter().enumerate() {
        let s: [T; SPATIAL] = std::array::from_fn(|k| motion[i * SPATIAL + k].lane(lane));
        let weight = moves(item.body_b, dof.body, dof.subtree_end) - moves(item.body_a, dof.body, dof.subtree_end);
        let u = if item.angular != 0 { load3(&s, 0) } else { crate::dynamics::tree::point_motion(&s, 0, offset) };
        for r in 0..3 {
            let x = weight * dot(axes[r], u);
            j[r * n + i] = x;
            y[r * n + i] = x;
        }
    }
    // The three rows at once through the factor: see `dynamics::tree::solve`.
    for i in (0..n).rev() {
        let dof = &tree.dofs[i];
        let x = [y[i], y[n + i], y[2 * n + i]];
        let mut above = dof.parent as usize;
        for k in 1..dof.chain as usize {
            let l = -factor[dof.m_begin as usize + k].lane(lane);
            for r in 0..3 {
                y[r * n + above] = l.mul_add(x[r], y[r * n + above]);
            }
            above = tree.dofs[above].parent as usize;
        }
    }
    for i in 0..n {
        let dof = &tree.dofs[i];
        let d = factor[dof.m_begin as usize].lane(lane);
        let mut x = [y[i] * d, y[n + i] * d, y[2 * n + i] * d];
        let mut above = dof.parent as usize;
        for k in 1..dof.chain as usize {
            let l = -factor[dof.m_begin as usize + k].lane(lane);
            for r in 0..3 {
                x[r] = l.mul_add(y[r * n + above], x[r]);
            }
            above = tree.dofs[above].parent as usize;
        }
        for r in 0..3 {
            y[r * n + i] = x[r];
        }
    }
}

/// All sides of trees of the set.
pub fn island_assemble<T: Scalar>(
    dims: &Dims,
    topology: &[u32],
    pose: &[T::Pack],
    motion: &[T::Pack],
    factor: &[T::Pack],
    index: &[u32],
    contacts: &[T],
    jac: &mut [T],
) {
    let tree = Tree::new(&dims.tree, topology);
    let (n_v, n_m) = (dims.tree.n_v as usize, dims.tree.n_m as usize);
    let (n_pose, n_motion) = (POSE * dims.tree.n_body as usize, SPATIAL * n_v);
    for item in items::<SideItem>(index, dims.items_at, dims.n_items) {
        let tile = item.lane as usize / LANES;
        let c = &contacts[contact::SIZE * item.constraint as usize..][..contact::SIZE];
        let pose = &pose[tile * n_pose..][..n_pose];
        let motion = &motion[tile * n_motion..][..n_motion];
        let out = &mut jac[item.jac as usize..][..6 * n_v];
        side(&tree, item, pose, motion, &factor[tile * n_m..][..n_m], c, out);
    }
}

/// Buffers: topology, params, pose, motion, factor, island_index, island_contact -> island_jac.
pub fn mirror<T: Scalar>(args: &mut Args<T>) {
    let dims: Dims = args.dims();
    let [topology, _, pose, motion, factor, index, contacts, jac] = args.split();
    let (pose, motion, factor) = (pose.tile(), motion.tile(), factor.tile());
    island_assemble(&dims, topology.index(), pose, motion, factor, index.index(), contacts.real(), jac.real_mut());
}
