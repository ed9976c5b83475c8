//! Settings of projected Gauss-Seidel.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::dense::MOST;
use manyworlds_shaders::contact::group::DEVICE_ROWS;
use manyworlds_shaders::contact::tree_layout::{LaneDims, phase, work_reals};
use manyworlds_shaders::dynamics::tree::TreeDims;

/// [`PgsParams::rows`] on the CPU, where a thread has one problem at a time.
pub const CPU_ROWS: u32 = 128;
/// The same on a device, at least: 34 kB in f32.
const LEAST_DEVICE_ROWS: usize = 64;
/// Room for contacts and limits beside the rows that act at every step: of twelve contacts.
const ROOM: usize = 36;

/// [`PgsParams::rows`] on a device for a tree of so many rows that act at every step.
#[must_use]
pub fn device_rows(steady: usize) -> u32 {
    (steady + ROOM).next_multiple_of(8).clamp(LEAST_DEVICE_ROWS, DEVICE_ROWS) as u32
}

/// Reals of the workspace that a device needs for such a tree.
#[must_use]
pub fn device_reals(steady: usize) -> usize {
    work_reals(device_rows(steady) as usize)
}

/// How far and how long to iterate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PgsParams {
    /// A lane stops when residual 1 of its impulses is at most this, N s.
    pub tolerance: f64,
    /// Most sweeps a step.
    pub sweeps: u32,
    /// Most rows of a lane's problem that is written out, a multiple of eight. On a device each lane owns a workspace that
    /// grows with the square of this.
    pub rows: u32,
    /// Newton steps and sweeps, or sweeps alone.
    pub newton: bool,
    /// Who solves a lane.
    pub spread: Spread,
}

/// How lanes are spread over what solves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// A thread of the CPU has a tile of them, in one dispatch.
    Mirror,
    /// An invocation of a software adapter advances so many after each other at most. Such adapters end long dispatches, so there
    /// are several.
    Invocations {
        /// Lanes of one.
        share: u32,
    },
    /// A workgroup of a GPU has a lane, in one dispatch.
    Workgroups,
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PgsError {
    /// Zero would never be met, a NaN never compared.
    #[error("tolerance: expected a positive finite number, found {0}")]
    Tolerance(f64),
    /// Nothing would be solved.
    #[error("sweeps: expected at least 1, found 0")]
    Sweeps,
    /// The mirror takes no more.
    #[error("rows: expected a multiple of 8 of at most {MOST}, found {0}")]
    Rows(u32),
}

impl PgsParams {
    /// Defaults for a precision. In f32 a velocity of 1 m/s is known to 1e-7 and a residual sums tens of them.
    #[must_use]
    pub fn for_precision<T: Scalar>() -> Self {
        let tolerance = if size_of::<T>() == 8 { 1e-7 } else { 1e-5 };
        Self { tolerance, sweeps: 20, rows: LEAST_DEVICE_ROWS as u32, newton: true, spread: Spread::Mirror }
    }

    /// Refuses settings that cannot be.
    ///
    /// # Errors
    /// [`PgsError`] names the first such.
    pub fn validate(&self) -> Result<(), PgsError> {
        if !(self.tolerance.is_finite() && (self.tolerance as f32) > 0.0) {
            return Err(PgsError::Tolerance(self.tolerance));
        }
        if self.sweeps == 0 {
            return Err(PgsError::Sweeps);
        }
        if self.rows as usize > MOST || !self.rows.is_multiple_of(8) {
            return Err(PgsError::Rows(self.rows));
        }
        Ok(())
    }

    /// The uniform of the kernels that take these.
    #[must_use]
    pub fn dims(&self, tree: &TreeDims) -> LaneDims {
        LaneDims {
            lanes: tree.lanes,
            n_v: tree.n_v,
            n_row: tree.n_row,
            row_width: tree.row_width,
            sweeps: self.sweeps,
            tolerance: (self.tolerance as f32).to_bits(),
            rows: self.rows,
            newton: u32::from(self.newton),
            phases: phase::ALL,
            budget: self.sweeps,
            stride: tree.lanes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_room_for_the_rows_of_a_humanoid_with_drives() {
        assert_eq!([0, 21, 28, 29, 58, 92, 93, 1000].map(device_rows), [64, 64, 64, 72, 96, 128, 128, 128]);
    }

    #[test]
    fn defaults_hold_and_nonsense_is_refused() {
        let good = PgsParams::for_precision::<f64>();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(PgsParams::for_precision::<f32>().validate(), Ok(()));
        assert!(PgsParams { tolerance: f64::NAN, ..good }.validate().is_err());
        assert!(PgsParams { tolerance: 1e-60, ..good }.validate().is_err(), "zero once it is an f32");
        assert_eq!(PgsParams { sweeps: 0, ..good }.validate(), Err(PgsError::Sweeps));
        assert_eq!(PgsParams { rows: 9999, ..good }.validate(), Err(PgsError::Rows(9999)));
    }
}
