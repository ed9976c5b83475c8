//! Sparse matrices of a subsystem's degrees of freedom, and the factorization of those that are symmetric and positive
//! definite.
//!
//! A body that deforms has thousands of degrees of freedom, each coupled to a few others. Its matrices are
//! [`SparseMatrix`]; the one that has to be solved with is factored ([`Factor`]) in an order that fills little
//! ([`Ordering`], found once for a pattern). The degrees of freedom that contacts touch can be eliminated last: what is
//! then left of the matrix, [`Factor::reduced`], is all that contacts see of the body.

mod dense;
mod factor;
mod iterated;
mod matrix;
mod operator;
mod plan;
mod product;
mod pseudo;
mod symbolic;

pub use factor::{Factor, FactorWork, NotPositive};
pub use iterated::{Added, Iterated, Until};
pub use matrix::SparseMatrix;
pub use operator::SparseOperator;
pub use plan::BlockPlan;
pub use pseudo::pseudo_inverse;
pub use symbolic::{Ordering, Symbolic};
