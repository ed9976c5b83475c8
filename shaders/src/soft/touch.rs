//! Contacts of a body that deforms with what stands, or moves by itself, as its kernels have them: as many a lane as there are.
//!
//! A contact's point moves with weighted nodes, `J v = axes sum_i w_i v_i` in (t1, t2, n), so that `J^T x` is `axes^T x` shared out
//! among the nodes, and `J^T W J` one block shared out among their pairs.
//!
//! `touch_words`: the first contact of each lane, `[lanes + 1]`; then for each contact how many nodes it has; the nodes, in the order
//! of elimination; the blocks of the matrix between them, `(0,0) (1,0) (1,1) ..`, with room for `n_term` nodes. `touches` has three
//! parts: what is given of each contact ([`given`]), `[n_touch, given::WEIGHTS + n_term]`; impulses, those to start from
//! and those found, `[n_touch, 3]`; and what rounds hand on ([`work`]).
//!
//! A round is a step of Newton's method on balance and laws at once: with T the strict map, P its derivative and
//! `E = 1 + eps - P`, `(A + J^T W J) dv = J^T (lambda + E^-1 (T - lambda)) - r`, `W = E^-1 rho P`, and
//! `d lambda = E^-1 (T - lambda) - W J dv`. Where a contact slides, W is not symmetric: friction grows with the normal impulse. That
//! part is of rank one a contact, and [`super::slide`] puts it on top of the symmetric rest, which [`super::balance`] adds to A.

use crate::dynamics::names::status;
use crate::real::Scalar;
use crate::soft::body::SoftDims;

/// Offsets in what is given of a contact, in reals.
pub mod given {
    /// Axes (t1, t2, n) in the axes of the displacements, row by row; against them where the body is the first of the two.
    pub const AXES: usize = 0;
    /// Bias, m/s, 3.
    pub const BIAS: usize = 9;
    /// Friction coefficient.
    pub const FRICTION: usize = 12;
    /// `3 / trace(J m^-1 J^T)`, m the masses of nodes, kg.
    pub const MASS: usize = 13;
    /// Weights of the nodes.
    pub const WEIGHTS: usize = 14;
}

/// Offsets in what rounds hand on of a contact, in reals.
pub mod work {
    /// `rho = 3 / trace(J diag(A)^-1 J^T)` of the first round, kg.
    pub const RHO: usize = 0;
    /// W: 00, 01, 11 of the tangents, 02 and 12 of tangents by the normal, 22.
    pub const SLOPE: usize = 1;
    /// `E^-1 (T - lambda)`, N s.
    pub const PUSH: usize = 7;
    /// Reals.
    pub const SIZE: usize = 10;
}

/// Words of a contact of up to so many nodes.
#[inline(always)]
#[must_use]
pub const fn word_stride(n_term: usize) -> usize {
    1 + n_term + n_term * (n_term + 1) / 2
}

/// Reals that are given of one.
#[inline(always)]
#[must_use]
pub const fn given_stride(n_term: usize) -> usize {
    given::WEIGHTS + n_term
}

/// Reals of `touches` in front of the impulses, in front of what rounds hand on, and in all.
#[inline(always)]
#[must_use]
pub const fn parts(n_touch: usize, n_term: usize) -> [usize; 3] {
    let given = n_touch * given_stride(n_term);
    [given, given + 3 * n_touch, given + (3 + work::SIZE) * n_touch]
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
}

impl<'a, S: Scalar> Touches<'a, S> {
    /// Of the two buffers.
    #[must_use]
    pub fn new(dims: SoftDims, words: &'a [u32], touches: &'a mut [S]) -> Self {
        let [given, found, all] = parts(dims.n_touch as usize, dims.n_term as usize);
        let (rest, work) = touches[..all].split_at_mut(found);
        let (given, found) = rest.split_at_mut(given);
        Self { dims, words, given, found: found.as_chunks_mut().0, work: work.as_chunks_mut().0 }
    }

    /// Contacts of a lane.
    #[inline(always)]
    fn of(&self, lane: usize) -> std::ops::Range<usize> {
        self.words[lane] as usize..self.words[lane + 1] as usize
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
        let words = &self.words[self.dims.lanes as usize + 1 + index * word_stride(n_term)..];
        let (n, words) = (words[0] as usize, &words[1..]);
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
}
