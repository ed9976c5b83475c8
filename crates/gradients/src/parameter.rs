//! Derivatives of a step by parameters: how the balance of momentum and the constraints change while the state after the step
//! and the impulses are held.
//!
//! A parameter of a tree changes the balance and the rows, and where it moves bodies also where contacts are and what their
//! impulses do: points, normals and distances move by the slopes of their features, and what the tree carries turns with it.
//! From there on it is one more right-hand side of the linearised island. The slopes of a tree's balance and rows are those of the
//! kernels' own mirrors in dual numbers, those of contacts differences of fourth order: no step is solved anew.

use manyworlds_collide::derivatives::ContactChange;
use manyworlds_shaders::Real;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::contact::tree_layout::{row, row_coefficient, row_head};
use manyworlds_shaders::contact::tree_rows::row_laws;
use manyworlds_shaders::dynamics::applied::applied;
use manyworlds_shaders::dynamics::bias::bias;
use manyworlds_shaders::dynamics::inertia::inertia;
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::momentum::momentum;
use manyworlds_shaders::dynamics::path::path;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL, multiply, param};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

use crate::bias::{Branch, bilateral_beside, closed_below};
use crate::block::{BlockInput, block_error};
use crate::compliance::{Source, Standing};
use crate::constraint::Law;
use crate::contact::ContactInput;
use crate::differences::DIFFERENCES;
use crate::dual::Dual;
use crate::equations::Equations;
use crate::grid::axpy;
use crate::member::{BodyOfTree, settings, vector};
use crate::mode::Mode;
use crate::model::ContactModel;
use crate::pool::Pooled;
use crate::sparse::{ContactSettings, Node, nodes};
use crate::tree::Forward;

/// A number that a step depends on beside its state.
#[derive(Debug, Clone, PartialEq)]
pub enum StepParameter {
    /// A number among a tree's parameters but the time step.
    Tree {
        /// Tree of the world.
        tree: usize,
        /// Entry of its parameters.
        entry: usize,
        /// Size of what the number belongs to, in its unit; above zero.
        scale: f64,
        /// What it changes of the bodies that deform.
        bodies: Vec<BodyChange>,
    },
    /// A number that is the same in the parameters of all trees: the time step, how violations are undone.
    Every {
        /// Entry of the parameters.
        entry: usize,
        /// As of one tree.
        scale: f64,
        /// What it changes of the bodies that deform.
        bodies: Vec<BodyChange>,
    },
    /// Friction coefficient of the contacts between two geoms.
    Friction {
        /// As in [`crate::ContactInput::geoms`], in either order.
        geoms: [usize; 2],
    },
    /// Restitution coefficient of the contacts between two geoms.
    Restitution {
        /// As in [`crate::ContactInput::geoms`], in either order.
        geoms: [usize; 2],
    },
    /// What moves contacts but no body, as the size of a shape does.
    Contacts {
        /// Contacts of the step, each with its change.
        changes: Vec<(usize, ContactChange)>,
    },
    /// What a body that deforms alone knows, as its material.
    Balance(BodyChange),
}

/// How a body that deforms changes what it does in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyChange {
    /// The body, numbered as in the world.
    pub body: usize,
    /// By how much `b - A v+` grows at the velocity after the step, `[n_v]` of the body, N s a unit.
    pub change: Vec<f64>,
    /// The same of the tree that carries it, `[n_v]` of that; empty where that stands.
    pub carrier: Vec<f64>,
}

/// Differences are taken this far apart, relative to the parameter's size.
const STEP: f64 = 1e-4;
/// A tree whose parameters are others, its state as it was.
struct Moved {
    params: Vec<f64>,
    pose: Pooled,
    motion: Pooled,
}

impl Moved {
    fn new(forward: &Forward, entry: usize, by: f64) -> Self {
        let mut params = forward.params.to_vec();
        params[entry] += by;
        let (mut pose, mut motion) = (Pooled::zeros(forward.pose.len()), Pooled::zeros(forward.motion.len()));
        kinematics(&forward.tree, Params::<f64>::Shared(&params), forward.state, &mut pose, &mut motion);
        Self { params, pose, motion }
    }
}

/// A number that changes with a parameter.
type OfParameter = Dual<2>;

