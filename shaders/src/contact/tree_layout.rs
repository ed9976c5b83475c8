//! Buffers that the kernels of the tree path share: an island of one tree and the ground, a lane per tree.
//!
//! *Slots* are three-row constraints: first the tree's static bilateral blocks, then its contacts. A tile of lanes has
//! as many as its fullest lane, in tile-ragged layout; the others are zero-filled, and zero rows do nothing. *Rows* are
//! the tree's static scalar constraints. Impulses are in N s (N m s for angular rows), velocities in m/s (rad/s).

use bytemuck::{Pod, Zeroable};

use crate::{Mask, Real, Scalar};

/// Uniform of the kernels that need no more of the tree than its size.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct LaneDims {
    /// Lanes in use.
    pub lanes: u32,
    /// Generalized velocities.
    pub n_v: u32,
    /// Static rows.
    pub n_row: u32,
    /// Most rounds of one solve: a Newton step, a sweep, or both.
    pub sweeps: u32,
    /// Residual at which a lane has converged, N s: the bits of an f32.
    pub tolerance: u32,
    /// Most rows of a lane's problem that is written out (its memory grows with their square): a multiple of eight.
    pub rows: u32,
    /// Terms of a static row: see [`row`].
    pub row_width: u32,
    /// 1: Newton steps and sweeps; 0: sweeps alone.
    pub newton: u32,
    /// What this dispatch does, of [`phase`]. Software adapters end the loops of an invocation that goes round too often
    /// (llvmpipe: 65535 times in all), devices that drive a display long dispatches, so a solve may be spread over several.
    pub phases: u32,
    /// Most rounds of an invocation in this dispatch.
    pub budget: u32,
    /// Distance of the lanes that one invocation advances after each other; `lanes` or more: one each. Lanes differ much
    /// in how many rounds they take, and a vector of lanes takes as long as its longest.
    pub stride: u32,
}
/// Parts of a solve.
pub mod phase {
    /// Writes the problems out, and the first sweeps.
    pub const PREPARE: u32 = 1;
    /// Rounds of what is not done: on a device, after a dispatch that prepares or as its second part.
    pub const ROUNDS: u32 = 2;
    /// Puts impulses, velocity and outcome where they belong.
    pub const FINISH: u32 = 4;
    /// All of them.
    pub const ALL: u32 = 7;
}

impl LaneDims {
    /// The tolerance as a number.
    #[inline(always)]
    #[must_use]
    pub fn tolerance<R: Real>(&self) -> R {
        R::lit(f64::from(f32::from_bits(self.tolerance)))
    }

    /// Reals of a slot in `constraint`.
    #[inline(always)]
    #[must_use]
    pub fn slot(&self) -> usize {
        slot_reals(self.n_v as usize)
    }

    /// Reals of a row in `row`.
    #[inline(always)]
    #[must_use]
    pub fn row(&self) -> usize {
        row_stride(self.n_v as usize, self.row_width)
    }
}

/// Words of a tile in `slots`: first slot and number of slots of this step, then of the step before.
pub const SLOTS: usize = 4;

/// Reals of a slot in `contact`.
pub mod contact {
    /// Midway between the surfaces, world, m, 3.
    pub const POINT: usize = 0;
    /// Unit normal from the first body to the second, 3.
    pub const NORMAL: usize = 3;
    /// Signed distance, m.
    pub const DISTANCE: usize = 6;
    /// Coulomb friction coefficient.
    pub const FRICTION: usize = 7;
    /// Restitution coefficient.
    pub const RESTITUTION: usize = 8;
    /// Velocity of the second body's surface relative to the first's that no tree has: of mocap bodies, world, m/s, 3.
    pub const DRIFT: usize = 9;
    /// Reals of a slot.
    pub const SIZE: usize = 12;
}

/// Words of a slot in `contact_map`.
pub mod map {
    /// One of the kinds below.
    pub const KIND: usize = 0;
    /// First body within the tree, [`crate::dynamics::tree::NONE`] for the ground. Contacts only.
    pub const BODY_A: usize = 1;
    /// Second body.
    pub const BODY_B: usize = 2;
    /// Slot of the same feature in the tile of the step before, plus 1; 0: none.
    pub const WARM: usize = 3;
    /// Words of a slot.
    pub const SIZE: usize = 4;

    /// Nothing.
    pub const EMPTY: u32 = 0;
    /// A contact.
    pub const CONTACT: u32 = 1;
    /// A static bilateral block; its slot is its number.
    pub const BLOCK: u32 = 2;
}

/// Reals of a slot in `constraint`; J and Y follow, each `[3][n_v]`.
pub mod slot {
    /// Bias e (t1, t2, n), m/s.
    pub const BIAS: usize = 0;
    /// Friction coefficient; below zero: bilateral.
    pub const MU: usize = 3;
    /// Restitution coefficient.
    pub const RESTITUTION: usize = 4;
    /// Approaching with a normal velocity below this bounces, m/s.
    pub const BOUNCE: usize = 5;
    /// G_ii = J Y^T (00 01 02 11 12 22), 1/kg.
    pub const BLOCK: usize = 6;
    /// Until that is there: what of a contact's normal velocity no tree has, m/s.
    pub const DRIFT: usize = 6;
    /// Its regularised inverse, kg.
    pub const INVERSE: usize = 12;
    /// Signed distance, m; zero for a block.
    pub const DISTANCE: usize = 18;
    /// By how much the bias gave way, in it already, m/s, 3: see [`super::super::steps`].
    pub const RELAXED: usize = 19;
    /// J begins here.
    pub const J: usize = 22;
}

/// Reals of a slot in `constraint`.
#[inline(always)]
#[must_use]
pub fn slot_reals(n_v: usize) -> usize {
    slot::J + 6 * n_v
}

