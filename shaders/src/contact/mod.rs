//! Contact stage: from contact records and static rows to impulses, and how good those are.
pub mod frame;
pub mod island;
pub mod island_assemble;
pub mod island_certify;
pub mod island_gather;
pub mod island_pgs;
pub mod local;
