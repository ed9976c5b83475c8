//! What a solve says of itself, one a lane.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::info;

/// The numbers of the `info` buffer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PgsInfo {
    /// Residual 1 by the certificate, N s.
    pub residual: f64,
    /// Largest scaled residual, m/s.
    pub residual_scaled: f64,
    /// Deepest penetration, m.
    pub penetration: f64,
    /// Sweeps.
    pub sweeps: u32,
    /// Newton steps.
    pub newton_steps: u32,
    /// Contacts.
    pub contacts: u32,
    /// Static rows that could act.
    pub rows: u32,
    /// Contacts that are left out, as nothing moves their bodies apart.
    pub left_out: u32,
}

impl PgsInfo {
    /// From one lane's numbers, [`info::SIZE`] of them.
    #[must_use]
    pub fn read<T: Scalar>(lane: &[T]) -> Self {
        let at = |i: usize| lane[i].to_f64();
        Self {
            residual: at(info::RESIDUAL),
            residual_scaled: at(info::SCALED),
            penetration: at(info::PENETRATION),
            sweeps: at(info::SWEEPS) as u32,
            newton_steps: at(info::NEWTON) as u32,
            contacts: at(info::CONTACTS) as u32,
            rows: at(info::ROWS) as u32,
            left_out: at(info::LEFT_OUT) as u32,
        }
    }
}
