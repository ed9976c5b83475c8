//! Contacts of a body that deforms with what stands, moves by itself, or is of a tree, as its kernels have them: as many a lane as there
//! are.
//!
//! A contact's point moves with weighted nodes, `J v = axes sum_i w_i v_i` in (t1, t2, n), so that `J^T x` is `axes^T x` shared out
//! among the nodes, and `J^T W J` one block shared out among their pairs. A tree has rows of its own there, its side: [`super::sides`]
//! makes them.
//!
//! `touch_words`: the first contact of each lane, `[lanes + 1]`; how many degrees of freedom the trees have that touch a lane's body,
//! `[lanes]`; then for each contact its [`head`]; its nodes, in the order of elimination; the blocks of the matrix between them,
//! `(0,0) (1,0) (1,1) ..`, with room for `n_term` nodes; then what [`super::gather`] and [`super::sides`] are to do. `touches` has five
//! parts: what is given of each contact ([`given`]), `[n_touch, given::WEIGHTS + n_term]`; of each side ([`frame`]), `[n_side, 12]`;
//! impulses, those to start from and those found, `[n_touch, 3]`; what rounds hand on ([`work`]); and sides ([`tree_side`]).
//!
//! A round is a step of Newton's method on balance and laws at once: with T the strict map, P its derivative and
//! `E = 1 + eps - P`, `(A + J^T W J) dv = J^T (lambda + E^-1 (T - lambda)) - r`, `W = E^-1 rho P`, and
//! `d lambda = E^-1 (T - lambda) - W J dv`. Where a contact slides, W is not symmetric: friction grows with the normal impulse. That
//! part is of rank one a contact, and [`super::slide`] puts it on top of the symmetric rest, which [`super::balance`] adds to A.

use crate::dynamics::names::status;
use crate::real::Scalar;
use crate::soft::body::SoftDims;

/// Offsets in the first words of a contact.
pub mod head {
    /// Nodes.
    pub const NODES: usize = 0;
    /// Number of its side.
    pub const SIDE: usize = 1;
    /// First degree of freedom of that side's tree among those of the lane's trees.
    pub const COLUMN: usize = 2;
    /// Degrees of freedom of that tree; 0: no tree takes part.
    pub const DOFS: usize = 3;
    /// Words.
    pub const SIZE: usize = 4;
}

/// Offsets in what is given of a contact, in reals.
pub mod given {
    /// Axes (t1, t2, n) in the axes of the displacements, row by row; against them where the body is the first of the two.
    pub const AXES: usize = 0;
    /// Bias, m/s, 3.
    pub const BIAS: usize = 9;
    /// Friction coefficient.
    pub const FRICTION: usize = 12;
    /// `3 / trace(J m^-1 J^T)`, m the masses of nodes, kg; without a tree's side.
    pub const MASS: usize = 13;
    /// Weights of the nodes.
    pub const WEIGHTS: usize = 14;
}

/// Offsets in what is given of a side, in reals.
pub mod frame {
    /// Axes (t1, t2, n) in the axes of the world, row by row.
    pub const AXES: usize = 0;
    /// To the point from where the tree's motions are taken, m, 3.
    pub const OFFSET: usize = 9;
    /// Reals.
    pub const SIZE: usize = 12;
}

/// Offsets in a side, in reals.
pub mod tree_side {
    /// `trace(J A^-1 J^T)`, 1/kg.
    pub const MOBILITY: usize = 0;
    /// J, `[3, n]` for a tree of n degrees of freedom, then `A^-1 J^T` transposed.
    pub const JACOBIAN: usize = 1;
}

/// Offsets in what rounds hand on of a contact, in reals.
pub mod work {
    /// `rho = 3 / trace(J diag(A)^-1 J^T)` of the first round, kg; of a tree A itself.
    pub const RHO: usize = 0;
    /// W: 00, 01, 11 of the tangents, 02 and 12 of tangents by the normal, 22.
    pub const SLOPE: usize = 1;
    /// `E^-1 (T - lambda)`, N s.
    pub const PUSH: usize = 7;
    /// Reals.
    pub const SIZE: usize = 10;
}

/// Words in front of the contacts.
#[inline(always)]
#[must_use]
pub const fn words_of_lanes(lanes: usize) -> usize {
    2 * lanes + 1
}

