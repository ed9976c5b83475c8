//! Bodies that deform, in a step: subsystems whose matrices are sparse, touched at points of their surface.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use manyworlds_shaders::dynamics::tree::param;
use manyworlds_sparse::{Ordering, SparseMatrix, SparseOperator};
use nalgebra::{Matrix3, Vector3};

use crate::bias::closed_below;
use crate::grid::{axpy, dot};
use crate::released::Released;
use crate::tree::Forward;

/// A square matrix that is known by its products.
pub trait LinearMap: std::fmt::Debug + Sync {
    /// `y += M x`
    fn add_times(&self, x: &[f64], y: &mut [f64]);
    /// `y += M^T x`
    fn add_transposed_times(&self, x: &[f64], y: &mut [f64]);
}

impl LinearMap for SparseMatrix {
    fn add_times(&self, x: &[f64], y: &mut [f64]) {
        self.add_times(x, y);
    }

    fn add_transposed_times(&self, x: &[f64], y: &mut [f64]) {
        self.add_transposed_times(x, y);
    }
}

/// A square symmetric matrix that is known by its products, and by its entries where somebody asks for these.
pub trait SymmetricMap: std::fmt::Debug + Sync {
    /// `y += a M x`
    fn add_times(&self, a: f64, x: &[f64], y: &mut [f64]);
    /// Its diagonal.
    fn diagonal(&self) -> Vec<f64>;
    /// Its entries.
    fn matrix(&self) -> &SparseMatrix;
}

impl SymmetricMap for SparseMatrix {
    fn add_times(&self, a: f64, x: &[f64], y: &mut [f64]) {
        let mut product = vec![0.0; y.len()];
        self.add_times(x, &mut product);
        axpy(a, &product, y);
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.n()).map(|i| self.get(i, i).unwrap_or(0.0)).collect()
    }

    fn matrix(&self) -> &SparseMatrix {
        self
    }
}

/// A body that deforms: what its step was, `A v+ = b + J^T lambda`, `q+ = q + h v+`.
#[derive(Debug, Clone, Copy)]
pub struct SparseInput<'a> {
    /// A, symmetric. Where a body that is pressed would buckle without its contacts it is not positive definite.
    pub matrix: &'a dyn SymmetricMap,
    /// The order of elimination of its pattern.
    pub ordering: &'a Arc<Ordering>,
    /// What the step's contacts touch, ascending.
    pub touched: &'a [u32],
    /// b, `[n_v]`; not needed where [`WholeInput::after`](crate::WholeInput::after) says how the step ended.
    pub b: Option<&'a [f64]>,
    /// `d(b - A v+)/dq` with v+ held.
    pub by_q: &'a dyn LinearMap,
    /// `db/dv`
    pub by_v: &'a dyn LinearMap,
    /// `db` by each of its controls.
    pub by_ctrl: &'a [Vec<f64>],
    /// These, by their numbers in the world.
    pub controls: &'a [usize],
    /// Velocity before the step, `[n_v]`.
    pub v: &'a [f64],
    /// What its contacts go by.
    pub settings: ContactSettings,
    /// The axes of its displacements and velocities in the world.
    pub axes: [[f64; 3]; 3],
    /// The tree that carries it, if that moves.
    pub carrier: Option<CarrierInput<'a>>,
}

