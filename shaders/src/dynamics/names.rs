//! Names of the numbers in a tree's records: kinds, status bits, offsets.

/// No such index: the ground as a body, no parent of a dof, no driver of a coupling.
pub const NONE: u32 = u32::MAX;

/// Stands for an infinite bound, in f32 too.
pub const UNBOUNDED: f64 = 1e30;

/// Joint kinds, in `JointRecord::kind`.
pub mod joint {
    /// q: position, quaternion; v: world linear, body angular velocity.
    pub const FREE: u32 = 0;
    /// q: quaternion; v: body angular velocity.
    pub const BALL: u32 = 1;
    /// One rotation about the axis.
    pub const HINGE: u32 = 2;
    /// One translation along the axis.
    pub const SLIDE: u32 = 3;
}

/// How an actuator acts, in `ActuatorRecord::mode`.
pub mod drive {
    /// Its position and velocity gains are in the momentum matrix: a drive without force limit, or a motor.
    pub const IMPLICIT: u32 = 0;
    /// A row stands for it: a drive with gains and a force limit.
    pub const ROW: u32 = 1;
    /// Its clamped force at the start of the step acts: force limits that no row can hold.
    pub const EXPLICIT: u32 = 2;
    /// It is among the applied forces: one with dynamics, of a muscle, or of another transmission than a joint's.
    pub const APPLIED: u32 = 3;
}

/// What the length of a path is, in `PathRecord::kind`.
pub mod path {
    /// A sum of positions of hinges and slides.
    pub const LINEAR: u32 = 0;
    /// That of a line through space.
    pub const SPATIAL: u32 = 1;
    /// The gear's product with the rotation vector of a ball joint.
    pub const BALL: u32 = 2;
    /// None: a force and a torque on a free joint.
    pub const FREE: u32 = 3;
    /// None: a force and a torque at a site, in its axes.
    pub const SITE: u32 = 4;
    /// The gear's product with the place and the turn of a site as another one sees them.
    pub const RELATIVE: u32 = 5;
    /// How far a slider at the end of a rod stands.
    pub const CRANK: u32 = 6;
}

/// What stands on a path, in `PointRecord::kind`.
pub mod point {
    /// A joint and its coefficient.
    pub const JOINT: u32 = 0;
    /// A point of a body that the line goes through.
    pub const SITE: u32 = 1;
    /// What follows counts divided by a number, and starts anew.
    pub const PULLEY: u32 = 2;
    /// A sphere that the line goes round.
    pub const SPHERE: u32 = 3;
    /// A cylinder that the line goes round.
    pub const CYLINDER: u32 = 4;
}

/// Kinds of applied forces, in `ForceRecord::kind`.
pub mod force {
    /// A fraction of a body's weight, upwards at its centre of mass.
    pub const WEIGHT: u32 = 0;
    /// Spring and damper along a path.
    pub const SPRING: u32 = 1;
    /// An actuator along a path.
    pub const ACTUATOR: u32 = 2;
    /// A fluid's on a body, taken for a box of its inertia.
    pub const BOX: u32 = 3;
    /// A fluid's on an ellipsoid of a body.
    pub const ELLIPSOID: u32 = 4;
}

/// What a muscle does, bits of `ForceRecord::muscle`.
pub mod muscle {
    /// It pulls as its input says.
    pub const ACTIVE: u32 = 1;
    /// It pulls when it is stretched.
    pub const PASSIVE: u32 = 2;
}

/// Rates of activations, in `ForceRecord::dynamics`.
pub mod rate {
    /// There is no activation.
    pub const NONE: u32 = 0;
    /// The control.
    pub const INTEGRATOR: u32 = 1;
    /// A filter of the control, by explicit Euler.
    pub const FILTER: u32 = 2;
    /// A filter of the control, exactly.
    pub const FILTER_EXACT: u32 = 3;
    /// A filter of the control that rises and falls in different times.
    pub const MUSCLE: u32 = 4;
}

/// How velocities and positions go through a step, in `TreeDims::integrator` (Castro 2022, section II-C).
pub mod integrator {
    /// Springs, dampers and drives at the new state by their linearisation, all else at the old one.
    pub const LINEARLY_IMPLICIT: u32 = 0;
    /// Forces at the old state, positions by the new velocity: theta = 0, theta_vq = 1.
    pub const SYMPLECTIC_EULER: u32 = 1;
    /// Forces at the new state, positions by the new velocity: theta = theta_vq = 1.
    pub const IMPLICIT_EULER: u32 = 2;
    /// Forces midway, positions by the mean velocity: theta = theta_vq = 1/2.
    pub const MIDPOINT: u32 = 3;
}

