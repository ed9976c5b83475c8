//! What times stages: a page in a browser has no clock of the standard library's, and times nothing.

#[cfg(not(target_family = "wasm"))]
pub use std::time::Instant;

/// Stands in for the standard library's, which panics here: no time passes.
#[cfg(target_family = "wasm")]
#[derive(Debug, Clone, Copy)]
pub struct Instant;

#[cfg(target_family = "wasm")]
impl Instant {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self
    }

    /// Zero.
    #[must_use]
    pub fn duration_since(&self, _: Self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    /// Zero.
    #[must_use]
    pub fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
