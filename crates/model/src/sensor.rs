//! Sensors: what is measured of a world in every step.

use std::ops::Range;

use crate::{Actuator, Model, Pose, Transmission, Vec3};

/// Something that is measured in every step.
#[derive(Debug, Clone)]
pub struct Sensor {
    /// Name; empty when the file gives none.
    pub name: String,
    /// What it measures.
    pub measures: Measures,
    /// Readings are clipped to this, both ways; 0: they are not.
    pub cutoff: f64,
}

/// A frame that moves with a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Its body.
    pub body: usize,
    /// In the body's frame.
    pub pose: Pose,
}

/// What a sensor measures, with the part of the model by its index.
#[derive(Debug, Clone, PartialEq)]
pub enum Measures {
    /// Of a hinge or slide, or of a ball joint (then a quaternion, or an angular velocity).
    Joint(OfMotion, usize),
    /// Generalized force of all actuators on a hinge or slide, N m or N.
    JointActuatorForce(usize),
    /// Length of a tendon, or its rate.
    Tendon(OfMotion, usize),
    /// Force of all actuators on a tendon, N.
    TendonActuatorForce(usize),
    /// Length of an actuator's transmission times the gear, or its rate.
    Actuator(OfMotion, usize),
    /// Force of an actuator before the gear.
    ActuatorForce(usize),
    /// Where a frame is and how it moves, as another sees it; without one, in world axes.
    Frame(OfFrame, Frame, Option<Frame>),
    /// What an instrument that is fixed to a frame shows, in its axes.
    Instrument(Instrument, Frame),
    /// A constant field, world axes, in the axes of a frame.
    Magnetometer(Frame, Vec3),
    /// Of a body and all that stands on it.
    Subtree(OfSubtree, usize),
    /// Normal force of all contacts of a body that push on a zone, N.
    Touch(Frame, Zone),
    /// How far a joint or tendon is within its nearest bound, less a margin, or how fast that changes; 0 where it is further
    /// within than the margin.
    Limit(OfMotion, Bounded, f64),
    /// 1 where the origin of the first frame is in a zone about the second, else 0.
    Inside(Frame, Frame, Zone),
    /// Along the ray from a frame's origin along its z axis to the first visible geom that is not on the frame's own body.
    Range(Frame, Vec<OfRay>),
    /// Where the origin of the first frame is in the picture of a camera that stands at the second, pixels from the upper left
    /// corner.
    Projection(Frame, Frame, Lens),
    /// Of the two geoms, one of each list, that are nearest to each other, whether or not they may touch. Further apart than the
    /// sensor's cutoff they are not seen.
    Nearest(OfNearest, [Vec<usize>; 2]),
    /// Of contacts.
    Contacts(ContactPick, Vec<OfContact>),
    /// Force of a limit, N or N m.
    LimitForce(Bounded),
    /// Of the whole world, J.
    Energy(OfEnergy),
    /// Time since the world began, s.
    Clock,
}

/// What is measured along a ray.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfRay {
    /// To the surface, m; -1 where there is none.
    Distance,
    /// Of the ray, a unit vector; 0 where it meets nothing; 3.
    Direction,
    /// Where the ray begins, m, 3.
    Origin,
    /// Where it ends, m; 0 where it meets nothing; 3.
    Point,
    /// Of the surface there, outward; 0 where it meets nothing; 3.
    Normal,
}

/// How a camera draws: focal lengths and the middle of the picture, pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lens {
    /// Along x and y.
    pub focal: [f64; 2],
    /// x and y.
    pub middle: [f64; 2],
}

/// What is measured of the geoms that are nearest to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfNearest {
    /// Negative where they overlap; the cutoff where none is seen, m.
    Distance,
    /// From the first to the second, a unit vector, 3.
    Normal,
    /// The point on the first and that on the second, m, 6.
    Segment,
}

/// Which contacts a sensor sees, and how it shows them.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactPick {
    /// What must take part; the normal points from the first to the second.
    pub between: [Option<Party>; 2],
    /// Where the contact must be.
    pub within: Option<(Frame, Zone)>,
    /// Which are shown.
    pub order: ContactOrder,
    /// How many are shown, one behind the other; zeros where there are not as many.
    pub slots: usize,
}

/// Who takes part in a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// This geom.
    Geom(usize),
    /// Any geom of this body.
    Body(usize),
    /// Any geom of this body or of one that stands on it.
    Subtree(usize),
}