/// Row kinds, in `RowRecord::kind`.
pub mod row {
    /// The nearer bound of a hinge or slide; `param`: its joint record, `q`: its position.
    pub const LIMIT: u32 = 0;
    /// The largest angle of a ball joint from its reference, along three dofs; `param`: its joint record, `q`: its quaternion.
    pub const LIMIT_BALL: u32 = 1;
    /// Dry friction of one dof, a box row; `param`: its joint record.
    pub const FRICTION: u32 = 2;
    /// A drive with gains and a force limit, soft then clamped; `param`: its actuator record, `source`: its control,
    /// `q`: its joint's position.
    pub const DRIVE: u32 = 3;
    /// `q1 - ref1 = polynomial(q2 - ref2)`, bilateral; `param`: its coupling record, `q` and `source`: the positions of
    /// the driven joint and of the driver ([`super::NONE`]: none).
    pub const COUPLING: u32 = 4;
    /// The nearer bound of a tendon's length; `param`: its path's record, `q`: its path. The dofs of this and of the rows
    /// below are those of the paths, in their order.
    pub const TENDON_LIMIT: u32 = 5;
    /// Dry friction of a tendon, a box row; `param`: its path's record, `q`: its path.
    pub const TENDON_FRICTION: u32 = 6;
    /// A coupling of lengths; `param`: its coupling record, `q` and `source`: the paths of the driven tendon and of the
    /// driver ([`super::NONE`]: none).
    pub const TENDON_COUPLING: u32 = 7;
}

/// Block kinds, in `BlockRecord::kind`: static bilateral constraints of three rows.
pub mod block {
    /// The origins of two frames coincide.
    pub const POSITION: u32 = 0;
    /// The axes of two frames coincide.
    pub const ROTATION: u32 = 1;
}

/// Bits of a lane's status word.
pub mod status {
    /// The solver met its tolerance.
    pub const CONVERGED: u32 = 1;
    /// The solver ran out of iterations.
    pub const ITERATION_LIMIT: u32 = 2;
    /// A pivot of the momentum matrix was not positive.
    pub const BREAKDOWN: u32 = 4;
    /// The velocity became infinite or a NaN; the state is that of the last good step.
    pub const NON_FINITE: u32 = 8;
    /// Frozen by the host.
    pub const FROZEN: u32 = 16;
    /// A capacity was exceeded.
    pub const CAPACITY: u32 = 32;
    /// The tree's own solver leaves it alone: it is in an island with others, which solves its constraints, or in a world where
    /// something touches a body that deforms, which the host solves. Set and cleared by the host.
    pub const SHARED: u32 = 64;
    /// The lane's world waits for somebody to solve it: the lane does not move until then.
    pub const HELD: u32 = 128;
    /// The step asked for what no motion gives, and biases gave way.
    pub const RELAXED: u32 = 256;
    /// Biases of the lane gave way in its last step: in this one they may from the start. Set by the host, which solves such a
    /// step first, and kept by kernels.
    pub const GAVE_WAY: u32 = 512;
    /// Beside [`ITERATION_LIMIT`]: impulses have grown as they do where biases ask for what no motion gives.
    pub const DOUBTFUL: u32 = 1024;
    /// Beside [`GAVE_WAY`], a number of five bits: relaxed steps until it is asked whether there is another answer. Where it
    /// is zero and biases give way once more, the host asks.
    pub const UNTIL_ASKED: u32 = 63488;
    /// Its lowest bit.
    pub const UNTIL_ASKED_ONE: u32 = 2048;
    /// Beside [`GAVE_WAY`], a number of two bits: how often this was asked in a row, as far as it can count.
    pub const ASKED: u32 = 196_608;
    /// Its lowest bit.
    pub const ASKED_ONE: u32 = 65_536;
    /// Both numbers.
    pub const ASKING: u32 = UNTIL_ASKED | ASKED;
    /// Lanes with any of these do not move, and keep them until the host resets the lane.
    pub const STOPPED: u32 = NON_FINITE | FROZEN;
    /// Lanes with any of these are not solved by themselves.
    pub const APART: u32 = STOPPED | SHARED;
    /// Bodies that deform: rounds are over for lanes with any of these.
    pub const SETTLED: u32 = CONVERGED | ITERATION_LIMIT | APART;
    /// What a step begins with.
    pub const KEPT: u32 = APART | GAVE_WAY | ASKING;
}

