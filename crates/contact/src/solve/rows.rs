//! The numbers of one constraint in the arithmetic of a solve.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::UNBOUNDED;

/// Three rows of a constraint; those beyond its law's are zero.
pub(super) type Rows<T> = [T; 3];
/// A block of a constraint, row by row.
pub(super) type Block<T> = [[T; 3]; 3];

/// A number of the problem in this arithmetic; infinite bounds become large ones.
pub(super) fn cast<T: Scalar>(x: f64) -> T {
    T::from_f64(x.clamp(-UNBOUNDED, UNBOUNDED))
}
