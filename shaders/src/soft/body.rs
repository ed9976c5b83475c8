//! What every kernel of soft bodies reads.
//!
//! `topology` (u32, the same for all lanes): for each free node the block of the matrix on its diagonal; then a record for
//! each element (see [`super::elements`]); then, from `plan_at` on, the plan of the factor (see [`super::factor`]); then, from
//! `control_at` on, the region that each control has. `rest` (real, the same for all lanes): volume of each free node, where
//! these are at rest, then what each element is at rest. `params` (real, a set a lane): see [`soft`].

use bytemuck::{Pod, Zeroable};

use crate::dynamics::names::status;

/// In place of a block that a matrix does not have.
pub const NO_BLOCK: u32 = 0xffff_ffff;
/// Numbers of a block.
pub const BLOCK: usize = 9;

/// Energies of a deformation, as `manyworlds_model::MaterialLaw`.
pub mod law {
    /// Small strain.
    pub const LINEAR: u32 = 0;
    /// Co-rotational.
    pub const COROTATED: u32 = 1;
    /// Saint Venant-Kirchhoff.
    pub const SAINT_VENANT: u32 = 2;
    /// Stable neo-Hookean.
    pub const NEO_HOOKEAN: u32 = 3;
}

/// Offsets in `params`, in reals.
pub mod soft {
    /// Time step, s.
    pub const TIMESTEP: usize = 0;
    /// Gravity, m/s^2, axes of the carrier, 3.
    pub const GRAVITY: usize = 1;
    /// Lame's mu, Pa.
    pub const MU: usize = 4;
    /// Lame's lambda, Pa.
    pub const LAMBDA: usize = 5;
    /// kg/m^3
    pub const DENSITY: usize = 6;
    /// Damping in proportion to stiffness, s.
    pub const DAMPING: usize = 7;
    /// Damping in proportion to mass, 1/s.
    pub const MASS_DAMPING: usize = 8;
    /// Reals of the header; the pressure in each region follows, Pa, then records of controls, then of a carrier that moves.
    pub const HEADER: usize = 9;

    /// Control: pressure per force.
    pub const CONTROL_GEAR: usize = 0;
    /// Control: force per control.
    pub const CONTROL_GAIN: usize = 1;
    /// Control: constant part of the force.
    pub const CONTROL_BIAS: usize = 2;
    /// Control: its bounds, 2.
    pub const CONTROL_RANGE: usize = 3;
    /// Control: bounds of the force before the gear, 2.
    pub const CONTROL_FORCE: usize = 5;
    /// Reals of a control's record.
    pub const CONTROL: usize = 7;

    /// Carrier: how the velocity that a node begins with changes with its place, 9, row by row, 1/s.
    pub const RIDE_BY_PLACE: usize = 0;
    /// Carrier: the same with its velocity, 9.
    pub const RIDE_BY_SPEED: usize = 9;
    /// Carrier: what its origin has gained in speed, m/s, 3.
    pub const RIDE_GAINED: usize = 18;
    /// Reals of a carrier's record.
    pub const RIDE: usize = 21;
}

/// Uniform block of every kernel of soft bodies.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SoftDims {
    /// Lanes in use; the buffers hold whole tiles.
    pub lanes: u32,
    /// Reals of one set of params.
    pub n_param: u32,
    /// Free nodes.
    pub n_node: u32,
    /// Regions.
    pub n_region: u32,
    /// Controls.
    pub n_u: u32,
    /// Elements.
    pub n_element: u32,
    /// Points of integration of an element.
    pub n_point: u32,
    /// Blocks of the matrix.
    pub n_block: u32,
    /// Blocks of the factor.
    pub n_fill: u32,
    /// First word of the plan.
    pub plan_at: u32,
    /// First word of the controls' regions.
    pub control_at: u32,
    /// One of [`law`].
    pub law: u32,
    /// 1 where something damps in proportion to stiffness.
    pub damped: u32,
    /// 1 where there are pressures.
    pub pressed: u32,
    /// 1 where a mocap body carries it.
    pub ridden: u32,
    /// Contacts of all lanes, and nodes that each has room for: see [`super::touch`].
    pub n_touch: u32,
    /// See there.
    pub n_term: u32,
    /// Columns beside the factor of a lane: `n_dof` of trees, the rest of contacts that slide; see [`super::slide`].
    pub n_slide: u32,
    /// Contacts of all lanes that a tree takes part in, and degrees of freedom of the largest of these trees: see [`super::touch`].
    pub n_side: u32,
    /// See there.
    pub side_dofs: u32,
    /// Degrees of freedom of the trees that touch a lane's body, at most: see [`super::trees`].
    pub n_dof: u32,
    /// Rounds that were.
    pub round: u32,
    /// 1: there is no other.
    pub last: u32,
    /// 1: what the last round leaves is only looked at; no matrix is made.
    pub check: u32,
    /// What may be left, N s, bits of an f32.
    pub tolerance: u32,
    /// Proximal weight eps of the next round's contacts, bits of an f32.
    pub proximal: u32,
}

/// What a soft body's lane of the buffer `info` says, in the places of
/// [`info`](crate::contact::tree_layout::info) that are nearest to it.
pub mod soft_info {
    /// What is left of the balance of momentum, N s.
    pub const MOMENTUM: usize = 0;
    /// The largest of [`LAWS`] in m/s.
    pub const SCALED: usize = 1;
    /// Rounds.
    pub const ROUNDS: usize = 2;
    /// `|lambda - T(lambda - J v - e)|` over its contacts, N s.
    pub const LAWS: usize = 6;
    /// What the last round left, as rounds measure it, N s.
    pub const ROUND: usize = 7;
}

impl SoftDims {
    /// Degrees of freedom.
    #[inline(always)]
    #[must_use]
    pub fn n_v(&self) -> u32 {
        3 * self.n_node
    }

    /// Reals of a lane of `state`: displacements of free nodes, velocities, controls, forces from outside.
    #[inline(always)]
    #[must_use]
    pub fn n_state(&self) -> u32 {
        9 * self.n_node + self.n_u
    }

    /// Reals of a lane of `begin`: see [`super::start`].
    #[inline(always)]
    #[must_use]
    pub fn n_begin(&self) -> u32 {
        6 * self.n_node + self.n_region
    }

    /// First real of the controls in `params`.
    #[inline(always)]
    #[must_use]
    pub fn control_param(&self) -> usize {
        soft::HEADER + self.n_region as usize
    }

    /// First real of the carrier in `params`.
    #[inline(always)]
    #[must_use]
    pub fn ride_param(&self) -> usize {
        self.control_param() + self.n_u as usize * soft::CONTROL
    }
}

/// Whether rounds are over for every lane of a tile, by their status words.
#[inline(always)]
#[must_use]
pub fn all_settled(status: &[u32]) -> bool {
    status.iter().all(|word| word & status::SETTLED != 0)
}
