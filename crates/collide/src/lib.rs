//! The collide stage.
