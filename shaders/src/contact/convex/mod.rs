//! CANAL (Lee 2024, section V) and SAP (Castro 2022) for batches: Newton steps in the velocities of an island.
//!
//! Both minimise, once (SAP) or again and again (CANAL), the strongly convex
//! `1/2 |v - v_free|_A^2 + sum_i 1/2 |lambda_i(v)|^2` in the metric `diag(1 / beta_i)`, where `lambda_i(v)` is the closed
//! form of the law of constraint i at `lambda* = before_i - beta_i (J_i v + bias_i)`, a contact's the projection on its
//! cone in that metric. Gradient `A (v - v_free) - J^T lambda`; a Newton step is `H d = -gradient`,
//! `H = A + J^T W J`, `W = -d lambda / d(J v)`, symmetric and positive semidefinite, with a dense Cholesky factor within the
//! envelope that the island's trees leave; then the exact zero of the derivative along d (`rtsafe`).
//!
//! - SAP: `beta = 1 / R` (eqs. 29, 30), `before = 0`, `bias_n = -v_hat`; solved by its own norm of the gradient (eq. 26).
//! - CANAL: `before` is the impulse of the last outer iteration, `bias_n` holds the frozen De Saxce shift `mu |z_t + e_t|`;
//!   an outer iteration sets both anew, the shift by mixing the last ones (`mixing.rs`), and raises the penalty where the gap
//!   `|J v - z|` does not close. Solved by number 1 of the residuals.
//!
//! A workgroup owns an island. Two forms differ in nothing but where the matrix lies: of up to [`MOST_GROUP`] degrees of
//! freedom in workgroup memory ([`mod@solve`]), of up to [`MOST_DOFS`] in the island's part of `convex` ([`solve_large`]);
//! a mirror has one workspace a thread for either. A third form ([`solve_iterative`]) never writes the matrix out: larger
//! islands find their directions by conjugate residuals (`conjugate.rs`), as far as a dispatch can hold their loops; what is
//! larger still is left as it is.

mod canal;
mod conjugate;
mod direct;
mod evaluate;
pub mod gather;
mod iterate;
mod law;
pub mod layout;
mod matrix;
mod mixing;
mod newton;
mod sap;
pub mod solve;
pub mod solve_iterative;
pub mod solve_large;
pub mod terms;

pub use iterate::iterate;

/// Degrees of freedom of an island whose matrix fits workgroup memory: packed with its right-hand side, in f64, beside
/// what sums need, within the portable 16 KiB.
pub const MOST_GROUP: usize = 58;
/// Degrees of freedom of an island whose matrix is written out at most: beyond, a dense factor's loops do not fit a dispatch
/// on every adapter.
pub const MOST_DOFS: usize = 192;
/// Trials of a line search at most: Newton needs a few, bisection the rest of a number's bits.
pub const TRIALS: usize = 60;
