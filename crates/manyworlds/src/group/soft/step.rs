//! The nonlinear step of a soft body, and that step about a velocity.
//!
//! A step of a soft body is `M (v+ - v) = h (f(q + h v+) - alpha M v+ + M g + tau) + J^T lambda`. About a velocity `v_k` that
//! is `A v+ = b + J^T lambda` with `K = -df/dq+`, `A = (1 + h alpha) M + h^2 K` and
//! `b = M v + h (f(q + h v_k) + M g + tau) + h^2 K v_k`.

use std::sync::Arc;

use manyworlds_dynamics::{TreeSet, soft_param};
use manyworlds_model::{Model, Vec3};
use manyworlds_soft::{SoftLayout, SoftParams, SoftSystem};
use manyworlds_sparse::SparseMatrix;
use nalgebra::UnitQuaternion;

use super::super::carried::{Carried, CarriedChanges, CarrierTree, NodeBlocks, Ridden};
use super::momentum::MomentumMatrix;
use super::room::TouchRoom;
use super::start::ByStart;
use crate::Error;
use crate::host::SoftShape;

/// A soft body of a model, compiled.
#[derive(Debug)]
pub(in crate::group) struct Soft {
    /// Among the trees of the model.
    pub(in crate::group) tree: usize,
    pub(in crate::group) system: Arc<SoftSystem>,
    /// For kernels. Without: what a tree carries, whose matrix has that tree's degrees of freedom as well, and bodies whose plan
    /// would be long.
    pub(in crate::group) layout: Option<SoftLayout>,
    /// What these have for contacts.
    pub(in crate::group) room: Option<TouchRoom>,
}

/// Differences by a parameter are taken so far to either side, relative to its size.
pub(in crate::group) const DIFFERENCE: f64 = 1e-5;

/// Most free nodes of a body with a plan: it grows with the square of what a column of the factor fills.
const PLANNED: usize = 600;

impl Soft {
    /// Those of a model, in its order. `rounds`: of loops that an invocation of a kernel may take.
    pub(in crate::group) fn all(model: &Model, sets: &[TreeSet], rounds: u64) -> Result<Vec<Self>, Error> {
        let trees = model.trees.iter().enumerate().filter_map(|(tree, of)| Some((tree, of.soft?)));
        let one = |(tree, soft): (usize, usize)| {
            let body = &model.soft[soft];
            let system = Arc::new(SoftSystem::new(body)?);
            let actuators = sets.iter().filter(|set| set.trees == [tree]).flat_map(|set| set.layout.tree().actuators);
            let regions: Vec<u32> = actuators.map(|record| record.joint).collect();
            let planned = model.bodies[body.body].tree.is_none() && system.n_v() <= 3 * PLANNED;
            let layout = planned.then(|| SoftLayout::new(&system, body, &regions));
            let layout = layout.filter(|layout| layout.rounds() <= rounds);
            let room = layout.as_ref().map(|layout| TouchRoom::new(layout, body.embedding.is_some(), rounds));
            Ok(Self { tree, system, layout, room })
        };
        trees.map(one).collect()
    }
}

/// A rotation of axes.
type Rotation = UnitQuaternion<f64>;

/// A soft body of one world at the start of a step, in the axes of the body that carries it.
#[derive(Clone)]
pub(in crate::group) struct SoftStep {
    /// s
    pub(super) h: f64,
    pub(super) params: SoftParams,
    /// `[n_v]`, m
    pub(super) q: Vec<f64>,
    /// Velocity before, `[n_v]`, m/s.
    pub(super) v: Vec<f64>,
    /// The same as the balance of momentum takes it: other than `v` where a mocap body that moves carries the body.
    pub(super) begin: Vec<f64>,
    /// One a degree of freedom, kg.
    pub(super) mass: Vec<f64>,
    /// Applied force, `[n_v]`, N.
    pub(super) tau: Vec<f64>,
    /// In the axes of the displacements, m/s^2.
    pub(super) gravity: Vec3,
    /// From these axes to the world's.
    pub(super) turn: Rotation,
    /// What its mass does to the tree of that, where it moves.
    pub(super) carried: Option<Carried>,
    /// What the motion of a mocap body that carries it does.
    pub(super) ridden: Option<Ridden>,
    /// Of each control its region, and how much pressure comes with it, Pa a unit.
    pub(super) controls: Vec<(usize, f64)>,
}

