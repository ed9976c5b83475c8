//! What the trees of a set share, and where each named parameter sits.

use std::ops::Range;

use manyworlds_shaders::dynamics::sensors::Sensors;
use manyworlds_shaders::dynamics::tree::{
    ForceRecord, NONE, Tree, TreeDims, actuator_param, body_param, force, joint, joint_param, param, row,
};

use crate::soft_param;

/// Sizes and structure of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeLayout {
    /// Sizes and offsets; `lanes` and `param_lanes` are the dispatch's.
    pub dims: TreeDims,
    /// The records, u32.
    pub topology: Vec<u32>,
    /// Where sensors begin in it; `None`: there are none.
    pub sensor_at: Option<u32>,
}

/// A parameter of a tree, by name. Bodies, joints, actuators, couplings and tendons are numbered within the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// Time step, s.
    Timestep,
    /// Gravity, m/s^2, 3.
    Gravity,
    /// Fraction of a penetration that one step removes.
    CorrectionFraction,
    /// Largest speed of that correction, m/s.
    CorrectionMax,
    /// Approaching faster than this bounces, m/s.
    RestitutionThreshold,
    /// Position in the parent's frame, m, 3.
    BodyPosition(usize),
    /// Orientation in the parent's frame, a quaternion, 4.
    BodyOrientation(usize),
    /// kg
    BodyMass(usize),
    /// Fraction of the weight that is carried; acts where the model carries any of the body's.
    BodyGravityCompensation(usize),
    /// Centre of mass in the body frame, m, 3.
    BodyCom(usize),
    /// About the centre of mass in body axes (xx, yy, zz, xy, xz, yz), kg m^2, 6.
    BodyInertia(usize),
    /// Anchor in the body frame, m, 3.
    JointAnchor(usize),
    /// Unit axis in the body frame, 3.
    JointAxis(usize),
    /// Position at which the body stands as its record says, rad or m.
    JointReference(usize),
    /// N m/rad or N/m
    JointStiffness(usize),
    /// N m s/rad or N s/m
    JointDamping(usize),
    /// kg m^2 or kg
    JointArmature(usize),
    /// N m or N; acts where the model gives the joint any.
    JointFriction(usize),
    /// Bounds of the position, rad or m, 2; act where the model gives the joint any.
    JointRange(usize),
    /// Position at which the spring is slack, 1 (hinge, slide), 4 (ball) or 7 (free).
    JointSpringReference(usize),
    /// One a dof of the joint, 6.
    ActuatorGear(usize),
    /// Force per control.
    ActuatorGain(usize),
    /// Constant, position and velocity coefficient of the force, 3.
    ActuatorBias(usize),
    /// Bounds of the control, 2.
    ActuatorControlRange(usize),
    /// Bounds of the force, 2; a drive without them in the model has no row, and then they only clamp its explicit part.
    ActuatorForceRange(usize),
    /// Time constants of the activation and the smoothing between them, s, 3; act where the model's actuator has dynamics that use them.
    ActuatorTimes(usize),
    /// Peak force of a muscle, N.
    MuscleForce(usize),
    /// Polynomial coefficients, constant first, 5.
    CouplingCoefficients(usize),
    /// N/m, or N m/rad for those of joints; acts where the model's tendon has a spring or damper, as the next two do.
    TendonStiffness(usize),
    /// N s/m or N m s/rad
    TendonDamping(usize),
    /// Lengths between which the spring is slack, 2, m or rad.
    TendonSpringRange(usize),
    /// Bounds of the length, 2, m or rad; act where the model gives the tendon any.
    TendonRange(usize),
    /// N or N m; acts where the model gives the tendon any.
    TendonFriction(usize),
    /// Young's modulus of a soft body, Pa.
    Young,
    /// Poisson's ratio of a soft body.
    Poisson,
    /// Density of a soft body, kg/m^3.
    Density,
    /// Damping of a soft body in proportion to its stiffness, s.
    StiffnessDamping,
    /// Damping of a soft body in proportion to its mass, 1/s.
    MassDamping,
    /// Coulomb friction coefficient of a soft body's surface.
    SurfaceFriction,
    /// Pressure in a region of a soft body, Pa.
    Pressure(usize),
}

impl TreeLayout {
    /// Number of static rows that act at every step: all but those of limits.
    #[must_use]
    pub fn steady_rows(&self) -> usize {
        let is_limit = |kind: u32| matches!(kind, row::LIMIT | row::LIMIT_BALL | row::TENDON_LIMIT);
        self.tree().rows.iter().filter(|record| !is_limit(record.kind)).count()
    }

