//! What can go wrong, when a model is prepared and when a world is collided.

/// Why a model cannot be collided.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CollideError {
    /// Two geoms may touch by the model's filters, and no contact exists for their shapes.
    #[error("geoms {first} and {second} may touch, and {shapes} cannot be collided: exclude the pair or its types")]
    Unsupported {
        /// Index and name of the one geom.
        first: String,
        /// Index and name of the other.
        second: String,
        /// The two shapes.
        shapes: String,
    },
    /// A mesh has no volume.
    #[error("mesh {index} \"{name}\": {message}")]
    Mesh {
        /// Index of the mesh.
        index: usize,
        /// Its name.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A heightfield's samples do not fit its size.
    #[error("heightfield {index} \"{name}\": {message}")]
    HeightField {
        /// Index of the heightfield.
        index: usize,
        /// Its name.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A setting is out of range.
    #[error("{name}: expected a finite number of at least 0, found {found}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        found: f64,
    },
    /// More geoms than pair numbers can tell apart.
    #[error("{found} geoms, and collision takes at most {limit}")]
    TooManyGeoms {
        /// Geoms in the model.
        found: usize,
        /// The most there may be.
        limit: usize,
    },
}

/// A world's pose was not finite, so it has no contacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pose of body {body} is not finite")]
pub struct NonFinite {
    /// The first such body.
    pub body: usize,
}
