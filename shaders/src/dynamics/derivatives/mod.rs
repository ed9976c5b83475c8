//! Derivatives of the dynamics of one tree, in the form of the other mirrors: one tile of lanes, slices in and out.
//!
//! Everything is with respect to the tangent space: a step of entry j of the tangent moves the bodies behind dof j by
//! that dof's motion, so that orientations turn by a rotation vector in body axes.

pub mod drift;
pub mod force;
pub mod transport;
pub mod turn;
