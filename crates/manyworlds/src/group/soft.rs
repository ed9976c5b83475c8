//! Soft bodies of a world as its contact problem sees them: the nonlinear step about a velocity, and contacts.
//!
//! A step of a soft body is `M (v+ - v) = h (f(q + h v+) - alpha M v+ + M g + tau) + J^T lambda`. About a velocity `v_k` that
//! is `A v+ = b + J^T lambda` with `K = -df/dq+`, `A = (1 + h alpha) M + h^2 K` and
//! `b = M v + h (f(q + h v_k) + M g + tau) + h^2 K v_k`.

use std::sync::Arc;

use manyworlds_collide::{Side, SoftContact};
use manyworlds_contact::Law;
use manyworlds_contact::problem::ProblemError;
use manyworlds_dynamics::{pressure_of, soft_param};
use manyworlds_model::{Model, Pose, Vec3};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::contact::tree_layout::bias;
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, jacobian, param};
use manyworlds_shaders::index::{gather, tile_at};
use manyworlds_soft::{FreeStart, SoftLayout, SoftParams, SoftSystem};
use manyworlds_sparse::SparseMatrix;
use nalgebra::UnitQuaternion;

use super::carried::{Carried, CarriedChanges, CarrierTree, NodeBlocks, Ridden};
use super::chunk::Chunk;
use super::derivatives::ByStart;
use super::problem::{Building, Home, Reading, Sides, Worlds};
use super::shared::Shared;
use crate::host::{Carrier, Packed, SoftShape, frame};
use crate::kinematics::motions_with;
use crate::{ContactReport, Error, SoftReport};

/// A soft body of a model, compiled.
#[derive(Debug)]
pub(super) struct Soft {
    /// Among the trees of the model.
    pub(super) tree: usize,
    pub(super) system: Arc<SoftSystem>,
    /// For steps of many worlds side by side that nothing touches; bodies whose plan would be long do without.
    pub(super) layout: Option<SoftLayout>,
}

/// Differences by a parameter are taken so far to either side, relative to its size.
pub(super) const DIFFERENCE: f64 = 1e-5;

/// Most free nodes of a body with a plan: it grows with the square of what a column of the factor fills.
const PLANNED: usize = 600;

impl Soft {
    /// Those of a model, in its order.
    pub(super) fn all(model: &Model) -> Result<Vec<Self>, Error> {
        let trees = model.trees.iter().enumerate().filter_map(|(tree, of)| Some((tree, of.soft?)));
        let alone = model.trees.iter().all(|tree| tree.soft.is_some());
        let one = |(tree, soft): (usize, usize)| {
            let system = Arc::new(SoftSystem::new(&model.soft[soft])?);
            let planned = alone && system.n_v() <= 3 * PLANNED;
            let layout = planned.then(|| SoftLayout::new(&system, [system.params()]));
            Ok(Self { tree, system, layout })
        };
        trees.map(one).collect()
    }
}

/// A rotation of axes.
type Rotation = UnitQuaternion<f64>;

/// A soft body of one world at the start of a step, in the axes of the body that carries it.
#[derive(Clone)]
pub(super) struct SoftStep {
    /// s
    h: f64,
    params: SoftParams,
    /// `[n_v]`, m
    q: Vec<f64>,
    /// Velocity before, `[n_v]`, m/s.
    v: Vec<f64>,
    /// The same as the balance of momentum takes it: other than `v` where a mocap body that moves carries the body.
    begin: Vec<f64>,
    /// One a degree of freedom, kg.
    mass: Vec<f64>,
    /// Applied force, `[n_v]`, N.
    tau: Vec<f64>,
    /// In the axes of the displacements, m/s^2.
    gravity: Vec3,
    /// From these axes to the world's.
    turn: Rotation,
    /// What its mass does to the tree of that, where it moves.
    carried: Option<Carried>,
    /// What the motion of a mocap body that carries it does.
    ridden: Option<Ridden>,
    /// Of each control its region, and how much pressure comes with it, Pa a unit.
    controls: Vec<(usize, f64)>,
}

/// The steps of the soft bodies of a world, in the order of the model, and these about a velocity.
#[derive(Default)]
pub(super) struct SoftAbout {
    pub(super) steps: Vec<SoftStep>,
    pub(super) about: Vec<Linearised>,
}

/// A step about a velocity.
pub(super) struct Linearised {
    /// `A`
    pub(super) matrix: SparseMatrix,
    /// `b`
    pub(super) b: Vec<f64>,
}

