//! Applied forces of a tree: the paths that they pull along, their records and their parameters.

use manyworlds_model::{Actuator, Dynamics, JointKind, Mat3, Muscle, Path, Pose, Quat, Transmission, Waypoint};
use manyworlds_shaders::dynamics::tree::{
    ForceRecord, NONE, PathRecord, PointRecord, TreeDims, force, muscle, param, path, point, rate,
};

use crate::view::{TreeView, static_pose};

/// What is known of a path before it has a place in the topology.
pub(crate) struct PathPlan {
    pub(crate) record: PathRecord,
    pub(crate) points: Vec<PointRecord>,
    pub(crate) dofs: Vec<u32>,
    params: Vec<f64>,
    point_params: Vec<Vec<f64>>,
}

/// A force with its parameters.
pub(crate) struct ForcePlan {
    pub(crate) record: ForceRecord,
    params: Vec<f64>,
}

/// All of a tree.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) paths: Vec<PathPlan>,
    pub(crate) forces: Vec<ForcePlan>,
    /// Paths of the tree's tendons, indices in the model, in order; they come first.
    pub(crate) tendons: Vec<usize>,
    pub(crate) n_act: usize,
    /// Paths that actuators have, by number of the actuator and of the path.
    actuator_paths: Vec<(u32, u32)>,
}

/// The bodies that a tree moves, with their records: one that unites several trees has fixed bodies as well.
fn moved(tree: &TreeView) -> impl Iterator<Item = (usize, u32)> {
    tree.tree.bodies.clone().map(|body| (body, tree.body(body))).filter(|&(_, on)| on != NONE)
}

impl Plan {
    pub(crate) fn new(tree: &TreeView) -> Self {
        let mut plan = Self::default();
        for (number, tendon) in tree.model.tendons.iter().enumerate() {
            if !tree.tendons.contains(&number) {
                continue;
            }
            plan.tendons.push(number);
            let mut path = tendon_path(tree, &tendon.path);
            path.params.extend(tendon.range.unwrap_or([-param::UNBOUNDED, param::UNBOUNDED]));
            path.params.push(tendon.dry_friction);
            plan.paths.push(path);
            if tendon.stiffness != 0.0 || tendon.damping != 0.0 {
                let on = plan.paths.len() as u32 - 1;
                let [low, high] = tendon.spring_length.unwrap_or_default();
                plan.force(
                    ForceRecord { on, implicit: 1, act: NONE, ..record(force::SPRING) },
                    vec![tendon.stiffness, tendon.damping, low, high],
                );
            }
        }
        plan.weights(tree);
        for (number, &index) in tree.actuators.iter().enumerate() {
            let actuator = &tree.model.actuators[index];
            // What adheres is told by contacts, which come with each step.
            if is_applied(actuator) && !matches!(actuator.transmission, Transmission::Adhesion(_)) {
                plan.actuator(tree, number as u32, actuator);
            }
        }
        plan.fluid(tree);
        plan
    }

    fn force(&mut self, record: ForceRecord, mut params: Vec<f64>) {
        params.resize(param::FORCE, 0.0);
        self.forces.push(ForcePlan { record, params });
    }

    fn weights(&mut self, tree: &TreeView) {
        for (body, on) in moved(tree) {
            let fraction = tree.model.bodies[body].gravity_compensation;
            if fraction != 0.0 {
                self.force(ForceRecord { on, act: NONE, ..record(force::WEIGHT) }, vec![fraction]);
            }
        }
    }

    fn actuator(&mut self, tree: &TreeView, number: u32, actuator: &Actuator) {
        let tendon = match actuator.transmission {
            Transmission::Tendon(tendon) => self.tendons.iter().position(|&known| known == tendon),
            _ => None,
        };
        let on = match tendon {
            Some(path) => path,
            None => {
                self.paths.push(transmission_path(tree, number, &actuator.transmission));
                self.paths.len() - 1
            }
        };
        self.actuator_paths.push((number, on as u32));
        let kind = self.paths[on].record.kind;
        let mut muscle = 0;
        if let Some(curves) = &actuator.muscle {
            muscle = if curves.active { muscle::ACTIVE } else { 0 } | if curves.passive { muscle::PASSIVE } else { 0 };
        }
        let falls = actuator.bias[1..].iter().any(|&x| x != 0.0) || actuator.gain[1..].iter().any(|&x| x != 0.0);
        let (mut act, mut dynamics, mut early) = (NONE, rate::NONE, 0);
        let mut times = [0.0; 3];
        let mut range = [-param::UNBOUNDED, param::UNBOUNDED];
        if let Some(activation) = &actuator.activation {
            act = self.n_act as u32;
            self.n_act += 1;
            early = u32::from(activation.early);
            range = activation.range.unwrap_or(range);
            (dynamics, times) = match activation.dynamics {
                Dynamics::Integrator => (rate::INTEGRATOR, [1.0, 0.0, 0.0]),
                Dynamics::Filter { time } => (rate::FILTER, [time, 0.0, 0.0]),
                Dynamics::FilterExact { time } => (rate::FILTER_EXACT, [time, 0.0, 0.0]),
                Dynamics::Muscle { times: [rise, fall], smoothing } => (rate::MUSCLE, [rise, fall, smoothing]),
            };
        }
        let mut params = vec![actuator.gain[1], actuator.gain[2]];
        params.extend(times);
        params.extend(range);
        if let Some(curves) = &actuator.muscle {
            params.extend(muscle_params(curves));
        }
        let record = ForceRecord {
            on: on as u32,
            implicit: u32::from(falls || muscle & muscle::ACTIVE != 0),
            actuator: number,
            geared: u32::from(matches!(kind, path::LINEAR | path::SPATIAL | path::CRANK)),
            act,
            dynamics,
            early,
            muscle,
            ..record(force::ACTUATOR)
        };
        self.force(record, params);
    }