/// The steps of the soft bodies of a world, in the order of the model, and these about a velocity.
#[derive(Default)]
pub(in crate::group) struct SoftAbout {
    pub(in crate::group) steps: Vec<SoftStep>,
    pub(in crate::group) about: Vec<Linearised>,
}

/// A step about a velocity.
pub(in crate::group) struct Linearised {
    /// `A`
    pub(in crate::group) matrix: SparseMatrix,
    /// `b`
    pub(in crate::group) b: Vec<f64>,
}

impl Linearised {
    /// A share of another, and the rest of this.
    pub(in crate::group) fn mixed(mut self, other: &Self, share: f64) -> Self {
        let mix = |a: &mut f64, b: &f64| *a += share * (b - *a);
        self.matrix.values_mut().iter_mut().zip(other.matrix.values()).for_each(|(a, b)| mix(a, b));
        self.b.iter_mut().zip(&other.b).for_each(|(a, b)| mix(a, b));
        self
    }
}

impl SoftStep {
    /// From the axes of the displacements to the world's.
    pub(in crate::group) fn turn(&self) -> Rotation {
        self.turn
    }

    /// Time step, s.
    pub(in crate::group) fn h(&self) -> f64 {
        self.h
    }

    /// The velocity before the step.
    pub(in crate::group) fn before(&self) -> &[f64] {
        &self.v
    }

    /// How the balance of momentum changes with the positions before the step while the velocity that it ended with is held, but for what
    /// a carrier that moves does, with A about that; and what `b` of that is made from, [`Self::right`].
    pub(in crate::group) fn ended(&self, system: &Arc<SoftSystem>, after: &[f64]) -> (ByStart, Vec<f64>) {
        let (next, mut force) = (self.next(after), vec![0.0; after.len()]);
        let tangent = system.tangent(&self.params, self.h, &self.q, &next, &mut force);
        let mass = self.mass.iter().map(|mass| self.damped() * mass).collect();
        let matrix = MomentumMatrix::new(Arc::clone(system), tangent, self.h, mass);
        (ByStart { start: self.q.clone(), matrix, carried: Vec::new() }, force)
    }

    /// Displacements after a step with a velocity, m.
    fn next(&self, v: &[f64]) -> Vec<f64> {
        self.q.iter().zip(v).map(|(q, v)| q + self.h * v).collect()
    }

    /// What the mass that resists a step is of the mass.
    fn damped(&self) -> f64 {
        1.0 + self.h * self.params.material.mass_damping
    }

    /// How `b - A v+` changes with one of the body's parameters, as [`soft_param`] numbers them, by differences: it is linear in all
    /// but Poisson's ratio. `[n_v]` of the body and of the tree that carries it, N s a unit. `tree`: v+ of that.
    pub(in crate::group) fn by_parameter(
        &self,
        system: &SoftSystem,
        number: usize,
        after: &[f64],
        tree: &[f64],
    ) -> [Vec<f64>; 2] {
        let value = *parameter(&mut self.params.clone(), number);
        let by = DIFFERENCE * if value == 0.0 { 1.0 } else { value.abs() };
        let ends = [by, -by].map(|by| {
            let mut changed = self.clone();
            *parameter(&mut changed.params, number) += by;
            changed.mass = system.mass(&changed.params);
            let masses = system.node_masses(&changed.params);
            changed.carried = self.carried.as_ref().map(|carried| carried.weighing(&masses));
            changed.left(system, after, tree)
        });
        slope(&ends, by)
    }

    /// The same with the time step. `shape`: what is constant of the body.
    pub(in crate::group) fn by_timestep(
        &self,
        (system, shape): (&SoftSystem, &SoftShape),
        after: &[f64],
        tree: &[f64],
    ) -> [Vec<f64>; 2] {
        let by = DIFFERENCE * self.h;
        let ends = [by, -by].map(|by| {
            let mut changed = self.clone();
            changed.h += by;
            changed.ridden = self.ridden.as_ref().and_then(|ridden| ridden.over(changed.h));
            if let Some(ridden) = &changed.ridden {
                changed.begin = ridden.begin(&shape.rest, &shape.dofs, [&self.q, &self.v]);
            }
            changed.left(system, after, tree)
        });
        slope(&ends, by)
    }

