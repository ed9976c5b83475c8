//! How a contact's point, normal and distance change with the poses of its two bodies.
//!
//! A contact is where two features touch, and which ones is read off the contact itself: where its surface points lie on
//! each shape, and whose face its normal is perpendicular to. While the features stay the same the contact is a smooth
//! function of the poses, and the module `slope` solves the linear equations that say so; at a change of features it
//! has a kink. What has no such form, or lies on a kink, is refused with a reason.
//!
//! Sources: K. Werling et al. 2021, section 5 (vertex-face, edge-edge); Q. Le Lidec et al. 2024, appendix C (smooth
//! shapes, by their support functions).

mod feature;
mod few;
mod field;
mod geometry;
mod ground;
mod local;
mod sizes;
mod slope;
mod soft;

pub use geometry::ContactGeometry;
pub use slope::ContactSlope;
pub use soft::{ContactChange, Corners, SlidingChange, SlidingSlope, Slope};