/// Words of a contact of up to so many nodes.
#[inline(always)]
#[must_use]
pub const fn word_stride(n_term: usize) -> usize {
    head::SIZE + n_term + n_term * (n_term + 1) / 2
}

/// Reals that are given of one.
#[inline(always)]
#[must_use]
pub const fn given_stride(n_term: usize) -> usize {
    given::WEIGHTS + n_term
}

/// Reals of a side.
#[inline(always)]
#[must_use]
pub const fn side_stride(side_dofs: usize) -> usize {
    tree_side::JACOBIAN + 6 * side_dofs
}

/// Where the parts of `touches` begin, and its end.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// Frames of sides.
    pub frames: usize,
    /// Impulses.
    pub found: usize,
    /// What rounds hand on.
    pub work: usize,
    /// Sides.
    pub sides: usize,
    /// Reals in all.
    pub end: usize,
}

impl Parts {
    /// Of a body's contacts.
    #[inline(always)]
    #[must_use]
    pub const fn new(dims: &SoftDims) -> Self {
        let (n_touch, n_side) = (dims.n_touch as usize, dims.n_side as usize);
        let frames = n_touch * given_stride(dims.n_term as usize);
        let found = frames + n_side * frame::SIZE;
        let work = found + 3 * n_touch;
        let sides = work + n_touch * work::SIZE;
        Self { frames, found, work, sides, end: sides + n_side * side_stride(dims.side_dofs as usize) }
    }
}

/// Where a lane's numbers lie among those of its tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    pub(super) own: usize,
    /// Lanes of a tile.
    pub(super) count: usize,
}

impl Lane {
    #[inline(always)]
    pub(super) fn at(self, e: usize) -> usize {
        e * self.count + self.own
    }
}

/// The parts of `touches`.
#[derive(Debug)]
pub struct Touches<'a, S> {
    dims: SoftDims,
    words: &'a [u32],
    given: &'a [S],
    pub(super) found: &'a mut [[S; 3]],
    pub(super) work: &'a mut [[S; work::SIZE]],
    sides: &'a [S],
}

impl<'a, S: Scalar> Touches<'a, S> {
    /// Of the two buffers.
    #[must_use]
    pub fn new(dims: SoftDims, words: &'a [u32], touches: &'a mut [S]) -> Self {
        let parts = Parts::new(&dims);
        let (rest, sides) = touches[..parts.end].split_at_mut(parts.sides);
        let (rest, work) = rest.split_at_mut(parts.work);
        let (given, found) = rest.split_at_mut(parts.found);
        Self { dims, words, given, found: found.as_chunks_mut().0, work: work.as_chunks_mut().0, sides }
    }

    /// Contacts of a lane.
    #[inline(always)]
    fn of(&self, lane: usize) -> std::ops::Range<usize> {
        self.words[lane] as usize..self.words[lane + 1] as usize
    }

    /// Degrees of freedom of the trees that touch a lane's body.
    #[inline(always)]
    pub(super) fn dofs_of(&self, lane: usize) -> usize {
        self.words[self.dims.lanes as usize + 1 + lane] as usize
    }

    /// Lanes of a tile that contacts touch and whose rounds are not over, by the tile's status words, with their contacts; `first`: the
    /// tile's first lane.
    pub(super) fn touched_of_tile(&self, first: usize, status: &[u32]) -> Vec<(Lane, std::ops::Range<usize>)> {
        let lanes = status.len().min((self.dims.lanes as usize).saturating_sub(first));
        (0..lanes)
            .filter(|&lane| status[lane] & status::SETTLED == 0)
            .map(|lane| (Lane { own: lane, count: status.len() }, self.of(first + lane)))
            .filter(|(_, own)| !own.is_empty())
            .collect()
    }

