//! Collision from outside.

mod abreast;
mod again;
mod broad;
mod closed_forms;
mod common;
mod derivatives;
mod hulls;
mod invariance;
mod resting;
mod sdf;
