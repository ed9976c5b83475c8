//! The model itself: plain data in depth-first order, validated by [`crate::ModelBuilder::build`].

use std::ops::Range;

use crate::{
    Actuator, Fluid, FluidShape, Geom, HeightField, Inertial, Mesh, Pose, Sdf, Sensor, Site, SoftBody, Tendon, Vec3,
    visual::Visual,
};

/// A validated model. Indices into its lists are stable; `bodies[0]` is the ground.
#[derive(Debug, Clone)]
pub struct Model {
    /// Name, from the file or the builder.
    pub name: String,
    /// Time step, gravity and fluid.
    pub options: Options,
    /// Bodies in depth-first order, the ground first, every parent before its children.
    pub bodies: Vec<Body>,
    /// Joints in depth-first order of their bodies; those of one body are contiguous.
    pub joints: Vec<Joint>,
    /// Collision geometry in the order of the bodies.
    pub geoms: Vec<Geom>,
    /// Convex meshes that [`crate::Shape::Mesh`] refers to.
    pub meshes: Vec<Mesh>,
    /// Heightfields that [`crate::Shape::HeightField`] refers to.
    pub heightfields: Vec<HeightField>,
    /// Distance functions that [`crate::Shape::Sdf`] refers to.
    pub sdfs: Vec<Sdf>,
    /// Frames on bodies.
    pub sites: Vec<Site>,
    /// Ellipsoids that a fluid acts on, those of one body side by side; it acts on all other bodies as on boxes.
    pub fluid_shapes: Vec<FluidShape>,
    /// Tendons.
    pub tendons: Vec<Tendon>,
    /// Actuators, in the order of `ctrl`.
    pub actuators: Vec<Actuator>,
    /// Sensors, in the order of their readings.
    pub sensors: Vec<Sensor>,
    /// Bilateral constraints.
    pub equalities: Vec<Equality>,
    /// Contact parameters of named pairs of geoms, overriding filters and mixing.
    pub pairs: Vec<ExplicitPair>,
    /// Pairs of bodies that never touch.
    pub excludes: Vec<(usize, usize)>,
    /// Named states.
    pub keyframes: Vec<Keyframe>,
    /// Bodies whose pose in the world the user gives at any time, in order; nothing moves them.
    pub mocaps: Vec<usize>,
    /// Bodies that deform.
    pub soft: Vec<SoftBody>,
    /// Colours, cameras and lights: what only pictures need.
    pub visual: Visual,
    /// Kinematic trees rooted at the ground, in order; their bodies, joints, `q` and `v` are contiguous. Those of which
    /// joints are coupled, or bound by a tendon or an actuator, are one. Behind them a tree without bodies for each soft
    /// body.
    pub trees: Vec<Tree>,
    /// Length of the generalized position.
    pub n_q: usize,
    /// Length of the generalized velocity.
    pub n_v: usize,
}

/// Settings of the model file that concern the step.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Time step, s.
    pub timestep: f64,
    /// Gravity, m/s^2, world frame.
    pub gravity: Vec3,
    /// What bodies move in.
    pub fluid: Fluid,
    /// Whether bodies do not touch their parents.
    pub filter_parents: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { timestep: 0.002, gravity: Vec3::new(0.0, 0.0, -9.81), fluid: Fluid::NONE, filter_parents: true }
    }
}

/// A rigid body.
#[derive(Debug, Clone)]
pub struct Body {
    /// Name; empty when the file gives none.
    pub name: String,
    /// Index of the parent body; the ground is its own parent.
    pub parent: usize,
    /// Frame of the body in its parent's, at the reference position.
    pub pose: Pose,
    /// Mass properties.
    pub inertial: Inertial,
    /// Fraction of its weight that a force at its centre of mass carries.
    pub gravity_compensation: f64,
    /// Its joints, in order; empty for a body welded to its parent.
    pub joints: Range<usize>,
    /// Its geoms.
    pub geoms: Range<usize>,
    /// The tree it moves with; `None` for the ground and what is welded to it.
    pub tree: Option<usize>,
    /// The mocap body it stands on with no joint between, its own number if it is one: an index into [`Model::mocaps`].
    pub mocap: Option<usize>,
}

/// What a joint lets move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointKind {
    /// Six degrees of freedom; `q`: position then quaternion; `v`: world linear, body angular velocity.
    Free,
    /// Three rotations; `q`: quaternion; `v`: body angular velocity.
    Ball,
    /// One rotation about the axis.
    Hinge,
    /// One translation along the axis.
    Slide,
}

impl JointKind {
    /// Entries of `q`.
    #[must_use]
    pub fn n_q(self) -> usize {
        match self {
            Self::Free => 7,
            Self::Ball => 4,
            Self::Hinge | Self::Slide => 1,
        }
    }

    /// Entries of `v`.
    #[must_use]
    pub fn n_v(self) -> usize {
        match self {
            Self::Free => 6,
            Self::Ball => 3,
            Self::Hinge | Self::Slide => 1,
        }
    }
}

