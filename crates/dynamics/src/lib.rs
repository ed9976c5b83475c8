//! Host side of the dynamics kernels: compiles the trees of a [`manyworlds_model::Model`] into records that they read.
//!
//! Trees of equal topology (in one model) make a [`TreeSet`]; each tree of each world is a *lane* of its set.

mod at_state;
mod check;
mod error;
mod forces;
mod initial;
mod layout;
mod params;
mod records;
mod rows;
mod sensors;
mod set;
mod settings;
mod soft;
pub mod soft_param;
mod view;

pub use at_state::ForcesAt;
pub use error::TreeError;
pub use layout::{Parameter, TreeLayout};
pub use set::{TreeSet, compile};
pub use settings::Settings;
pub use soft::pressure_of;
