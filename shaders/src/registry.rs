//! The kernels: WGSL with imports expanded, what naga reflects of it, and the mirror of the same stem.
//!
//! The build script writes the list from the WGSL files, so a kernel needs two things: `stage/name.wgsl`, and
//! `stage/name.rs` (a `pub mod` of its stage) with `Dims` and `mirror`; without either the crate does not compile. What both
//! sides know, the uniform block `Dims`, records and constants, stands in Rust alone: the build script writes it in WGSL.

use crate::args::Args;
pub use crate::prelude::{GROUPS_X, Precision, TILES, prelude};
use crate::{F32x8, F64x8};

/// A kernel on the CPU, which computes with R.
pub type Mirror<R> = fn(&mut Args<R>);

/// A kernel and its mirror.
#[derive(Debug)]
pub struct Kernel {
    /// Stage and stem: `dynamics/kinematics`.
    pub name: &'static str,
    /// WGSL with imports expanded, without [`prelude`].
    pub wgsl: &'static str,
    /// How items map to invocations.
    pub width: Width,
    /// Storage buffers, bound at 1, 2, ... (0 is the uniform `dims`).
    pub bindings: &'static [Binding],
    /// Words of dims that a pipeline is compiled for, the WGSL's overridable constants: name, byte offset.
    pub constants: &'static [(&'static str, u32)],
    /// Size of the dims struct `[B]`.
    pub dims_bytes: u32,
    /// Workgroup memory, the larger of the two precisions `[B]`.
    pub workgroup_bytes: u32,
    /// The mirror in f32, for [`crate::LANES`] worlds at a time.
    pub mirror_f32: Mirror<F32x8>,
    /// The same in f64.
    pub mirror_f64: Mirror<F64x8>,
    /// For one world at a time: there the lanes of a pack would do the same work eight times.
    pub lone_mirror_f64: Mirror<f64>,
}

impl Kernel {
    /// Values of [`Kernel::constants`] in a dims struct.
    pub fn constants_in<'a>(&self, dims: &'a [u32]) -> impl Iterator<Item = u32> + use<'a> {
        self.constants.iter().map(|(_, at)| dims.get(*at as usize / 4).copied().unwrap_or_default())
    }
}

/// What one item of a dispatch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// The workgroup is TILE wide: an item is a lane, run by one invocation.
    Tile,
    /// The workgroup is TILE wide: an item is a workgroup.
    Group,
    /// The workgroup has this many invocations whatever the tile: an item is a workgroup.
    Fixed(u32),
}

/// A storage buffer of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// Its name in WGSL.
    pub name: &'static str,
    /// `array<real>`; otherwise `array<u32>`.
    pub real: bool,
    /// Bound read_write.
    pub write: bool,
}

include!(concat!(env!("OUT_DIR"), "/registry.rs"));
