//! Bodies that deform, one a lane, whole tiles of lanes side by side.
//!
//! A step begins with [`start`]. Each round of Newton's method is [`elements`], which assembles the momentum matrix and what
//! momentum lacks at the velocity at hand, [`balance`], which says whether that is little enough and adds contacts, [`factor`], which
//! corrects the velocity, and [`slide`], which sees to contacts that slide, and to impulses. What moves then is a tree's state: see
//! `dynamics/integrate`. Trees that touch a body are brought to its lanes by [`gather`] and [`sides`] before, and taken back by [`scatter`]
//! afterwards. Lanes whose contacts these kernels do not know are the host's.
//!
//! Matrices are of 3 x 3 blocks, one for each pair of nodes that share an element, below the diagonal in the order of
//! elimination. The host has found that order, what it fills, and the products that make up each block of the factor.

pub mod balance;
pub mod body;
pub mod elements;
pub mod factor;
pub mod gather;
mod points;
pub mod scatter;
pub mod sides;
pub mod slide;
pub mod start;
pub mod substitute;
pub(crate) mod svd;
pub mod touch;
pub mod trees;