    /// `A v+ - b` of the body and of the tree that carries it, N s. `tree`: v+ of that.
    pub(in crate::group) fn left(&self, system: &SoftSystem, after: &[f64], tree: &[f64]) -> [Vec<f64>; 2] {
        let of_tree = |carried: &Carried| carried.balance_of_tree(self.h, &self.gravity, [tree, after]);
        [self.momentum(system, after, tree), self.carried.as_ref().map_or_else(Vec::new, of_tree)]
    }

    /// How `b - A v+` changes with each of its controls, `[n_v]`, N s a unit.
    pub(in crate::group) fn by_controls(&self, system: &SoftSystem, after: &[f64]) -> Vec<Vec<f64>> {
        let next = self.next(after);
        let one = |&(region, slope): &(usize, f64)| {
            let mut by = system.force_by_pressure(region, &next);
            by.iter_mut().for_each(|x| *x *= self.h * slope);
            by
        };
        self.controls.iter().map(one).collect()
    }

    /// How the balances of the body and of the tree that carries it, if that moves, change beside what the body's own forces and
    /// masses do. `after`: v+ of the tree, and of the body.
    pub(in crate::group) fn by_carrier(&self, tree: &CarrierTree<'_>, after: [&[f64]; 2]) -> Option<CarriedChanges> {
        Some(self.carried.as_ref()?.changes(&tree.tree, self.h, &self.gravity, after))
    }

    /// How the balance of a body on a mocap body that moves changes with q and v by what that does: first degree of freedom of each
    /// node, and the blocks on the diagonal.
    pub(in crate::group) fn by_ride(&self) -> Option<Vec<NodeBlocks>> {
        let slopes = self.ridden.as_ref()?.slopes();
        let block = |mass: f64| slopes.map(|slope| [0, 1, 2].map(|i| [0, 1, 2].map(|j| mass * slope[(i, j)])));
        Some(self.mass.iter().enumerate().step_by(3).map(|(dof, &mass)| (dof, block(mass))).collect())
    }

