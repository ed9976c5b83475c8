//! Sensors that show more than the motion of one tree, as the state has it that a step begins with: computed on the host, in
//! f64, by the model's own parameters, and uploaded for the kernel `sense`.

use std::collections::HashMap;

use manyworlds_collide::{CollideError, Contact, Rays, Scratch};
use manyworlds_dynamics::TreeSet;
use manyworlds_model::{
    Bounded, Frame, Instrument, Joint, JointKind, Measures, Model, OfEnergy, OfFrame, OfMotion, OfRay, OfSubtree, Pose,
    Quat, Sensor, Tendon, Transmission, Vec3,
};
use nalgebra::{Point3, Quaternion};

use super::nearest::{self, Nearest};
use super::picks::{Picker, contains};
use crate::State;
use crate::kinematics::{Motion, motions_with};

/// Depths from a camera that are smaller are taken for this, m.
const NEAR: f64 = 1e-15;

/// The sensors of a model that are computed here.
#[derive(Debug)]
pub(crate) struct Outside {
    items: Vec<Item>,
    /// Some show forces of actuators, or what tendons do.
    forces: bool,
    /// What rays meet, where some look along rays.
    rays: Option<Rays>,
    nearest: Option<Nearest>,
    /// By sensor, of those that show contacts.
    pickers: HashMap<usize, Picker>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    sensor: usize,
    /// Tree set and tree in it that keep what it shows, and its first number among those that the host knows of that tree.
    pub(crate) set: usize,
    pub(crate) index: usize,
    pub(crate) at: usize,
}

/// Memory that one world after another is computed in.
#[derive(Default)]
pub(crate) struct Sight {
    motions: Vec<Motion>,
    scratch: Scratch,
    /// Of the pairs that sensors look at.
    closest: Vec<Contact>,
}

/// The world as a sensor sees it.
struct Seen<'a> {
    outside: &'a Outside,
    model: &'a Model,
    state: &'a State,
    motions: &'a [Motion],
    contacts: &'a [Contact],
    /// Of the pairs that sensors look at.
    closest: &'a [Contact],
    time: f64,
    /// Generalized forces of actuators, `[n_v]`; forces of each; of tendons lengths and rates.
    actuator: Vec<f64>,
    by_actuator: Vec<f64>,
    tendons: Vec<[f64; 2]>,
}

impl Outside {
    /// `None` where kernels know everything.
    ///
    /// # Errors
    /// Pairs of shapes that have no distance.
    pub(crate) fn new(model: &Model, sets: &[TreeSet]) -> Result<Option<Self>, CollideError> {
        let mut items = Vec::new();
        for (set, own) in sets.iter().enumerate() {
            for (index, sensors) in own.sensors.iter().enumerate() {
                let mut at = 0;
                for &sensor in sensors.iter().filter(|&&sensor| model.is_seen_from_outside(sensor)) {
                    items.push(Item { sensor, set, index, at });
                    at += model.sensors[sensor].measures.len(model);
                }
            }
        }
        let shows_forces = |item: &Item| {
            !matches!(
                model.sensors[item.sensor].measures,
                Measures::Frame(..)
                    | Measures::Instrument(..)
                    | Measures::Magnetometer(..)
                    | Measures::Subtree(..)
                    | Measures::Inside(..)
                    | Measures::Range(..)
                    | Measures::Projection(..)
                    | Measures::Nearest(..)
                    | Measures::Contacts(..)
                    | Measures::Clock
            )
        };
        let forces = items.iter().any(shows_forces);
        let sees = items.iter().any(|item| matches!(model.sensors[item.sensor].measures, Measures::Range(..)));
        let picker = |item: &Item| match &model.sensors[item.sensor].measures {
            Measures::Contacts(pick, _) => Some((item.sensor, Picker::new(model, pick))),
            _ => None,
        };
        if items.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            forces,
            rays: sees.then(|| Rays::new(model)),
            nearest: Nearest::new(model)?,
            pickers: items.iter().filter_map(picker).collect(),
            items,
        }))
    }

    /// Computes all of a world: `put` takes what each shows.
    pub(crate) fn show(
        &self,
        (model, sets): (&Model, &[TreeSet]),
        (state, mocap, time): (&State, &[Pose], f64),
        contacts: &[Contact],
        sight: &mut Sight,
        mut put: impl FnMut(&Item, &[f64]),
    ) {
        let Sight { motions, scratch, closest } = sight;
        motions_with(model, &state.q, &state.v, mocap, motions);
        if let Some(nearest) = &self.nearest {
            nearest.find(|body| motions[body].pose, scratch, closest);
        }
        let mut seen = Seen {
            outside: self,
            model,
            state,
            motions,
            contacts,
            closest,
            time,
            actuator: vec![0.0; model.n_v],
            by_actuator: vec![0.0; model.actuators.len()],
            tendons: vec![[0.0; 2]; model.tendons.len()],
        };
        if self.forces {
            seen.add_forces(sets);
        }
        for item in &self.items {
            put(item, &seen.by(item.sensor));
        }
    }
}

