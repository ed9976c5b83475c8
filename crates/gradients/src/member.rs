//! A tree of an island with its velocities before and after the step.

use std::cell::OnceCell;
use std::ops::Range;

use manyworlds_shaders::dynamics::derivatives::transport::transport;
use manyworlds_shaders::dynamics::tree::{SPATIAL, param};
use nalgebra::Vector3;

use crate::grid::Grid;
use crate::placed::Placed;
use crate::pool::Pooled;
use crate::tree::{Forward, TreeInput};

/// A body that moves: tree of the world, body of the tree.
pub type BodyOfTree = (usize, usize);

/// Twists and psi of a tree for some joint velocities.
#[derive(Default)]
pub(crate) struct Motion {
    /// `[n_body][6]`
    pub(crate) twist: Pooled,
    /// `[n_v][6]`
    pub(crate) psi: Pooled,
}

impl Motion {
    pub(crate) fn new(placed: &Placed, velocity: &[f64]) -> Self {
        let mut twist = Pooled::zeros(SPATIAL * placed.tree.bodies.len());
        let mut psi = Pooled::zeros(SPATIAL * placed.n_v());
        transport(&placed.tree, &placed.motion, velocity, &mut twist, &mut psi);
        Self { twist, psi }
    }
}

/// A tree of an island with its velocities.
pub(crate) struct Member<'a> {
    pub(crate) forward: Forward<'a>,
    /// First dof and first control in the island.
    pub(crate) at: [usize; 2],
    /// v+
    pub(crate) after: Pooled,
    /// [`Member::inverse`], once it was asked for.
    pub(crate) inverse: OnceCell<Grid>,
    /// Of v+.
    pub(crate) motion: Motion,
    /// Of the velocity before; empty where nothing asks for it, as what bounces does.
    pub(crate) before: Motion,
    /// Impulses on bodies at c, fixed in the world, `[n_body][6]`.
    pub(crate) fixed: Pooled,
}

impl<'a> Member<'a> {
    /// At the start of the step; v+ is known once all impulses are. `at`: its first dof and control in the island; `bounces`:
    /// something of the island might.
    pub(crate) fn new(input: &TreeInput<'a>, at: [usize; 2], single: bool, bounces: bool) -> Self {
        let forward = Forward::new(input, single);
        let before = if bounces { Motion::new(&forward, forward.v()) } else { Motion::default() };
        let fixed = Pooled::zeros(SPATIAL * forward.tree.bodies.len());
        let (motion, after) = (Motion::default(), Pooled::default());
        Self { forward, at, after, inverse: OnceCell::new(), motion, before, fixed }
    }

    /// Its dofs in the island.
    pub(crate) fn dofs(&self) -> Range<usize> {
        self.at[0]..self.at[0] + self.forward.n_v()
    }

    /// Its controls in the island, and behind them its activations.
    pub(crate) fn controls(&self) -> Range<usize> {
        self.at[1]..self.at[1] + (self.forward.tree.dims.n_u + self.forward.tree.dims.n_act) as usize
    }

    /// `A^-1`
    pub(crate) fn inverse(&self) -> &Grid {
        self.inverse.get_or_init(|| self.forward.inverse())
    }
}

pub(crate) fn vector(s: &[f64], at: usize) -> Vector3<f64> {
    Vector3::new(s[at], s[at + 1], s[at + 2])
}

/// Settings of constraints in a tree's parameters: 1/h, fraction, largest speed.
pub(crate) fn settings(forward: &Forward) -> [f64; 3] {
    let p = forward.params;
    [1.0 / p[param::TIMESTEP], p[param::CORRECTION_FRACTION], p[param::CORRECTION_MAX]]
}