/// Which contacts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactOrder {
    /// The first that collision finds.
    Found,
    /// The deepest.
    Deepest,
    /// All in one: their forces added up, in world axes.
    Net,
}

/// What is shown of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfContact {
    /// How many there are to be shown.
    Count,
    /// Along the normal and the two tangents, N, 3.
    Force,
    /// About them: point contacts have none, 3.
    Torque,
    /// Negative where the geoms overlap, m.
    Distance,
    /// m, 3.
    Position,
    /// 3.
    Normal,
    /// The first of them, 3.
    Tangent,
}

impl OfContact {
    /// Numbers that it has.
    #[must_use]
    pub fn width(self) -> usize {
        if matches!(self, Self::Count | Self::Distance) { 1 } else { 3 }
    }
}

impl OfRay {
    /// Numbers that it has.
    #[must_use]
    pub fn width(self) -> usize {
        if self == Self::Distance { 1 } else { 3 }
    }
}

/// What has bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bounded {
    /// A hinge, slide or ball joint.
    Joint(usize),
    /// A tendon.
    Tendon(usize),
}

/// A kind of energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfEnergy {
    /// Of weights and springs.
    Potential,
    /// Of motion, armature included.
    Kinetic,
}

/// A position, or how fast it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfMotion {
    /// The position.
    Position,
    /// Its rate.
    Velocity,
}

/// What is measured of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfFrame {
    /// m, 3.
    Position,
    /// A quaternion, 4.
    Orientation,
    /// One of its axes: 0 x, 1 y, 2 z; 3.
    Axis(u32),
    /// Of its origin, m/s, 3.
    LinearVelocity,
    /// rad/s, 3.
    AngularVelocity,
    /// Of its origin, less gravity, m/s^2, 3; in world axes.
    LinearAcceleration,
    /// rad/s^2, 3; in world axes.
    AngularAcceleration,
}

/// What is fixed to a body and knows no frame but its own; 3 numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instrument {
    /// Linear velocity, m/s.
    Velocimeter,
    /// Angular velocity, rad/s.
    Gyro,
    /// Linear acceleration less gravity, m/s^2.
    Accelerometer,
    /// Force that its body's parent exerts on the body, N.
    Force,
    /// Its torque about the frame's origin, N m.
    Torque,
}

/// What is measured of a subtree; 3 numbers, world axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfSubtree {
    /// Centre of mass, m.
    Centre,
    /// Its velocity, m/s.
    Velocity,
    /// Angular momentum about it, kg m^2/s.
    AngularMomentum,
}

/// A shape around a frame's origin that does not collide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Zone {
    /// Radius, m.
    Sphere(f64),
    /// Radius, and half the length without the caps, along z, m.
    Capsule(f64, f64),
    /// Semiaxes, m.
    Ellipsoid(Vec3),
    /// Radius and half the length along z, m.
    Cylinder(f64, f64),
    /// Half the edges, m.
    Box(Vec3),
}

impl Zone {
    /// Its sizes, in the order of their names.
    #[must_use]
    pub fn sizes(&self) -> Vec<f64> {
        match self {
            Self::Sphere(radius) => vec![*radius],
            Self::Capsule(radius, half) | Self::Cylinder(radius, half) => vec![*radius, *half],
            Self::Ellipsoid(sizes) | Self::Box(sizes) => sizes.as_slice().to_vec(),
        }
    }
}

impl Measures {
    /// Puts new numbers in the place of old ones.
    pub(crate) fn renumber(&mut self, new_body: &[usize], new_joint: &[usize], new_geom: &[usize]) {
        match self {
            Self::Joint(_, joint)
            | Self::JointActuatorForce(joint)
            | Self::Limit(_, Bounded::Joint(joint), _)
            | Self::LimitForce(Bounded::Joint(joint)) => {
                *joint = new_joint[*joint];
            }
            Self::Frame(_, frame, reference) => {
                std::iter::once(frame).chain(reference).for_each(|frame| frame.body = new_body[frame.body]);
            }
            Self::Instrument(_, frame)
            | Self::Magnetometer(frame, _)
            | Self::Touch(frame, _)
            | Self::Range(frame, _) => {
                frame.body = new_body[frame.body];
            }
            Self::Inside(one, other, _) | Self::Projection(one, other, _) => {
                [one, other].into_iter().for_each(|of| of.body = new_body[of.body]);
            }
            Self::Subtree(_, body) => *body = new_body[*body],
            Self::Nearest(_, geoms) => geoms.iter_mut().flatten().for_each(|geom| *geom = new_geom[*geom]),
            Self::Contacts(pick, _) => {
                for party in pick.between.iter_mut().flatten() {
                    match party {
                        Party::Geom(geom) => *geom = new_geom[*geom],
                        Party::Body(body) | Party::Subtree(body) => *body = new_body[*body],
                    }
                }
                pick.within.iter_mut().for_each(|(frame, _)| frame.body = new_body[frame.body]);
            }
            Self::Limit(_, Bounded::Tendon(_), _) | Self::LimitForce(Bounded::Tendon(_)) => {}
            Self::Energy(_) | Self::Clock => {}
            Self::Tendon(..) | Self::TendonActuatorForce(_) | Self::Actuator(..) | Self::ActuatorForce(_) => {}
        }
    }

