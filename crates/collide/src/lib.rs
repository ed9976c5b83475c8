//! The collide stage.

pub mod organise;
