//! What every kernel of soft bodies reads.
//!
//! `topology` (u32, the same for all lanes): for each free node the block of the matrix on its diagonal; then a record for
//! each element (see [`super::elements`]); then, from `plan_at` on, the plan of the factor (see [`super::factor`]). `rest`
//! (real, the same for all lanes): volume of each free node, then what each element is at rest. `params` (real, shared by
//! all lanes or one set a lane): see [`soft`], then the pressure in each region.

use bytemuck::{Pod, Zeroable};

use crate::buffer::Lanes;
use crate::dynamics::tree::{Params, nth};
use crate::real::Real;

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
    /// Reals of the header; pressures begin here, Pa.
    pub const HEADER: usize = 9;
}

/// Uniform block of every kernel of soft bodies.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SoftDims {
    /// Lanes in use; the buffers hold whole tiles.
    pub lanes: u32,
    /// 0: one set of params for all lanes; 1: one a lane, in tile layout.
    pub param_lanes: u32,
    /// Reals of one set of params.
    pub n_param: u32,
    /// Free nodes.
    pub n_node: u32,
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
    /// One of [`law`].
    pub law: u32,
    /// 1 where something damps in proportion to stiffness.
    pub damped: u32,
    /// 1 where there are pressures.
    pub pressed: u32,
}

impl SoftDims {
    /// Degrees of freedom.
    #[inline(always)]
    #[must_use]
    pub fn n_v(&self) -> u32 {
        3 * self.n_node
    }

    /// Reals of a lane of `state`: displacements of free nodes, velocities, forces from outside.
    #[inline(always)]
    #[must_use]
    pub fn n_state(&self) -> u32 {
        9 * self.n_node
    }
}

/// The parameters that a tile sees.
#[inline]
#[must_use]
pub fn soft_params<'a, R: Real>(dims: &SoftDims, params: &'a Lanes<R>, tile: usize) -> Params<'a, R> {
    if dims.param_lanes == 1 {
        Params::Lanes(nth(params.tile(), tile, dims.n_param))
    } else {
        Params::Shared(params.real())
    }
}