impl Linearised {
    /// A share of another, and the rest of this.
    pub(super) fn mixed(mut self, other: &Self, share: f64) -> Self {
        let mix = |a: &mut f64, b: &f64| *a += share * (b - *a);
        self.matrix.values_mut().iter_mut().zip(other.matrix.values()).for_each(|(a, b)| mix(a, b));
        self.b.iter_mut().zip(&other.b).for_each(|(a, b)| mix(a, b));
        self
    }
}

impl SoftStep {
    /// Of a soft body by its number, from a lane's state. `tree`: that of a carrier that moves.
    pub(super) fn new<T: Scalar>(
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        index: usize,
        world: usize,
        state: &[T],
        tree: Option<&CarrierTree<'_>>,
    ) -> Self {
        let (soft, shape) = (&shared.soft[index], &shared.host.soft[index]);
        let set = shared.host.lanes.trees[soft.tree].set;
        let dims = &shared.sets[set].layout.dims;
        let n = dims.n_v as usize;
        let part = |at: usize| -> Vec<f64> { state[at..at + n].iter().map(|x| x.to_f64()).collect() };
        let own: Vec<f64> = host.soft_params(set, world).iter().map(|x| x.to_f64()).collect();
        let mut params = soft.system.params().clone();
        let (numbers, actuators) = own.split_at(soft_param::PRESSURE + params.pressures.len());
        for (number, x) in numbers.iter().enumerate().filter(|&(number, _)| number != soft_param::FRICTION) {
            *parameter(&mut params, number) = *x;
        }
        let records = shared.sets[set].layout.tree().actuators;
        let each = records.iter().zip(actuators.chunks_exact(param::ACTUATOR)).zip(&state[dims.ctrl_at()..]);
        let controls = each.map(|((record, actuator), control)| {
            let region = record.joint as usize;
            let [pressure, slope] = pressure_of(actuator, control.to_f64());
            params.pressures[region] += pressure;
            (region, slope)
        });
        let controls = controls.collect();
        let gravity = Vec3::from(host.gravity(set, world).map(|x| x.to_f64()));
        let (q, v, tau) = (part(0), part(dims.v_at()), part(dims.tau_at()));
        let h = host.timestep(world, soft.tree);
        let (mut carried, mut ridden) = (None, None);
        let carrier = match shape.carrier {
            Carrier::Fixed(carrier) => carrier,
            Carrier::Moving(body) => {
                let place = shared.host.lanes.bodies[body].zip(tree);
                place.map_or_else(Pose::identity, |(place, tree)| {
                    let masses = soft.system.node_masses(&params);
                    carried = Some(Carried::new(tree, place.local, &shape.rest, (&masses, &shape.dofs), (&q, &v)));
                    tree.frame(place.local)
                })
            }
            Carrier::Mocap(_) => {
                let ride = &host.worlds[world].rides[index];
                ridden = Ridden::new(ride, h);
                ride.pose
            }
        };
        let begin = ridden.as_ref().map_or_else(|| v.clone(), |of| of.begin(&shape.rest, &shape.dofs, [&q, &v]));
        let turn = carrier.rotation;
        let gravity = turn.inverse() * gravity;
        let mass = soft.system.mass(&params);
        Self { h, params, q, v, begin, mass, tau, gravity, turn, carried, ridden, controls }
    }

