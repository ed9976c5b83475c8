//! Bodies that deform, in a step: subsystems whose matrices are sparse, touched at points of their surface.

use std::ops::Range;

use manyworlds_shaders::dynamics::tree::param;
use manyworlds_sparse::{SparseMatrix, SparseOperator};
use nalgebra::Vector3;

use crate::bias::closed_below;
use crate::contact::ContactInput;
use crate::tree::Forward;

/// A body that deforms: what its step was, `A v+ = b + J^T lambda`, `q+ = q + h v+`.
#[derive(Debug, Clone, Copy)]
pub struct SparseInput<'a> {
    /// A, symmetric, with its factor; what the step's contacts touch is what it calls touched.
    pub operator: &'a SparseOperator,
    /// b, `[n_v]`.
    pub b: &'a [f64],
    /// `d(b - A v+)/dq` with v+ held.
    pub by_q: &'a SparseMatrix,
    /// `db/dv`
    pub by_v: &'a SparseMatrix,
    /// `db` by each of its controls.
    pub by_ctrl: &'a [Vec<f64>],
    /// These, by their numbers in the world.
    pub controls: &'a [usize],
    /// Velocity before the step, `[n_v]`.
    pub v: &'a [f64],
    /// What its contacts with things that do not move go by.
    pub settings: ContactSettings,
}

/// What contacts go by in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactSettings {
    /// Time step, s.
    pub timestep: f64,
    /// Share of a penetration that a step undoes.
    pub correction: f64,
    /// Largest speed of that, m/s.
    pub largest_correction: f64,
    /// Slowest approach that bounces, m/s.
    pub restitution_threshold: f64,
}

/// A point of a body that deforms: it moves as the weighted sum of some nodes does. The weights stay while the nodes move:
/// the point is one of the material.
#[derive(Debug, Clone, PartialEq)]
pub struct PointInput {
    /// Which body, by its number in [`StepInput::sparse`](crate::StepInput::sparse).
    pub body: usize,
    /// First degree of freedom of each node in its body, and its weight; no node twice.
    pub nodes: Vec<(usize, f64)>,
}

impl ContactSettings {
    pub(crate) fn of(forward: &Forward) -> Self {
        let p = forward.params;
        Self {
            timestep: forward.h(),
            correction: p[param::CORRECTION_FRACTION],
            largest_correction: p[param::CORRECTION_MAX],
            restitution_threshold: p[param::RESTITUTION_THRESHOLD],
        }
    }

    /// 1/h, fraction, largest speed.
    pub(crate) fn correction(&self) -> [f64; 3] {
        [1.0 / self.timestep, self.correction, self.largest_correction]
    }
}

/// A body that deforms, as a part of an island.
pub(crate) struct Deformable<'a> {
    pub(crate) input: SparseInput<'a>,
    /// Its number in the world.
    pub(crate) number: usize,
    /// First dof and first control in the island.
    pub(crate) at: [usize; 2],
    /// `b + J^T lambda`, then v+.
    pub(crate) after: Vec<f64>,
    /// Gaps that a step would close at less than this are closed, m/s.
    pub(crate) closed: f64,
}

/// A node at a contact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// Which of the contact's two sides it is of.
    pub(crate) side: usize,
    /// First dof in the island.
    pub(crate) first: usize,
    /// What of its motion the contact's point has.
    pub(crate) weight: f64,
    /// After the step and before it, m/s.
    pub(crate) velocity: [Vector3<f64>; 2],
}

impl<'a> Deformable<'a> {
    pub(crate) fn new(input: SparseInput<'a>, number: usize, at: [usize; 2], single: bool) -> Self {
        Self { input, number, at, after: input.b.to_vec(), closed: closed_below(single) }
    }

    pub(crate) fn n_v(&self) -> usize {
        self.input.b.len()
    }

    pub(crate) fn h(&self) -> f64 {
        self.input.settings.timestep
    }

    /// Its dofs in the island.
    pub(crate) fn dofs(&self) -> Range<usize> {
        self.at[0]..self.at[0] + self.n_v()
    }

    /// Its controls in the island.
    pub(crate) fn controls(&self) -> Range<usize> {
        self.at[1]..self.at[1] + self.input.controls.len()
    }

    /// Adds the impulse of a contact.
    pub(crate) fn add_impulse(&mut self, contact: &ContactInput, f: Vector3<f64>) {
        for (side, point) in contact.points.iter().enumerate() {
            let Some(point) = point.as_ref().filter(|point| point.body == self.number) else { continue };
            let sign = if side == 1 { 1.0 } else { -1.0 };
            for &(first, weight) in &point.nodes {
                (0..3).for_each(|k| self.after[first + k] += sign * weight * f[k]);
            }
        }
    }

    /// From `b + J^T lambda` to v+.
    pub(crate) fn settle(&mut self) {
        self.input.operator.factor().solve(&mut self.after);
    }
}

/// The nodes of a contact.
pub(crate) fn nodes(deformables: &[Deformable], contact: &ContactInput) -> Vec<Node> {
    let mut out = Vec::new();
    for (side, point) in contact.points.iter().enumerate() {
        let Some(point) = point else { continue };
        let Some(body) = deformables.iter().find(|body| body.number == point.body) else { continue };
        for &(first, weight) in &point.nodes {
            let of = |v: &[f64]| Vector3::new(v[first], v[first + 1], v[first + 2]);
            let velocity = [of(&body.after), of(body.input.v)];
            out.push(Node { side, first: body.at[0] + first, weight, velocity });
        }
    }
    out
}
