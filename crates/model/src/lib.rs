//! Robot and scene models: what a world is made of, before any number of worlds is stepped.
//!
//! A [`Model`] is a validated, constant description: bodies in trees rooted at the ground, joints, geoms, actuators,
//! equality constraints and contact filters. It comes from [`ModelBuilder`], from MJCF or from URDF, always through
//! the same validation. Units are SI, quaternions are (w, x, y, z), and state conventions are MuJoCo's.

mod actuation;
mod attributes;
mod builder;
mod import;
mod mjcf;
mod model;
mod picture;
mod query;
mod reference;
mod sensor;
mod urdf;
mod validate;
pub mod visual;
mod xml;

pub use actuation::{
    Activation, Actuator, Dynamics, Fluid, FluidShape, Muscle, Obstacle, Path, Site, Tendon, Transmission, Waypoint,
};
pub use builder::ModelBuilder;
pub use import::{Ignored, ImportOptions, Loaded, Resolver, load};
pub use manyworlds_geometry::{
    Block, Cage, Contacting, DistanceFunction, Embedding, Geom, HeightField, Inertial, Location, Mat3, Material,
    MaterialLaw, Mesh, ModelError, Order, Pose, Quat, Region, Sdf, Shape, SoftBody, Surface, Tetrahedra, Vec3,
};
pub use mjcf::from_mjcf_str;
pub use model::{Body, Equality, EqualityKind, ExplicitPair, Joint, JointKind, Keyframe, Model, Options, Tree};
pub use sensor::{
    Bounded, ContactOrder, ContactPick, Frame, Instrument, Lens, Measures, OfContact, OfEnergy, OfFrame, OfMotion,
    OfNearest, OfRay, OfSubtree, Party, Sensor, Zone,
};
pub use urdf::from_urdf_str;
