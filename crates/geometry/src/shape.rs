//! Shapes and what happens when they touch.

use std::sync::Arc;

use crate::{Pose, Vec3};

/// A shape fixed to a body.
#[derive(Debug, Clone)]
pub struct Geom {
    /// Name; empty when the file gives none.
    pub name: String,
    /// The body it is fixed to.
    pub body: usize,
    /// Its frame in the body's.
    pub pose: Pose,
    /// The shape, in its own frame.
    pub shape: Shape,
    /// Its part in contacts.
    pub contact: Contacting,
}

/// A shape in its own frame; round and long shapes lie along z, as in MJCF.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// The half-space z <= 0.
    Plane,
    /// A ball.
    Sphere {
        /// m
        radius: f64,
    },
    /// A cylinder with spherical caps.
    Capsule {
        /// m
        radius: f64,
        /// Half the length of the cylindrical part, m.
        half_length: f64,
    },
    /// A solid cylinder.
    Cylinder {
        /// m
        radius: f64,
        /// Half the height, m.
        half_length: f64,
    },
    /// A rectangular box.
    Box {
        /// Half the edges, m.
        half: Vec3,
    },
    /// A solid ellipsoid.
    Ellipsoid {
        /// Semi-axes, m.
        radii: Vec3,
    },
    /// The convex hull of a mesh: an index into `Model::meshes`.
    Mesh(usize),
    /// Terrain: an index into `Model::heightfields`.
    HeightField(usize),
    /// A solid by its distance function: an index into `Model::sdfs`.
    Sdf(usize),
}

/// How a geom takes part in contacts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contacting {
    /// Coulomb friction coefficient; a pair takes the larger of the two.
    pub friction: f64,
    /// Restitution coefficient; a pair takes the larger of the two.
    pub restitution: f64,
    /// Stiffness of a contact point against something rigid, N/m, for solvers of compliant contact; infinite: rigid. Two
    /// geoms give way one behind the other.
    pub stiffness: f64,
    /// Dissipation time of that compliance, s (Castro 2022, eq. 2: a contact carries `k (-phi - tau_d v_n)`).
    pub dissipation: f64,
    /// Contacts closer than this are generated, m; a pair takes the larger of the two.
    pub margin: f64,
    /// Adhesion reaches as far as margin and gap of both geoms together, m.
    pub gap: f64,
    /// Frictionless (condim 1); a pair is frictionless when both are.
    pub frictionless: bool,
    /// Bits this geom offers; a pair may touch when `(type1 & affinity2) | (type2 & affinity1)` is not zero.
    pub contype: u32,
    /// Bits this geom accepts.
    pub conaffinity: u32,
    /// Of two geoms, the one of higher priority decides friction and whether there is any.
    pub priority: i32,
}

impl Contacting {
    /// Contact parameters of a pair: friction, restitution and margin the larger of the two, gaps added; the geom of higher
    /// priority, if there is one, decides friction and frictionlessness alone. Filter bits and compliance are this geom's.
    #[must_use]
    pub fn mix(&self, other: &Self) -> Self {
        let (friction, frictionless) = match self.priority.cmp(&other.priority) {
            std::cmp::Ordering::Greater => (self.friction, self.frictionless),
            std::cmp::Ordering::Less => (other.friction, other.frictionless),
            std::cmp::Ordering::Equal => (self.friction.max(other.friction), self.frictionless && other.frictionless),
        };
        Self {
            friction,
            restitution: self.restitution.max(other.restitution),
            margin: self.margin.max(other.margin),
            gap: self.gap + other.gap,
            frictionless,
            ..*self
        }
    }

