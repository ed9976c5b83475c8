//! What a contact says about one of its shapes.

use nalgebra::{Matrix3, Vector3};

use super::few::Few;

/// Directions and positions agree to this, relative to one and to the shape's size.
pub(super) const SAME: f64 = 1e-8;

/// What a contact says about one of its shapes, in the shape's frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    /// The normal is that of a face.
    pub(super) on_face: bool,
    /// Directions the point may slide along while it stays on its face or edge.
    pub(super) slides: Few,
    /// Directions of the straight edge that the normal must stay across, where no face has it.
    pub(super) holds: Few,
    /// How the point moves as the outward direction turns.
    pub(super) bend: Matrix3<f64>,
}

/// Two directions across another.
pub(super) fn plane_of(normal: Vector3<f64>) -> Few {
    let least = normal.iamin();
    let axis = Vector3::from_fn(|i, _| if i == least { 1.0 } else { 0.0 });
    let first = normal.cross(&axis).normalize();
    [first, normal.cross(&first)].into()
}