impl Seen<'_> {
    fn add_forces(&mut self, sets: &[TreeSet]) {
        for set in sets.iter().filter(|set| !set.is_soft()) {
            for (index, &number) in set.trees.iter().enumerate() {
                let (tree, state) = (&self.model.trees[number], self.state);
                let mut own = [&state.q[tree.q.clone()], &state.v[tree.v.clone()]].concat();
                own.extend(set.actuators[index].iter().map(|&a| state.ctrl[a]));
                own.extend(&state.tau[tree.v.clone()]);
                own.extend(set.activations[index].iter().map(|&a| state.act[a]));
                let found = set.forces_at(self.model, index, &own);
                self.actuator[tree.v.clone()].copy_from_slice(&found.actuator);
                set.actuators[index]
                    .iter()
                    .zip(found.by_actuator)
                    .for_each(|(&to, force)| self.by_actuator[to] = force);
                let moving = found.tendons.into_iter().zip(found.tendon_rates);
                set.tendons[index]
                    .iter()
                    .zip(moving)
                    .for_each(|(&to, (length, rate))| self.tendons[to] = [length, rate]);
            }
        }
    }

    fn by(&self, sensor: usize) -> Vec<f64> {
        let three = |x: Vec3| x.as_slice().to_vec();
        let Sensor { measures, cutoff, .. } = &self.model.sensors[sensor];
        match measures {
            Measures::Range(own, what) => self.range(own, what),
            Measures::Projection(own, camera, lens) => {
                let at = self.pose(camera).inverse_transform_point(&self.pose(own).translation.vector.into());
                // It looks along -z; pictures count from above.
                let [[x, y], [across, down]] = [lens.focal, lens.middle];
                let depth = if at.z.abs() < NEAR { NEAR.copysign(at.z) } else { at.z };
                vec![across - x * at.x / depth, down + y * at.y / depth]
            }
            Measures::Nearest(of, geoms) => nearest::reading(*of, geoms, *cutoff, self.closest),
            Measures::Contacts(_, what) => match self.outside.pickers.get(&sensor) {
                Some(picker) => {
                    let picked = picker.pick(self.contacts, |body| self.motions[body].pose);
                    picker.reading(&picked, what, self.contacts)
                }
                None => vec![0.0; measures.len(self.model)],
            },
            Measures::Clock => vec![self.time],
            Measures::Energy(OfEnergy::Potential) => vec![self.potential()],
            Measures::Energy(OfEnergy::Kinetic) => vec![self.kinetic()],
            Measures::Limit(motion, of, margin) => {
                let [distance, speed] = self.bound(*of);
                let acts = distance < *margin;
                vec![match motion {
                    _ if !acts => 0.0,
                    OfMotion::Position => distance - margin,
                    OfMotion::Velocity => speed,
                }]
            }
            Measures::Inside(own, zone, shape) => {
                let at = self.pose(zone).inverse_transform_point(&self.pose(own).translation.vector.into());
                vec![if contains(shape, at.coords) { 1.0 } else { 0.0 }]
            }
            Measures::Frame(of, own, reference) => self.frame(*of, own, reference.as_ref()),
            Measures::Instrument(Instrument::Gyro, own) => {
                three(self.pose(own).rotation.inverse() * self.motions[own.body].angular)
            }
            Measures::Instrument(_, own) => {
                let pose = self.pose(own);
                three(pose.rotation.inverse() * self.motions[own.body].velocity_at(&pose.translation.vector))
            }
            Measures::Magnetometer(own, field) => three(self.pose(own).rotation.inverse() * field),
            Measures::Subtree(of, body) => three(self.subtree(*of, *body)),
            Measures::ActuatorForce(actuator) => vec![self.by_actuator[*actuator]],
            Measures::TendonActuatorForce(tendon) => {
                let actuators = self.model.actuators.iter().zip(&self.by_actuator);
                let own = actuators.filter(|(actuator, _)| actuator.transmission == Transmission::Tendon(*tendon));
                vec![own.map(|(_, force)| force).sum()]
            }
            Measures::JointActuatorForce(joint) => vec![self.actuator[self.model.joints[*joint].v_start]],
            // Kernels know these, whatever else there is.
            Measures::Joint(..)
            | Measures::Tendon(..)
            | Measures::Actuator(..)
            | Measures::Touch(..)
            | Measures::LimitForce(_) => vec![0.0; measures.len(self.model)],
        }
    }

    fn pose(&self, frame: &Frame) -> Pose {
        self.motions[frame.body].pose * frame.pose
    }

    fn range(&self, own: &Frame, what: &[OfRay]) -> Vec<f64> {
        let pose = self.pose(own);
        let (from, along) = (pose.translation.vector, pose.rotation * Vec3::z());
        let stands = |body: usize| self.motions[body].pose;
        let met = self.outside.rays.as_ref().and_then(|rays| rays.first(stands, from, along, own.body));
        let three = |x: Option<Vec3>| x.unwrap_or_default().as_slice().to_vec();
        let of = |of: &OfRay| match of {
            OfRay::Distance => vec![met.map_or(-1.0, |met| met.distance)],
            OfRay::Direction => three(met.map(|_| along)),
            OfRay::Origin => three(Some(from)),
            OfRay::Point => three(met.map(|met| from + along * met.distance)),
            OfRay::Normal => three(met.map(|met| met.normal)),
        };
        what.iter().flat_map(of).collect()
    }

    fn frame(&self, of: OfFrame, own: &Frame, reference: Option<&Frame>) -> Vec<f64> {
        let world = Frame { body: 0, pose: Pose::identity() };
        let reference = reference.unwrap_or(&world);
        let (pose, seen_from) = (self.pose(own), self.pose(reference));
        let (place, origin) = (pose.translation.vector, seen_from.translation.vector);
        let (moves, turns) = (&self.motions[own.body], &self.motions[reference.body]);
        let into = seen_from.rotation.inverse();
        let vector = match of {
            OfFrame::Orientation => {
                let q = into * pose.rotation;
                return vec![q.w, q.i, q.j, q.k];
            }
            OfFrame::Position => place - origin,
            OfFrame::Axis(axis) => {
                let mut along = Vec3::zeros();
                along[axis as usize] = 1.0;
                pose.rotation * along
            }
            OfFrame::AngularVelocity => moves.angular - turns.angular,
            _ => {
                let relative = moves.velocity_at(&place) - turns.velocity_at(&origin);
                relative - turns.angular.cross(&(place - origin))
            }
        };
        (into * vector).as_slice().to_vec()
    }

    /// Bodies of a subtree, by their number.
    fn below(&self, root: usize) -> impl Iterator<Item = usize> + '_ {
        let is_below = move |&body: &usize| {
            std::iter::successors(Some(body), |&at| (at > 0).then(|| self.model.bodies[at].parent)).any(|at| at == root)
        };
        (1..self.model.bodies.len()).filter(is_below)
    }

    /// World centre of mass of a body, and its velocity.
    fn centre(&self, body: usize) -> [Vec3; 2] {
        let motion = &self.motions[body];
        let at = (motion.pose * Point3::from(self.model.bodies[body].inertial.com)).coords;
        [at, motion.velocity_at(&at)]
    }

    /// Angular momentum of a body about its centre of mass.
    fn spin(&self, body: usize) -> Vec3 {
        let (motion, inertial) = (&self.motions[body], &self.model.bodies[body].inertial);
        let own = motion.pose.rotation.inverse() * motion.angular;
        motion.pose.rotation * (inertial.inertia * own)
    }

    fn subtree(&self, of: OfSubtree, root: usize) -> Vec3 {
        let (mut mass, mut moment, mut momentum) = (0.0, Vec3::zeros(), Vec3::zeros());
        for body in self.below(root) {
            let (own, [at, velocity]) = (self.model.bodies[body].inertial.mass, self.centre(body));
            mass += own;
            moment += own * at;
            momentum += own * velocity;
        }
        if mass == 0.0 {
            return if of == OfSubtree::Centre { self.motions[root].pose.translation.vector } else { Vec3::zeros() };
        }
        let (centre, drift) = (moment / mass, momentum / mass);
        let about = |body: usize| {
            let [at, velocity] = self.centre(body);
            let linear = self.model.bodies[body].inertial.mass * (velocity - drift);
            self.spin(body) + (at - centre).cross(&linear)
        };
        match of {
            OfSubtree::Centre => centre,
            OfSubtree::Velocity => drift,
            OfSubtree::AngularMomentum => self.below(root).map(about).sum(),
        }
    }

    /// Of weights, and of springs of joints and tendons.
    fn potential(&self) -> f64 {
        let gravity = self.model.options.gravity;
        let weight = |body: usize| -self.model.bodies[body].inertial.mass * gravity.dot(&self.centre(body)[0]);
        let spring = |joint: &Joint| 0.5 * joint.stiffness * self.strain(joint).norm_squared();
        let tendon = |(tendon, &[length, _]): (&Tendon, &[f64; 2])| {
            let rest = tendon.spring_length.unwrap_or_default();
            0.5 * tendon.stiffness * (length - length.clamp(rest[0], rest[1])).powi(2)
        };
        (1..self.motions.len()).map(weight).sum::<f64>()
            + self.model.joints.iter().filter(|joint| joint.stiffness != 0.0).map(spring).sum::<f64>()
            + self.model.tendons.iter().zip(&self.tendons).filter(|(t, _)| t.stiffness != 0.0).map(tendon).sum::<f64>()
    }

    /// How far a joint's spring is stretched: along and about axes at right angles.
    fn strain(&self, joint: &Joint) -> nalgebra::Vector6<f64> {
        let start = self.model.initial_q();
        let [now, slack] = [&self.state.q, &start].map(|q| &q[joint.q_start..joint.q_start + joint.kind.n_q()]);
        let turn = |at: usize| {
            let [now, slack] = [now, slack].map(|q| orientation(&q[at..]));
            (slack.inverse() * now).scaled_axis()
        };
        let (mut moved, mut turned) = (Vec3::zeros(), Vec3::zeros());
        match joint.kind {
            JointKind::Hinge | JointKind::Slide => moved.x = now[0] - joint.spring_reference,
            JointKind::Ball => turned = turn(0),
            JointKind::Free => {
                moved = Vec3::new(now[0] - slack[0], now[1] - slack[1], now[2] - slack[2]);
                turned = turn(3);
            }
        }
        nalgebra::Vector6::new(moved.x, moved.y, moved.z, turned.x, turned.y, turned.z)
    }

    fn kinetic(&self) -> f64 {
        let of_body = |body: usize| {
            let velocity = self.centre(body)[1];
            let mass = self.model.bodies[body].inertial.mass;
            0.5 * (mass * velocity.norm_squared() + self.motions[body].angular.dot(&self.spin(body)))
        };
        let of_rotor = |joint: &Joint| {
            let v = &self.state.v[joint.v_start..joint.v_start + joint.kind.n_v()];
            0.5 * joint.armature * v.iter().map(|v| v * v).sum::<f64>()
        };
        (1..self.motions.len()).map(of_body).sum::<f64>() + self.model.joints.iter().map(of_rotor).sum::<f64>()
    }

    /// How far something is within its nearest bound, and how fast that grows; without bounds, without end.
    fn bound(&self, of: Bounded) -> [f64; 2] {
        let between = |range: Option<[f64; 2]>, at: f64, rate: f64| match range {
            Some([low, high]) if at - low <= high - at => [at - low, rate],
            Some([_, high]) => [high - at, -rate],
            None => [f64::INFINITY, 0.0],
        };
        match of {
            Bounded::Tendon(tendon) => {
                let [length, rate] = self.tendons[tendon];
                between(self.model.tendons[tendon].range, length, rate)
            }
            Bounded::Joint(joint) => {
                let joint = &self.model.joints[joint];
                let v = &self.state.v[joint.v_start..];
                if joint.kind != JointKind::Ball {
                    return between(joint.range, self.state.q[joint.q_start], v[0]);
                }
                let turn = orientation(&self.state.q[joint.q_start..]).scaled_axis();
                let rate = turn.try_normalize(0.0).map_or(0.0, |axis| axis.dot(&Vec3::new(v[0], v[1], v[2])));
                joint.range.map_or([f64::INFINITY, 0.0], |[low, high]| [low.max(high) - turn.norm(), -rate])
            }
        }
    }
}

fn orientation(q: &[f64]) -> Quat {
    Quat::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]))
}