/// A joint between a body and its parent; several on one body act in order.
#[derive(Debug, Clone)]
pub struct Joint {
    /// Name; empty when the file gives none.
    pub name: String,
    /// The body it moves.
    pub body: usize,
    /// What it lets move.
    pub kind: JointKind,
    /// Anchor in the body frame, m.
    pub anchor: Vec3,
    /// Unit axis in the body frame (hinge, slide).
    pub axis: Vec3,
    /// Lower and upper bound of the position, rad or m; for a ball `[0, largest angle]`.
    pub range: Option<[f64; 2]>,
    /// Position of `q` at which the body stands as its `pose` says (hinge, slide), rad or m.
    pub reference: f64,
    /// Spring constant, N m/rad or N/m.
    pub stiffness: f64,
    /// Position at which the spring is slack, in `q` (hinge, slide); ball and free joints: the model's initial pose.
    pub spring_reference: f64,
    /// Viscous damping, N m s/rad or N s/m.
    pub damping: f64,
    /// Reflected rotor inertia, kg m^2 or kg.
    pub armature: f64,
    /// Dry friction, N m or N.
    pub dry_friction: f64,
    /// Whether what compensates gravity there counts as a force of actuators, where forces are told apart.
    pub lifted_by_actuators: bool,
    /// First entry in `q`.
    pub q_start: usize,
    /// First entry in `v`.
    pub v_start: usize,
}

impl Joint {
    /// A joint at the body's origin (a hinge or slide about or along its z axis), without limits, springs or losses.
    ///
    /// [`crate::ModelBuilder::build`] sets `q_start` and `v_start`.
    #[must_use]
    pub fn new(name: impl Into<String>, body: usize, kind: JointKind) -> Self {
        Self {
            name: name.into(),
            body,
            kind,
            anchor: Vec3::zeros(),
            axis: Vec3::z(),
            range: None,
            reference: 0.0,
            stiffness: 0.0,
            spring_reference: 0.0,
            damping: 0.0,
            armature: 0.0,
            dry_friction: 0.0,
            lifted_by_actuators: false,
            q_start: 0,
            v_start: 0,
        }
    }
}

/// A bilateral constraint.
#[derive(Debug, Clone)]
pub struct Equality {
    /// Name; empty when the file gives none.
    pub name: String,
    /// What it holds together.
    pub kind: EqualityKind,
    /// Whether it acts.
    pub active: bool,
}

/// The kinds of bilateral constraints.
#[derive(Debug, Clone)]
pub enum EqualityKind {
    /// A point of one body stays on a point of another.
    Connect {
        /// The two bodies.
        bodies: [usize; 2],
        /// The point in each body's frame, m.
        anchors: [Vec3; 2],
    },
    /// A frame of one body stays on a frame of another.
    Weld {
        /// The two bodies.
        bodies: [usize; 2],
        /// The frame in each body's frame.
        frames: [Pose; 2],
    },
    /// `q1 - ref1 = polynomial(q2 - ref2)` for two scalar joints; without the second, `q1 - ref1 = coefficients[0]`.
    Coupling {
        /// The driven joint.
        joint: usize,
        /// The driving joint.
        driver: Option<usize>,
        /// Polynomial coefficients, constant first.
        coefficients: [f64; 5],
    },
    /// The same for the lengths of two tendons, less those in the model's initial position.
    TendonCoupling {
        /// The driven tendon.
        tendon: usize,
        /// The driving tendon.
        driver: Option<usize>,
        /// Polynomial coefficients, constant first.
        coefficients: [f64; 5],
    },
}

/// Contact parameters of one pair of geoms.
#[derive(Debug, Clone)]
pub struct ExplicitPair {
    /// The two geoms.
    pub geoms: [usize; 2],
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Restitution coefficient.
    pub restitution: f64,
    /// Contacts closer than this are generated, m.
    pub margin: f64,
    /// Adhesion reaches as far as margin and gap together, m.
    pub gap: f64,
    /// Whether the contact is frictionless (condim 1).
    pub frictionless: bool,
}

/// A named state.
#[derive(Debug, Clone)]
pub struct Keyframe {
    /// Name; empty when the file gives none.
    pub name: String,
    /// Generalized position, `n_q`.
    pub q: Vec<f64>,
    /// Generalized velocity, `n_v`.
    pub v: Vec<f64>,
    /// Controls, one per actuator.
    pub ctrl: Vec<f64>,
    /// Activations, one per actuator that has dynamics.
    pub act: Vec<f64>,
    /// Poses of the mocap bodies in the world; empty: those of the model.
    pub mocap: Vec<Pose>,
}

/// A kinematic tree rooted at the ground, or a soft body: contiguous ranges of the model's lists.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Its bodies; the first is its root. Where it unites several trees, the fixed body that bears them is, and other fixed
    /// bodies on that may be among them.
    pub bodies: Range<usize>,
    /// Its joints.
    pub joints: Range<usize>,
    /// Its entries of `q`.
    pub q: Range<usize>,
    /// Its entries of `v`.
    pub v: Range<usize>,
    /// The soft body that it is; it has no bodies and joints then.
    pub soft: Option<usize>,
}
