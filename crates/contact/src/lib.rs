//! The contact stage.

pub mod pgs;
