//! Mechanics of bodies that deform: energy, forces and stiffness of their elements, masses of their nodes.
//!
//! A [`SoftSystem`] is a soft body made ready: what its rest shape says once and for all. Its state is the displacement of
//! its free nodes, along the axes of the body that carries it. Everything here is in that body's frame.

mod element;
mod error;
mod law;
mod packed;
mod packs;
mod response;
mod svd;
mod system;
mod tangent;

pub use error::SoftError;
pub use packed::{Blocks, SoftLayout};
pub use system::{SoftParams, SoftSystem};
pub use tangent::Tangent;
