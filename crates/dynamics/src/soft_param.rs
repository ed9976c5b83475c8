//! Where the numbers of a soft body stand among its parameters, behind the header.

/// Young's modulus, Pa.
pub const YOUNG: usize = 0;
/// Poisson's ratio.
pub const POISSON: usize = 1;
/// kg/m^3
pub const DENSITY: usize = 2;
/// In proportion to stiffness, s.
pub const DAMPING: usize = 3;
/// In proportion to mass, 1/s.
pub const MASS_DAMPING: usize = 4;
/// Coulomb friction coefficient of the surface.
pub const FRICTION: usize = 5;
/// Pressures of the regions begin here, Pa; behind them stand the actuators.
pub const PRESSURE: usize = 6;