/// Reals of a row in `row`: a head, then terms of J, as many in each row of a tree, then Y `[n_v]`. A row obeys
/// `sigma + e + c lambda = 0` between its bounds.
pub mod row {
    /// Bias e, m/s.
    pub const BIAS: usize = 0;
    /// Compliance c, 1/kg; zero for a hard row.
    pub const COMPLIANCE: usize = 1;
    /// Smallest impulse.
    pub const LOWER: usize = 2;
    /// Largest impulse.
    pub const UPPER: usize = 3;
    /// 1 where it can act in this step, else 0.
    pub const ACTIVE: usize = 4;
    /// J Y^T, 1/kg.
    pub const BLOCK: usize = 5;
    /// Impulse; kept for the next step.
    pub const IMPULSE: usize = 6;
    /// By how much the bias gave way, in it already, m/s.
    pub const RELAXED: usize = 7;
    /// First term: J at a dof of the row; zero behind the last.
    pub const COEFFICIENT: usize = 8;
    /// First term: that dof as a number, the same in all lanes.
    pub const DOF: usize = 9;
    /// Reals of a term.
    pub const TERM: usize = 2;
    /// Terms of the rows of a tree without rows of tendons.
    pub const WIDTH: u32 = 3;
}

/// Reals of a row before Y.
#[inline(always)]
#[must_use]
pub fn row_head(width: u32) -> usize {
    row::COEFFICIENT + row::TERM * width as usize
}

/// Reals of a row in `row`.
#[inline(always)]
#[must_use]
pub fn row_stride(n_v: usize, width: u32) -> usize {
    row_head(width) + n_v
}

/// Reals of a lane's workspace on a device for problems of at most that many rows, a multiple of eight: the state between
/// dispatches, and the problem. A device says nothing of what is read and written beyond a buffer.
#[must_use]
pub fn work_reals(rows: usize) -> usize {
    24 + 2 * rows * rows + 14 * rows
}

/// Reals of a lane in `info`.
pub mod info {
    /// Residual 1: `|lambda - T(lambda - J v - e)| / max(n_c, 1)` at `v = A^-1 (b + J^T lambda)`.
    pub const RESIDUAL: usize = 0;
    /// Largest scaled residual, m/s.
    pub const SCALED: usize = 1;
    /// Sweeps of projected Gauss-Seidel.
    pub const SWEEPS: usize = 2;
    /// Newton steps.
    pub const NEWTON: usize = 3;
    /// Deepest penetration, m.
    pub const PENETRATION: usize = 4;
    /// Contacts.
    pub const CONTACTS: usize = 5;
    /// Static rows that could act.
    pub const ROWS: usize = 6;
    /// Residual at which the solver stopped, by its own reckoning.
    pub const STOPPED_AT: usize = 7;
    /// Contacts that are left out, as nothing moves their bodies apart.
    pub const LEFT_OUT: usize = 8;
    /// Numbers of a lane; the velocity `[n_v]` of the certificate stands behind them.
    pub const SIZE: usize = 9;

    /// Reals of a lane.
    #[inline(always)]
    #[must_use]
    pub const fn reals(n_v: usize) -> usize {
        SIZE + n_v
    }
}

/// Velocity-level bias of a position error (m or rad; negative: violated): open gaps close within the step at most,
/// what of a violation is beyond `slop` shrinks by a fraction, at a bounded speed, so that next to no energy is injected.
#[inline(always)]
pub fn bias<R: Real>(error: R, per_step: R, fraction: R, largest: R, slop: R) -> R {
    let undone = fraction * ((error + slop).min(R::lit(0.0)) * per_step);
    R::select(R::lit(0.0).le(error), error * per_step, undone.max(-largest))
}

/// The same for a bilateral row, either way.
#[inline(always)]
pub fn bilateral_bias<R: Real>(error: R, per_step: R, fraction: R, largest: R) -> R {
    (fraction * error * per_step).max(-largest).min(largest)
}

/// Three numbers of a slot.
#[inline(always)]
pub fn load3<R: Real>(from: &[R], at: usize) -> [R; 3] {
    [from[at], from[at + 1], from[at + 2]]
}

/// Six numbers of a slot.
#[inline(always)]
pub fn load6<R: Real>(from: &[R], at: usize) -> [R; 6] {
    std::array::from_fn(|i| from[at + i])
}

/// One of the dofs of a row.
#[inline(always)]
pub fn row_dof<R: Real>(r: &[R], k: usize) -> usize {
    // Numbers below 2^24 are exact in f32.
    r[row::DOF + row::TERM * k].lane(0).to_f64() as usize
}

/// J at that dof.
#[inline(always)]
pub fn row_coefficient<R: Copy>(r: &[R], k: usize) -> R {
    r[row::COEFFICIENT + row::TERM * k]
}

/// The slots of one tile in `slots`: begin, count, begin and count of the step before.
#[inline(always)]
pub fn tile_slots(slots: &[u32], tile: usize) -> [usize; SLOTS] {
    std::array::from_fn(|i| slots[tile * SLOTS + i] as usize)
}

/// Whether no lane is set.
#[inline(always)]
pub fn none<M: Mask>(mask: M) -> bool {
    !mask.any()
}

/// Trace of a slot's block.
#[inline(always)]
pub fn trace<R: Real>(constraint: &[R]) -> R {
    constraint[slot::BLOCK] + constraint[slot::BLOCK + 3] + constraint[slot::BLOCK + 5]
}

/// `J v` of a row, by its few dofs.
#[inline(always)]
pub fn row_velocity<R: Real>(width: u32, r: &[R], v: &[R]) -> R {
    (0..width as usize).fold(R::lit(0.0), |sum, k| row_coefficient(r, k).mul_add(v[row_dof(r, k)], sum))
}
