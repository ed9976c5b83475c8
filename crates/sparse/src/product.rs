//! The product that everything here consists of.

/// `x y + z`, rounded once where the processor does so in one instruction: elsewhere that would be a library call, which takes
/// tens of times as long. WebAssembly is such a place.
#[inline(always)]
pub(crate) fn mul_add(x: f64, y: f64, z: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { x.mul_add(y, z) } else { x * y + z }
}