/// What a body that deforms does to the tree that carries it: its nodes move with the carrier and have their inertia.
///
/// The balance of momentum of the tree is `(A_t + mass) v_t+ + coupling^T v+ = b_t + b + J^T lambda`, that of the body
/// `coupling v_t+ + A v+ = b + J^T lambda`. Velocities after the step are held in what changes here.
#[derive(Debug, Clone, Copy)]
pub struct CarrierInput<'a> {
    /// Which tree.
    pub tree: usize,
    /// `[n_t, n_t]`
    pub mass: &'a [f64],
    /// `[n_t]`
    pub b: &'a [f64],
    /// `[n_v, n_t]`
    pub coupling: &'a [f64],
    /// How what is left of the tree's balance, right less left, changes with the tree's own q and v, `[n_t, n_t]`.
    pub tree_by_tree: [&'a [f64]; 2],
    /// The same with the body's, transposed: `[n_v, n_t]`.
    pub tree_by_own: [&'a [f64]; 2],
    /// How that of the body's changes with the tree's, `[n_v, n_t]`.
    pub own_by_tree: [&'a [f64]; 2],
}

impl CarrierInput<'_> {
    /// Adds what changes of q and v, of the tree and of the body, change in the balances of the two.
    pub(crate) fn add_times(&self, tree: [&[f64]; 2], own: [&[f64]; 2], [to_tree, to_own]: [&mut [f64]; 2]) {
        let n = to_tree.len();
        for which in 0..2 {
            let (tree, own) = (tree[which], own[which]);
            let rows = self.tree_by_tree[which].chunks_exact(n);
            to_tree.iter_mut().zip(rows).for_each(|(to, row)| *to += dot(row, tree));
            let columns = self.tree_by_own[which].chunks_exact(n);
            own.iter().zip(columns).for_each(|(x, column)| axpy(*x, column, to_tree));
            let rows = self.own_by_tree[which].chunks_exact(n);
            to_own.iter_mut().zip(rows).for_each(|(to, row)| *to += dot(row, tree));
        }
    }

    /// From weights of the balances to those of q (0) or v (1).
    pub(crate) fn add_transposed_times(
        &self,
        which: usize,
        [tree, own]: [&[f64]; 2],
        [to_tree, to_own]: [&mut [f64]; 2],
    ) {
        let n = tree.len();
        tree.iter().zip(self.tree_by_tree[which].chunks_exact(n)).for_each(|(x, row)| axpy(*x, row, to_tree));
        to_own
            .iter_mut()
            .zip(self.tree_by_own[which].chunks_exact(n))
            .for_each(|(to, column)| *to += dot(column, tree));
        own.iter().zip(self.own_by_tree[which].chunks_exact(n)).for_each(|(x, row)| axpy(*x, row, to_tree));
    }
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

/// A point of a body that deforms: it moves as the weighted mean of three corners does, and these as nodes do. Where it slides
/// over the triangle between them, the weights change.
#[derive(Debug, Clone, PartialEq)]
pub struct PointInput {
    /// Which body, by its number in [`StepInput::sparse`](crate::StepInput::sparse).
    pub body: usize,
    /// Weights of the corners.
    pub weights: [f64; 3],
    /// First degree of freedom of each node in its body, and its share in the motion of each corner; no node twice.
    pub nodes: Vec<(usize, [f64; 3])>,
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
    /// [`Deformable::factored`], once it was asked for.
    factored: OnceCell<Option<Factored>>,
}

/// A with its factor.
struct Factored {
    operator: SparseOperator,
    /// Where the factor is of more than A.
    released: Option<Released>,
}

/// A node at a contact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// Which of the contact's two sides it is of.
    pub(crate) side: usize,
    /// First dof in the island.
    pub(crate) first: usize,
    /// What of its motion the corners have of the triangle that the point is in, and their weights in the point.
    pub(crate) shares: [f64; 3],
    pub(crate) weights: [f64; 3],
    /// After the step and before it, without what its carrier does, m/s.
    pub(crate) velocity: [Vector3<f64>; 2],
    /// Columns: which way in the world its dofs move it.
    pub(crate) axes: Matrix3<f64>,
}

impl<'a> Deformable<'a> {
    pub(crate) fn new(input: SparseInput<'a>, number: usize, at: [usize; 2], single: bool) -> Self {
        Self {
            input,
            number,
            at,
            after: input.b.map_or_else(|| vec![0.0; input.v.len()], <[f64]>::to_vec),
            closed: closed_below(single),
            factored: OnceCell::new(),
        }
    }

    /// A with its factor; none where that is not finite.
    fn factored(&self) -> Option<&Factored> {
        let SparseInput { matrix, ordering, touched, .. } = self.input;
        let make = || {
            let (operator, added) =
                SparseOperator::mended(matrix.matrix().clone(), ordering.clone(), touched.to_vec()).ok()?;
            let released = (!added.is_empty()).then(|| Released::new(&operator, &added));
            Some(Factored { operator, released })
        };
        self.factored.get_or_init(make).as_ref()
    }

    /// Whether A is known to be positive definite.
    pub(crate) fn is_definite(&self) -> bool {
        self.factored().is_some_and(|own| own.released.is_none())
    }

    /// `A x = x`
    pub(crate) fn solve(&self, x: &mut [f64]) {
        // Numbers that are not finite are noticed by whoever asked.
        let Some(Factored { operator, released }) = self.factored() else { return x.fill(f64::NAN) };
        operator.factor().solve(x);
        if let Some(released) = released {
            released.release(x);
        }
    }

    /// The same of what is touched, where only that is pushed.
    pub(crate) fn solve_touched(&self, x: &mut [f64]) {
        let Some(Factored { operator, released }) = self.factored() else { return x.fill(f64::NAN) };
        let more = released.as_ref().map(|released| released.of_touched(x));
        operator.factor().solve_reduced(x);
        if let Some(more) = more {
            x.iter_mut().zip(more).for_each(|(x, more)| *x += more);
        }
    }

    /// `J A^-1 J^T` of rows over some touched dofs, `[rows, rows]`, by the factor.
    pub(crate) fn compliance(&self, dofs: &[u32], rows: &[f64]) -> Vec<f64> {
        self.factored().map_or_else(Vec::new, |own| own.operator.compliance(dofs, rows))
    }

    pub(crate) fn n_v(&self) -> usize {
        self.input.v.len()
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

    /// Adds the impulse of a contact of these two.
    pub(crate) fn add_impulse(&mut self, points: &[Option<PointInput>; 2], f: Vector3<f64>) {
        for (side, point) in points.iter().enumerate() {
            let Some(point) = point.as_ref().filter(|point| point.body == self.number) else { continue };
            let f = self.axes().transpose() * f * if side == 1 { 1.0 } else { -1.0 };
            for (first, shares) in &point.nodes {
                let weight = dot(&point.weights, shares);
                (0..3).for_each(|k| self.after[first + k] += weight * f[k]);
            }
        }
    }

    /// See [`Node::axes`].
    fn axes(&self) -> Matrix3<f64> {
        Matrix3::from_columns(&self.input.axes.map(Vector3::from))
    }
}

/// The nodes of the two of a contact that deform.
pub(crate) fn nodes(deformables: &[Deformable], points: &[Option<PointInput>; 2]) -> Vec<Node> {
    let mut out = Vec::new();
    for (side, point) in points.iter().enumerate() {
        let Some(point) = point else { continue };
        let Some(body) = deformables.iter().find(|body| body.number == point.body) else { continue };
        let axes = body.axes();
        for &(first, shares) in &point.nodes {
            let of = |v: &[f64]| axes * Vector3::new(v[first], v[first + 1], v[first + 2]);
            let velocity = [of(&body.after), of(body.input.v)];
            out.push(Node { side, first: body.at[0] + first, shares, weights: point.weights, velocity, axes });
        }
    }
    out
}