    /// The path that an actuator of the tree pulls along; of one that needs none to act it is made.
    pub(crate) fn path_of(&mut self, tree: &TreeView, number: u32) -> u32 {
        if let Some(&(_, path)) = self.actuator_paths.iter().find(|(known, _)| *known == number) {
            return path;
        }
        let actuator = &tree.model.actuators[tree.actuators[number as usize]];
        self.paths.push(transmission_path(tree, number, &actuator.transmission));
        let path = self.paths.len() as u32 - 1;
        self.actuator_paths.push((number, path));
        path
    }

    /// A fluid acts on ellipsoids of the geoms that ask for it; on bodies without such, as on boxes of their inertia.
    fn fluid(&mut self, tree: &TreeView) {
        let model = tree.model;
        let fluid = model.options.fluid;
        if !fluid.acts() {
            return;
        }
        let head = || {
            let mut params = vec![fluid.density, fluid.viscosity];
            params.extend(fluid.wind.iter());
            params
        };
        for (index, on) in moved(tree) {
            let body = &model.bodies[index];
            if body.inertial.mass < LEAST_MASS {
                continue;
            }
            let shapes = model.fluid_shapes.iter().filter(|shape| shape.body == index);
            let mut seen = false;
            for shape in shapes {
                seen = true;
                let mut params = head();
                push_pose(&shape.pose, &mut params);
                params.extend(shape.radii.iter());
                params.extend(shape.coefficients);
                shape.added().iter().for_each(|added| params.extend(added.iter()));
                self.force(ForceRecord { on, implicit: 1, act: NONE, ..record(force::ELLIPSOID) }, params);
            }
            if seen {
                continue;
            }
            let (moments, axes) = body.inertial.principal();
            let turn = rotation(&axes);
            let frame = Pose::from_parts(body.inertial.com.into(), turn);
            let edge = |a: usize, b: usize, c: usize| {
                ((moments[a] + moments[b] - moments[c]).max(LEAST_MASS) / body.inertial.mass * 6.0).sqrt()
            };
            let mut params = head();
            push_pose(&frame, &mut params);
            params.extend([edge(1, 2, 0), edge(0, 2, 1), edge(0, 1, 2)]);
            self.force(ForceRecord { on, implicit: 1, act: NONE, ..record(force::BOX) }, params);
        }
    }

    /// Lengths of records of parameters, in their order.
    pub(crate) fn place(&mut self, dims: &mut TreeDims, mut at: usize) {
        dims.n_path = self.paths.len() as u32;
        dims.n_force = self.forces.len() as u32;
        dims.n_act = self.n_act as u32;
        let mut pull = 0;
        for plan in &mut self.paths {
            plan.record.param = at as u32;
            at += param::PATH;
            plan.record.pull = pull;
            pull += 1 + plan.dofs.len() as u32;
            plan.record.point_count = plan.points.len() as u32;
            plan.record.dof_count = plan.dofs.len() as u32;
            for item in &mut plan.points {
                item.param = at as u32;
                at += param::POINT_SIZE;
            }
            if plan.record.gear != NONE {
                plan.record.gear = dims.actuator_param + plan.record.gear * param::ACTUATOR as u32;
            }
        }
        dims.n_pull = pull;
        for plan in &mut self.forces {
            plan.record.param = at as u32;
            at += param::FORCE;
        }
        dims.n_param = at as u32;
    }

