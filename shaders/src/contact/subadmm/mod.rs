//! SubADMM for batches (Lee 2024, section VI, algorithm 2): the alternating direction method of multipliers, split at
//! subsystems (trees) and at bodies.
//!
//! Problem: `A v = b + J^T lambda` with the law of every constraint on `sigma^ = J v + e`. Unknown here is
//! `d = v - v_free`, so that `A d = J^T lambda`. A constraint i has a *slack* `z_is = J_is d` for every chain of dofs that
//! it acts on (eqs. 30, 31): one for each body, so that no product of two slacks' columns falls outside the branches of a
//! tree. One iteration, with penalties `beta_i`, `u = -lambda`:
//!
//! 1. every tree: `(A + sum beta J^T J) d = sum J^T (beta z + lambda)`, by the branch-sparse factor of the left side;
//! 2. every constraint (eqs. 40, 41): `y_s = beta z~_s - lambda` with the over-relaxed `z~ = a J d + (1 - a) z`;
//!    `lambda` by the closed form of its law from `sum y_s`; `z_s = (y_s + lambda) / beta`.
//!
//! Fixed point, and so optimality: `J d = z` and `A d = J^T lambda`. Every few iterations the velocity that the impulses
//! alone give is measured against all laws, which decides whether an island is solved; and now and then the penalty of each
//! constraint is adapted where its own primal and dual residual are out of balance, which refactors the trees.
//!
//! Departures from the paper: each constraint has a penalty of its own, its effective mass to begin with; iterates are
//! over-relaxed; and an island stops by the residual that is certified.
//!
//! Two forms share the functions of `trees`, `laws` and `verdict`: *fused*, an island a workgroup, its iterations in as few
//! dispatches as loops are allowed to be long, for islands of up to [`FUSED_MOST`] constraints (on the CPU of any size); and
//! *wide*, lanes over the trees and over the constraints of all larger islands, a dispatch a half-iteration.

pub mod factor;
pub mod fused;
pub mod gather;
pub mod judge;
mod laws;
pub mod layout;
pub mod measure;
pub mod project;
pub mod solve;
mod trees;
pub mod velocity;
mod verdict;

/// Constraints of an island that one workgroup solves, at most.
pub const FUSED_MOST: u32 = 256;
/// Iterations between two looks at the residuals.
pub const CHECK_EVERY: u32 = 5;
