//! One contact problem, as every solver sees it: no bodies, no joints, no geometry.
//!
//! Find `v`, `lambda` with `A v = b + J^T lambda` and, for every constraint with `sigma^ = J v + e`, its [`Law`].
//! `A` is block diagonal over subsystems, each an [`Operator`]; a constraint touches some subsystems through its *sides*.
//! Everything is flat; offsets into the lists stand in the records.
//!
//! A tree's block of `A` is dense. A body that deforms has thousands of degrees of freedom, its block is sparse and a side
//! names the few that it touches; solvers take such a problem [`condensed`](ContactProblem::condensed) to what is touched.

mod block;
mod build;
mod check;
mod complete;
mod condense;
mod error;
mod file;
mod input;
mod operator;
mod short;
mod steps;

use std::ops::Range;

use manyworlds_collide::organise::{Island, Plan};
use manyworlds_sparse::SparseOperator;

pub use build::ProblemBuilder;
pub use condense::Condensed;
pub use error::ProblemError;
pub use file::{read, write, write_rounded};
pub use input::{ConstraintInput, ProblemInput, SideInput};
pub use operator::Operator;
pub use short::DIGITS;
pub use steps::{Place, Steps};

use crate::dense::{add_three_times, add_times, dot};

/// What a constraint demands of its impulse `lambda` and biased velocity `sigma^ = J v + e` (Lee 2024, eqs. 14-18).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Signorini-Coulomb contact, rows (t1, t2, n): `0 <= lambda_n _|_ sigma^_n >= 0`, `|lambda_t| <= mu lambda_n`,
    /// `lambda_t` opposing `sigma^_t` when slipping.
    Contact {
        /// Coulomb friction coefficient.
        mu: f64,
    },
    /// Three bilateral rows solved as one: `sigma^ = 0`.
    Block,
    /// One row, `sigma^ = 0`.
    Bilateral,
    /// One row, `0 <= lambda _|_ sigma^ >= 0`.
    Unilateral,
    /// One row, `lambda = -k e - b J v` clamped to `[lo, hi]`: a spring-damper, force-limited where the bounds are finite.
    Soft {
        /// `h^2` times the stiffness.
        k: f64,
        /// `h^2` times the stiffness plus `h` times the damping.
        b: f64,
        /// Smallest impulse, N s.
        lo: f64,
        /// Largest impulse, N s.
        hi: f64,
    },
    /// One row, `sigma^ = 0` as far as `lo <= lambda <= hi` allows: dry friction, motor limits.
    Box {
        /// Smallest impulse, N s.
        lo: f64,
        /// Largest impulse, N s.
        hi: f64,
    },
}

impl Law {
    /// Number of rows: 3 or 1.
    #[must_use]
    pub fn rows(self) -> usize {
        match self {
            Self::Contact { .. } | Self::Block => 3,
            _ => 1,
        }
    }

    /// The rows whose bias is a speed that they ask for.
    #[must_use]
    pub fn requests(self) -> Range<usize> {
        match self {
            Self::Contact { .. } => 2..3,
            Self::Block => 0..3,
            Self::Bilateral | Self::Unilateral => 0..1,
            Self::Soft { .. } | Self::Box { .. } => 0..0,
        }
    }

    /// The speed that a bias asks such a row for, m/s: contacts and limits ask for nothing but to separate.
    #[must_use]
    pub fn request(self, e: f64) -> f64 {
        match self {
            Self::Block | Self::Bilateral => -e,
            _ => (-e).max(0.0),
        }
    }
}

/// How a contact gives way, for the solvers of compliant contact; those of exact contact hold it rigid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compliance {
    /// Normal regularisation `R_n = 1 / (h k (h + tau_d))`, 1/kg, with stiffness k in N/m and dissipation time `tau_d` in s
    /// (Castro 2022, eq. 29).
    pub r_n: f64,
    /// Normal velocity at which it carries nothing, `v_hat = -phi / (h + tau_d)`, m/s.
    pub v_hat: f64,
}

