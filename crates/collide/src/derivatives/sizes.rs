//! Derivative of a contact by the sizes of one of its shapes, bodies held.

use nalgebra::Vector3;

use super::slope::{MOST, SIGNS, Touch, eliminate};
use super::soft::{ContactChange, Triangle};

impl Touch {
    /// By each size of the shape on a side. `triangles`: those of sides that are soft; `grows`: how the core's point moves (world)
    /// and how the rounding grows with each size.
    pub(super) fn by_sizes(
        &self,
        side: usize,
        triangles: &[Option<Triangle>; 2],
        grows: &[(Vector3<f64>, f64); 3],
    ) -> Option<[ContactChange; 3]> {
        let (mut rows, size) = self.system()?;
        for (k, (shift, _)) in grows.iter().enumerate() {
            (0..3).for_each(|r| rows[r][MOST + k] = -SIGNS[side] * shift[r]);
        }
        let found = eliminate(&mut rows, size)?;
        Some(std::array::from_fn(|k| {
            let (shift, growth) = grows[k];
            let shift = if side == 0 { shift } else { Vector3::zeros() };
            let mut out = self.change(triangles, &found[k], shift);
            // The surface comes out of its core as far, towards the other, and the midpoint goes half of that.
            let mut point = out.fixed_rows_mut::<3>(0);
            point -= self.normal * (SIGNS[side] * 0.5 * growth);
            out[6] -= growth;
            out.into()
        }))
    }
}