    /// One of them.
    #[inline(always)]
    pub(super) fn touch(&self, index: usize) -> Touch<'a, S> {
        let n_term = self.dims.n_term as usize;
        let words = &self.words[words_of_lanes(self.dims.lanes as usize) + index * word_stride(n_term)..];
        let (head, words) = words.split_at(head::SIZE);
        let [n, side, column, dofs] =
            [head::NODES, head::SIDE, head::COLUMN, head::DOFS].map(|word| head[word] as usize);
        let own = if dofs > 0 { &self.sides[side * side_stride(self.dims.side_dofs as usize)..] } else { &[] };
        let given = &self.given[index * given_stride(n_term)..];
        let axes = std::array::from_fn(|row| std::array::from_fn(|k| given[given::AXES + 3 * row + k]));
        let bias = std::array::from_fn(|row| given[given::BIAS + row]);
        Touch {
            nodes: &words[..n],
            places: &words[n_term..n_term + n * (n + 1) / 2],
            weights: &given[given::WEIGHTS..given::WEIGHTS + n],
            axes,
            bias,
            friction: given[given::FRICTION],
            mass: given[given::MASS],
            side: match own {
                [] => Side { column, mobility: S::lit(0.0), jacobian: [&[]; 3] },
                own => Side {
                    column,
                    mobility: own[tree_side::MOBILITY],
                    jacobian: [0, 1, 2].map(|row| &own[tree_side::JACOBIAN + row * dofs..][..dofs]),
                },
            },
        }
    }
}

/// A contact.
pub(super) struct Touch<'a, S> {
    pub(super) nodes: &'a [u32],
    pub(super) places: &'a [u32],
    pub(super) weights: &'a [S],
    pub(super) axes: [[S; 3]; 3],
    pub(super) bias: [S; 3],
    pub(super) friction: S,
    pub(super) mass: S,
    pub(super) side: Side<'a, S>,
}

/// The side of a tree in a contact; without rows where none takes part.
pub(super) struct Side<'a, S> {
    /// First degree of freedom of the tree among those of the lane's trees.
    pub(super) column: usize,
    pub(super) mobility: S,
    /// By row.
    pub(super) jacobian: [&'a [S]; 3],
}

impl<S: Scalar> Side<'_, S> {
    /// Degrees of freedom of the tree.
    #[inline(always)]
    pub(super) fn n(&self) -> usize {
        self.jacobian[0].len()
    }

    /// A degree of freedom's column of J.
    #[inline(always)]
    pub(super) fn column_of(&self, i: usize) -> [S; 3] {
        self.jacobian.map(|row| row[i])
    }
}

impl<S: Scalar> Touch<'_, S> {
    /// `J x`
    #[inline(always)]
    pub(super) fn relative(&self, x: &[S], lane: Lane) -> [S; 3] {
        let mut moved = [S::lit(0.0); 3];
        for (&node, &weight) in self.nodes.iter().zip(self.weights) {
            for (k, moved) in moved.iter_mut().enumerate() {
                *moved = weight.mul_add(x[lane.at(3 * node as usize + k)], *moved);
            }
        }
        self.axes.map(|axis| axis[2].mul_add(moved[2], axis[1].mul_add(moved[1], axis[0] * moved[0])))
    }

    /// `to += J^T x`
    #[inline(always)]
    pub(super) fn add_pushed(&self, x: [S; 3], lane: Lane, to: &mut [S]) {
        let [t1, t2, n] = self.axes;
        let push: [S; 3] = std::array::from_fn(|k| n[k].mul_add(x[2], t2[k].mul_add(x[1], t1[k] * x[0])));
        for (&node, &weight) in self.nodes.iter().zip(self.weights) {
            for (k, &push) in push.iter().enumerate() {
                let to = &mut to[lane.at(3 * node as usize + k)];
                *to = weight.mul_add(push, *to);
            }
        }
    }

    /// `J x` of the tree's side; `first`: where the lane's trees have x.
    #[inline(always)]
    pub(super) fn tree_relative(&self, x: &[S], first: usize, lane: Lane) -> [S; 3] {
        let mut moved = [S::lit(0.0); 3];
        for i in 0..self.side.n() {
            let own = x[lane.at(first + self.side.column + i)];
            let j = self.side.column_of(i);
            moved = [0, 1, 2].map(|row| j[row].mul_add(own, moved[row]));
        }
        moved
    }

    /// `to += J^T x` of it.
    #[inline(always)]
    pub(super) fn add_tree_pushed(&self, x: [S; 3], first: usize, lane: Lane, to: &mut [S]) {
        for i in 0..self.side.n() {
            let to = &mut to[lane.at(first + self.side.column + i)];
            let j = self.side.column_of(i);
            *to = j[2].mul_add(x[2], j[1].mul_add(x[1], j[0].mul_add(x[0], *to)));
        }
    }
}