/// Degrees of freedom that move together: one kinematic tree, one particle, or one body that deforms.
#[derive(Debug, Clone, PartialEq)]
pub struct Subsystem {
    /// First entry in the velocity.
    pub begin: usize,
    /// Number of entries.
    pub count: usize,
    /// Its block of `A`.
    pub operator: Operator,
}

/// A constraint: its law, bias and ranges of the flat lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    /// What it demands.
    pub law: Law,
    /// Bias `e`, m/s; rows beyond those of the law are zero.
    pub e: [f64; 3],
    /// How it gives way; contacts only.
    pub compliance: Option<Compliance>,
    /// Impulse up to which the speed that its bias asks for is pursued, N s: see [`Steps`]. Infinite where it is to be met
    /// whatever that takes, which is what all laws demand.
    pub cap: f64,
    /// First entry in `lambda`.
    pub row: usize,
    /// Its sides: one per subsystem that it touches.
    pub sides: Range<usize>,
    /// Its parts: a finer splitting of the sides by body, empty when the problem does not say.
    pub parts: Range<usize>,
    /// Own block of the Delassus operator, `G_ii = sum J A^-1 J^T`: 00 01 02 11 12 22; one row: the first.
    pub delassus: [f64; 6],
}

impl Constraint {
    /// Effective mass, kg: the inverse mean of the diagonal of `G_ii`; 0 where nothing moves the constraint.
    #[must_use]
    pub(crate) fn mass(&self) -> f64 {
        let g = &self.delassus;
        let mass = if self.law.rows() == 3 { 3.0 / (g[0] + g[3] + g[5]) } else { 1.0 / g[0] };
        if mass.is_finite() { mass } else { 0.0 }
    }
}

/// A constraint's share of one subsystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The subsystem.
    pub subsystem: usize,
    /// Where its rows begin in [`ContactProblem::jacobian`] and [`ContactProblem::response`]: `[rows, columns]`.
    pub offset: usize,
    /// Of a sparse subsystem: which degrees of freedom its columns are, a range of [`ContactProblem::touched`]. Otherwise
    /// empty, and a column each.
    pub dofs: Range<usize>,
}

/// A constraint's share of one body of a subsystem; the parts of one subsystem add up to its side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The subsystem.
    pub subsystem: usize,
    /// The body, numbered within the subsystem.
    pub body: Option<usize>,
    /// Where its rows begin in [`ContactProblem::part_jacobian`]: `[rows, columns]`.
    pub offset: usize,
    /// As those of [`Side`].
    pub dofs: Range<usize>,
}

/// The problem, validated. Contacts and blocks come first in `constraints`, then single rows; `lambda` lists their rows
/// in that order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContactProblem {
    /// Degrees of freedom.
    pub n_v: usize,
    /// Length of `lambda`.
    pub n_rows: usize,
    /// How many constraints are contacts.
    pub n_contacts: usize,
    /// Subsystems; their entries partition the velocity.
    pub subsystems: Vec<Subsystem>,
    /// Momentum matrix `A` by dense subsystem, row-major blocks, SPD.
    pub a: Vec<f64>,
    /// Lower Cholesky factors of the blocks of `a`; what stands above their diagonals is no part of them.
    pub factor: Vec<f64>,
    /// Those of sparse subsystems.
    pub sparse: Vec<SparseOperator>,
    /// Right-hand side, `[n_v]`.
    pub b: Vec<f64>,
    /// `A^-1 b`, `[n_v]`.
    pub v_free: Vec<f64>,
    /// Parent degree of freedom within the tree, -1 at a root; empty when the problem does not say.
    pub parent: Vec<i64>,
    /// Constraints, three-row ones first.
    pub constraints: Vec<Constraint>,
    /// Sides by constraint.
    pub sides: Vec<Side>,
    /// `J` by side, `[rows, columns]`.
    pub jacobian: Vec<f64>,
    /// `Y^T = (A^-1 J^T)^T` by side, `[rows, count]`: an impulse changes the velocity by `Y lambda`.
    /// Empty in a problem for a solver that does without, or that has a sparse subsystem.
    pub response: Vec<f64>,
    /// Degrees of freedom that sides and parts of sparse subsystems touch, numbered within the subsystem, ascending by side.
    pub touched: Vec<u32>,
    /// Parts by constraint.
    pub parts: Vec<Part>,
    /// `J` by part, `[rows, columns]`.
    pub part_jacobian: Vec<f64>,
    /// Impulses to start from, `[n_rows]`; zeros when there are none.
    pub warm_start: Vec<f64>,
    /// Velocity to start from, `[n_v]`, for solvers that look for velocities; empty: that of `warm_start`.
    pub v_start: Vec<f64>,
    /// Islands, colours and packing order of the constraints; subsystems without a constraint are in no island.
    pub plan: Plan,
}

