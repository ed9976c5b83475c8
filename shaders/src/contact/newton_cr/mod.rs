//! Non-smooth Newton with conjugate residuals (Macklin 2019) for batches, matrix-free, a workgroup an island.
//!
//! Problem, on impulses at the velocity level: `v = v_free + Y lambda`, `Y = A^-1 J^T`; for normal impulses and hard
//! unilateral rows `phi(sigma^, r lambda) = 0`, phi the minimum map or Fischer-Burmeister; for friction the fixed point
//! `sigma^_t + W lambda_t = 0` (eqs. 31-36); other rows as they are. Optimality: the NCP.
//!
//! A Newton step is `(G + C) dlambda = rhs` on the rows that are not fixed, `G = J Y`, C diagonal: each row divided by the
//! derivative of phi with respect to `sigma^`, so that it is Newton's own step and symmetric (`rows`). It is solved by
//! conjugate residuals with a diagonal preconditioner (`residual`); `G x` by two passes, over degrees of freedom and over
//! constraints, never written out. Three quarters of a step are taken, all of it after one that halved the residual.
//!
//! Where contacts slide, friction as a fixed point makes the iteration cycle; an island keeps the best impulses it has met,
//! and [`super::island_newton`], Newton steps on the strict map, goes on from them.

pub mod layout;
mod ncp;
mod residual;
mod rows;
pub mod solve;

/// Iterations of the linear solver that a Newton step is worth making with, at least: an island whose passes leave no room
/// for so many in a dispatch is left as it is.
pub const LEAST_LINEAR: u32 = 50;
