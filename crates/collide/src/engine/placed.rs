//! A shape where it stands.

use wide::f64x4;

use super::vectors::Vectors;
use super::{Matrix, Vector};

/// A shape where it stands in one world.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Placed {
    /// Origin of its frame, m.
    pub(super) centre: Vector,
    /// Axes of its frame, as columns.
    pub(super) axes: Matrix,
    /// Radius of the sphere about the centre that holds it, m; infinite for a plane.
    pub(super) radius: f64,
    /// Radius, radius and half length, half edges or semi-axes, m.
    pub(super) size: [f64; 3],
}

/// A shape in all worlds, as the search for near pairs sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Places {
    /// As of [`Placed`].
    pub(super) centre: Vectors,
    pub(super) axes: [Vectors; 3],
    pub(super) radius: f64x4,
    /// Half edges of the box along the axes that holds its core, m.
    pub(super) bounds: Vectors,
    /// What its surface stands off that, m.
    pub(super) rounding: f64x4,
    /// How its centre may move before contacts are looked for again, m,
    pub(super) moved: Vectors,
    /// how it may turn until then, as a rotation vector, rad,
    pub(super) turned: Vectors,
    /// and how far its surface comes by both, m; of a plane its centre.
    pub(super) travel: f64x4,
    /// The same beside what the world's movable geoms do on the mean: two that fall together come no nearer.
    pub(super) stray: f64x4,
}

impl Places {
    /// World vectors in the shape's axes.
    #[inline(always)]
    pub(super) fn local(&self, v: Vectors) -> Vectors {
        let [x, y, z] = self.axes;
        Vectors::new(x.dot(v), y.dot(v), z.dot(v))
    }
}

impl Placed {
    /// A world vector in the shape's axes.
    #[inline(always)]
    pub(super) fn local(&self, v: Vector) -> Vector {
        Vector::new(self.axes.x_axis.dot(v), self.axes.y_axis.dot(v), self.axes.z_axis.dot(v))
    }

    /// The axis of a round or long shape, the normal of a plane.
    #[inline(always)]
    pub(super) fn axis(&self) -> Vector {
        self.axes.z_axis
    }
}

/// A vector of a model as collision has it.
pub(super) fn vector(v: &manyworlds_model::Vec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}