impl ContactProblem {
    /// Velocity range of a side's subsystem.
    #[must_use]
    pub fn span(&self, side: &Side) -> Range<usize> {
        let s = &self.subsystems[side.subsystem];
        s.begin..s.begin + s.count
    }

    /// The degrees of freedom of a sparse side's columns, numbered within its subsystem; `None` where each has a column.
    #[must_use]
    pub fn touched_by(&self, subsystem: usize, dofs: &Range<usize>) -> Option<&[u32]> {
        match self.subsystems[subsystem].operator {
            Operator::Dense { .. } => None,
            Operator::Sparse { .. } => Some(&self.touched[dofs.clone()]),
        }
    }

    /// `J_i v`, rows beyond those of the law zero.
    #[must_use]
    pub fn sigma(&self, constraint: &Constraint, v: &[f64]) -> [f64; 3] {
        let mut sigma = [0.0; 3];
        for side in &self.sides[constraint.sides.clone()] {
            let own = &v[self.span(side)];
            let sigma = sigma.iter_mut().enumerate().take(constraint.law.rows());
            if let Some(dofs) = self.touched_by(side.subsystem, &side.dofs) {
                for (r, out) in sigma {
                    let row = &self.jacobian[side.offset + r * dofs.len()..][..dofs.len()];
                    *out += row.iter().zip(dofs).map(|(j, &dof)| j * own[dof as usize]).sum::<f64>();
                }
                continue;
            }
            for (r, out) in sigma {
                let row = &self.jacobian[side.offset + r * own.len()..][..own.len()];
                *out += dot(row, own);
            }
        }
        sigma
    }

    /// `A^-1 (b + J^T lambda)`: the velocity that impulses give, `[n_v]`.
    #[must_use]
    pub fn velocity(&self, lambda: &[f64]) -> Vec<f64> {
        if !self.response.is_empty() {
            let mut v = self.v_free.clone();
            self.constraints.iter().for_each(|c| self.push(c, lambda, &mut v));
            return v;
        }
        let mut v = self.generalized_impulse(lambda);
        v.iter_mut().zip(&self.b).for_each(|(v, b)| *v += b);
        self.subsystems.iter().for_each(|s| self.solve(s, &mut v[s.begin..s.begin + s.count]));
        v
    }

    /// `A x = x` of one subsystem, `[count]`.
    pub fn solve(&self, s: &Subsystem, x: &mut [f64]) {
        match s.operator {
            Operator::Dense { block } => block::solve(s.count, &self.factor[block..], x),
            Operator::Sparse { index } => self.sparse[index].factor().solve(x),
        }
    }

    /// The dense block of a subsystem of `A`, row-major; empty where it is sparse.
    #[must_use]
    pub fn block(&self, s: &Subsystem) -> &[f64] {
        match s.operator {
            Operator::Dense { block } => &self.a[block..block + s.count * s.count],
            Operator::Sparse { .. } => &[],
        }
    }

