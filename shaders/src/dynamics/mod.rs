//! The dynamics of one kinematic tree: a lane per tree, whole tiles of lanes side by side.
//!
//! Spatial vectors are (angular, linear) in world axes, taken at the tree's reference point c, the position of its
//! first body. At the instant of the step c stands for a point fixed in the world, as in MuJoCo's `cdof` and `cvel`.

pub mod tree;
