//! Composite rigid bodies: the branch-sparse joint-space inertia `M_ij = S_i . (I_c S_j)`, armature on the diagonal,
//! where I_c is the inertia of the subtree that dof j moves. Source: Featherstone 2008, section 6.2.

use crate::args::Args;
use crate::dynamics::bias::apply;
use crate::dynamics::carried::moves_body;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Params, SPATIAL, Tree, joint_param, nth, nth_mut, param, tile_params, work};
use crate::math::{dot, load3};
use crate::real::Real;

/// `motion`, and the body inertias that `bias` left in `work`, to `mass` `[n_m]` of one tile of lanes. Afterwards `work`
/// holds the inertias of subtrees.
pub fn inertia<R: Real>(tree: &Tree, params: Params<R>, motion: &[R], work: &mut [R], mass: &mut [R]) {
    for b in (0..tree.bodies.len()).rev() {
        let body = &tree.bodies[b];
        let slot = b * work::BODY + work::INERTIA;
        let mut composite = [R::lit(0.0); 10];
        composite.copy_from_slice(&work[slot..slot + 10]);
        if b > 0 {
            let parent = body.parent as usize * work::BODY + work::INERTIA;
            for k in 0..10 {
                work[parent + k] += composite[k];
            }
        }
        let first = body.dof_begin as usize;
        for i in first..first + body.dof_count as usize {
            let dof = &tree.dofs[i];
            let s = [load3(motion, i * SPATIAL), load3(motion, i * SPATIAL + 3)];
            let momentum = apply(&composite, s);
            let at = dof.m_begin as usize;
            let armature = params.at(joint_param(tree.dims, dof.joint as usize) + param::JOINT_ARMATURE);
            mass[at] = armature + (dot(s[0], momentum[0]) + dot(s[1], momentum[1]));
            let mut j = dof.parent as usize;
            for k in 1..dof.chain as usize {
                let s = [load3(motion, j * SPATIAL), load3(motion, j * SPATIAL + 3)];
                mass[at + k] = dot(s[0], momentum[0]) + dot(s[1], momentum[1]);
                if tree.dims.bound == 1 && !moves_body(&tree.dofs[j], b as u32) {
                    mass[at + k] = R::lit(0.0);
                }
                j = tree.dofs[j].parent as usize;
            }
        }
    }
}

/// Buffers: topology, params, motion, work, mass.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, motion, work, mass] = args.split();
    let tree = Tree::new(dims, topology.index());
    let motion = motion.tile();
    let work = work.tile_mut();
    let mass = mass.tile_mut();
    for t in 0..tiles {
        inertia(
            &tree,
            tile_params(dims, params, t),
            nth(motion, t, SPATIAL as u32 * dims.n_v),
            nth_mut(work, t, dims.n_work() as u32),
            nth_mut(mass, t, dims.n_m),
        );
    }
}