/// How the balance of momentum and the rows of a tree change with one of its parameters: slopes of `A v+ - b - J^T lambda` of its
/// rows, `[n_v]`, and of `J v+ + e + c lambda` by row.
fn balance_slopes(forward: &Forward, entry: usize, after: &[f64], at_bound: &[Option<usize>]) -> [Vec<f64>; 2] {
    let tree = &forward.tree;
    let dims = tree.dims;
    let [n_v, n_body, n_m] = [dims.n_v, dims.n_body, dims.n_m].map(|n| n as usize);
    let zeros = |n: usize| vec![OfParameter::ZERO; n];
    let (mut params, state) = (Dual::constants(forward.params), Dual::constants(forward.state));
    params[entry].set_slope(0, 1.0);
    let numbers = Params::<OfParameter>::Lanes(&params);
    let (mut pose, mut motion) = (zeros(POSE * n_body), zeros(SPATIAL * n_v));
    kinematics(tree, numbers, &state, &mut pose, &mut motion);
    let (mut twist, mut work, mut force) = (zeros(SPATIAL * n_body), zeros(dims.n_work()), zeros(n_v));
    bias(tree, numbers, &state, &pose, &motion, &mut twist, &mut work, &mut force);
    let (mut mass, mut matrix, mut b) = (zeros(n_m), zeros(n_m), zeros(n_v));
    inertia(tree, numbers, &motion, &mut work, &mut mass);
    momentum(tree, numbers, &state, &mass, &force, &mut matrix, &mut b);
    let mut pull = zeros(dims.n_pull as usize);
    path(tree, numbers, &state, &pose, &motion, &mut pull);
    applied(tree, numbers, &state, &pose, &motion, &pull, &mut matrix, &mut b);
    let (after, mut left) = (Dual::constants(after), zeros(n_v));
    multiply(tree, &matrix, &after, &mut left);
    left.iter_mut().zip(&b).for_each(|(left, b)| *left -= *b);
    let head = row_head(dims.row_width);
    let mut rows = zeros(tree.rows.len() * head);
    row_laws(tree, &numbers, &state, &pull, &mut rows);
    let mut speeds = vec![0.0; tree.rows.len()];
    for (index, record) in tree.rows.iter().enumerate() {
        let numbers = &rows[index * head..(index + 1) * head];
        let impulse = Dual::constant(forward.impulses[index]);
        let impulse = at_bound[index].map_or(impulse, |bound| numbers[bound]);
        let mut speed = numbers[row::COMPLIANCE].mul_add(impulse, numbers[row::BIAS]);
        for (k, &dof) in tree.row_dofs(record).iter().enumerate() {
            let j = row_coefficient(numbers, k);
            left[dof as usize] -= j * impulse;
            speed = j.mul_add(after[dof as usize], speed);
        }
        speeds[index] = speed.slope(0);
    }
    [left.iter().map(|x| x.slope(0)).collect(), speeds]
}

/// An island some trees of which have other parameters.
struct Scene<'s, 'i> {
    equations: &'s Equations<'i>,
    /// By member.
    moved: Vec<Option<Moved>>,
    /// By how much a number that all have alike is another: its entry, and that.
    common: Option<(usize, f64)>,
}

impl Scene<'_, '_> {
    fn place(&self, tree: usize) -> usize {
        self.equations.island.member_of(tree)
    }

    fn frames(&self, member: usize) -> (&[f64], &[f64], &[f64]) {
        let forward = &self.equations.members[member].forward;
        match &self.moved[member] {
            Some(moved) => (&moved.pose, &moved.motion, &moved.params),
            None => (&forward.pose, &forward.motion, forward.params),
        }
    }

    /// Twist of a body about a point, for v+ or for the velocity before.
    fn twist(&self, (tree, body): BodyOfTree, p: Vector3<f64>, before: bool) -> [Vector3<f64>; 2] {
        let member = self.place(tree);
        let (pose, motion, _) = self.frames(member);
        let own = &self.equations.members[member];
        let velocity = if before { own.forward.v() } else { &own.after[..] };
        let (mut w, mut v) = (Vector3::zeros(), Vector3::zeros());
        for i in own.forward.tree.movers(body) {
            w += vector(motion, SPATIAL * i) * velocity[i];
            v += vector(motion, SPATIAL * i + 3) * velocity[i];
        }
        [v + w.cross(&(p - vector(pose, 0))), w]
    }

