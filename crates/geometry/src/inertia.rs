//! Mass properties of solids and of bodies made of them.

use std::f64::consts::PI;

use nalgebra::SymmetricEigen;

use crate::{Mat3, Pose, Shape, Vec3};

/// Mass, centre and rotational inertia of a body.
#[derive(Debug, Clone, Copy)]
pub struct Inertial {
    /// kg
    pub mass: f64,
    /// Centre of mass in the body frame, m.
    pub com: Vec3,
    /// About the centre of mass, in body axes, kg m^2.
    pub inertia: Mat3,
}

impl Inertial {
    /// No mass at all.
    #[must_use]
    pub fn zero() -> Self {
        Self { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() }
    }

    /// A solid shape of a uniform density, kg/m^3, in its own frame; nothing for planes, meshes, heightfields and
    /// distance functions, whose volume the shape alone does not tell.
    #[must_use]
    pub fn of_shape(shape: &Shape, density: f64) -> Self {
        let (mass, diagonal) = match *shape {
            Shape::Plane | Shape::Mesh(_) | Shape::HeightField(_) | Shape::Sdf(_) => (0.0, Vec3::zeros()),
            Shape::Sphere { radius: r } => {
                let mass = density * 4.0 / 3.0 * PI * r.powi(3);
                (mass, Vec3::repeat(0.4 * mass * r * r))
            }
            Shape::Capsule { radius: r, half_length } => {
                let h = 2.0 * half_length;
                let (cylinder, ball) = (density * PI * r * r * h, density * 4.0 / 3.0 * PI * r.powi(3));
                // Each half ball sits h/2 away, its centre another 3r/8 beyond the flat face.
                let across =
                    cylinder * (3.0 * r * r + h * h) / 12.0 + ball * (0.4 * r * r + h * (3.0 * r + 2.0 * h) / 8.0);
                let along = cylinder * r * r / 2.0 + 0.4 * ball * r * r;
                (cylinder + ball, Vec3::new(across, across, along))
            }
            Shape::Cylinder { radius: r, half_length } => {
                let h = 2.0 * half_length;
                let mass = density * PI * r * r * h;
                let across = mass * (3.0 * r * r + h * h) / 12.0;
                (mass, Vec3::new(across, across, mass * r * r / 2.0))
            }
            Shape::Box { half } => {
                let mass = density * 8.0 * half.x * half.y * half.z;
                (mass, across_diagonal(half) * (mass / 3.0))
            }
            Shape::Ellipsoid { radii } => {
                let mass = density * 4.0 / 3.0 * PI * radii.x * radii.y * radii.z;
                (mass, across_diagonal(radii) * (mass / 5.0))
            }
        };
        Self { mass, com: Vec3::zeros(), inertia: Mat3::from_diagonal(&diagonal) }
    }

