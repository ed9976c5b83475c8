//! What precedes every kernel's WGSL, by precision and tile width. Shared with the build script.

/// Workgroups of a row: more are laid out in rows of this many, as a dispatch may have 65535 a dimension.
pub const GROUPS_X: u32 = 32768;

/// Tile widths that kernels are validated for.
pub const TILES: [u32; 3] = [8, 16, 32];

/// The number format that a kernel computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Single: every adapter.
    F32,
    /// Double: adapters with 64-bit floats and integers in shaders.
    F64,
}

impl Precision {
    /// Both.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    /// `f32` or `f64`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes of a number.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// WGSL that defines `real`, `REAL_BYTES`, `TILE`, `GROUPS_X` and `is_finite` (by the bits: comparisons do not see a NaN on every
/// adapter).
#[must_use]
pub fn prelude(precision: Precision, tile: u32) -> String {
    let finite = match precision {
        Precision::F32 => "(bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u",
        Precision::F64 => "(bitcast<u64>(x) & 0x7ff0000000000000lu) != 0x7ff0000000000000lu",
    };
    let (real, bytes) = (precision.name(), precision.bytes());
    format!(
        "alias real = {real};\nconst REAL_BYTES: u32 = {bytes}u;\nconst TILE: u32 = {tile}u;\n\
         const GROUPS_X: u32 = {GROUPS_X}u;\nfn is_finite(x: real) -> bool {{ return {finite}; }}\n"
    )
}
