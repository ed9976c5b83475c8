//! The record of one contact point.

/// One point where two geoms touch or nearly do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// The two geoms, the smaller index first.
    pub geoms: [u32; 2],
    /// Their bodies, in the same order.
    pub bodies: [u32; 2],
    /// Midway between the two surfaces, world frame, m.
    pub point: [f64; 3],
    /// Unit normal from `bodies[0]` to `bodies[1]`, world frame.
    pub normal: [f64; 3],
    /// Signed distance along the normal, m; negative when the geoms overlap.
    pub distance: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Restitution coefficient.
    pub restitution: f64,
    /// Which features of which pair touch: unique in the world, the same from step to step.
    pub feature: u64,
}
