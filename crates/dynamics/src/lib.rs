//! Host side of the dynamics kernels: compiles the trees of a [`manyworlds_model::Model`] into records that they read.
//!
//! Trees of equal topology (in one model) make a [`TreeSet`]; each tree of each world is a *lane* of its set.

mod check;
mod layout;
mod params;
mod rows;
mod set;

pub use layout::{Parameter, TreeLayout};
pub use set::{Settings, TreeSet, compile};

/// Why a tree could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A joint stands where no kernel can take it.
    #[error("joint {index} \"{name}\": {message}")]
    Joint {
        /// Index in the model.
        index: usize,
        /// Its name.
        name: String,
        /// What, expected and found.
        message: &'static str,
    },
}
