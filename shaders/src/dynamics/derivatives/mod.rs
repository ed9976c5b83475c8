//! Derivatives of the dynamics of one tree: kernels, and what they and the host share.
//!
//! Everything is with respect to the tangent space: a step of entry j of the tangent moves the bodies behind dof j by
//! that dof's motion, so that orientations turn by a rotation vector in body axes.
//!
//! [`effort`], then [`force`], make the derivative of the momentum balance with v+ and the impulses held. [`layout`] says where
//! the numbers lie.

pub mod drift;
pub mod effort;
pub mod force;
pub mod layout;
pub mod product;
mod recursion;
pub mod transport;
pub mod turn;
