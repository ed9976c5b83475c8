//! The gpu stage.
