//! Where the impulses of constraints stand.

/// Where the impulses of a constraint stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// Three numbers of a slot of a lane of a set.
    Slot { set: usize, lane: usize, slot: usize },
    /// One number of a row of a lane of a set, and the constraint of an island that it also is.
    Row { set: usize, lane: usize, row: usize, constraint: Option<usize> },
    /// Three numbers of a constraint of an island.
    Island { constraint: usize },
    /// Those of a contact of soft bodies, which the host keeps.
    Soft { contact: usize },
}
