//! Models and their importers from outside.

mod actuator_defaults;
mod bad_input;
mod cages;
mod golden;
mod meshes;
mod properties;
mod sdf;
mod soft;
mod tetrahedra;
mod urdf;
mod visual;
