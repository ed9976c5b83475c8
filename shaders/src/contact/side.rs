//! The side of a tree in a contact or bilateral block: its rows J, and their responses Y = A^-1 J^T.

use bytemuck::cast_slice;

use super::island::SideItem;
use crate::dynamics::tree::{DofRecord, NONE, SPATIAL, Tree, point_motion};
use crate::math::{Vec3, dot, load3};
use crate::{Real, Scalar};

/// One side: `jac` is `[2][3][n_v]`, J then Y. `axes` are the directions of its rows, `offset` leads to its point from where motions are
/// taken. `motion` and `factor` are the tile of its lane; `y`, `[n_v]`, is scratch memory.
pub fn side<T: Scalar, R: Real<Scalar = T>>(
    tree: &Tree,
    item: &SideItem,
    (axes, offset): ([Vec3<T>; 3], Vec3<T>),
    motion: &[R],
    factor: &[R],
    jac: &mut [T],
    y: &mut [[T; 4]],
) {
    let (lane, n) = (item.lane as usize % R::N, tree.dofs.len());
    // Number by number: a pack is wide.
    let [motion, factor] = [motion, factor].map(cast_slice::<R, T>);
    let moves =
        |body: u32, first: u32, end: u32| T::lit(if body != NONE && first <= body && body < end { 1.0 } else { 0.0 });
    let weight = |dof: &DofRecord| -> T {
        moves(item.body_b, dof.body, dof.subtree_end) - moves(item.body_a, dof.body, dof.subtree_end)
    };
    if let (Some(dofs), Some(motion)) = (tree.dofs.first_chunk::<FREE>(), motion.get(..FREE * SPATIAL * R::N))
        && n == FREE
        && dofs.iter().enumerate().all(|(i, dof)| dof.chain as usize == i + 1)
    {
        // The components of the axes, the three axes side by side.
        let axes: [[T; 4]; 3] = std::array::from_fn(|k| [axes[0][k], axes[1][k], axes[2][k], T::lit(0.0)]);
        let mut j = [[T::lit(0.0); 4]; FREE];
        for (i, (j, dof)) in j.iter_mut().zip(dofs).enumerate() {
            let s: [T; SPATIAL] = std::array::from_fn(|k| motion[(i * SPATIAL + k) * R::N + lane]);
            let u = if item.angular != 0 { load3(&s, 0) } else { point_motion(&s, 0, offset) };
            let weight = weight(dof);
            for r in 0..4 {
                j[r] = weight * axes[2][r].mul_add(u[2], axes[1][r].mul_add(u[1], axes[0][r] * u[0]));
            }
        }
        let mut y = j;
        respond(&load_factor(dofs, factor, (R::N, lane)), &mut y);
        for r in 0..3 {
            for i in 0..FREE {
                jac[r * FREE + i] = j[i][r];
                jac[(3 + r) * FREE + i] = y[i][r];
            }
        }
        return;
    }
    // By degree of freedom, the three rows side by side in a register.
    for (i, dof) in tree.dofs.iter().enumerate() {
        let weight = weight(dof);
        let mut own = [T::lit(0.0); 4];
        // Most of a large tree is not between the root and the body.
        if weight != T::lit(0.0) {
            let s: [T; SPATIAL] = std::array::from_fn(|k| motion[(i * SPATIAL + k) * R::N + lane]);
            let u = if item.angular != 0 { load3(&s, 0) } else { point_motion(&s, 0, offset) };
            (0..3).for_each(|r| own[r] = weight * dot(axes[r], u));
        }
        (0..3).for_each(|r| jac[r * n + i] = own[r]);
        y[i] = own;
    }
    // Through the factor: see `dynamics::tree::solve`.
    for i in (0..n).rev() {
        let (dof, x) = (&tree.dofs[i], y[i]);
        if x == [T::lit(0.0); 4] {
            continue;
        }
        let mut above = dof.parent as usize;
        for k in 1..dof.chain as usize {
            let l = -factor[(dof.m_begin as usize + k) * R::N + lane];
            (0..4).for_each(|r| y[above][r] = l.mul_add(x[r], y[above][r]));
            above = tree.dofs[above].parent as usize;
        }
    }
    for i in 0..n {
        let dof = &tree.dofs[i];
        let d = factor[dof.m_begin as usize * R::N + lane];
        let mut x = y[i].map(|y| y * d);
        let mut above = dof.parent as usize;
        for k in 1..dof.chain as usize {
            let l = -factor[(dof.m_begin as usize + k) * R::N + lane];
            (0..4).for_each(|r| x[r] = l.mul_add(y[above][r], x[r]));
            above = tree.dofs[above].parent as usize;
        }
        y[i] = x;
        (0..3).for_each(|r| jac[(3 + r) * n + i] = x[r]);
    }
}

/// Degrees of freedom of a free body: most sides of a pile are of such.
const FREE: usize = 6;

/// The factor of a free body: by degree of freedom its inverse pivot, then its entries towards the root.
#[inline(always)]
fn load_factor<T: Scalar>(dofs: &[DofRecord; FREE], factor: &[T], (stride, lane): (usize, usize)) -> [[T; FREE]; FREE] {
    let mut own = [[T::lit(0.0); FREE]; FREE];
    for (i, (own, dof)) in own.iter_mut().zip(dofs).enumerate() {
        let from = &factor[dof.m_begin as usize * stride + lane..];
        for (k, own) in own.iter_mut().enumerate().take(i + 1) {
            *own = from[k * stride];
        }
    }
    own
}

/// The three rows of a free body through its factor, side by side in a register, in the order of [`side`]: its degrees of
/// freedom are a chain.
#[inline(always)]
fn respond<T: Scalar>(factor: &[[T; FREE]; FREE], y: &mut [[T; 4]; FREE]) {
    for i in (0..FREE).rev() {
        for k in 1..=i {
            let l = -factor[i][k];
            (0..4).for_each(|r| y[i - k][r] = l.mul_add(y[i][r], y[i - k][r]));
        }
    }
    for i in 0..FREE {
        let mut x = y[i].map(|y| y * factor[i][0]);
        for k in 1..=i {
            let l = -factor[i][k];
            (0..4).for_each(|r| x[r] = l.mul_add(y[i - k][r], x[r]));
        }
        y[i] = x;
    }
}
