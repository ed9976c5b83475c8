//! Robot and scene models: what a world is made of, before any number of worlds is stepped.
//!
//! A [`Model`] is a validated, constant description: bodies in trees rooted at the ground, joints, geoms, actuators,
//! equality constraints and contact filters. It comes from [`ModelBuilder`], from MJCF or from URDF, always through
//! the same validation. Units are SI, quaternions are (w, x, y, z), and state conventions are MuJoCo's.

mod actuation;
mod attributes;
mod brick;
mod builder;
mod cage;
mod error;
mod geometry;
mod import;
mod inertia;
mod mesh;
mod mjcf;
mod model;
mod picture;
mod query;
mod reference;
mod sdf;
mod sensor;
mod soft;
mod tetrahedra;
mod urdf;
mod validate;
pub mod visual;
mod xml;

pub use actuation::{
    Activation, Actuator, Dynamics, Fluid, FluidShape, Muscle, Obstacle, Path, Site, Tendon, Transmission, Waypoint,
};
pub use builder::ModelBuilder;
pub use cage::{Cage, Embedding};
pub use error::{Location, ModelError};
pub use geometry::{Contacting, Geom, HeightField, Mesh, Shape, Surface};
pub use import::{Ignored, ImportOptions, Loaded, Resolver, load};
pub use mjcf::from_mjcf_str;
pub use model::{
    Body, Equality, EqualityKind, ExplicitPair, Inertial, Joint, JointKind, Keyframe, Model, Options, Tree,
};
pub use sdf::{Block, DistanceFunction, Sdf};
pub use sensor::{
    Bounded, ContactOrder, ContactPick, Frame, Instrument, Lens, Measures, OfContact, OfEnergy, OfFrame, OfMotion,
    OfNearest, OfRay, OfSubtree, Party, Sensor, Zone,
};
pub use soft::{Material, MaterialLaw, Order, Region, SoftBody};
pub use tetrahedra::Tetrahedra;
pub use urdf::from_urdf_str;

/// Host-side vector, metres or unitless.
pub type Vec3 = nalgebra::Vector3<f64>;
/// Host-side orientation.
pub type Quat = nalgebra::UnitQuaternion<f64>;
/// Host-side symmetric 3 x 3 matrix, kg m^2 where it is an inertia.
pub type Mat3 = nalgebra::Matrix3<f64>;
/// Host-side rigid placement.
pub type Pose = nalgebra::Isometry3<f64>;