    /// Appends the records to the topology, which gets its place in `dims`.
    pub(crate) fn append(&mut self, dims: &mut TreeDims, topology: &mut Vec<u32>) {
        dims.path_at = topology.len() as u32;
        let words = |n: usize, size: usize| (n * size / size_of::<u32>()) as u32;
        let mut at = dims.path_at
            + words(self.paths.len(), size_of::<PathRecord>())
            + words(self.forces.len(), size_of::<ForceRecord>());
        for plan in &mut self.paths {
            plan.record.point_at = at;
            at += words(plan.points.len(), size_of::<PointRecord>());
            plan.record.dof_at = at;
            at += plan.dofs.len() as u32;
        }
        for plan in &self.paths {
            topology.extend(bytemuck::cast_slice::<_, u32>(&[plan.record]));
        }
        for plan in &self.forces {
            topology.extend(bytemuck::cast_slice::<_, u32>(&[plan.record]));
        }
        for plan in &self.paths {
            topology.extend(bytemuck::cast_slice::<_, u32>(&plan.points));
            topology.extend(&plan.dofs);
        }
    }

    /// The path of a tendon of the tree.
    pub(crate) fn tendon(&self, tendon: usize) -> Option<u32> {
        self.tendons.iter().position(|&known| known == tendon).map(|path| path as u32)
    }

    /// Appends the parameters, in the order of [`Plan::place`].
    pub(crate) fn params(&self, params: &mut Vec<f64>) {
        let padded = |values: &[f64], n: usize, params: &mut Vec<f64>| {
            let start = params.len();
            params.extend(values);
            params.resize(start + n, 0.0);
        };
        for plan in &self.paths {
            padded(&plan.params, param::PATH, params);
            plan.point_params.iter().for_each(|own| padded(own, param::POINT_SIZE, params));
        }
        for plan in &self.forces {
            params.extend(&plan.params);
        }
    }

    /// Sets of dofs that must be parents of one another, for the matrix to hold what the forces add.
    pub(crate) fn cliques(&self) -> impl Iterator<Item = &[u32]> {
        let implicit = self
            .forces
            .iter()
            .filter(|plan| plan.record.implicit == 1 && matches!(plan.record.kind, force::SPRING | force::ACTUATOR));
        implicit.map(|plan| &self.paths[plan.record.on as usize].dofs[..])
    }
}

/// Bodies lighter than this feel no fluid, as in MuJoCo, kg; no moment of a box is below it, either.
const LEAST_MASS: f64 = 1e-15;

fn record(kind: u32) -> ForceRecord {
    let nothing: ForceRecord = bytemuck::Zeroable::zeroed();
    ForceRecord { kind, ..nothing }
}

/// Whether an actuator is no simple drive of a joint.
pub(crate) fn is_applied(actuator: &Actuator) -> bool {
    !matches!(actuator.transmission, Transmission::Joint(_)) || !actuator.is_plain()
}

/// Principal axes as an orientation.
fn rotation(axes: &Mat3) -> Quat {
    let mut axes = *axes;
    if axes.determinant() < 0.0 {
        let flipped = -axes.column(2);
        axes.set_column(2, &flipped);
    }
    Quat::from_matrix(&axes)
}

fn muscle_params(curves: &Muscle) -> [f64; 8] {
    let optimum = (curves.length_range[1] - curves.length_range[0]) / (curves.range[1] - curves.range[0]);
    [
        // Known once the acceleration at the initial position is.
        curves.force.unwrap_or(f64::NAN),
        optimum,
        curves.range[0] - curves.length_range[0] / optimum,
        curves.shortest,
        curves.longest,
        curves.fastest,
        curves.passive_force,
        curves.stretched_force,
    ]
}

pub(crate) fn push_pose(pose: &Pose, params: &mut Vec<f64>) {
    params.extend(pose.translation.vector.iter());
    let q = &pose.rotation;
    params.extend([q.w, q.i, q.j, q.k]);
}

/// A frame on a body; of one that no joint moves, in the world.
pub(crate) fn frame(tree: &TreeView, body: usize, local: &Pose) -> Pose {
    let still = tree.body(body) == NONE;
    if still { static_pose(tree.model, body) * local } else { *local }
}

/// Dofs that move some of the bodies, but not all of them; the ground is [`NONE`].
fn changing(tree: &TreeView, bodies: &[u32]) -> Vec<u32> {
    let dofs = tree.kinematic_dofs();
    let moved = |dof: usize| bodies.iter().filter(|&&b| dofs[dof].body <= b && b < dofs[dof].subtree_end).count();
    (0..dofs.len()).filter(|&d| (1..bodies.len()).contains(&moved(d))).map(|d| d as u32).collect()
}

fn empty(kind: u32) -> PathPlan {
    let nothing: PathRecord = bytemuck::Zeroable::zeroed();
    PathPlan {
        record: PathRecord { kind, body: NONE, other: NONE, gear: NONE, ..nothing },
        points: Vec::new(),
        dofs: Vec::new(),
        params: Vec::new(),
        point_params: Vec::new(),
    }
}

