//! The engine in single precision.

use parry3d as parry;
type Real = f32;

// One source, two precisions: parry3d and parry3d-f64 share no types to be generic over.
#[allow(clippy::duplicate_mod)]
#[path = "../engine/mod.rs"]
mod engine;
