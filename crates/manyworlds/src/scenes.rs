//! The built-in scenes: data under `scenes/`, embedded.

/// A built-in model with the settings that suit it.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// Its MJCF text.
    pub mjcf: &'static str,
}
