//! The Jacobian of a step of trees that are islands by themselves, a lane per tree: kernels, and what they and the host share.
//!
//! The mathematics is that of `manyworlds-gradients`: `A dv+ = dF + J^T R x`, `B x = -L (J A^-1 dF + ds)`. The kernels of
//! [`crate::dynamics::derivatives`] make dF. Around them, in the order in which they run: [`acting`], the impulses on bodies
//! that dF holds, and twists; [`sides`], what the two bodies of a contact do to it; [`shifts`] and [`row_shifts`], ds; [`wrenches`],
//! what moving impulses add to dF; [`system`], the modes and the factor of B; [`mobility`], dv+ by what forces add; and
//! [`answer`], dv+ by q, v and ctrl. For products with the transpose [`adjoint`], [`follow`], [`momentum`] and [`back`]
//! stand in the place of [`wrenches`], of the last two, and of the derivatives of the inverse dynamics.
//! [`layout`] says where the numbers lie.

pub mod acting;
pub mod adjoint;
pub mod answer;
pub mod back;
mod check;
mod eliminate;
pub mod follow;
mod force;
pub mod kink;
pub mod layout;
pub mod mobility;
mod modes;
pub mod momentum;
pub mod row_shifts;
pub mod shifts;
mod sided;
pub mod sides;
mod substitute;
pub mod system;
mod weigh;
pub mod wrenches;
