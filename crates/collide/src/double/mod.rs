//! The engine in double precision.

use parry3d_f64 as parry;
type Real = f64;

// One source, two precisions: parry3d and parry3d-f64 share no types to be generic over.
#[allow(clippy::duplicate_mod)]
#[path = "../engine/mod.rs"]
mod engine;