    /// Numbers of a reading.
    #[must_use]
    pub fn len(&self, model: &Model) -> usize {
        match self {
            Self::Joint(OfMotion::Position, joint) => model.joints[*joint].kind.n_q(),
            Self::Joint(OfMotion::Velocity, joint) => model.joints[*joint].kind.n_v(),
            Self::Frame(OfFrame::Orientation, ..) => 4,
            Self::Range(_, what) => what.iter().map(|of| of.width()).sum(),
            Self::Contacts(pick, what) => pick.slots * what.iter().map(|of| of.width()).sum::<usize>(),
            Self::Projection(..) => 2,
            Self::Nearest(OfNearest::Distance, _) => 1,
            Self::Nearest(OfNearest::Normal, _) => 3,
            Self::Nearest(OfNearest::Segment, _) => 6,
            Self::Frame(..) | Self::Instrument(..) | Self::Magnetometer(..) | Self::Subtree(..) => 3,
            _ => 1,
        }
    }

    /// The bodies that it is about.
    pub(crate) fn bodies(&self, model: &Model) -> Vec<usize> {
        match self {
            Self::Joint(_, joint)
            | Self::JointActuatorForce(joint)
            | Self::Limit(_, Bounded::Joint(joint), _)
            | Self::LimitForce(Bounded::Joint(joint)) => vec![model.joints[*joint].body],
            Self::Tendon(_, tendon)
            | Self::TendonActuatorForce(tendon)
            | Self::Limit(_, Bounded::Tendon(tendon), _)
            | Self::LimitForce(Bounded::Tendon(tendon)) => model.bodies_of_path(&model.tendons[*tendon].path),
            Self::Actuator(_, actuator) | Self::ActuatorForce(actuator) => {
                model.bodies_of(&model.actuators[*actuator].transmission)
            }
            Self::Frame(_, frame, reference) => {
                std::iter::once(frame).chain(reference).map(|frame| frame.body).collect()
            }
            Self::Instrument(_, frame) | Self::Magnetometer(frame, _) | Self::Touch(frame, _) => vec![frame.body],
            Self::Subtree(_, body) => vec![*body],
            Self::Inside(frame, zone, _) => vec![frame.body, zone.body],
            Self::Range(frame, _) => vec![frame.body],
            Self::Projection(frame, camera, _) => vec![frame.body, camera.body],
            Self::Nearest(_, geoms) => geoms.iter().flatten().map(|&geom| model.geoms[geom].body).collect(),
            Self::Contacts(pick, _) => {
                let body = |party: &Party| match *party {
                    Party::Geom(geom) => model.geoms[geom].body,
                    Party::Body(body) | Party::Subtree(body) => body,
                };
                pick.between.iter().flatten().map(body).collect()
            }
            Self::Energy(_) | Self::Clock => Vec::new(),
        }
    }
}

