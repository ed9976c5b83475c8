//! What bodies are made of: shapes, meshes, distance functions, tetrahedra and cages, read from their files, and what they weigh.
//!
//! A crate of its own, below [`manyworlds_model`](../manyworlds_model/index.html), as it computes where that one reads and
//! checks: it is optimized in full, the other for a short build.

mod brick;
mod cage;
mod error;
pub mod flexcomp;
mod inertia;
mod mesh;
mod sdf;
mod shape;
mod soft;
mod tetrahedra;

pub use cage::{Cage, Embedding, node_counts};
pub use error::{Location, ModelError};
pub use inertia::Inertial;
pub use mesh::{Filling, TriangleMesh};
pub use sdf::{Block, DistanceFunction, Sdf};
pub use shape::{Contacting, Geom, HeightField, Mesh, Shape, Surface};
pub use soft::{Material, MaterialLaw, Order, Region, SoftBody};
pub use tetrahedra::Tetrahedra;

/// Host-side vector, metres or unitless.
pub type Vec3 = nalgebra::Vector3<f64>;
/// Host-side orientation.
pub type Quat = nalgebra::UnitQuaternion<f64>;
/// Host-side symmetric 3 x 3 matrix, kg m^2 where it is an inertia.
pub type Mat3 = nalgebra::Matrix3<f64>;
/// Host-side rigid placement.
pub type Pose = nalgebra::Isometry3<f64>;