    /// The structure as the kernels' mirrors read it.
    #[must_use]
    pub fn tree(&self) -> Tree<'_> {
        Tree::new(&self.dims, &self.topology)
    }

    /// Sensors as the kernels' mirrors read them.
    #[must_use]
    pub fn sensors(&self) -> Option<Sensors<'_>> {
        self.sensor_at.map(|at| Sensors::new(&self.topology, at))
    }

    /// Whether it is a soft body: then no tree kernel but the one that moves states knows it.
    #[must_use]
    pub fn is_soft(&self) -> bool {
        self.dims.is_soft()
    }

    /// Number of couplings.
    #[must_use]
    pub fn n_coupling(&self) -> usize {
        (self.dims.block_param - self.dims.coupling_param) as usize / param::COUPLING
    }

    /// Where a parameter sits in a set of params; `None` when the tree has no such part.
    #[must_use]
    pub fn locate(&self, parameter: Parameter) -> Option<Range<usize>> {
        use Parameter as P;
        let header = |at: usize, count: usize| Some(at..at + count);
        let record = |index: usize, n: usize, start: usize, at: usize, count: usize| {
            (index < n).then_some(start + at..start + at + count)
        };
        let dims = &self.dims;
        let soft = |at: usize| {
            let at = param::HEADER + at;
            (self.is_soft() && at < dims.actuator_param as usize).then_some(at..at + 1)
        };
        let n_joint = if self.is_soft() { 0 } else { dims.n_joint as usize };
        let body = |b, at, count| record(b, dims.n_body as usize, body_param(b), at, count);
        let joint = |j, at, count| record(j, n_joint, joint_param(dims, j), at, count);
        let actuator = |a, at, count| record(a, dims.n_u as usize, actuator_param(dims, a), at, count);
        let force = |is_it: &dyn Fn(&ForceRecord) -> bool, at: usize, count: usize| {
            let record = self.tree().forces.iter().find(|record| is_it(record))?;
            let start = record.param as usize + at;
            Some(start..start + count)
        };
        let is_spring = |record: &ForceRecord, tendon| record.kind == force::SPRING && record.on as usize == tendon;
        match parameter {
            P::Timestep => header(param::TIMESTEP, 1),
            P::Gravity => header(param::GRAVITY, 3),
            P::CorrectionFraction => header(param::CORRECTION_FRACTION, 1),
            P::CorrectionMax => header(param::CORRECTION_MAX, 1),
            P::RestitutionThreshold => header(param::RESTITUTION_THRESHOLD, 1),
            P::BodyPosition(b) => body(b, param::BODY_POSITION, 3),
            P::BodyOrientation(b) => body(b, param::BODY_ORIENTATION, 4),
            P::BodyMass(b) => body(b, param::BODY_MASS, 1),
            P::BodyGravityCompensation(b) => {
                force(&|record| record.kind == force::WEIGHT && record.on as usize == b, param::FORCE_FRACTION, 1)
            }
            P::BodyCom(b) => body(b, param::BODY_COM, 3),
            P::BodyInertia(b) => body(b, param::BODY_INERTIA, 6),
            P::JointAnchor(j) => joint(j, param::JOINT_ANCHOR, 3),
            P::JointAxis(j) => joint(j, param::JOINT_AXIS, 3),
            P::JointReference(j) => joint(j, param::JOINT_REFERENCE, 1),
            P::JointStiffness(j) => joint(j, param::JOINT_STIFFNESS, 1),
            P::JointDamping(j) => joint(j, param::JOINT_DAMPING, 1),
            P::JointArmature(j) => joint(j, param::JOINT_ARMATURE, 1),
            P::JointFriction(j) => joint(j, param::JOINT_FRICTION, 1),
            P::JointRange(j) => joint(j, param::JOINT_LOWER, 2),
            P::JointSpringReference(j) => joint(j, param::JOINT_SPRING, self.spring_length(j)),
            P::ActuatorGear(a) => actuator(a, param::ACTUATOR_GEAR, 6),
            P::ActuatorGain(a) => actuator(a, param::ACTUATOR_GAIN, 1),
            P::ActuatorBias(a) => actuator(a, param::ACTUATOR_BIAS, 3),
            P::ActuatorControlRange(a) => actuator(a, param::ACTUATOR_CONTROL, 2),
            P::ActuatorForceRange(a) => actuator(a, param::ACTUATOR_FORCE, 2),
            P::ActuatorTimes(a) => force(
                &|record| record.actuator as usize == a && record.kind == force::ACTUATOR && record.act != NONE,
                param::FORCE_TIMES,
                3,
            ),
            P::MuscleForce(a) => {
                force(&|record| record.actuator as usize == a && record.muscle != 0, param::FORCE_PEAK, 1)
            }
            P::TendonStiffness(t) => force(&|record| is_spring(record, t), param::FORCE_STIFFNESS, 1),
            P::TendonDamping(t) => force(&|record| is_spring(record, t), param::FORCE_DAMPING, 1),
            P::TendonSpringRange(t) => force(&|record| is_spring(record, t), param::FORCE_SLACK, 2),
            P::TendonRange(t) => self.tendon_row(row::TENDON_LIMIT, t, param::PATH_LOWER, 2),
            P::TendonFriction(t) => self.tendon_row(row::TENDON_FRICTION, t, param::PATH_FRICTION, 1),
            P::CouplingCoefficients(c) => {
                let start = dims.coupling_param as usize + c * param::COUPLING;
                record(c, self.n_coupling(), start, param::COUPLING_COEFFICIENTS, 5)
            }
            P::Young => soft(soft_param::YOUNG),
            P::Poisson => soft(soft_param::POISSON),
            P::Density => soft(soft_param::DENSITY),
            P::StiffnessDamping => soft(soft_param::DAMPING),
            P::MassDamping => soft(soft_param::MASS_DAMPING),
            P::SurfaceFriction => soft(soft_param::FRICTION),
            P::Pressure(region) => region.checked_add(soft_param::PRESSURE).and_then(soft),
        }
    }

    /// Where the numbers of a tendon are that has a row of a kind.
    fn tendon_row(&self, kind: u32, tendon: usize, at: usize, count: usize) -> Option<Range<usize>> {
        let record = self.tree().rows.iter().find(|record| record.kind == kind && record.q as usize == tendon)?;
        let start = record.param as usize + at;
        Some(start..start + count)
    }

    /// Entries of q that a joint's spring refers to.
    fn spring_length(&self, index: usize) -> usize {
        match self.tree().joints.get(index).map(|j| j.kind) {
            Some(joint::FREE) => 7,
            Some(joint::BALL) => 4,
            _ => 1,
        }
    }
}