impl Model {
    /// The tree with whose readings those of a sensor are kept, and why there are none: the tree that it measures, or the first
    /// one, where it measures what is not of one tree alone.
    ///
    /// # Errors
    /// Why it cannot be computed.
    pub fn tree_of_sensor(&self, sensor: usize) -> Result<usize, &'static str> {
        let measures = &self.sensors[sensor].measures;
        let first =
            || self.trees.iter().position(|tree| tree.soft.is_none()).ok_or("a model without joints has no steps");
        if let Some(why) = self.is_unknown(measures) {
            return Err(why);
        }
        match self.measured_trees(measures)[..] {
            [tree] if !self.is_mocap(measures) => Ok(tree),
            _ if self.is_seen_from_outside(sensor) => first(),
            _ if self.is_mocap(measures) => Err("accelerations of mocap bodies and forces on them are not computed"),
            [] if is_known_at_rest(measures) => first(),
            [] => Err("forces on what never moves are not computed"),
            _ => Err("forces between bodies that move apart from one another are not computed"),
        }
    }

    /// Whether a sensor needs more than the motion of one tree and that of what never moves, so that the host computes it from
    /// the state that a step begins with.
    #[must_use]
    pub fn is_seen_from_outside(&self, sensor: usize) -> bool {
        let measures = &self.sensors[sensor].measures;
        match measures {
            Measures::Limit(..) | Measures::Inside(..) | Measures::Energy(_) | Measures::Clock => true,
            Measures::Range(..) | Measures::Projection(..) | Measures::Nearest(..) | Measures::Contacts(..) => true,
            Measures::LimitForce(_) => false,
            _ if self.acting_on(measures).any(|actuator| !actuator.is_plain()) => true,
            Measures::Touch(..) => false,
            Measures::Instrument(Instrument::Accelerometer | Instrument::Force | Instrument::Torque, _) => false,
            Measures::Frame(OfFrame::LinearAcceleration | OfFrame::AngularAcceleration, ..) => false,
            _ => match self.measured_trees(measures)[..] {
                _ if self.is_mocap(measures) => true,
                [] => !is_known_at_rest(measures),
                [_] => false,
                _ => true,
            },
        }
    }

    /// Why a sensor of geoms or contacts is not computed, if it is not.
    fn is_unknown(&self, measures: &Measures) -> Option<&'static str> {
        match measures {
            Measures::Nearest(_, [first, second]) => {
                let welds = self.welds();
                let body = |geom: &usize| welds[self.geoms[*geom].body];
                let moves = |geom: &usize| self.bodies[self.geoms[*geom].body].tree.is_some();
                let fixed = first.iter().any(|a| second.iter().any(|b| body(a) == body(b) || !(moves(a) || moves(b))));
                fixed.then_some("distances between what does not move apart are not computed")
            }
            Measures::Contacts(_, what) if what.contains(&OfContact::Force) => {
                let rigid = self.trees.iter().filter(|tree| tree.soft.is_none()).count();
                let is_any = self.measured_trees(measures).is_empty();
                (is_any && rigid > 1).then_some("forces of contacts of any of several trees are not computed")
            }
            _ => None,
        }
    }

    /// The trees whose bodies a sensor measures.
    fn measured_trees(&self, measures: &Measures) -> Vec<usize> {
        let bodies = measures.bodies(self);
        let mut trees: Vec<usize> = bodies.into_iter().filter_map(|body| self.bodies[body].tree).collect();
        trees.sort_unstable();
        trees.dedup();
        trees
    }

    /// Whether a sensor measures a mocap body.
    fn is_mocap(&self, measures: &Measures) -> bool {
        measures.bodies(self).into_iter().any(|body| self.bodies[body].mocap.is_some())
    }

    /// The actuators whose forces a sensor shows.
    fn acting_on(&self, measures: &Measures) -> impl Iterator<Item = &Actuator> {
        let shows = move |(number, actuator): &(usize, &Actuator)| match *measures {
            Measures::ActuatorForce(shown) => shown == *number,
            Measures::TendonActuatorForce(tendon) => actuator.transmission == Transmission::Tendon(tendon),
            Measures::JointActuatorForce(joint) => {
                let tree = self.bodies[self.joints[joint].body].tree;
                self.bodies_of(&actuator.transmission).iter().any(|&body| self.bodies[body].tree == tree)
            }
            _ => false,
        };
        self.actuators.iter().enumerate().filter(shows).map(|(_, actuator)| actuator)
    }

    /// Where each sensor's numbers stand among all readings of a world.
    #[must_use]
    pub fn readings(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let next = |sensor: &Sensor| {
            let begin = end;
            end += sensor.measures.len(self);
            begin..end
        };
        self.sensors.iter().map(next).collect()
    }
}

/// Whether a tree's kernels have what a sensor shows of something that never moves.
fn is_known_at_rest(measures: &Measures) -> bool {
    match measures {
        Measures::Frame(..) | Measures::Magnetometer(..) => true,
        Measures::Instrument(what, _) => !matches!(what, Instrument::Force | Instrument::Torque),
        _ => false,
    }
}