    /// The surface of a shape, of a uniform density, kg/m^2, in its own frame; nothing for planes, meshes, heightfields and
    /// distance functions. Of an ellipsoid it is a layer between two, thicker where that is further out, and its area
    /// is Thomsen's approximation, both as in MuJoCo.
    #[must_use]
    pub fn of_shell(shape: &Shape, density: f64) -> Self {
        let (mass, diagonal) = match *shape {
            Shape::Plane | Shape::Mesh(_) | Shape::HeightField(_) | Shape::Sdf(_) => (0.0, Vec3::zeros()),
            Shape::Sphere { radius: r } => {
                let mass = density * 4.0 * PI * r * r;
                (mass, Vec3::repeat(2.0 / 3.0 * mass * r * r))
            }
            Shape::Capsule { radius: r, half_length } => {
                let h = 2.0 * half_length;
                let (pipe, ball) = (density * 2.0 * PI * r * h, density * 4.0 * PI * r * r);
                // Each half ball has its centre half a radius beyond its edge.
                let beyond = (half_length + r / 2.0).powi(2) - (r / 2.0).powi(2);
                let across = pipe * (6.0 * r * r + h * h) / 12.0 + ball * (2.0 / 3.0 * r * r + beyond);
                (pipe + ball, Vec3::new(across, across, pipe * r * r + 2.0 / 3.0 * ball * r * r))
            }
            Shape::Cylinder { radius: r, half_length } => {
                let h = 2.0 * half_length;
                let (pipe, lids) = (density * 2.0 * PI * r * h, density * 2.0 * PI * r * r);
                let across = pipe * (6.0 * r * r + h * h) / 12.0 + lids * (r * r / 4.0 + half_length * half_length);
                (pipe + lids, Vec3::new(across, across, pipe * r * r + lids * r * r / 2.0))
            }
            Shape::Box { half } => {
                let pairs = [0, 1, 2].map(|axis| {
                    let mass = density * 8.0 * half[(axis + 1) % 3] * half[(axis + 2) % 3];
                    // Both plates across this axis.
                    let mut spread = half.component_mul(&half) / 3.0;
                    spread[axis] = half[axis] * half[axis];
                    (mass, (Vec3::repeat(spread.sum()) - spread) * mass)
                });
                (pairs.iter().map(|pair| pair.0).sum(), pairs.iter().map(|pair| pair.1).sum())
            }
            Shape::Ellipsoid { radii } => {
                const POWER: f64 = 1.6075;
                const LAYER: f64 = 1e-6;
                let [x, y, z] = [radii.y * radii.z, radii.z * radii.x, radii.x * radii.y].map(|a| a.powf(POWER));
                let mass = density * 4.0 * PI * ((x + y + z) / 3.0).powf(1.0 / POWER);
                let outer = radii.add_scalar(LAYER);
                let (inner_volume, outer_volume) = (radii.product(), outer.product());
                let moments = across_diagonal(outer) * outer_volume - across_diagonal(radii) * inner_volume;
                (mass, moments * (mass / (5.0 * (outer_volume - inner_volume))))
            }
        };
        Self { mass, com: Vec3::zeros(), inertia: Mat3::from_diagonal(&diagonal) }
    }

    /// The same shape with another mass; unchanged when it has none.
    #[must_use]
    pub fn with_mass(self, mass: f64) -> Self {
        if self.mass > 0.0 { self.scaled(mass / self.mass) } else { self }
    }

    /// Mass and inertia times a factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { mass: self.mass * factor, com: self.com, inertia: self.inertia * factor }
    }

    /// Seen from the frame in which its own frame stands at `pose`.
    #[must_use]
    pub fn moved(self, pose: &Pose) -> Self {
        let rotation = pose.rotation.to_rotation_matrix();
        let inertia = rotation.matrix() * self.inertia * rotation.matrix().transpose();
        Self { mass: self.mass, com: (pose * nalgebra::Point3::from(self.com)).coords, inertia }
    }

    /// Several solids, given in one frame, as one.
    #[must_use]
    pub fn sum(parts: &[Self]) -> Self {
        let mass: f64 = parts.iter().map(|p| p.mass).sum();
        if mass <= 0.0 {
            return Self::zero();
        }
        let com = parts.iter().map(|p| p.com * p.mass).sum::<Vec3>() / mass;
        let inertia = parts.iter().map(|p| p.inertia + point_inertia(p.mass, &(p.com - com))).sum();
        Self { mass, com, inertia }
    }

    /// Principal moments, kg m^2, unordered, and the rotation whose columns are their axes.
    #[must_use]
    pub fn principal(&self) -> (Vec3, Mat3) {
        let eigen = SymmetricEigen::new(self.inertia);
        (eigen.eigenvalues, eigen.eigenvectors)
    }
}

/// Inertia of a point mass about the origin: m (|r|^2 I - r r^T).
pub(crate) fn point_inertia(mass: f64, r: &Vec3) -> Mat3 {
    (Mat3::identity() * r.norm_squared() - r * r.transpose()) * mass
}

/// (y^2 + z^2, x^2 + z^2, x^2 + y^2)
fn across_diagonal(v: Vec3) -> Vec3 {
    let s = v.component_mul(&v);
    Vec3::new(s.y + s.z, s.x + s.z, s.x + s.y)
}
