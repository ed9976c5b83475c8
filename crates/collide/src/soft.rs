//! Contacts of soft bodies.

/// One point where a soft body touches something, or nearly does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftContact {
    /// The two that touch; the second is soft.
    pub sides: [Side; 2],
    /// Midway between the two surfaces, world frame, m.
    pub point: [f64; 3],
    /// Unit normal from the first to the second, world frame.
    pub normal: [f64; 3],
    /// Signed distance along the normal, m; negative when they overlap.
    pub distance: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Restitution coefficient.
    pub restitution: f64,
    /// Which features of which pair touch: unique in the world, the same from step to step.
    pub feature: [u64; 3],
}

/// One side of such a contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Side {
    /// A geom of a rigid body.
    Rigid {
        /// The body.
        body: u32,
        /// The geom.
        geom: u32,
    },
    /// A point of a soft body's surface, which moves with the weighted mean of three of its vertices.
    Soft {
        /// The soft body.
        soft: u32,
        /// The vertices.
        vertices: [u32; 3],
        /// Their weights, which sum to one.
        weights: [f64; 3],
    },
}
