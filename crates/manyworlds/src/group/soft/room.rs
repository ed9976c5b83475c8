//! How much of contacts the kernels of a soft body hold.

use manyworlds_soft::SoftLayout;

/// Contacts that may slide at most, each of which costs a solve.
const SLIDING: u32 = 24;
/// Nodes that a contact may have where vertices of the surface are nodes, and where they move with those of a cage.
const TERMS: [u32; 2] = [3, 8];
/// Rounds of loops that a contact of these costs an invocation.
const ROUNDS: [u64; 2] = [250, 750];

/// What kernels of a body have room for.
#[derive(Debug, Clone, Copy)]
pub(in crate::group) struct TouchRoom {
    /// Nodes of a contact.
    pub(super) n_term: u32,
    /// Contacts of a world that slide.
    pub(super) n_slide: u32,
    /// Contacts of a world.
    pub(super) most: u64,
}

impl TouchRoom {
    /// Of a body, where an invocation may take so many rounds of loops.
    pub(super) fn new(layout: &SoftLayout, caged: bool, rounds: u64) -> Self {
        let kind = usize::from(caged);
        Self { n_term: TERMS[kind], n_slide: layout.slides(rounds, SLIDING), most: rounds / ROUNDS[kind] }
    }
}
