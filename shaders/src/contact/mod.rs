//! Contact stage: from contact records and static rows to impulses, and how good those are.
pub mod frame;
pub mod local;
