//! Rays against everything that can be seen of a model: what rangefinders measure.

use manyworlds_model::{HeightField, Model, Pose, Quat, Shape, Vec3};
use parry3d_f64::math::Vector;
use parry3d_f64::query::{PointQuery, Ray, RayCast};
use parry3d_f64::shape::{Ball, Capsule, Cuboid, Cylinder, TriMesh};

/// The geoms of a model that are not transparent, as rays meet them: planes from above and as far as they are drawn,
/// meshes and distance functions by the triangles that are drawn of them.
#[derive(Debug)]
pub struct Rays {
    targets: Vec<Target>,
}

/// What a ray meets first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Met {
    /// From where the ray begins, m.
    pub distance: f64,
    /// Outward, world axes.
    pub normal: Vec3,
    /// The geom.
    pub geom: usize,
}

#[derive(Debug)]
struct Target {
    geom: usize,
    body: usize,
    /// In the body's frame.
    pose: Pose,
    surface: Surface,
    /// Of the sphere about the frame's origin that holds it, m.
    radius: f64,
}

#[derive(Debug)]
enum Surface {
    /// z = 0, seen from above; half its edges, without end where they are 0.
    Plane([f64; 2]),
    Ball(Ball),
    /// Radii.
    Ellipsoid(Vec3),
    Capsule(Capsule),
    /// Its axis is y.
    Cylinder(Cylinder),
    Box(Cuboid),
    Triangles(Box<TriMesh>),
}

impl Rays {
    /// Prepares the geoms of a model.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        let visible = (0..model.geoms.len()).filter(|&geom| model.visual.colour(geom)[3] > 0.0);
        Self { targets: visible.filter_map(|geom| Target::new(model, geom)).collect() }
    }

    /// What a ray meets first; bodies stand at `pose`, and one of them is not seen. `direction`: a unit vector.
    pub fn first(&self, pose: impl Fn(usize) -> Pose, from: Vec3, direction: Vec3, unseen: usize) -> Option<Met> {
        let mut nearest: Option<Met> = None;
        for target in self.targets.iter().filter(|target| target.body != unseen) {
            let frame = pose(target.body) * target.pose;
            let reach = nearest.map_or(f64::INFINITY, |met| met.distance);
            if target.is_missed(&frame, from, direction, reach) {
                continue;
            }
            let own = frame.inverse_transform_point(&from.into()).coords;
            let along = frame.inverse_transform_vector(&direction);
            if let Some((distance, normal)) = target.surface.meets(own, along).filter(|found| found.0 < reach) {
                nearest = Some(Met { distance, normal: frame.rotation * normal, geom: target.geom });
            }
        }
        nearest
    }
}

impl Target {
    /// `None` where there is nothing to meet.
    fn new(model: &Model, number: usize) -> Option<Self> {
        let geom = &model.geoms[number];
        let mut pose = geom.pose;
        let (surface, radius) = match geom.shape {
            Shape::Plane => (Surface::Plane(model.visual.geoms[number].extent), f64::INFINITY),
            Shape::Sphere { radius } => (Surface::Ball(Ball::new(radius)), radius),
            Shape::Capsule { radius, half_length } => {
                (Surface::Capsule(Capsule::new_z(half_length, radius)), half_length + radius)
            }
            Shape::Cylinder { radius, half_length } => {
                pose *= Quat::rotation_between(&Vec3::y(), &Vec3::z()).unwrap_or_default();
                (Surface::Cylinder(Cylinder::new(half_length, radius)), half_length.hypot(radius))
            }
            Shape::Box { half } => (Surface::Box(Cuboid::new(vector(half))), half.norm()),
            Shape::Ellipsoid { radii } => (Surface::Ellipsoid(radii), radii.max()),
            Shape::Mesh(mesh) => {
                let (vertices, faces) = model.meshes[mesh].seen();
                triangles(vertices, faces)?
            }
            Shape::Sdf(sdf) => {
                let (vertices, faces) = model.sdfs[sdf].mesh();
                triangles(vertices, faces)?
            }
            Shape::HeightField(field) => {
                let (vertices, faces) = terrain(&model.heightfields[field]);
                triangles(&vertices, &faces)?
            }
        };
        Some(Self { geom: number, body: geom.body, pose, surface, radius })
    }

