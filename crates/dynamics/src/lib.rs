//! The dynamics stage.
