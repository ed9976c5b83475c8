//! Buffers of a step's Jacobian. Slots and rows are those of [`crate::contact::tree_layout`]; blocks have no place here.
//!
//! * `places` (u32): of each tile the words of [`place`].
//! * `touch` (tile-ragged): of each slot what the host knows of how a contact moves, [`touch`].
//! * `side` (tile-ragged): of each slot [`side`].
//! * `shift` (tile-ragged, both parts of a tile behind each other): of each slot ds by q, `[3][n_v]`, then [`kink`]; of each
//!   row [`row_shift`].
//! * `system` (tile-ragged): [`System`].
//! * `mobility` (tile) `[n_v][n_v]`: `A^-1 - P B^-1 L J A^-1`, what impulses on the dofs add to v+; then [`verdict`].
//! * `adjoint` (tile): [`Adjoint`].
//! * `answer` (tile) `[n_v][2 n_v + n_input]`: dv+ by q, v, ctrl and act.

use crate::dynamics::tree::TreeDims;

/// What slides slower than this, m/s, slides against its impulse: which way it slips is rounding. What slides faster slides against its
/// slip, which redundant contacts have in common to rounding, as impulses have not.
pub const SLOW: f64 = 1e-7;

/// Words of a tile in `places`.
pub mod place {
    /// First slot.
    pub const BEGIN: usize = 0;
    /// Slots.
    pub const COUNT: usize = 1;
    /// First real of the tile's lanes in `system`, over the tile's width.
    pub const SYSTEM: usize = 2;
    /// First real in `shift`, likewise.
    pub const SHIFT: usize = 3;
    /// Words of a tile.
    pub const SIZE: usize = 4;
}

/// Reals of a slot in `touch`.
pub mod touch {
    /// The two bodies in the tree, as numbers; -1: the ground. Both -1: a contact that carries nothing, of which no more is said
    /// here, in `side` or in `shift`.
    pub const BODIES: usize = 0;
    /// The point from c, m, 3.
    pub const ARM: usize = 2;
    /// Unit normal from the first body to the second, 3.
    pub const NORMAL: usize = 5;
    /// Signed distance, m.
    pub const DISTANCE: usize = 8;
    /// Of each body: how point (3), normal (3) and distance change with its velocity at the point and its angular velocity,
    /// `[7][6]`.
    pub const SLOPES: usize = 9;
    /// Reals of a slot.
    pub const SIZE: usize = SLOPES + 2 * 42;
}

/// Reals of a slot in `side`: linear functions of a body's motion (angular, linear, at c), row-major.
pub mod side {
    /// The two bodies, as in [`super::touch`].
    pub const BODIES: usize = 0;
    /// The velocity of a body along the axes at the point, `[3][6]`.
    pub const SPEED: usize = 2;
    /// Of each body: change of `sigma^` by its motion while v+ is held, psi apart, `[3][6]`.
    pub const TURNED: usize = 20;
    /// Of each body: change of the wrench at c on the second one, `[6][6]`.
    pub const WRENCH: usize = 56;
    /// How far its bias is from a kink, m/s, and 1 where its gap is just closed, else 0.
    pub const KINK: usize = 128;
    /// Reals of a slot.
    pub const SIZE: usize = 130;
}

/// Reals of a slot in `shift` behind ds.
pub mod kink {
    /// How far its bias is from a kink, m/s.
    pub const MARGIN: usize = 0;
    /// 1 where its gap is just closed, else 0.
    pub const CLOSED: usize = 1;
    /// Reals of a slot.
    pub const SIZE: usize = 2;
}

/// Reals of a row in `shift`.
pub mod row_shift {
    /// ds by q at its dofs, 3.
    pub const BY_Q: usize = 0;
    /// ds by the control of its actuator.
    pub const BY_CTRL: usize = 3;
    /// How far its bias is from a kink, m/s (rad/s).
    pub const MARGIN: usize = 4;
    /// 1 where its gap is just closed, else 0.
    pub const CLOSED: usize = 5;
    /// That control's number in the tree; 0 without.
    pub const CONTROL: usize = 6;
    /// Reals of a row.
    pub const SIZE: usize = 7;
}

/// What a lane's equations say at the head of `system`, and at the end of `mobility` and of `adjoint`.
pub mod verdict {
    /// Unknown impulses.
    pub const SIZE_OF: usize = 0;
    /// How many of them are independent.
    pub const RANK: usize = 1;
    /// Distance to the nearest switch of a mode, m/s (rad/s).
    pub const MARGIN: usize = 2;
    /// Constraints that act at a gap just closed.
    pub const CLOSED: usize = 3;
    /// Left-over of the system; where unknowns depend on each other what these would change of the velocities, or what their equations
    /// contradict each other by, relative.
    pub const LEFT: usize = 4;
    /// Numbers of a lane.
    pub const SIZE: usize = 5;
}

