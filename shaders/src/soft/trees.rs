//! The trees that touch a soft body, as its rounds have them: few degrees of freedom beside those of the nodes.
//!
//! A lane's part of `beside` begins at [`trees_at`], with n for [`SoftDims::n_dof`]: A `[n, n]`, a block for each tree; the same with
//! what contacts add, `[n, n]`; b of the free motion `A v = b` `[n]`; v `[n]`; and what momentum lacks, `b - A v + J^T lambda` `[n]`.

use bytemuck::{Pod, Zeroable};

use crate::real::Scalar;
use crate::soft::body::SoftDims;
use crate::soft::touch::{Lane, Touch, Touches, work};

/// A tree that touches a soft body.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct MetItem {
    /// Lane of the soft body.
    pub soft: u32,
    /// Lane of the tree in its set.
    pub lane: u32,
    /// Its first degree of freedom among those of the soft body's lane.
    pub column: u32,
}

/// First real of the trees of a lane in `beside`: see [`super::slide`] for what comes before.
#[inline(always)]
#[must_use]
pub const fn trees_at(n_v: usize, n_slide: usize) -> usize {
    n_v + n_slide * (n_slide + 1)
}

/// Reals of the trees of a lane, with room for n degrees of freedom.
#[inline(always)]
#[must_use]
pub const fn tree_reals(n: usize) -> usize {
    n * (2 * n + 3)
}

/// Reals of a lane of `beside`.
#[inline(always)]
#[must_use]
pub const fn beside_reals(dims: &SoftDims) -> usize {
    trees_at(3 * dims.n_node as usize, dims.n_slide as usize) + tree_reals(dims.n_dof as usize)
}

/// First real of the velocities of trees there.
#[inline(always)]
#[must_use]
pub const fn velocity_at(dims: &SoftDims) -> usize {
    let n = dims.n_dof as usize;
    trees_at(3 * dims.n_node as usize, dims.n_slide as usize) + n * (2 * n + 1)
}

/// Where the parts of a lane's trees begin in `beside`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trees {
    first: usize,
    /// Room for degrees of freedom.
    room: usize,
}

impl Trees {
    #[inline(always)]
    pub(super) fn new(dims: &SoftDims) -> Self {
        Self { first: trees_at(dims.n_v() as usize, dims.n_slide as usize), room: dims.n_dof as usize }
    }

    #[inline(always)]
    fn matrix(self, i: usize, j: usize) -> usize {
        self.first + i * self.room + j
    }

    /// An entry of the matrix with contacts.
    #[inline(always)]
    pub(super) fn stiffened(self, i: usize, j: usize) -> usize {
        self.matrix(self.room + i, j)
    }

    #[inline(always)]
    fn momentum(self) -> usize {
        self.matrix(2 * self.room, 0)
    }

    #[inline(always)]
    pub(super) fn velocity(self) -> usize {
        self.momentum() + self.room
    }

    #[inline(always)]
    pub(super) fn left(self) -> usize {
        self.velocity() + self.room
    }

    /// What momentum lacks of a lane's trees, which have n degrees of freedom, without contacts.
    pub(super) fn lack_momentum<S: Scalar>(self, n: usize, lane: Lane, beside: &mut [S]) {
        for i in 0..n {
            let mut sum = beside[lane.at(self.momentum() + i)];
            for j in 0..n {
                sum = (-beside[lane.at(self.matrix(i, j))]).mul_add(beside[lane.at(self.velocity() + j)], sum);
            }
            beside[lane.at(self.left() + i)] = sum;
        }
    }

    /// The sum of its squares.
    pub(super) fn square_left<S: Scalar>(self, n: usize, lane: Lane, beside: &[S]) -> S {
        let mut square = S::lit(0.0);
        for i in 0..n {
            let x = beside[lane.at(self.left() + i)];
            square = x.mul_add(x, square);
        }
        square
    }

    /// Begins the matrix with contacts.
    pub(super) fn begin_stiffened<S: Scalar>(self, n: usize, lane: Lane, beside: &mut [S]) {
        for i in 0..n {
            for j in 0..n {
                beside[lane.at(self.stiffened(i, j))] = beside[lane.at(self.matrix(i, j))];
            }
        }
    }

    /// Adds `J^T W J` of a contact to it, of W the symmetric part 00, 01, 11, 22.
    pub(super) fn stiffen_trees<S: Scalar>(self, touch: &Touch<'_, S>, w: [S; 4], lane: Lane, beside: &mut [S]) {
        let side = &touch.side;
        for i in 0..side.n() {
            let push = weighed(w, side.column_of(i));
            for j in 0..side.n() {
                let other = side.column_of(j);
                let to = &mut beside[lane.at(self.stiffened(side.column + i, side.column + j))];
                *to = push[2].mul_add(other[2], push[1].mul_add(other[1], push[0].mul_add(other[0], *to)));
            }
        }
    }
}

/// The symmetric part of W of a contact: 00, 01, 11, 22.
#[inline(always)]
pub(super) fn symmetric<S: Scalar>(touches: &Touches<'_, S>, index: usize) -> [S; 4] {
    [0, 1, 2, 5].map(|k| touches.work[index][work::SLOPE + k])
}

/// `W x`, of W the symmetric part 00, 01, 11, 22.
#[inline(always)]
pub(super) fn weighed<S: Scalar>(w: [S; 4], x: [S; 3]) -> [S; 3] {
    [w[0].mul_add(x[0], w[1] * x[1]), w[1].mul_add(x[0], w[2] * x[1]), w[3] * x[2]]
}
