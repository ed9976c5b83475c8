//! What can be wrong with a tree.

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
    /// A tendon or actuator binds what no single tree can hold.
    #[error("{what} {index} \"{name}\": {message}")]
    Binding {
        /// "tendon" or "actuator".
        what: &'static str,
        /// Index in the model.
        index: usize,
        /// Its name.
        name: String,
        /// What, expected and found.
        message: &'static str,
    },
}
