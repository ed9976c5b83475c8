//! [`super::tree_pgs`] by workgroups, for hardware: a lane's rows lie side by side, its invocations go through them together, and
//! what rounds read and write again and again is held in workgroup memory.
//!
//! An invocation that has a lane to itself walks global memory, and waits for it at every step: for 4,096 ants on an NVIDIA
//! H100 (f32, 26 November 2026) that took 4.9 ms a step, a workgroup each takes 1.7. Software adapters have no such waits, and a
//! workgroup that agrees on each contact of a sweep does the same work in every element of their vectors: there an invocation
//! a lane is three to nine times as fast.
//!
//! Buffers are those of [`super::tree_pgs`], with another layout of the workspace. One dispatch does all of a solve.

pub use super::tree_pgs::{Dims, mirror};
