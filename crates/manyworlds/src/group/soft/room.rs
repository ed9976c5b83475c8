//! How much of contacts the kernels of a soft body hold.

use manyworlds_soft::SoftLayout;

/// Contacts that may slide at most, and degrees of freedom of trees, each of which costs a solve.
const SLIDING: u32 = 24;
const OF_TREES: u32 = 24;
/// Nodes that a contact may have where vertices of the surface are nodes, and where they move with those of a cage.
const TERMS: [u32; 2] = [3, 8];
/// Rounds of loops that a contact of these costs an invocation.
const ROUNDS: [u64; 2] = [250, 750];

/// What kernels of a body have room for, whatever other worlds have.
#[derive(Debug, Clone, Copy)]
pub(in crate::group) struct TouchRoom {
    /// Nodes of a contact.
    pub(super) n_term: u32,
    /// Contacts of a world that slide.
    sliding: u32,
    /// Degrees of freedom of trees that touch the body in a world.
    of_trees: u32,
    /// Rounds of loops that an invocation may take, and that a contact of no tree costs.
    rounds: u64,
    of_contact: u64,
}

impl TouchRoom {
    /// Of a body, where an invocation may take so many rounds of loops.
    pub(super) fn new(layout: &SoftLayout, caged: bool, rounds: u64) -> Self {
        let kind = usize::from(caged);
        let columns = layout.slides(rounds, SLIDING + OF_TREES);
        let sliding = SLIDING.min(columns.div_ceil(2));
        Self { n_term: TERMS[kind], sliding, of_trees: columns - sliding, rounds, of_contact: ROUNDS[kind] }
    }

    /// Columns beside the factor where trees have so many degrees of freedom at most.
    pub(super) fn columns(self, dofs: u32) -> u32 {
        self.sliding + dofs
    }

    /// Whether a world may have so many contacts, with trees of so many degrees of freedom.
    pub(super) fn holds(self, contacts: usize, dofs: u32) -> bool {
        let [contacts, columns, n] = [contacts as u64, self.columns(dofs).into(), dofs.into()];
        // What a tree takes of each contact, and in each column.
        let (matrix, column) = (n * (n + 8), if n > 0 { columns * (u64::from(self.n_term) + n) } else { 0 });
        dofs <= self.of_trees
            && contacts * (self.of_contact + matrix) <= self.rounds
            && contacts * column <= self.rounds / 4
    }
}