    /// The step of a body that nothing touches.
    pub(super) fn free(&self) -> FreeStart<'_> {
        let Self { h, params, q, begin, tau, gravity, .. } = self;
        FreeStart { params, h: *h, gravity: (*gravity).into(), q, v: begin, force: tau }
    }

    /// From the axes of the displacements to the world's.
    pub(super) fn turn(&self) -> Rotation {
        self.turn
    }

    /// The velocity before the step.
    pub(super) fn before(&self) -> &[f64] {
        &self.v
    }

    /// How the balance of momentum changes with the positions before the step while the velocity after it is held, but for what a carrier
    /// that moves does; `matrix`: A about that velocity.
    pub(super) fn by_start(&self, system: &Arc<SoftSystem>, matrix: SparseMatrix, after: &[f64]) -> ByStart {
        ByStart {
            system: Arc::clone(system),
            h: self.h,
            params: self.params.clone(),
            ends: [self.q.clone(), self.next(after)],
            matrix,
            mass: self.mass.iter().map(|mass| self.damped() * mass).collect(),
            carried: Vec::new(),
        }
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
    pub(super) fn by_parameter(
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
    pub(super) fn by_timestep(
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
    pub(super) fn left(&self, system: &SoftSystem, after: &[f64], tree: &[f64]) -> [Vec<f64>; 2] {
        let of_tree = |carried: &Carried| carried.balance_of_tree(self.h, &self.gravity, [tree, after]);
        [self.momentum(system, after, tree), self.carried.as_ref().map_or_else(Vec::new, of_tree)]
    }

    /// How `b - A v+` changes with each of its controls, `[n_v]`, N s a unit.
    pub(super) fn by_controls(&self, system: &SoftSystem, after: &[f64]) -> Vec<Vec<f64>> {
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
    pub(super) fn by_carrier(&self, tree: &CarrierTree<'_>, after: [&[f64]; 2]) -> Option<CarriedChanges> {
        Some(self.carried.as_ref()?.changes(&tree.tree, self.h, &self.gravity, after))
    }

    /// How the balance of a body on a mocap body that moves changes with q and v by what that does: first degree of freedom of each
    /// node, and the blocks on the diagonal.
    pub(super) fn by_ride(&self) -> Option<Vec<NodeBlocks>> {
        let slopes = self.ridden.as_ref()?.slopes();
        let block = |mass: f64| slopes.map(|slope| [0, 1, 2].map(|i| [0, 1, 2].map(|j| mass * slope[(i, j)])));
        Some(self.mass.iter().enumerate().step_by(3).map(|(dof, &mass)| (dof, block(mass))).collect())
    }

    /// The forces of inertia that the motion of a mocap body makes, N.
    pub(super) fn inertial_forces(&self) -> impl Iterator<Item = f64> + '_ {
        let gained = self.begin.iter().zip(&self.v).zip(&self.mass);
        gained.map(|((begin, v), mass)| mass * (begin - v) / self.h)
    }

    /// What acts on a degree of freedom beside the body's own forces, N.
    fn load(&self, i: usize) -> f64 {
        self.tau[i] + self.mass[i] * self.gravity[i % 3]
    }

    /// Adds what its nodes weigh on the tree that carries it to that one's `A`, row-major, and `b`.
    pub(super) fn add_to_tree(&self, a: &mut [f64], b: &mut [f64]) {
        if let Some(carried) = &self.carried {
            carried.add_to_tree(self.h, &self.gravity, a, b);
        }
    }

    /// The body's rows of `A` in the columns of the tree that carries it.
    pub(super) fn coupling(&self) -> impl Iterator<Item = impl Iterator<Item = f64> + '_> + '_ {
        self.carried.iter().flat_map(Carried::coupling)
    }

    /// What its mass does to the tree that carries it, if that moves.
    pub(super) fn carried(&self) -> Option<&Carried> {
        self.carried.as_ref()
    }

    /// Along the axes of the displacements, m/s^2.
    pub(super) fn gravity(&self) -> &Vec3 {
        &self.gravity
    }

    /// Mass and weight of each degree of freedom, kg and N.
    pub(super) fn mass_and_weight(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.mass.iter().enumerate().map(|(i, m)| (*m, m * self.gravity[i % 3]))
    }

    /// `A` and `b` about a velocity.
    pub(super) fn about(&self, system: &SoftSystem, v: &[f64], projected: bool) -> Linearised {
        let h = self.h;
        let (mut force, mut matrix) = (vec![0.0; v.len()], system.pattern().clone());
        system.force_and_stiffness(&self.params, h, &self.q, &self.next(v), projected, &mut force, &mut matrix);
        let mut b = vec![0.0; v.len()];
        matrix.add_times(v, &mut b);
        for (i, b) in b.iter_mut().enumerate() {
            *b = self.mass[i] * self.begin[i] + h * (force[i] + self.load(i)) + h * h * *b;
        }
        if let Some(carried) = &self.carried {
            let still = vec![0.0; carried.n()];
            b.iter_mut().zip(carried.balance(h, &still)).for_each(|(b, taken)| *b -= taken);
        }
        matrix.values_mut().iter_mut().for_each(|k| *k *= h * h);
        let damped = self.damped();
        self.mass.iter().enumerate().for_each(|(i, m)| matrix.add_diagonal(i, damped * m));
        Linearised { matrix, b }
    }

    /// `M (v+ - v) - h (f(q + h v+) - alpha M v+ + load)`, which contacts are to give, N s. `tree`: the velocity after the
    /// step of the tree that carries it.
    pub(super) fn momentum(&self, system: &SoftSystem, v: &[f64], tree: &[f64]) -> Vec<f64> {
        let h = self.h;
        let mut force = vec![0.0; v.len()];
        system.force(&self.params, h, &self.q, &self.next(v), &mut force);
        let damping = self.params.material.mass_damping;
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
pub(super) fn slope([ahead, behind]: &[[Vec<f64>; 2]; 2], by: f64) -> [Vec<f64>; 2] {
    [0, 1].map(|part| {
        behind[part].iter().zip(&ahead[part]).map(|(behind, ahead)| (behind - ahead) / (2.0 * by)).collect()
    })
}

/// A parameter of a soft body, as [`soft_param`] numbers them; friction has no part in its balance.
fn parameter(params: &mut SoftParams, number: usize) -> &mut f64 {
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

/// The soft bodies of a world as they are now.
pub(super) fn report<T: Scalar>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T>,
    world: usize,
) -> Result<Vec<SoftReport>, Error> {
    if shared.soft.is_empty() {
        return Ok(Vec::new());
    }
    chunk.finish()?;
    let reading = Reading::new(chunk, Sides::Whole)?;
    let (worlds, host) = (reading.of(&*chunk.store), chunk.host.packed());
    let steps = worlds.soft(shared, &host, world);
    // Frames in the buffers are those that the last step began with.
    let (mut motions, model) = (Vec::new(), &shared.model);
    if shared.host.soft.iter().any(|shape| !matches!(shape.carrier, Carrier::Fixed(_))) {
        let mocaps: Vec<Pose> = chunk.mocaps.of_world(&shared.host.mocaps, world).collect();
        motions_with(model, &worlds.q(shared, world), &vec![0.0; model.n_v], &mocaps, &mut motions);
    }
    let one = |((own, step), shape): ((&Soft, &SoftStep), &SoftShape)| {
        let mut nodes = Vec::new();
        let carrier = match shape.carrier {
            Carrier::Fixed(pose) => pose,
            Carrier::Moving(body) | Carrier::Mocap(body) => motions[body].pose,
        };
        shape.nodes(carrier, |i| step.q[i], &mut nodes);
        let vertices = shape.vertices(&nodes, &mut Vec::new()).to_vec();
        let energy = own.system.energy(&step.params, &step.q);
        SoftReport { nodes, vertices, volume: own.system.volume(&step.q), energy }
    };
    Ok(shared.soft.iter().zip(&steps).zip(&shared.host.soft).map(one).collect())
}

impl<T: Scalar> Worlds<'_, T> {
    /// The soft bodies of a world at the start of its step.
    pub(super) fn soft(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> Vec<SoftStep> {
        let of = |(index, (soft, shape)): (usize, (&Soft, &SoftShape))| {
            let place = shared.host.lanes.trees[soft.tree];
            let dims = &shared.sets[place.set].layout.dims;
            let mut state = vec![T::default(); dims.n_state()];
            gather(self.width, world, self.sets[place.set].state, &mut state);
            let tree = match shape.carrier {
                Carrier::Fixed(_) | Carrier::Mocap(_) => None,
                Carrier::Moving(body) => {
                    shared.host.lanes.bodies[body].map(|place| self.carrier(shared, world, place.tree))
                }
            };
            SoftStep::new(shared, host, index, world, &state, tree.as_ref())
        };
        shared.soft.iter().zip(&shared.host.soft).enumerate().map(of).collect()
    }

    /// A tree that carries a soft body.
    fn carrier<'s>(&self, shared: &'s Shared<T>, world: usize, tree: usize) -> CarrierTree<'s> {
        let place = shared.host.lanes.trees[tree];
        let (set, own) = (&shared.sets[place.set], &self.sets[place.set]);
        let dims = &set.layout.dims;
        let n = dims.n_v as usize;
        let read = |numbers: &[T], n: usize| self.lane(shared, world, tree, numbers, n);
        CarrierTree {
            tree: set.layout.tree(),
            pose: read(own.pose, POSE * dims.n_body as usize),
            motion: read(own.motion, SPATIAL * n),
            v: read(own.state, dims.n_state())[dims.v_at()..dims.v_at() + n].to_vec(),
        }
    }

    /// The steps of the soft bodies of a world, and these about the velocity that it ended with.
    pub(super) fn soft_about(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> SoftAbout {
        if shared.soft.is_empty() {
            return SoftAbout::default();
        }
        let after = self.after(shared, world);
        let steps = self.soft(shared, host, world);
        let each = steps.iter().zip(&shared.soft);
        let about = each
            .map(|(step, soft)| step.about(&soft.system, &after[shared.model.trees[soft.tree].v.clone()], false))
            .collect();
        SoftAbout { steps, about }
    }

    /// Puts the contacts of soft bodies into a problem.
    pub(super) fn soft_contacts(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        to: &mut Building<'_>,
    ) -> Result<(), ProblemError> {
        let own = &host.worlds[world];
        if own.soft.is_empty() {
            return Ok(());
        }
        let before = self.before(shared, world);
        for (index, contact) in own.soft.iter().enumerate() {
            let normal = contact.normal;
            let [t1, t2] = tangents(normal);
            let sides = self.sides_of(shared, host, world, contact, [t1, t2, normal]);
            let speed = |side: &SideRows| side.times(2, &before[shared.model.trees[side.tree].v.clone()]);
            let drift = own.soft_drift(index);
            let drift = [t1, t2, normal].map(|axis| drift.along(axis));
            let approach = sides.iter().map(speed).sum::<f64>() + drift[2];
            let e = [drift[0], drift[1], drift[2] + self.normal_bias(shared, host, world, contact, approach)];
            to.builder.constraint(Law::Contact { mu: contact.friction }, e, None)?;
            for side in &sides {
                to.add(side.tree, None, &side.dofs, &side.j)?;
            }
            to.impulse.extend(own.soft_impulses[index]);
            to.homes.push(Home::Soft { contact: index });
        }
        Ok(())
    }

    /// What contacts of soft bodies did in a step. A soft body's number follows those of the bodies, and of the geoms.
    pub(super) fn soft_reports(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> Vec<ContactReport> {
        let after = self.after(shared, world);
        let own = &host.worlds[world];
        let report = |(index, (contact, impulse)): (usize, (&SoftContact, &[f64; 3]))| {
            let [t1, t2] = tangents(contact.normal);
            let frame = [t1, t2, contact.normal];
            let drift = own.soft_drift(index);
            let mut velocity = frame.map(|axis| drift.along(axis));
            for side in self.sides_of(shared, host, world, contact, frame) {
                let v = &after[shared.model.trees[side.tree].v.clone()];
                (0..3).for_each(|row| velocity[row] += side.times(row, v));
            }
            let named = |side: &Side| match *side {
                Side::Rigid { body, geom } => [body as usize, geom as usize],
                Side::Soft { soft, .. } => {
                    [shared.model.bodies.len() + soft as usize, shared.model.geoms.len() + soft as usize]
                }
            };
            let [[a, first], [b, second]] = contact.sides.each_ref().map(named);
            ContactReport {
                bodies: [a, b],
                geoms: [first, second],
                point: contact.point,
                frame,
                distance: contact.distance,
                friction: contact.friction,
                impulse: *impulse,
                velocity,
            }
        };
        own.soft.iter().zip(&own.soft_impulses).enumerate().map(report).collect()
    }

    /// As trees' kernels have it: gaps may close, depths shrink, what comes fast bounces.
    fn normal_bias(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        contact: &SoftContact,
        approach: f64,
    ) -> f64 {
        let Some(soft) = contact.sides.iter().find_map(|side| match side {
            Side::Soft { soft, .. } => Some(*soft as usize),
            Side::Rigid { .. } => None,
        }) else {
            return 0.0;
        };
        let place = shared.host.lanes.trees[shared.soft[soft].tree];
        let [h, fraction, largest, threshold, slop] = host.settings(place.set, world).map(|x| x.to_f64());
        if contact.restitution > 0.0 && approach < (-threshold).min(-contact.distance / h) {
            return contact.restitution * approach;
        }
        bias(contact.distance, h.recip(), fraction, largest, slop)
    }

    /// The rows of a contact over the trees that it touches.
    fn sides_of(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        contact: &SoftContact,
        axes: [[f64; 3]; 3],
    ) -> Vec<SideRows> {
        let mut out = Vec::with_capacity(2);
        for (side, sign) in contact.sides.iter().zip([-1.0, 1.0]) {
            match side {
                Side::Rigid { body, .. } => {
                    out.extend(self.rigid_side(shared, world, *body as usize, sign, contact.point, &axes));
                }
                Side::Soft { soft, vertices, weights } => {
                    let shape = &shared.host.soft[*soft as usize];
                    let carrier = match shape.carrier {
                        Carrier::Fixed(pose) => pose.rotation,
                        Carrier::Mocap(_) => host.worlds[world].rides[*soft as usize].pose.rotation,
                        Carrier::Moving(body) => {
                            out.extend(self.rigid_side(shared, world, body, sign, contact.point, &axes));
                            self.frame(shared, world, body).rotation
                        }
                    };
                    let turned = axes.map(|axis| carrier.inverse() * Vec3::from(axis));
                    let mut terms = shape.follows(*vertices, *weights);
                    terms.iter_mut().for_each(|(_, w)| *w *= sign);
                    if terms.is_empty() {
                        continue;
                    }
                    let dofs = terms.iter().flat_map(|&(dof, _)| dof..dof + 3).collect();
                    let row =
                        |axis: &Vec3| terms.iter().flat_map(|&(_, w)| [axis.x * w, axis.y * w, axis.z * w]).collect();
                    let rows: Vec<Vec<f64>> = turned.iter().map(row).collect();
                    out.push(SideRows { tree: shape.tree, dofs, j: rows.concat() });
                }
            }
        }
        out
    }

    /// What a point that moves with a rigid body does to the rows; nothing where that stands.
    fn rigid_side(
        &self,
        shared: &Shared<T>,
        world: usize,
        body: usize,
        sign: f64,
        point: [f64; 3],
        axes: &[[f64; 3]; 3],
    ) -> Option<SideRows> {
        let at = shared.host.lanes.bodies[body]?;
        let place = shared.host.lanes.trees[at.tree];
        let set = &shared.sets[place.set];
        let n = set.layout.dims.n_v as usize;
        let motion = self.lane(shared, world, at.tree, self.sets[place.set].motion, SPATIAL * n);
        let root = self.pose(shared, world, at.tree, 0);
        let offset = std::array::from_fn(|k| point[k] - root[k]);
        let mut j = vec![0.0; 3 * n];
        let bodies = if sign < 0.0 { [at.local as f64, -1.0] } else { [-1.0, at.local as f64] };
        jacobian(&set.layout.tree(), &motion, bodies, offset, axes, &mut j);
        Some(SideRows { tree: at.tree, dofs: Vec::new(), j })
    }

    /// Numbers of a tree of a world.
    fn lane(&self, shared: &Shared<T>, world: usize, tree: usize, numbers: &[T], n: usize) -> Vec<f64> {
        let place = shared.host.lanes.trees[tree];
        let mut own = vec![T::default(); n];
        gather(self.width, world * shared.sets[place.set].trees.len() + place.index, numbers, &mut own);
        own.into_iter().map(Scalar::to_f64).collect()
    }

    /// World frame of a body of a tree, by its number there.
    fn pose(&self, shared: &Shared<T>, world: usize, tree: usize, local: usize) -> [f64; POSE] {
        let place = shared.host.lanes.trees[tree];
        let set = &shared.sets[place.set];
        let lane = world * set.trees.len() + place.index;
        let (numbers, n) = (self.sets[place.set].pose, POSE * set.layout.dims.n_body as usize);
        std::array::from_fn(|k| numbers[tile_at(self.width, lane, n, POSE * local + k)].to_f64())
    }

    /// World frame of a body of the model that is in a tree.
    fn frame(&self, shared: &Shared<T>, world: usize, body: usize) -> Pose {
        let place = shared.host.lanes.bodies[body];
        place.map_or_else(Pose::identity, |at| frame(self.pose(shared, world, at.tree, at.local)))
    }
}

/// `J` of a contact over one tree, `[3, columns]`.
struct SideRows {
    tree: usize,
    /// Of a soft body the columns; else they are all.
    dofs: Vec<u32>,
    j: Vec<f64>,
}

impl SideRows {
    /// A row times a velocity of the tree.
    fn times(&self, row: usize, v: &[f64]) -> f64 {
        let n = self.j.len() / 3;
        let row = &self.j[row * n..(row + 1) * n];
        if self.dofs.is_empty() {
            return row.iter().zip(v).map(|(j, v)| j * v).sum();
        }
        row.iter().zip(&self.dofs).map(|(j, &dof)| j * v[dof as usize]).sum()
    }
}