fn linear(tree: &TreeView, terms: &[(usize, f64)]) -> PathPlan {
    let mut plan = empty(path::LINEAR);
    let joint = |index: usize| &tree.model.joints[index];
    plan.dofs = terms.iter().map(|&(j, _)| tree.dof(joint(j))).collect();
    plan.dofs.sort_unstable();
    plan.dofs.dedup();
    for &(index, coefficient) in terms {
        let (q, dof) = ((joint(index).q_start - tree.tree.q.start) as u32, tree.dof(joint(index)));
        let dof = plan.dofs.iter().position(|&d| d == dof).unwrap_or(0) as u32;
        plan.points.push(PointRecord { kind: point::JOINT, body: NONE, side: NONE, sided: 0, q, dof, param: 0 });
        plan.point_params.push(vec![coefficient]);
    }
    plan
}

fn tendon_path(tree: &TreeView, path: &Path) -> PathPlan {
    let points = match path {
        Path::Fixed(terms) => return linear(tree, terms),
        Path::Spatial(points) => points,
    };
    let mut plan = empty(path::SPATIAL);
    let model = tree.model;
    let mut bodies = Vec::new();
    for waypoint in points {
        let mut own = Vec::new();
        let mut item = PointRecord { kind: point::SITE, body: NONE, side: NONE, sided: 0, q: 0, dof: 0, param: 0 };
        match waypoint {
            Waypoint::Site(site) => {
                let site = &model.sites[*site];
                item.body = tree.body(site.body);
                own.extend(frame(tree, site.body, &site.pose).translation.vector.iter());
                bodies.push(item.body);
            }
            Waypoint::Pulley(divisor) => {
                item.kind = point::PULLEY;
                own.push(*divisor);
            }
            Waypoint::Obstacle(obstacle) => {
                item.kind = if obstacle.cylinder { point::CYLINDER } else { point::SPHERE };
                item.body = tree.body(obstacle.body);
                bodies.push(item.body);
                push_pose(&frame(tree, obstacle.body, &obstacle.pose), &mut own);
                own.push(obstacle.radius);
                if let Some(side) = obstacle.side.map(|side| &model.sites[side]) {
                    item.sided = 1;
                    item.side = tree.body(side.body);
                    own.extend(frame(tree, side.body, &side.pose).translation.vector.iter());
                }
            }
        }
        plan.points.push(item);
        plan.point_params.push(own);
    }
    plan.dofs = changing(tree, &bodies);
    plan
}

fn transmission_path(tree: &TreeView, number: u32, transmission: &Transmission) -> PathPlan {
    let model = tree.model;
    let site = |index: usize| &model.sites[index];
    match *transmission {
        Transmission::Joint(index) | Transmission::JointInParent(index) => {
            let joint = &model.joints[index];
            if matches!(joint.kind, JointKind::Hinge | JointKind::Slide) {
                return linear(tree, &[(index, 1.0)]);
            }
            let kind = if joint.kind == JointKind::Ball { path::BALL } else { path::FREE };
            let mut plan = empty(kind);
            plan.record.q = (joint.q_start - tree.tree.q.start) as u32;
            plan.record.dof = tree.dof(joint);
            plan.record.gear = number;
            plan.record.in_parent = u32::from(matches!(transmission, Transmission::JointInParent(_)));
            plan.dofs = (0..joint.kind.n_v() as u32).map(|k| plan.record.dof + k).collect();
            plan
        }
        Transmission::Tendon(tendon) => tendon_path(tree, &model.tendons[tendon].path),
        Transmission::Site { site: own, reference } => {
            let mut plan = empty(if reference.is_some() { path::RELATIVE } else { path::SITE });
            let own = site(own);
            plan.record.gear = number;
            plan.record.body = tree.body(own.body);
            push_pose(&frame(tree, own.body, &own.pose), &mut plan.params);
            if let Some(other) = reference.map(site) {
                plan.record.other = tree.body(other.body);
                push_pose(&frame(tree, other.body, &other.pose), &mut plan.params);
            }
            plan.dofs = changing(tree, &[plan.record.body, plan.record.other]);
            plan
        }
        Transmission::SliderCrank { crank, slider, rod } => {
            let mut plan = empty(path::CRANK);
            let (crank, slider) = (site(crank), site(slider));
            (plan.record.body, plan.record.other) = (tree.body(crank.body), tree.body(slider.body));
            push_pose(&frame(tree, crank.body, &crank.pose), &mut plan.params);
            push_pose(&frame(tree, slider.body, &slider.pose), &mut plan.params);
            plan.params.push(rod);
            plan.dofs = changing(tree, &[plan.record.body, plan.record.other]);
            plan
        }
        // It has no length.
        Transmission::Adhesion(_) => empty(path::LINEAR),
        Transmission::Region { .. } => {
            unreachable!("an actuator of a region is of a soft body, which has no paths")
        }
    }
}