    /// An entry of the diagonal of a subsystem's block of `A`.
    pub(crate) fn diagonal(&self, s: &Subsystem, i: usize) -> f64 {
        match s.operator {
            Operator::Dense { block } => self.a[block + i * (s.count + 1)],
            Operator::Sparse { index } => self.sparse[index].matrix().get(i, i).unwrap_or_default(),
        }
    }

    /// The velocity that impulses, `[n_rows]`, give to what is in an island, in a problem with responses; `v` is `[n_v]`.
    pub(crate) fn island_velocity(&self, island: &Island, lambda: &[f64], v: &mut [f64]) {
        for &s in self.plan.members_of(island) {
            let s = &self.subsystems[s as usize];
            let own = s.begin..s.begin + s.count;
            v[own.clone()].copy_from_slice(&self.v_free[own]);
        }
        for &i in self.plan.constraints_of(island) {
            self.push(&self.constraints[i as usize], lambda, v);
        }
    }

    /// `v += A^-1 J_i^T lambda_i`, in a problem with responses.
    pub(crate) fn push(&self, c: &Constraint, lambda: &[f64], v: &mut [f64]) {
        let own = &lambda[c.row..c.row + c.law.rows()];
        // Many contacts are open.
        if own.iter().all(|&x| x == 0.0) {
            return;
        }
        for side in &self.sides[c.sides.clone()] {
            let span = self.span(side);
            let rows = &self.response[side.offset..][..own.len() * span.len()];
            match *own {
                [a, b, c] => add_three_times(&mut v[span], [a, b, c], rows),
                _ => add_times(&mut v[span], own[0], rows),
            }
        }
    }

    /// `A v`, `[n_v]`.
    #[must_use]
    pub fn momentum(&self, v: &[f64]) -> Vec<f64> {
        let mut p = vec![0.0; self.n_v];
        for s in &self.subsystems {
            let (own, p) = (&v[s.begin..s.begin + s.count], &mut p[s.begin..s.begin + s.count]);
            match s.operator {
                Operator::Dense { block } => {
                    let rows = self.a[block..].chunks_exact(s.count.max(1));
                    p.iter_mut().zip(rows).for_each(|(p, row)| *p = dot(row, own));
                }
                Operator::Sparse { index } => self.sparse[index].matrix().add_times(own, p),
            }
        }
        p
    }

    /// `J^T lambda`, `[n_v]`.
    #[must_use]
    pub fn generalized_impulse(&self, lambda: &[f64]) -> Vec<f64> {
        let mut j = vec![0.0; self.n_v];
        for c in &self.constraints {
            for side in &self.sides[c.sides.clone()] {
                let own = &mut j[self.span(side)];
                let lambda = &lambda[c.row..];
                if let Some(dofs) = self.touched_by(side.subsystem, &side.dofs) {
                    let rows = &self.jacobian[side.offset..][..c.law.rows() * dofs.len()];
                    rows.chunks_exact(dofs.len().max(1)).zip(lambda).for_each(|(row, x)| {
                        dofs.iter().zip(row).for_each(|(&dof, j)| own[dof as usize] += j * x);
                    });
                    continue;
                }
                let rows = &self.jacobian[side.offset..][..c.law.rows() * own.len()];
                // Of a free body the compiler is to know the length.
                match own.as_chunks_mut::<FREE>() {
                    ([own], []) => add_rows(rows.as_chunks::<FREE>().0, lambda, own),
                    _ => rows.chunks_exact(own.len().max(1)).zip(lambda).for_each(|(row, x)| {
                        own.iter_mut().zip(row).for_each(|(own, j)| *own += j * x);
                    }),
                }
            }
        }
        j
    }
}

/// Degrees of freedom of a free body: most sides of a pile are of such.
const FREE: usize = 6;

/// `own += rows^T lambda`.
fn add_rows(rows: &[[f64; FREE]], lambda: &[f64], own: &mut [f64; FREE]) {
    for (row, x) in rows.iter().zip(lambda) {
        (0..FREE).for_each(|k| own[k] += row[k] * x);
    }
}
