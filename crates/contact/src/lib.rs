//! The contact stage.