    /// Relative twist of two bodies at a point.
    fn relative(&self, bodies: [Option<BodyOfTree>; 2], p: Vector3<f64>, before: bool) -> [Vector3<f64>; 2] {
        let none = [Vector3::zeros(); 2];
        let [a, b] = bodies.map(|body| body.map_or(none, |body| self.twist(body, p, before)));
        [b[0] - a[0], b[1] - a[1]]
    }

    /// Takes a force and a moment at a point on two bodies off the balance.
    fn push(
        &self,
        bodies: [Option<BodyOfTree>; 2],
        p: Vector3<f64>,
        f: Vector3<f64>,
        moment: Vector3<f64>,
        left: &mut [f64],
    ) {
        for (side, body) in bodies.iter().enumerate() {
            let Some((tree, body)) = *body else { continue };
            let sign = if side == 1 { 1.0 } else { -1.0 };
            let member = self.place(tree);
            let (pose, motion, _) = self.frames(member);
            let turning = (p - vector(pose, 0)).cross(&f) + moment;
            let own = &self.equations.members[member];
            for i in own.forward.tree.movers(body) {
                let s = [vector(motion, SPATIAL * i), vector(motion, SPATIAL * i + 3)];
                left[own.at[0] + i] -= sign * (s[0].dot(&turning) + s[1].dot(&f));
            }
        }
    }

    /// 1/h, fraction and largest speed of the first tree among bodies.
    fn settings(&self, bodies: [Option<BodyOfTree>; 2]) -> [f64; 3] {
        let member = bodies.iter().flatten().next().map_or(0, |body| self.place(body.0));
        let params = self.frames(member).2;
        [1.0 / params[param::TIMESTEP], params[param::CORRECTION_FRACTION], params[param::CORRECTION_MAX]]
    }

    /// Those of a contact.
    fn contact_settings(&self, contact: &ContactInput) -> [f64; 3] {
        let Some((mut settings, _)) = self.equations.soft_settings(contact) else {
            return self.settings(contact.bodies);
        };
        if let Some((entry, by)) = self.common {
            match entry {
                param::TIMESTEP => settings.timestep += by,
                param::CORRECTION_FRACTION => settings.correction += by,
                param::CORRECTION_MAX => settings.largest_correction += by,
                _ => {}
            }
        }
        settings.correction()
    }