/// Reals of an unknown in a lane's list.
pub mod unknown {
    /// First of its rows of the lane: those of the tree, then three a slot.
    pub const FIRST: usize = 0;
    /// Column of R over its rows, 3.
    pub const DIRECTION: usize = 1;
    /// Row of L, 3.
    pub const EQUATION: usize = 4;
    /// Entry of D.
    pub const DIAGONAL: usize = 7;
    /// Reals of an unknown.
    pub const SIZE: usize = 8;
}

/// Offsets in a lane's part of `system` of a tile with room for `most` unknowns.
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// Room for unknowns.
    pub most: usize,
    /// The list, `[most][unknown::SIZE]`.
    pub list: usize,
    /// Unknown whose equation stands in each row of the factor, then unknown that stands in each column, `[2][most]`.
    pub order: usize,
    /// Factor of B: L below the diagonal, U above it, on it 1/U, 0 from the rank on; columns from there on are zeros, and in rows from
    /// there on stands how often the equations before them are taken for nothing to be left of the impulses, `[most][most]`.
    pub factor: usize,
    /// `(A^-1 J^T R)^T`, `[most][n_v]`: by unknown, or for the Jacobian in the order of the factor's columns, zeros from the rank on.
    pub push: usize,
    /// `L J` by unknown, `[most][n_v]`. For the Jacobian, and where equations depend on each other, `L J A^-1` in the order of the factor's
    /// rows; [`super::mobility`] solves it in place.
    pub response: usize,
    /// In the latter cases `L ds` by q, ctrl and act, likewise, `[most][n_v + n_input]`; [`super::answer`] solves it in place.
    pub shift: usize,
    /// Of a product with the transpose what each row of the lane weighs, `[most]`: [`super::adjoint`].
    pub reaction: usize,
    /// Scratch, `[most + n_v]`.
    pub scratch: usize,
    /// Reals of a lane.
    pub reals: usize,
}

impl System {
    /// That of a tile with so many slots; `sizes`: n_v, n_input, n_row.
    #[inline(always)]
    #[must_use]
    pub fn new(sizes: [u32; 3], slots: usize) -> Self {
        let [n, n_input, n_row] = sizes.map(|n| n as usize);
        let most = 3 * slots + n_row;
        let list = verdict::SIZE;
        let order = list + most * unknown::SIZE;
        let factor = order + 2 * most;
        let push = factor + most * most;
        let response = push + most * n;
        let shift = response + most * n;
        let reaction = shift + most * (n + n_input);
        let scratch = reaction + most;
        Self { most, list, order, factor, push, response, shift, reaction, scratch, reals: scratch + most + n }
    }
}

/// Parts of a lane of `adjoint`.
#[derive(Debug, Clone, Copy)]
pub struct Adjoint {
    /// Gradient of a loss by the impulses on the dofs, `[n_v]`; before it that by v+, `[n_v]`, as the host gives it.
    pub impulse: usize,
    /// By q, v, ctrl and act, `[2 n_v + n_input]`, with q+ held.
    pub inputs: usize,
    /// [`verdict`].
    pub verdict: usize,
    /// Reals of a lane.
    pub reals: usize,
}

impl Adjoint {
    /// That of a tree.
    #[inline(always)]
    #[must_use]
    pub fn new(dims: &TreeDims) -> Self {
        let (impulse, width) = (dims.n_v as usize, answer_width(dims));
        let inputs = 2 * impulse;
        let verdict = inputs + width;
        Self { impulse, inputs, verdict, reals: verdict + verdict::SIZE }
    }
}

/// n_v, n_input and n_row of a tree.
#[inline(always)]
#[must_use]
pub fn sizes(dims: &TreeDims) -> [u32; 3] {
    [dims.n_v, dims.n_input(), dims.n_row]
}

/// Reals of a lane of `shift` in a tile with so many slots.
#[inline(always)]
#[must_use]
pub fn shift_reals(dims: &TreeDims, slots: usize) -> usize {
    slots * slot_shift(dims.n_v as usize) + dims.n_row as usize * row_shift::SIZE
}

/// Reals of a slot in `shift`.
#[inline(always)]
#[must_use]
pub fn slot_shift(n_v: usize) -> usize {
    3 * n_v + kink::SIZE
}

/// Reals of a lane of `mobility`.
#[inline(always)]
#[must_use]
pub fn mobility_reals(dims: &TreeDims) -> usize {
    (dims.n_v * dims.n_v) as usize + verdict::SIZE
}

/// Columns of `answer`.
#[inline(always)]
#[must_use]
pub fn answer_width(dims: &TreeDims) -> usize {
    (2 * dims.n_v + dims.n_input()) as usize
}

/// Reals of a lane of `answer`.
#[inline(always)]
#[must_use]
pub fn answer_reals(dims: &TreeDims) -> usize {
    dims.n_v as usize * answer_width(dims)
}

/// The words of one tile in `places`.
#[inline(always)]
#[must_use]
pub fn tile_place(places: &[u32], tile: usize) -> [usize; place::SIZE] {
    std::array::from_fn(|i| places[tile * place::SIZE + i] as usize)
}
