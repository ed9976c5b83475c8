//! Contact stage: from contact records and static rows to impulses, and how good those are.
pub mod frame;
pub mod local;
pub mod tree_assemble;
pub mod tree_certify;
pub mod tree_jacobian;
pub mod tree_layout;
pub mod tree_pgs;
pub mod tree_polish;
pub mod tree_push;
pub mod tree_rows;
pub mod tree_warm;

#[cfg(test)]
mod tests;