    /// The nodes at a contact; their axes and velocities turn with what carries them.
    fn nodes(&self, contact: &ContactInput) -> Vec<Node> {
        let mut nodes = nodes(&self.equations.deformables, &contact.points);
        for (side, body) in contact.bodies.iter().enumerate().filter(|(side, _)| contact.points[*side].is_some()) {
            let Some((tree, body)) = *body else { continue };
            let member = self.place(tree);
            if self.moved[member].is_none() {
                continue;
            }
            let axes = |pose: &[f64]| {
                let [w, x, y, z] = [0, 1, 2, 3].map(|k| pose[POSE * body + 3 + k]);
                UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)).to_rotation_matrix().into_inner()
            };
            let turn = axes(self.frames(member).0) * axes(&self.equations.members[member].forward.pose).transpose();
            for node in nodes.iter_mut().filter(|node| node.side == side) {
                node.axes = turn * node.axes;
                node.velocity = node.velocity.map(|v| turn * v);
            }
        }
        nodes
    }

    /// Adds what the constraints give way, `weight` times, where their points are moved.
    fn add_given(&self, weight: f64, moved: impl Fn(usize) -> Vector3<f64>, out: &mut [f64]) {
        let members = &self.equations.members;
        let mut others = Vec::new();
        for (m, by) in self.moved.iter().enumerate() {
            let of = &members[m].forward;
            others.extend(by.iter().map(|by| (m, Forward::of(of.tree, &by.params, of.state, of.impulses))));
        }
        Standing { members, place: &|tree| self.place(tree), others: &others }.add_given(
            &self.equations.rows,
            &self.equations.sources,
            weight,
            moved,
            out,
        );
    }

    /// What a contact takes off the balance and its biased velocities, its point, normal and distance changed.
    fn contact(
        &self,
        contact: &ContactInput,
        constraint: usize,
        change: &ContactChange,
        left: &mut [f64],
        rows: &mut [f64],
    ) {
        let record = &self.equations.rows.constraints[constraint];
        let point = Vector3::from(contact.point) + vector(change, 0);
        let normal = (Vector3::from(contact.normal) + vector(change, 3)).normalize();
        let [t1, t2] = tangents(normal.into());
        let e = Matrix3::from_rows(&[Vector3::from(t1), Vector3::from(t2), normal].map(|row| row.transpose()));
        let (own, settings) = (self.contact_settings(contact), self.equations.contact_settings(contact));
        let mut nodes = self.nodes(contact);
        for node in &mut nodes {
            axpy(1.0, &change[7 + 3 * node.side..][..3], &mut node.weights);
        }
        // What mocap bodies do is a way over a step.
        let drift = contact.drift.map(|drift| Vector3::from(drift) * (own[0] / settings[0]));
        let drift = drift[0] + drift[1].cross(&vector(change, 0));
        let relative = |before: bool| {
            let of_nodes: Vector3<f64> =
                nodes.iter().map(|node| node.velocity[usize::from(before)] * node.pushed()).sum();
            self.relative(contact.bodies, point, before)[0] + of_nodes + drift
        };
        let mut sigma = e * relative(false);
        sigma.z += if record.approach == 0.0 {
            if let Some(span) = contact.give.span(1.0 / own[0]) {
                (contact.distance + change[6]) / span
            } else {
                let of_trees = self.equations.members.first().map(|member| member.forward.closed);
                let of_nodes = self.equations.soft_settings(contact).map(|(_, closed)| closed);
                let closed = of_nodes.or(of_trees).unwrap_or_else(|| closed_below(false));
                Branch::of(contact.distance, settings, closed).bias(contact.distance + change[6], own)
            }
        } else {
            contact.restitution * (e * relative(true)).z
        };
        (0..3).for_each(|k| rows[record.first + k] = sigma[k]);
        let f = e.transpose() * Vector3::from(contact.impulse);
        self.push(contact.bodies, point, f, Vector3::zeros(), left);
        for node in &nodes {
            let push = node.axes.transpose() * f * node.pushed();
            (0..3).for_each(|k| left[node.first + k] -= push[k]);
        }
    }

    /// The same of a block.
    fn block(&self, block: &BlockInput, constraint: usize, left: &mut [f64], rows: &mut [f64]) {
        let first = self.equations.rows.constraints[constraint].first;
        let of = |pose: &[f64], body: usize| -> [f64; POSE] { std::array::from_fn(|k| pose[POSE * body + k]) };
        let here = |(tree, body): BodyOfTree| of(&self.equations.members[self.place(tree)].forward.pose, body);
        let (_, here) = block_error(block, here);
        let (p, error) = block_error(block, |(tree, body)| of(self.frames(self.place(tree)).0, body));
        let (own, settings) = (self.settings(block.bodies), self.equations.settings(block.bodies));
        let speed = self.relative(block.bodies, p, false)[usize::from(block.angular)];
        (0..3).for_each(|k| rows[first + k] = speed[k] + bilateral_beside(here[k], settings, error[k], own));
        let (f, none) = (Vector3::from(block.impulse), Vector3::zeros());
        let (f, moment) = if block.angular { (none, f) } else { (f, none) };
        self.push(block.bodies, p, f, moment, left);
    }
}

/// Rate of a body's frame from its poses at [`DIFFERENCES`]: of the origin, and angular, world axes.
fn rate(poses: &[[f64; POSE]; 4], here: &[f64; POSE], step: f64) -> [Vector3<f64>; 2] {
    let slope =
        |k: usize| poses.iter().zip(DIFFERENCES).map(|(pose, (_, weight))| weight * pose[k]).sum::<f64>() / step;
    let [w, x, y, z] = [3, 4, 5, 6].map(slope);
    let (q0, q) = (here[3], Vector3::new(here[4], here[5], here[6]));
    let d = Vector3::new(x, y, z);
    // 2 dq q*
    let angular = 2.0 * (d * q0 - q * w - d.cross(&q));
    [Vector3::new(slope(0), slope(1), slope(2)), angular]
}

