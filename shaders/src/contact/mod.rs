//! Contact stage: from contact records and static rows to impulses, and how good those are.
pub mod convex;
pub mod dense;
mod dense_rounds;
pub mod dense_shape;
mod dense_step;
mod eliminate;
pub mod frame;
pub mod gradient;
pub mod group;
pub mod island;
pub mod island_assemble;
pub mod island_certify;
pub mod island_finish;
pub mod island_gather;
pub mod island_newton;
pub mod island_pgs;
pub mod island_rows;
pub mod island_scatter;
pub mod island_tgs;
pub mod local;
pub mod newton_cr;
mod packs;
mod row_law;
pub mod side;
pub mod steps;
pub mod subadmm;
pub mod thin;
mod thin_solve;
mod thin_step;
pub mod tree_acting;
pub mod tree_assemble;
pub mod tree_certify;
pub mod tree_group;
pub mod tree_jacobian;
mod tree_lane;
pub mod tree_layout;
pub mod tree_pgs;
pub mod tree_push;
pub mod tree_rows;
pub mod tree_warm;
pub mod warm_move;
pub(crate) mod workspace;

/// Rounds through its loops that an invocation may make in a dispatch, with room to spare: a software adapter (llvmpipe)
/// ends every loop when it has made 65535, without a word, and devices that drive a display end dispatches that take too
/// long.
pub const LOOPS: u32 = 40_000;

#[cfg(test)]
mod tests;