/// What solvers are to do with a lane or an island.
pub mod part {
    /// To find its impulses.
    pub const SOLVES: u32 = 0;
    /// The same with requests that give way: see [`crate::contact::steps`].
    pub const RELAXES: u32 = 1;
    /// The same, but where some give way the host asks whether there is another answer.
    pub const ASKS: u32 = 2;
    /// Nothing: it does not move, is solved with others, or is the host's.
    pub const NONE: u32 = 3;
}

/// Offsets in `params`, in reals.
pub mod param {
    /// Time step, s.
    pub const TIMESTEP: usize = 0;
    /// Gravity, m/s^2, world axes, 3.
    pub const GRAVITY: usize = 1;
    /// Fraction of a penetration that one step removes.
    pub const CORRECTION_FRACTION: usize = 4;
    /// Largest speed of that correction, m/s.
    pub const CORRECTION_MAX: usize = 5;
    /// Approaching faster than this bounces, m/s.
    pub const RESTITUTION_THRESHOLD: usize = 6;
    /// Depth up to which a penetration is left as it is, m.
    pub const CORRECTION_SLOP: usize = 7;
    /// Reals of the header; body records begin here.
    pub const HEADER: usize = 8;

    /// Body: position in the parent's frame, m, 3.
    pub const BODY_POSITION: usize = 0;
    /// Body: orientation in the parent's frame, 4.
    pub const BODY_ORIENTATION: usize = 3;
    /// Body: mass, kg.
    pub const BODY_MASS: usize = 7;
    /// Body: centre of mass in the body frame, m, 3.
    pub const BODY_COM: usize = 8;
    /// Body: inertia about the centre of mass in body axes (xx, yy, zz, xy, xz, yz), kg m^2, 6.
    pub const BODY_INERTIA: usize = 11;
    /// Reals of a body record.
    pub const BODY: usize = 17;

    /// Joint: anchor in the body frame, m, 3.
    pub const JOINT_ANCHOR: usize = 0;
    /// Joint: unit axis in the body frame, 3.
    pub const JOINT_AXIS: usize = 3;
    /// Joint: position at which the body stands as its record says, rad or m.
    pub const JOINT_REFERENCE: usize = 6;
    /// Joint: spring constant, N m/rad or N/m.
    pub const JOINT_STIFFNESS: usize = 7;
    /// Joint: viscous damping, N m s/rad or N s/m.
    pub const JOINT_DAMPING: usize = 8;
    /// Joint: reflected rotor inertia, kg m^2 or kg.
    pub const JOINT_ARMATURE: usize = 9;
    /// Joint: dry friction, N m or N.
    pub const JOINT_FRICTION: usize = 10;
    /// Joint: lower bound, rad or m (ball: unused).
    pub const JOINT_LOWER: usize = 11;
    /// Joint: upper bound, rad or m (ball: largest angle).
    pub const JOINT_UPPER: usize = 12;
    /// Joint: q at which the spring is slack: 1 (hinge, slide), 4 (ball), 7 (free).
    pub const JOINT_SPRING: usize = 13;
    /// Reals of a joint record.
    pub const JOINT: usize = 20;

    /// Actuator: gear, one a dof of its joint, 6.
    pub const ACTUATOR_GEAR: usize = 0;
    /// Actuator: force per control.
    pub const ACTUATOR_GAIN: usize = 6;
    /// Actuator: constant, position and velocity coefficient of the force, 3.
    pub const ACTUATOR_BIAS: usize = 7;
    /// Actuator: bounds of the control, 2.
    pub const ACTUATOR_CONTROL: usize = 10;
    /// Actuator: bounds of the force before the gear, 2.
    pub const ACTUATOR_FORCE: usize = 12;
    /// Reals of an actuator record. An absent bound is plus or minus [`UNBOUNDED`].
    pub const ACTUATOR: usize = 14;

    /// Coupling: position of the driven joint, rad or m, or length of the driven tendon, at the reference.
    pub const COUPLING_REFERENCE: usize = 0;
    /// Coupling: the same of the driver.
    pub const COUPLING_DRIVER_REFERENCE: usize = 1;
    /// Coupling: polynomial coefficients, constant first, 5.
    pub const COUPLING_COEFFICIENTS: usize = 2;
    /// Reals of a coupling record.
    pub const COUPLING: usize = 7;

