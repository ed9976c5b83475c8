//! A mesh where it stands, as the device reads it.

use bytemuck::{Pod, Zeroable};
use manyworlds_model::Pose;

/// A mesh as the device places it: rows of the matrix to the world, scale, and colour with one of the numbers below behind
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Instance {
    rows: [[f32; 4]; 3],
    scale: [f32; 4],
    colour: [f32; 4],
}

impl Instance {
    pub(crate) fn new(pose: &Pose, scale: [f32; 4], [r, g, b]: [f32; 3], surface: f32) -> Self {
        let matrix = pose.to_homogeneous().cast::<f32>();
        Self { rows: [0, 1, 2].map(|row| matrix.row(row).transpose().into()), scale, colour: [r, g, b, surface] }
    }
}

/// An instance in a tile.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Placement {
    pub(crate) instance: Instance,
    pub(crate) tile: u32,
    pub(crate) what: i32,
}

/// A shape on the device: on which body, and how it stands there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixture {
    pub(crate) body: usize,
    pub(crate) placement: Placement,
}