    /// The forces of inertia that the motion of a mocap body makes, N.
    pub(in crate::group) fn inertial_forces(&self) -> impl Iterator<Item = f64> + '_ {
        let gained = self.begin.iter().zip(&self.v).zip(&self.mass);
        gained.map(|((begin, v), mass)| mass * (begin - v) / self.h)
    }

    /// What acts on a degree of freedom beside the body's own forces, N.
    fn load(&self, i: usize) -> f64 {
        self.tau[i] + self.mass[i] * self.gravity[i % 3]
    }

    /// Adds what its nodes weigh on the tree that carries it to that one's `A`, row-major, and `b`.
    pub(in crate::group) fn add_to_tree(&self, a: &mut [f64], b: &mut [f64]) {
        if let Some(carried) = &self.carried {
            carried.add_to_tree(self.h, &self.gravity, a, b);
        }
    }

    /// The body's rows of `A` in the columns of the tree that carries it.
    pub(in crate::group) fn coupling(&self) -> impl Iterator<Item = impl Iterator<Item = f64> + '_> + '_ {
        self.carried.iter().flat_map(Carried::coupling)
    }

    /// What its mass does to the tree that carries it, if that moves.
    pub(in crate::group) fn carried(&self) -> Option<&Carried> {
        self.carried.as_ref()
    }

    /// Along the axes of the displacements, m/s^2.
    pub(in crate::group) fn gravity(&self) -> &Vec3 {
        &self.gravity
    }

    /// Mass and weight of each degree of freedom, kg and N.
    pub(in crate::group) fn mass_and_weight(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.mass.iter().enumerate().map(|(i, m)| (*m, m * self.gravity[i % 3]))
    }

    /// `A` and `b` about a velocity.
    pub(in crate::group) fn about(&self, system: &SoftSystem, v: &[f64], projected: bool) -> Linearised {
        let h = self.h;
        let (mut force, mut matrix) = (vec![0.0; v.len()], system.pattern().clone());
        system.force_and_stiffness(&self.params, h, &self.q, &self.next(v), projected, &mut force, &mut matrix);
        let mut pushed = vec![0.0; v.len()];
        matrix.add_times(v, &mut pushed);
        let b = self.right(&force, pushed);
        matrix.values_mut().iter_mut().for_each(|k| *k *= h * h);
        let damped = self.damped();
        self.mass.iter().enumerate().for_each(|(i, m)| matrix.add_diagonal(i, damped * m));
        Linearised { matrix, b }
    }

    /// b about a velocity v, with the forces there; `pushed`: `K v`.
    pub(in crate::group) fn right(&self, force: &[f64], pushed: Vec<f64>) -> Vec<f64> {
        let (h, mut b) = (self.h, pushed);
        for (i, b) in b.iter_mut().enumerate() {
            *b = self.mass[i] * self.begin[i] + h * (force[i] + self.load(i)) + h * h * *b;
        }
        if let Some(carried) = &self.carried {
            let still = vec![0.0; carried.n()];
            b.iter_mut().zip(carried.balance(h, &still)).for_each(|(b, taken)| *b -= taken);
        }
        b
    }

    /// `M (v+ - v) - h (f(q + h v+) - alpha M v+ + load)`, which contacts are to give, N s. `tree`: the velocity after the
    /// step of the tree that carries it.
    pub(in crate::group) fn momentum(&self, system: &SoftSystem, v: &[f64], tree: &[f64]) -> Vec<f64> {
        let mut force = vec![0.0; v.len()];
        system.force(&self.params, self.h, &self.q, &self.next(v), &mut force);
        self.balance(&force, v, tree)
    }

    /// The same, and its derivative by the velocity of the body itself: K is brought into a matrix of the body's pattern, and the
    /// derivative is `h^2` times that and on the diagonal what is given back beside it.
    pub(in crate::group) fn slope(
        &self,
        system: &SoftSystem,
        (v, tree): (&[f64], &[f64]),
        stiffness: &mut SparseMatrix,
    ) -> (Vec<f64>, impl Iterator<Item = f64> + '_) {
        let mut force = vec![0.0; v.len()];
        system.force_and_stiffness(&self.params, self.h, &self.q, &self.next(v), false, &mut force, stiffness);
        let damped = self.damped();
        (self.balance(&force, v, tree), self.mass.iter().map(move |mass| damped * mass))
    }

    /// [`Self::momentum`] by the body's own forces.
    fn balance(&self, force: &[f64], v: &[f64], tree: &[f64]) -> Vec<f64> {
        let (h, damping) = (self.h, self.params.material.mass_damping);
        let given = |i: usize| {
            let m = self.mass[i];
            m * (v[i] - self.begin[i]) - h * (force[i] + self.load(i) - damping * m * v[i])
        };
        let mut out: Vec<f64> = (0..v.len()).map(given).collect();
        if let Some(carried) = &self.carried {
            out.iter_mut().zip(carried.balance(h, tree)).for_each(|(out, taken)| *out += taken);
        }
        out
    }
}

/// How `b - A v+` grows by a number, from [`SoftStep::left`] so far ahead and as far behind.
pub(in crate::group) fn slope([ahead, behind]: &[[Vec<f64>; 2]; 2], by: f64) -> [Vec<f64>; 2] {
    [0, 1].map(|part| {
        behind[part].iter().zip(&ahead[part]).map(|(behind, ahead)| (behind - ahead) / (2.0 * by)).collect()
    })
}

/// A parameter of a soft body, as [`soft_param`] numbers them; friction has no part in its balance.
pub(super) fn parameter(params: &mut SoftParams, number: usize) -> &mut f64 {
    let material = &mut params.material;
    match number {
        soft_param::YOUNG => &mut material.young,
        soft_param::POISSON => &mut material.poisson,
        soft_param::DENSITY => &mut material.density,
        soft_param::DAMPING => &mut material.damping,
        soft_param::MASS_DAMPING => &mut material.mass_damping,
        region => &mut params.pressures[region - soft_param::PRESSURE],
    }
}
