//! The numbers of a batch where they lie: slices on the CPU, buffers on a GPU, without a copy.

use std::ops::Range;

use manyworlds_shaders::index::tile_at;

use crate::wgpu;

/// What can be viewed, a lane per tree of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// q, v, ctrl, tau, one after the other.
    State,
    /// Per body: position and quaternion (w, x, y, z), world frame. Of the state that the last step ended with.
    Pose,
    /// Per body: angular and linear velocity in world axes at the tree's first body, before the last step.
    Twist,
    /// Certificate of the last step by kernels, of its impulses as they are stored: residual, scaled residual, sweeps,
    /// Newton steps, deepest penetration, contacts, rows that could act, the residual the solver stopped at; then the
    /// certificate's velocity `[n_v]`.
    Info,
}

/// A field of one tree set in one run of worlds.
///
/// Element `e` of `lane` is number `(lane / tile * elements + e) * tile + lane % tile`; the `i`-th of a world's
/// `trees` in this set has lane `(world - worlds.start) * trees.len() + i`.
#[derive(Debug)]
pub struct View<'a> {
    /// Worlds of the batch that it holds.
    pub worlds: Range<usize>,
    /// Trees of the model in this set, in lane order.
    pub trees: &'a [usize],
    /// Lanes side by side.
    pub tile: usize,
    /// Numbers of a lane.
    pub elements: usize,
    /// The numbers.
    pub numbers: Numbers<'a>,
}

/// Where the numbers of a view lie.
#[derive(Debug)]
pub enum Numbers<'a> {
    /// In main memory.
    F32(&'a [f32]),
    /// In main memory.
    F64(&'a [f64]),
    /// On the device: `f32` or `f64` as the batch's precision is.
    Device(&'a wgpu::Buffer),
}

impl View<'_> {
    /// One number; `None` on a device, and for a lane or element that is not there.
    #[must_use]
    pub fn get(&self, lane: usize, element: usize) -> Option<f64> {
        if lane >= self.worlds.len() * self.trees.len() || element >= self.elements {
            return None;
        }
        let index = tile_at(self.tile, lane, self.elements, element);
        match self.numbers {
            Numbers::F32(numbers) => numbers.get(index).map(|&x| x.into()),
            Numbers::F64(numbers) => numbers.get(index).copied(),
            Numbers::Device(_) => None,
        }
    }
}