    /// Block: frame in body a (position, quaternion), 7. On the ground: in the world.
    pub const BLOCK_FRAME_A: usize = 0;
    /// Block: frame in body b (position, quaternion), 7.
    pub const BLOCK_FRAME_B: usize = 7;
    /// Reals of a block record.
    pub const BLOCK: usize = 14;

    /// Point of a path: coefficient of a joint, divisor of a pulley; or place in the body, m, 3.
    pub const POINT: usize = 0;
    /// Obstacle: orientation in the body, 4.
    pub const POINT_ORIENTATION: usize = 3;
    /// Obstacle: radius, m.
    pub const POINT_RADIUS: usize = 7;
    /// Obstacle: place of the side point in its body, m, 3.
    pub const POINT_SIDE: usize = 8;
    /// Reals of a point's record.
    pub const POINT_SIZE: usize = 11;

    /// Path of a tendon: lower bound of its length, m, or rad for those of joints.
    pub const PATH_LOWER: usize = 0;
    /// Path of a tendon: upper bound of its length.
    pub const PATH_UPPER: usize = 1;
    /// Path of a tendon: dry friction, force.
    pub const PATH_FRICTION: usize = 2;
    /// Path between sites: frame of the first in its body (position, quaternion), 7.
    pub const PATH_FRAME: usize = 0;
    /// Path between sites: frame of the second, 7.
    pub const PATH_OTHER: usize = 7;
    /// Crank: length of the rod, m.
    pub const PATH_ROD: usize = 14;
    /// Reals of a path's record.
    pub const PATH: usize = 15;

    /// Weight: fraction that is carried.
    pub const FORCE_FRACTION: usize = 0;
    /// Spring: force per length.
    pub const FORCE_STIFFNESS: usize = 0;
    /// Spring: force per rate of length.
    pub const FORCE_DAMPING: usize = 1;
    /// Spring: lengths between which it is slack, 2.
    pub const FORCE_SLACK: usize = 2;
    /// Actuator: what its gain gains per length and per velocity, 2.
    pub const FORCE_GAIN: usize = 0;
    /// Actuator: time constants and smoothing of its activation, 3.
    pub const FORCE_TIMES: usize = 2;
    /// Actuator: bounds of its activation, 2.
    pub const FORCE_RANGE: usize = 5;
    /// Muscle: peak force.
    pub const FORCE_PEAK: usize = 7;
    /// Muscle: optimum length; normalised length at length zero.
    pub const FORCE_OPTIMUM: usize = 8;
    /// Muscle: shortest and longest normalised length at which it pulls, 2.
    pub const FORCE_REACH: usize = 10;
    /// Muscle: fastest shortening, passive force, force when stretched fast, normalised, 3.
    pub const FORCE_CURVES: usize = 12;
    /// Fluid: density, viscosity, wind (world axes), 5.
    pub const FORCE_FLUID: usize = 0;
    /// Fluid: frame in the body (position, quaternion), 7.
    pub const FORCE_FRAME: usize = 5;
    /// Fluid: edges of the box, or semiaxes of the ellipsoid, m, 3.
    pub const FORCE_EXTENT: usize = 12;
    /// Ellipsoid: coefficients of blunt, slender and angular drag, of Kutta's and Magnus's lift, 5.
    pub const FORCE_DRAG: usize = 15;
    /// Ellipsoid: added mass per density, 3, and added inertia per density, 3.
    pub const FORCE_ADDED: usize = 20;
    /// Reals of a force's record.
    pub const FORCE: usize = 26;

    /// Sensor: its frame in the body (position, quaternion), 7.
    pub const SENSOR_FRAME: usize = 0;
    /// Sensor: the frame that it is seen from, 7; or a constant vector, 3.
    pub const SENSOR_OTHER: usize = 7;
    /// Sensor: what readings are cut off at.
    pub const SENSOR_CUTOFF: usize = 14;
    /// Reals of a sensor's record.
    pub const SENSOR: usize = 15;

    pub use super::UNBOUNDED;
}

/// Offsets in a body's part of `work`.
pub mod work {
    /// Inertia at c in world axes: mass, mass * (centre - c) (3), inertia about c (6). Written by `bias`; `inertia`
    /// adds up the subtrees in place.
    pub const INERTIA: usize = 0;
    /// Acceleration at c of the motion with no joint acceleration, less gravity.
    pub const ACCELERATION: usize = 10;
    /// Force that this acceleration takes, at c; of the whole subtree in the end.
    pub const FORCE: usize = 16;
    /// Reals of a body.
    pub const BODY: usize = 22;
}
