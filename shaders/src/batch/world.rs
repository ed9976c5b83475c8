//! What kernels know of a world: its word in `unsolved`.

/// Bits of a world's word in `unsolved`.
pub mod found {
    /// Kernels ran out of iterations.
    pub const UNSOLVED: u32 = 1;
    /// A tree has stopped, or its factorization broke down.
    pub const BROKEN: u32 = 2;
}