    /// This geom's part of how far adhesion reaches, m.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.margin + self.gap
    }

    /// Stiffness, N/m, and dissipation time, s, of a contact of two geoms, as springs with dampers one behind the other:
    /// `1/k = 1/k_1 + 1/k_2`, `tau_d = (k_2 tau_1 + k_1 tau_2) / (k_1 + k_2)`. None where both are rigid without dissipation.
    #[must_use]
    pub fn compliance(&self, other: &Self) -> Option<(f64, f64)> {
        let soft = [1.0 / self.stiffness, 1.0 / other.stiffness];
        let sum = soft[0] + soft[1];
        let times = [self.dissipation, other.dissipation];
        if sum > 0.0 {
            return Some((1.0 / sum, (soft[0] * times[0] + soft[1] * times[1]) / sum));
        }
        // Two rigid ones share the deformation that neither has.
        let tau = 0.5 * (times[0] + times[1]);
        (tau > 0.0).then_some((f64::INFINITY, tau))
    }

    /// Whether the filter bits let two geoms touch.
    #[must_use]
    pub fn may_touch(&self, other: &Self) -> bool {
        (self.contype & other.conaffinity) | (other.contype & self.conaffinity) != 0
    }
}

impl Default for Contacting {
    fn default() -> Self {
        Self {
            friction: 1.0,
            restitution: 0.0,
            stiffness: f64::INFINITY,
            dissipation: 0.0,
            margin: 0.0,
            gap: 0.0,
            frictionless: false,
            contype: 1,
            conaffinity: 1,
            priority: 0,
        }
    }
}

/// A closed convex surface: the hull of what the file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    /// Name of the asset.
    pub name: String,
    /// Vertices of the hull, m.
    pub vertices: Vec<Vec3>,
    /// Triangles of the hull, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// What the file holds, where that is not convex or says where a texture lies.
    pub surface: Option<Arc<Surface>>,
}

/// A surface that need be neither closed nor convex: what pictures show and rays meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    /// m
    pub vertices: Vec<Vec3>,
    /// Counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Where in a texture the corners of each triangle lie, from its upper left corner on, in its width and height,
    /// `[triangles][3][2]`; empty where the file says nothing.
    pub texture: Vec<[[f32; 2]; 3]>,
}

impl Mesh {
    /// Vertices and triangles that can be seen: of the file's surface, or of the hull.
    #[must_use]
    pub fn seen(&self) -> (&[Vec3], &[[u32; 3]]) {
        match &self.surface {
            Some(surface) => (&surface.vertices, &surface.triangles),
            None => (&self.vertices, &self.triangles),
        }
    }

    /// Where in a texture the corners of these triangles lie; empty where the file says nothing.
    #[must_use]
    pub fn texture(&self) -> &[[[f32; 2]; 3]] {
        self.surface.as_ref().map_or(&[], |surface| &surface.texture)
    }
}

/// Terrain over a rectangle, in its own frame centred at the origin.
#[derive(Debug, Clone, PartialEq)]
pub struct HeightField {
    /// Name of the asset.
    pub name: String,
    /// Samples along y.
    pub n_rows: usize,
    /// Samples along x.
    pub n_cols: usize,
    /// Half the extent along x and y, m.
    pub half: [f64; 2],
    /// Heights, m, row-major (`[n_rows, n_cols]`), row 0 at the lowest y.
    pub heights: Vec<f64>,
    /// Depth of the solid base below zero height, m.
    pub base: f64,
}

impl HeightField {
    /// A sample in the field's frame, m.
    #[must_use]
    pub fn vertex(&self, row: usize, col: usize) -> Vec3 {
        let along = |i: usize, n: usize, half: f64| half * (2.0 * i as f64 / (n - 1) as f64 - 1.0);
        let height = self.heights[row * self.n_cols + col];
        Vec3::new(along(col, self.n_cols, self.half[0]), along(row, self.n_rows, self.half[1]), height)
    }

    /// Row and column of the corners of the two triangles of a cell, counter-clockwise seen from above. They share the edge
    /// from the cell's first corner to its last, as MuJoCo cuts cells.
    #[must_use]
    pub fn triangles(row: usize, col: usize) -> [[(usize, usize); 3]; 2] {
        let (first, last) = ((row, col), (row + 1, col + 1));
        [[first, (row, col + 1), last], [first, last, (row + 1, col)]]
    }
}