    /// Whether the sphere about it is not met before `reach`.
    fn is_missed(&self, frame: &Pose, from: Vec3, direction: Vec3, reach: f64) -> bool {
        let to = frame.translation.vector - from;
        let along = to.dot(&direction);
        let aside = (to - direction * along).norm();
        aside > self.radius || along + self.radius < 0.0 || along - self.radius > reach
    }
}

impl Surface {
    /// How far a ray goes to the surface, from inside as well, and the outward normal there; in its frame.
    fn meets(&self, from: Vec3, along: Vec3) -> Option<(f64, Vec3)> {
        let convex = |shape: &dyn Convex, from: Vec3, along: Vec3| {
            let met = shape.cast_local_ray_and_get_normal(&Ray::new(vector(from), vector(along)), f64::MAX, false)?;
            let normal = Vec3::new(met.normal.x, met.normal.y, met.normal.z);
            let leaves = shape.contains_local_point(vector(from));
            let outward = if (normal.dot(&along) > 0.0) == leaves { normal } else { -normal };
            Some((met.time_of_impact, outward))
        };
        match self {
            Self::Plane(extent) => {
                let distance = -from.z / along.z;
                let at = from + along * distance;
                let ends = (0..2).any(|k| extent[k] > 0.0 && at[k].abs() > extent[k]);
                (along.z < 0.0 && distance >= 0.0 && !ends).then_some((distance, Vec3::z()))
            }
            Self::Ball(shape) => convex(shape, from, along),
            Self::Capsule(shape) => convex(shape, from, along),
            Self::Cylinder(shape) => convex(shape, from, along),
            Self::Box(shape) => convex(shape, from, along),
            Self::Ellipsoid(radii) => {
                let shrunk = |x: Vec3| x.component_div(radii);
                let (distance, normal) = convex(&Ball::new(1.0), shrunk(from), shrunk(along))?;
                Some((distance, shrunk(normal).normalize()))
            }
            Self::Triangles(mesh) => {
                let met =
                    mesh.cast_local_ray_and_get_normal(&Ray::new(vector(from), vector(along)), f64::MAX, false)?;
                let normal = mesh.triangle(met.subshape).normal()?;
                Some((met.time_of_impact, Vec3::new(normal.x, normal.y, normal.z)))
            }
        }
    }
}

/// What parry does with convex shapes.
trait Convex: RayCast + PointQuery {}
impl<T: RayCast + PointQuery> Convex for T {}

fn vector(x: Vec3) -> Vector {
    Vector::new(x.x, x.y, x.z)
}

fn triangles(vertices: &[Vec3], faces: &[[u32; 3]]) -> Option<(Surface, f64)> {
    let radius = vertices.iter().map(|vertex| vertex.norm()).fold(0.0, f64::max);
    let mesh = TriMesh::new(vertices.iter().copied().map(vector).collect(), faces.to_vec()).ok()?;
    Some((Surface::Triangles(Box::new(mesh)), radius))
}

/// The surface of a heightfield, its walls and its floor.
fn terrain(field: &HeightField) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (rows, cols) = (field.n_rows, field.n_cols);
    let grid = || (0..rows * cols).map(|at| field.vertex(at / cols, at % cols));
    let vertices = grid().chain(grid().map(|above| Vec3::new(above.x, above.y, -field.base))).collect();
    let [at, under] = [0, rows * cols].map(|first| move |row: usize, col: usize| (first + row * cols + col) as u32);
    let mut faces = Vec::new();
    for row in 0..rows - 1 {
        for col in 0..cols - 1 {
            faces.extend(HeightField::triangles(row, col).map(|corners| corners.map(|(row, col)| at(row, col))));
        }
    }
    let mut wall = |from: (usize, usize), to: (usize, usize)| {
        let [a, b] = [at(from.0, from.1), at(to.0, to.1)];
        let [c, d] = [under(from.0, from.1), under(to.0, to.1)];
        faces.extend([[c, d, a], [d, b, a]]);
    };
    for col in 0..cols - 1 {
        wall((0, col), (0, col + 1));
        wall((rows - 1, col + 1), (rows - 1, col));
    }
    for row in 0..rows - 1 {
        wall((row, cols - 1), (row + 1, cols - 1));
        wall((row + 1, 0), (row, 0));
    }
    let [a, b, c, d] = [under(0, 0), under(0, cols - 1), under(rows - 1, 0), under(rows - 1, cols - 1)];
    faces.extend([[a, c, b], [d, b, c]]);
    (vertices, faces)
}