impl Equations<'_> {
    /// dF and ds by an entry of the parameters of one member of the island, or of all that is in it.
    pub(crate) fn by_tree_parameter(&self, one: Option<usize>, entry: usize, scale: f64) -> [Vec<f64>; 2] {
        let step = STEP * scale;
        let which = |member: usize| one.is_none_or(|one| one == member);
        let scenes = DIFFERENCES.map(|(times, _)| Scene {
            equations: self,
            common: one.is_none().then_some((entry, times * step)),
            moved: self
                .members
                .iter()
                .enumerate()
                .map(|(m, member)| which(m).then(|| Moved::new(&member.forward, entry, times * step)))
                .collect(),
        });
        let (mut by_force, mut by_rows) = (vec![0.0; self.n_v], vec![0.0; self.rows.height()]);
        for m in (0..self.members.len()).filter(|&m| which(m)) {
            self.by_own(m, entry, &mut by_force, &mut by_rows);
        }
        // Where contacts are.
        let twist = |body: Option<BodyOfTree>, p: Vector3<f64>| -> [f64; 6] {
            let Some((tree, body)) = body else { return [0.0; 6] };
            let member = scenes[0].place(tree);
            let of = |pose: &[f64]| std::array::from_fn(|k| pose[POSE * body + k]);
            let here: [f64; POSE] = of(&self.members[member].forward.pose);
            let [v, w] = rate(&std::array::from_fn(|k| of(scenes[k].frames(member).0)), &here, step);
            let v = v + w.cross(&(p - vector(&here, 0)));
            [v.x, v.y, v.z, w.x, w.y, w.z]
        };
        let changes: Vec<ContactChange> = self
            .sources
            .iter()
            .map(|source| {
                let mut change = ContactChange::default();
                let Source::Contact(_, contact) = source else { return change };
                if let Ok(slope) = &contact.slope {
                    for (side, &body) in contact.bodies.iter().enumerate() {
                        let own = slope.along_one(side, &twist(body, contact.point.into()));
                        change.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
                    }
                }
                change
            })
            .collect();
        let (mut left, mut rows) = (vec![0.0; self.n_v], vec![0.0; self.rows.height()]);
        for (scene, (times, weight)) in scenes.iter().zip(DIFFERENCES) {
            left.fill(0.0);
            rows.fill(0.0);
            for (at, (source, change)) in self.sources.iter().zip(&changes).enumerate() {
                match source {
                    Source::Contact(_, contact) => {
                        let change = change.map(|x| x * times * step);
                        scene.contact(contact, at, &change, &mut left, &mut rows);
                    }
                    Source::Block(block) => scene.block(block, at, &mut left, &mut rows),
                    Source::Row { .. } => {}
                }
            }
            let weight = weight / step;
            by_force.iter_mut().zip(&left).for_each(|(sum, x)| *sum -= weight * x);
            by_rows.iter_mut().zip(&rows).for_each(|(sum, x)| *sum += weight * x);
            if self.is_convex() {
                scene.add_given(weight, |at| vector(&changes[at], 0) * (times * step), &mut by_rows);
            }
        }
        [by_force, by_rows]
    }

    /// What a member's own balance and rows add to dF and ds.
    fn by_own(&self, m: usize, entry: usize, by_force: &mut [f64], by_rows: &mut [f64]) {
        let member = &self.members[m];
        let forward = &member.forward;
        // Where each row stands among the island's, and the bound it is at.
        let mut places = vec![None; forward.tree.rows.len()];
        let mut at_bound = vec![None; forward.tree.rows.len()];
        for (constraint, mode) in self.rows.constraints.iter().zip(&self.modes) {
            let Some((tree, index)) = constraint.row else { continue };
            if tree != member.at[0] {
                continue;
            }
            places[index] = Some(constraint.first);
            if *mode == Mode::AtBound {
                let numbers = forward.row(index);
                let lambda = constraint.impulse[0];
                let nearer = (lambda - numbers[row::LOWER]).abs() <= (numbers[row::UPPER] - lambda).abs();
                at_bound[index] = Some(if nearer { row::LOWER } else { row::UPPER });
            }
        }
        let [left, speeds] = balance_slopes(forward, entry, &member.after, &at_bound);
        left.iter().enumerate().for_each(|(i, x)| by_force[member.at[0] + i] -= x);
        for (place, speed) in places.iter().zip(speeds) {
            place.iter().for_each(|&at| by_rows[at] += speed);
        }
    }

    /// dF and ds by what moves contacts but no body.
    pub(crate) fn by_contacts(&self, changes: &[(usize, ContactChange)]) -> [Vec<f64>; 2] {
        let scene = Scene { equations: self, moved: self.members.iter().map(|_| None).collect(), common: None };
        let (mut by_force, mut by_rows) = (vec![0.0; self.n_v], vec![0.0; self.rows.height()]);
        let (mut left, mut rows) = (vec![0.0; self.n_v], vec![0.0; self.rows.height()]);
        for (constraint, source) in self.sources.iter().enumerate() {
            let Source::Contact(number, contact) = source else { continue };
            let Some((_, change)) = changes.iter().find(|change| change.0 == *number) else { continue };
            // Distances are changed by about a micrometre.
            let largest = change.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
            let step = if largest > 0.0 { 1e-6 / largest } else { continue };
            for (times, weight) in DIFFERENCES {
                left.fill(0.0);
                rows.fill(0.0);
                let change = change.map(|x| x * times * step);
                scene.contact(contact, constraint, &change, &mut left, &mut rows);
                by_force.iter_mut().zip(&left).for_each(|(sum, x)| *sum -= weight / step * x);
                by_rows.iter_mut().zip(&rows).for_each(|(sum, x)| *sum += weight / step * x);
                if self.is_convex() {
                    let point = |at: usize| if at == constraint { vector(&change, 0) } else { Vector3::zeros() };
                    scene.add_given(weight / step, point, &mut by_rows);
                }
            }
        }
        [by_force, by_rows]
    }

    /// Whether what is rigid gives way; with what deforms that is not known.
    fn is_convex(&self) -> bool {
        matches!(self.model, ContactModel::Convex { .. }) && self.deformables.is_empty()
    }

    /// What a contact of a body that deforms goes by, and below which speed a gap is closed.
    fn soft_settings(&self, contact: &ContactInput) -> Option<(ContactSettings, f64)> {
        let point = contact.points.iter().flatten().next()?;
        let body = self.deformables.iter().find(|body| body.number == point.body)?;
        Some((body.input.settings, body.closed))
    }

    /// 1/h, fraction and largest speed that a contact goes by.
    fn contact_settings(&self, contact: &ContactInput) -> [f64; 3] {
        let soft = self.soft_settings(contact).map(|(settings, _)| settings.correction());
        soft.unwrap_or_else(|| self.settings(contact.bodies))
    }

    /// Adds what changes of bodies that deform, and of the trees that carry them, to dF.
    pub(crate) fn add_changes(&self, bodies: &[BodyChange], force: &mut [f64]) {
        for BodyChange { body, change, carrier } in bodies {
            let Some(own) = self.deformables.iter().find(|own| own.number == *body) else { continue };
            axpy(1.0, change, &mut force[own.dofs()]);
            if let Some(input) = own.input.carrier.filter(|_| !carrier.is_empty()) {
                axpy(1.0, carrier, &mut force[self.members[self.island.member_of(input.tree)].dofs()]);
            }
        }
    }

    /// 1/h, fraction and largest speed of the first tree among bodies.
    fn settings(&self, bodies: [Option<BodyOfTree>; 2]) -> [f64; 3] {
        let member = bodies.iter().flatten().next().map_or(0, |body| self.island.member_of(body.0));
        settings(&self.members[member].forward)
    }

    /// By the friction coefficient of a contact: dF, as multiples of its tangents' rows of J, and ds of its normal; nothing if it
    /// does not slide.
    pub(crate) fn by_friction(&self, constraint: usize) -> ([f64; 2], f64) {
        let record = &self.rows.constraints[constraint];
        let Law::Contact { mu, model } = record.law else { return ([0.0; 2], 0.0) };
        if self.modes[constraint] != Mode::Sliding {
            return ([0.0; 2], 0.0);
        }
        let (first, [.., normal]) = (record.first, record.impulse);
        let slip = match model {
            // Of `sigma^_n - mu |sigma^_t| + (R_n + mu^2 R_t) lambda_n = 0`.
            ContactModel::Convex { .. } => {
                2.0 * mu * record.r[0] * normal - self.sigma[first].hypot(self.sigma[first + 1])
            }
            ContactModel::Exact | ContactModel::Pyramid => 0.0,
        };
        (self.drag[constraint].map(|drag| normal * drag), slip)
    }
}
