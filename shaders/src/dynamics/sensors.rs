//! What the kernels of sensors read: their records, behind those of the tree in `topology`.

use bytemuck::{Pod, Zeroable};

use crate::dynamics::tree::{TreeDims, records, words};

/// What a sensor's record adds to its reading, in `SensorRecord::kind`; those from [`sensor::LATE`] on know the velocity that
/// the step ends with.
pub mod sensor {
    /// `count` entries of q.
    pub const POSITION: u32 = 0;
    /// A ball's quaternion.
    pub const QUATERNION: u32 = 1;
    /// `count` entries of v.
    pub const VELOCITY: u32 = 2;
    /// Length of a path, times the gear.
    pub const LENGTH: u32 = 3;
    /// Its rate.
    pub const RATE: u32 = 4;
    /// Force of an actuator along a path.
    pub const ACTUATOR: u32 = 5;
    /// The same on one dof of the path.
    pub const EFFORT: u32 = 6;
    /// Place of a frame as another one sees it.
    pub const PLACE: u32 = 7;
    /// Orientation of a frame as another one sees it.
    pub const TURN: u32 = 8;
    /// One of a frame's axes as another one sees it.
    pub const AXIS: u32 = 9;
    /// Linear velocity of a frame as another one sees it.
    pub const LINEAR: u32 = 10;
    /// Angular velocity of a frame as another one sees it.
    pub const ANGULAR: u32 = 11;
    /// Linear velocity of a frame in its own axes.
    pub const OWN_LINEAR: u32 = 12;
    /// Angular velocity of a frame in its own axes.
    pub const OWN_ANGULAR: u32 = 13;
    /// A constant vector in a frame's axes.
    pub const FIELD: u32 = 14;
    /// Centre of mass of a subtree.
    pub const CENTRE: u32 = 15;
    /// Velocity of a subtree's centre of mass.
    pub const DRIFT: u32 = 16;
    /// Angular momentum of a subtree about its centre of mass.
    pub const SPIN: u32 = 17;
    /// Bounds what stands there.
    pub const CUT: u32 = 18;
    /// `count` numbers that the host knows.
    pub const GIVEN: u32 = 19;
    /// The first of those that know what the step does.
    pub const LATE: u32 = 32;
    /// Linear acceleration of a frame, less gravity, in its own axes.
    pub const ACCELERATION: u32 = 32;
    /// The same in world axes.
    pub const WORLD_ACCELERATION: u32 = 33;
    /// Angular acceleration of a frame, world axes.
    pub const TURNING: u32 = 34;
    /// Force of a body's parent on it, in a frame's axes.
    pub const FORCE: u32 = 35;
    /// Its torque about a frame's origin, in the frame's axes.
    pub const TORQUE: u32 = 36;
    /// A number of the loads.
    pub const LOAD: u32 = 37;
    /// Bounds what stands there.
    pub const CUT_LATE: u32 = 38;
    /// Force of a limit, which is a row.
    pub const BOUND: u32 = 39;
}

/// The uniform of a kernel of sensors.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SensorDims {
    /// Sizes of the tree.
    pub tree: TreeDims,
    /// First word of the header in `topology`; the records follow.
    pub sensor_at: u32,
}

/// What stands before the records of sensors.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SensorHeader {
    /// Records.
    pub n_sensor: u32,
    /// Reals of a lane of `reading`.
    pub n_reading: u32,
    /// Reals of a lane of `load`: of each body the moment about c and the force of its contacts, then what touches;
    /// 0 where no sensor asks for any.
    pub n_load: u32,
    /// Reals of a lane of `given`: what the host knows.
    pub n_given: u32,
}

/// What a sensor adds to its reading.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct SensorRecord {
    /// One of [`sensor`].
    pub kind: u32,
    /// Its first number in `reading`.
    pub at: u32,
    /// How many they are.
    pub count: u32,
    /// Its body, or [`NONE`](crate::dynamics::names::NONE).
    pub body: u32,
    /// Body of the frame that it is seen from, or [`NONE`](crate::dynamics::names::NONE).
    pub other: u32,
    /// First entry of q or v, an axis, a path, a row, a number of the loads, or of what the host knows.
    pub index: u32,
    /// An actuator, or [`NONE`](crate::dynamics::names::NONE).
    pub actuator: u32,
    /// A dof, by its place among those of the path.
    pub dof: u32,
    /// Its record in `params`, an absolute offset.
    pub param: u32,
}

/// A tree's sensors, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Sensors<'a> {
    /// Sizes.
    pub header: SensorHeader,
    /// `[n_sensor]`
    pub records: &'a [SensorRecord],
}

impl<'a> Sensors<'a> {
    /// Finds the records of a compiled topology.
    #[must_use]
    pub fn new(topology: &'a [u32], sensor_at: u32) -> Self {
        let header: SensorHeader = records(topology, sensor_at, 1)[0];
        Self { header, records: records(topology, sensor_at + words::<SensorHeader>() as u32, header.n_sensor) }
    }
}
