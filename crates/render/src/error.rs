//! What can go wrong between a model and a picture of it.

use manyworlds_gpu::GpuError;

/// A fault of a device, or of a file that is to be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// There is nothing to draw with.
    #[error(
        "no adapter to draw with ({0}); a driver for the graphics card, or Mesa's software adapter (Debian's package \
         mesa-vulkan-drivers), gives one"
    )]
    NoAdapter(String),
    /// The device reports an error.
    #[error("drawing: {0}")]
    Device(#[from] GpuError),
    /// A size that no picture has.
    #[error("size {found}: expected WIDTHxHEIGHT, each from 1 to {most}")]
    Size {
        /// What was asked for.
        found: String,
        /// Largest width and height.
        most: u32,
    },
    /// A camera that a model does not have.
    #[error("camera \"{wanted}\": no such camera of \"{model}\" (it has {known})")]
    Camera {
        /// What was asked for.
        wanted: String,
        /// Name of the model.
        model: String,
        /// The cameras there are.
        known: String,
    },
    /// Surfaces of soft bodies are not where the poses of others are.
    #[error("soft bodies are not drawn from poses on a device: read the worlds and observe these")]
    Soft,
    /// A name of a file that says nothing of its format.
    #[error("{0}: expected a name that ends in .png, .gif, .mp4 or .webp")]
    Extension(String),
    /// A file that cannot be written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}
