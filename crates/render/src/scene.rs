//! What there is to draw of a model: meshes, and where on which body they stand in which colour.

use bytemuck::{Pod, Zeroable};
use manyworlds_model::{HeightField, Model, Pose, Quat, Shape, SoftBody, Vec3};
use nalgebra::Point3;

use crate::camera::ball;
use crate::instance::{Fixture, Instance, Placement};
use crate::light::Lights;
use crate::looks::{COLOURS, GROUND, bytes, colour, colours, is_drawn, linear, tint, wall};
use crate::mesh::{Vertex, from_triangles, textured};
use crate::rays::{blocks, meets};
use crate::shapes::{self, Circle};
use crate::texture::{Layers, Paint};
use crate::{Camera, Size};

/// Where everything is at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Frames of the bodies, the ground first.
    pub poses: Vec<Pose>,
    /// Generalized position: nodes of soft bodies are taken from it.
    pub q: Vec<f64>,
}

impl Placed {
    /// All of it moved: worlds stand side by side so.
    #[must_use]
    pub fn shifted(mut self, by: Vec3) -> Self {
        self.poses.iter_mut().for_each(|pose| pose.translation.vector += by);
        self
    }
}

/// An arrow that nothing hides, with a ball at its tail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrow {
    /// Where it starts, m.
    pub from: Vec3,
    /// From there to its tip, m.
    pub way: Vec3,
    /// Radius of its shaft, m.
    pub radius: f64,
    /// Red, green and blue of sRGB.
    pub colour: [u8; 3],
}

/// A shape as plain triangles, for programs that draw by themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Of the model, soft bodies numbered behind all others.
    pub body: usize,
    /// Of the model, soft bodies numbered behind them.
    pub geom: usize,
    /// Corners of triangles, three each, counter-clockwise seen from outside, m.
    pub corners: Vec<[f32; 3]>,
    /// Red, green and blue of sRGB; of a texture the mean.
    pub colour: [u8; 3],
}

/// What there is to draw of a model.
#[derive(Debug)]
pub struct Scene {
    pub(crate) meshes: Vec<Vec<Vertex>>,
    /// Of the model, drawn or not.
    n_geoms: usize,
    /// Those of one mesh stand together.
    parts: Vec<Part>,
    soft: Vec<Soft>,
    pub(crate) lights: Lights,
    pub(crate) layers: Layers,
}

/// How finely round shapes are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// For pictures.
    Fine,
    /// For tiles of some 64 pixels.
    Coarse,
}

/// A mesh on a body.
#[derive(Debug)]
struct Part {
    mesh: usize,
    /// Of the model.
    geom: usize,
    body: usize,
    /// Its frame in the body's.
    pose: Pose,
    /// Factors of positions by axis, and how far the ends are moved along z, m.
    scale: [f32; 4],
    colour: [f32; 3],
    /// What a texture makes of the colour from afar.
    tint: [f32; 3],
    paint: Paint,
    surface: Surface,
    /// Corners of a box about it in its frame, m: lowest and highest.
    bounds: [Vec3; 2],
    moves: bool,
    /// It stands between the camera and what moves.
    hides: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surface {
    Solid,
    /// Endless, with lines of a grid.
    Ground,
}

/// A soft body's surface.
#[derive(Debug)]
struct Soft {
    body: SoftBody,
    dofs: Vec<Option<u32>>,
    triangles: Vec<[u32; 3]>,
    colour: [f32; 3],
}

/// An instance and how it answers light.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Painted {
    instance: Instance,
    paint: Paint,
}

/// Behind the colour of an instance: what is solid, the ground with its grid, and what no shadow falls on.
const PLAIN: f32 = 0.0;
const GRID: f32 = 1.0;
const BRIGHT: f32 = 2.0;

/// Part of what moves that a still box may hide before it is left out.
const HIDDEN: f64 = 0.1;

// Meshes that every scene has, by their number.
const SPHERE: usize = 0;
const CAPSULE: usize = 1;
const CYLINDER: usize = 2;
const CUBOID: usize = 3;
pub(crate) const SQUARE: usize = 4;
const CONE: usize = 5;

impl Scene {
    /// What there is to draw of a model.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        Self::with_detail(model, Detail::Fine)
    }

    pub(crate) fn with_detail(model: &Model, detail: Detail) -> Self {
        let circle = match detail {
            Detail::Fine => Circle { around: 48, rings: 12 },
            Detail::Coarse => Circle { around: 12, rings: 3 },
        };
        let mut meshes = vec![
            shapes::sphere(circle),
            shapes::capsule(circle),
            shapes::cylinder(circle),
            shapes::cuboid(),
            shapes::square(),
            shapes::cone(circle),
        ];
        let first_mesh = meshes.len();
        meshes.extend(model.meshes.iter().map(|mesh| {
            let (vertices, triangles) = mesh.seen();
            let places = if detail == Detail::Fine { mesh.texture() } else { &[] };
            textured(vertices, triangles.iter().copied(), places)
        }));
        let first_sdf = meshes.len();
        meshes.extend(model.sdfs.iter().map(|sdf| {
            let (vertices, triangles) = sdf.mesh();
            from_triangles(vertices, triangles.iter().copied())
        }));
        let first_field = meshes.len();
        meshes.extend(model.heightfields.iter().map(terrain));
        let colours = colours(model);
        let shown: Vec<usize> = (0..model.geoms.len()).filter(|&geom| is_drawn(model, geom)).collect();
        // Tiles show textures by their mean colours.
        let layers = if detail == Detail::Fine { Layers::new(model, &shown) } else { Layers::default() };
        let part = |(number, geom): (usize, &manyworlds_model::Geom)| {
            let of = |first: usize, number: usize| (first + number, [1.0, 1.0, 1.0, 0.0], None);
            let round = |x: f64, z: f64| [x, x, z].map(|x| x as f32);
            let sized = |mesh, [x, y, z]: [f32; 3], end: f64| {
                let half = Vec3::new(x.into(), y.into(), f64::from(z) + end);
                (mesh, [x, y, z, end as f32], Some([-half, half]))
            };
            let wall = wall(model, number);
            let (mesh, scale, bounds) = match geom.shape {
                Shape::Plane if wall.is_some() => sized(CUBOID, wall.unwrap_or_default(), 0.0),
                Shape::Plane => (SQUARE, [1.0; 4], Some([Vec3::zeros(); 2])),
                Shape::Sphere { radius } => sized(SPHERE, round(radius, radius), 0.0),
                Shape::Capsule { radius, half_length } => sized(CAPSULE, round(radius, radius), half_length),
                Shape::Cylinder { radius, half_length } => sized(CYLINDER, round(radius, half_length), 0.0),
                Shape::Box { half } => sized(CUBOID, half.cast::<f32>().into(), 0.0),
                Shape::Ellipsoid { radii } => sized(SPHERE, radii.cast::<f32>().into(), 0.0),
                Shape::Mesh(number) => of(first_mesh, number),
                Shape::Sdf(number) => of(first_sdf, number),
                Shape::HeightField(number) => of(first_field, number),
            };
            let is_ground = geom.shape == Shape::Plane && wall.is_none();
            let bounds = bounds.unwrap_or_else(|| extent(&meshes[mesh]));
            let has_places = matches!(geom.shape, Shape::Mesh(number) if !model.meshes[number].texture().is_empty());
            let paint = layers.paint(model, number, has_places, (bounds[1] - bounds[0]) / 2.0);
            let surface = if is_ground { Surface::Ground } else { Surface::Solid };
            Part {
                mesh,
                geom: number,
                body: geom.body,
                pose: geom.pose,
                scale,
                colour: colour(model, number).unwrap_or(if is_ground { linear(GROUND) } else { colours[geom.body] }),
                tint: tint(model, number),
                paint,
                surface,
                bounds,
                moves: !model.stands_still(geom.body),
                hides: false,
            }
        };
        let mut parts: Vec<Part> = shown.iter().map(|&geom| part((geom, &model.geoms[geom]))).collect();
        parts.sort_by_key(|part| part.mesh);
        let soft = model.soft.iter().enumerate().map(|(number, body)| Soft {
            body: body.clone(),
            dofs: body.dofs(),
            triangles: body.surface(),
            colour: linear(COLOURS[(number + 1) % COLOURS.len()]),
        });
        let soft = soft.collect();
        Self { meshes, parts, soft, n_geoms: model.geoms.len(), lights: Lights::new(model), layers }
    }

    /// Points that a picture of everything that moves shows, or of everything that ends somewhere if nothing moves.
    #[must_use]
    pub fn outline(&self, placed: &Placed) -> Vec<Vec3> {
        let finite = || self.parts.iter().filter(|part| part.surface == Surface::Solid);
        let corners = |part: &Part| part.corners(placed);
        let mut points: Vec<Vec3> = finite().filter(|part| part.moves).flat_map(corners).collect();
        points.extend(self.soft.iter().flat_map(|soft| soft.vertices(placed)));
        if points.is_empty() {
            points.extend(finite().flat_map(corners));
        }
        points
    }

    /// Middle of what a picture of it shows, m.
    #[must_use]
    pub fn middle(&self, placed: &Placed) -> Vec3 {
        ball(&self.outline(placed)).map_or_else(Vec3::zeros, |(middle, _)| middle)
    }

    /// Widths along x and y of everything that ends somewhere, m.
    #[must_use]
    pub fn footprint(&self, placed: &Placed) -> [f64; 2] {
        let finite = self.parts.iter().filter(|part| part.surface == Surface::Solid);
        let mut points: Vec<Vec3> = finite.flat_map(|part| part.corners(placed)).collect();
        points.extend(self.soft.iter().flat_map(|soft| soft.vertices(placed)));
        let all = |axis: usize| points.iter().map(move |p| p[axis]).filter(|x| x.is_finite());
        [0, 1].map(|axis| (all(axis).fold(f64::MIN, f64::max) - all(axis).fold(f64::MAX, f64::min)).max(1e-3))
    }

    /// The nearest point of a body that a ray meets, and the body: ground and soft bodies let it pass.
    #[must_use]
    pub fn hit(&self, placed: &Placed, from: Vec3, direction: Vec3) -> Option<(usize, Vec3)> {
        let hit = |part: &Part| {
            let pose = placed.poses[part.body] * part.pose;
            let (from, direction) = (pose.inverse() * Point3::from(from), pose.rotation.inverse() * direction);
            let corner = |v: &Vertex| {
                let p: [f32; 3] = std::array::from_fn(|axis| v.position[axis] * part.scale[axis]);
                Vec3::new(p[0].into(), p[1].into(), f64::from(p[2] + v.end * part.scale[3]))
            };
            let way = |t: &[Vertex]| meets([&t[0], &t[1], &t[2]].map(corner), from.coords, direction);
            let nearest = self.meshes[part.mesh].chunks_exact(3).filter_map(way).min_by(f64::total_cmp)?;
            Some((nearest, part.body))
        };
        let solid = self.parts.iter().filter(|part| part.surface == Surface::Solid && !part.hides);
        let (way, body) = solid.filter_map(hit).min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((body, from + direction * way))
    }

    /// A camera that shows everything that moves through all of these; if asked for, still boxes are left out that would
    /// hide it from there.
    pub fn frame(&mut self, film: &[&Placed], size: Size, cut_away: bool) -> Camera {
        let points: Vec<Vec3> = film.iter().flat_map(|placed| self.outline(placed)).collect();
        let camera = Camera::framing(&points, size);
        if let Some(first) = film.first().filter(|_| cut_away) {
            self.cut_away(first, &points, &camera);
        }
        camera
    }

    /// Leaves out still boxes that hide many of these points from the camera: walls of a bin on the near side.
    fn cut_away(&mut self, placed: &Placed, points: &[Vec3], camera: &Camera) {
        for part in self.parts.iter_mut().filter(|part| part.mesh == CUBOID && !part.moves) {
            let pose = placed.poses[part.body] * part.pose;
            let local = |p: &Vec3| pose.inverse() * Point3::from(*p);
            let eye = local(&camera.eye).coords;
            let hidden = points.iter().filter(|p| blocks(part.bounds, eye, local(p).coords)).count();
            part.hides = hidden as f64 > HIDDEN * points.len() as f64;
        }
    }

    /// Where everything but soft bodies stands: runs of one mesh, behind each other. The ground is drawn once, and goes with
    /// the camera.
    pub(crate) fn instances(&self, worlds: &[Placed], camera: &Camera) -> (Vec<(usize, u32)>, Vec<Painted>) {
        let shown: Vec<&Part> = self.parts.iter().filter(|part| !part.hides).collect();
        let mut runs = Vec::new();
        let mut instances = Vec::new();
        for run in shown.chunk_by(|a, b| a.mesh == b.mesh) {
            let before = instances.len();
            for (number, placed) in worlds.iter().enumerate() {
                let own = run.iter().filter(|part| number == 0 || part.surface == Surface::Solid);
                instances.extend(own.map(|part| part.painted(placed, camera)));
            }
            runs.push((run[0].mesh, (instances.len() - before) as u32));
        }
        (runs, instances)
    }

    /// Mesh, geom and place of everything but soft bodies that may be in a camera's picture.
    pub(crate) fn seen(
        &self,
        placed: &Placed,
        camera: &Camera,
        size: Size,
    ) -> impl Iterator<Item = (usize, i32, Instance)> {
        let inside = camera.pyramid(size);
        self.parts
            .iter()
            .filter(move |part| {
                if part.surface == Surface::Ground {
                    return true;
                }
                let [low, high] = part.bounds;
                let middle = placed.poses[part.body] * part.pose * Point3::from((low + high) / 2.0);
                inside.iter().all(|(normal, from)| normal.dot(&(middle.coords - from)) > -(high - low).norm() / 2.0)
            })
            .map(|part| (part.mesh, part.geom as i32, part.tinted(placed, camera)))
    }

    /// Whether it has soft bodies.
    pub(crate) fn has_soft(&self) -> bool {
        !self.soft.is_empty()
    }

    /// All that ends somewhere, in the frames of its bodies, in the order in which [`Self::seen`] has it.
    pub(crate) fn fixtures(&self) -> Vec<Fixture> {
        let fixture = |part: &Part| {
            let instance = Instance::new(&part.pose, part.scale, part.mean(), PLAIN);
            Fixture { body: part.body, placement: Placement { instance, tile: 0, what: part.geom as i32 } }
        };
        self.parts.iter().filter(|part| part.surface == Surface::Solid).map(fixture).collect()
    }

    /// Geom and place of each ground under a camera.
    pub(crate) fn grounds<'a>(
        &'a self,
        placed: &'a Placed,
        camera: &'a Camera,
    ) -> impl Iterator<Item = (i32, Instance)> + use<'a> {
        let grounds = self.parts.iter().filter(|part| part.surface == Surface::Ground);
        grounds.map(|part| (part.geom as i32, part.tinted(placed, camera)))
    }

    /// Runs of one mesh in a world: the mesh, how many, and whether they are grounds.
    pub(crate) fn runs(&self) -> Vec<(usize, u32, bool)> {
        let runs = self.parts.chunk_by(|a, b| (a.mesh, a.surface) == (b.mesh, b.surface));
        runs.map(|run| (run[0].mesh, run.len() as u32, run[0].surface == Surface::Ground)).collect()
    }

    /// Shapes of all bodies in their bodies' frames; the ground is a square of this half width, m.
    #[must_use]
    pub fn pieces(&self, ground: f64) -> Vec<Piece> {
        let piece = |part: &Part| {
            let half = ground as f32;
            let scale = if part.surface == Surface::Ground { [half, half, 1.0, 0.0] } else { part.scale };
            let corner = |v: &Vertex| {
                let local: [f32; 3] = std::array::from_fn(|axis| v.position[axis] * scale[axis]);
                let local = Vec3::new(local[0].into(), local[1].into(), f64::from(local[2] + v.end * scale[3]));
                (part.pose * Point3::from(local)).coords.cast::<f32>().into()
            };
            let corners = self.meshes[part.mesh].iter().map(corner).collect();
            let colour = bytes(part.mean());
            Piece { body: part.body, geom: part.geom, corners, colour }
        };
        self.parts.iter().map(piece).collect()
    }

    /// Surfaces of soft bodies now, in the world's frame.
    #[must_use]
    pub fn soft_pieces(&self, placed: &Placed) -> Vec<Piece> {
        let piece = |(number, soft): (usize, &Soft)| {
            let vertices = soft.vertices(placed);
            let at = |&vertex: &u32| vertices[vertex as usize].cast::<f32>().into();
            let corners = soft.triangles.iter().flatten().map(at).collect();
            let (body, geom) = (placed.poses.len() + number, self.n_geoms + number);
            Piece { body, geom, corners, colour: bytes(soft.colour) }
        };
        self.soft.iter().enumerate().map(piece).collect()
    }

    /// Geoms of the model.
    pub(crate) fn n_geoms(&self) -> usize {
        self.n_geoms
    }

    /// Arrows, as runs of one mesh.
    pub(crate) fn arrows(arrows: &[Arrow]) -> (Vec<(usize, u32)>, Vec<Painted>) {
        let parts = [(SPHERE, Arrow::tail as fn(&Arrow) -> Instance), (CYLINDER, Arrow::shaft), (CONE, Arrow::tip)];
        let runs = parts.iter().map(|&(mesh, _)| (mesh, arrows.len() as u32)).collect();
        (runs, parts.iter().flat_map(|(_, part)| arrows.iter().map(part)).map(Painted::bare).collect())
    }

    /// Surfaces of soft bodies, in the world's frame, and their colours.
    pub(crate) fn soft(&self, placed: &Placed) -> Vec<(Vec<Vertex>, Instance)> {
        let surface = |soft: &Soft| {
            let mesh = from_triangles(&soft.vertices(placed), soft.triangles.iter().copied());
            (mesh, Instance::new(&Pose::identity(), [1.0, 1.0, 1.0, 0.0], soft.colour, PLAIN))
        };
        self.soft.iter().map(surface).collect()
    }
}

impl Part {
    /// Those of the box about it, in the world's frame.
    fn corners(&self, placed: &Placed) -> [Vec3; 8] {
        let pose = placed.poses[self.body] * self.pose;
        let corner = |i: usize| Vec3::from_fn(|axis, _| self.bounds[i >> axis & 1][axis]);
        std::array::from_fn(|i| (pose * Point3::from(corner(i))).coords)
    }

    /// With its texture.
    fn painted(&self, placed: &Placed, camera: &Camera) -> Painted {
        let (instance, shift) = self.instance(placed, camera, self.colour);
        Painted { instance, paint: self.paint.shifted(shift) }
    }

    /// With the mean colour of its texture.
    fn tinted(&self, placed: &Placed, camera: &Camera) -> Instance {
        self.instance(placed, camera, self.mean()).0
    }

    /// The mean colour of its texture.
    fn mean(&self) -> [f32; 3] {
        std::array::from_fn(|k| self.colour[k] * self.tint[k])
    }

    /// In a colour, and how far it was moved in its plane without what lies on it, m.
    fn instance(&self, placed: &Placed, camera: &Camera, colour: [f32; 3]) -> (Instance, [f64; 2]) {
        let mut pose = placed.poses[self.body] * self.pose;
        if self.surface == Surface::Solid {
            return (Instance::new(&pose, self.scale, colour, PLAIN), [0.0; 2]);
        }
        // By whole cells of the grid, so that lines stay where they are.
        let cells = 10.0 * grid(camera);
        let under = pose.inverse() * Point3::from(camera.middle);
        let shift = Vec3::new((under.x / cells).round() * cells, (under.y / cells).round() * cells, 0.0);
        pose.translation.vector += pose.rotation * shift;
        let half = (15.0 * camera.distance()) as f32;
        (Instance::new(&pose, [half, half, 1.0, 0.0], colour, GRID), [shift.x, shift.y])
    }
}

impl Painted {
    /// Without a material.
    pub(crate) fn bare(instance: Instance) -> Self {
        Self { instance, paint: Paint::default() }
    }
}

impl Arrow {
    /// Radius of the ball at its tail, in radii of the shaft.
    pub const BALL: f64 = 1.8;
    /// Length and largest radius of the tip, in radii of the shaft.
    const TIP: [f64; 2] = [7.0, 2.5];

    /// Length of the shaft: a short arrow is all tip.
    fn bare(&self) -> f64 {
        (self.way.norm() - Self::TIP[0] * self.radius).max(0.0)
    }

    /// A mesh along the arrow, from this far behind its tail on.
    fn along(&self, at: f64, [radius, length]: [f64; 2]) -> Instance {
        let turn = Quat::rotation_between(&Vec3::z(), &self.way)
            .unwrap_or_else(|| Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI));
        let direction = self.way.try_normalize(0.0).unwrap_or_else(Vec3::z);
        let pose = Pose::from_parts((self.from + direction * at).into(), turn);
        let [r, l] = [radius as f32, length as f32];
        Instance::new(&pose, [r, r, l, 0.0], linear(self.colour), BRIGHT)
    }

    fn tail(&self) -> Instance {
        self.along(0.0, [Self::BALL * self.radius; 2])
    }

    fn shaft(&self) -> Instance {
        // The mesh reaches from -1 to 1.
        let half = (self.bare() / 2.0).max(1e-3 * self.radius);
        self.along(half, [self.radius, half])
    }

    fn tip(&self) -> Instance {
        let part = (self.way.norm() / (Self::TIP[0] * self.radius)).clamp(1e-3, 1.0);
        self.along(self.bare(), [Self::TIP[1] * self.radius * part, Self::TIP[0] * self.radius * part])
    }
}

impl Soft {
    /// Where the vertices of its surface are, m.
    fn vertices(&self, placed: &Placed) -> Vec<Vec3> {
        let pose = placed.poses[self.body.body];
        let q = &placed.q[self.body.q.clone()];
        let moved = |(at, dof): (&Vec3, &Option<u32>)| {
            let shift = dof.map_or_else(Vec3::zeros, |dof| Vec3::from_column_slice(&q[dof as usize..dof as usize + 3]));
            (pose * Point3::from(at + shift)).coords
        };
        let nodes: Vec<Vec3> = self.body.nodes.iter().zip(&self.dofs).map(moved).collect();
        match &self.body.embedding {
            Some(embedding) => embedding.positions(|node| nodes[node]).collect(),
            None => nodes,
        }
    }
}

/// Distance of the lines of the ground's grid, m: 1, 2 or 5 times a power of ten, about a fifth of what is seen.
pub(crate) fn grid(camera: &Camera) -> f64 {
    let wanted = camera.radius / 2.5;
    let power = 10_f64.powf(wanted.log10().floor());
    let step = [5.0, 2.0].into_iter().find(|step| step * power <= wanted).unwrap_or(1.0);
    step * power
}

/// Lowest and highest corner of the box about a mesh.
fn extent(mesh: &[Vertex]) -> [Vec3; 2] {
    let mut all = mesh.iter().map(|v| nalgebra::Vector3::from(v.position).cast::<f64>());
    let first = all.next().unwrap_or_else(Vec3::zeros);
    all.fold([first; 2], |[low, high], p| [low.inf(&p), high.sup(&p)])
}

/// The surface of a heightfield, two triangles a cell.
fn terrain(field: &HeightField) -> Vec<Vertex> {
    let (rows, cols) = (field.n_rows, field.n_cols);
    let vertices: Vec<Vec3> = (0..rows * cols).map(|at| field.vertex(at / cols, at % cols)).collect();
    let number = |(row, col): (usize, usize)| (row * cols + col) as u32;
    let cell = |row: usize, col: usize| HeightField::triangles(row, col).map(|corners| corners.map(number));
    let triangles: Vec<_> = (0..rows - 1).flat_map(|row| (0..cols - 1).flat_map(move |col| cell(row, col))).collect();
    from_triangles(&vertices, triangles.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_closed_shapes_where_bodies_have_them() {
        let model = manyworlds::load("soft-pinch", &manyworlds::ImportOptions::default()).unwrap().model;
        let scene = Scene::new(&model);
        let volume = |piece: &Piece| -> f32 {
            let at = |p: &[f32; 3]| nalgebra::Vector3::from(*p);
            piece.corners.chunks_exact(3).map(|t| at(&t[0]).dot(&at(&t[1]).cross(&at(&t[2]))) / 6.0).sum()
        };
        let pieces = scene.pieces(3.0);
        let boxes = model.geoms.iter().enumerate().filter_map(|(number, geom)| match geom.shape {
            Shape::Box { half } => Some((number, 8.0 * half.product() as f32)),
            _ => None,
        });
        let mut seen = 0;
        for (geom, expected) in boxes {
            let piece = pieces.iter().find(|piece| piece.geom == geom).unwrap();
            assert!((volume(piece) / expected - 1.0).abs() < 1e-4, "{geom}: {} {expected}", volume(piece));
            assert_eq!(piece.body, model.geoms[geom].body);
            seen += 1;
        }
        assert!(seen >= 2);
        let placed = Placed { poses: vec![Pose::identity(); model.bodies.len()], q: model.initial_q() };
        let soft = scene.soft_pieces(&placed);
        assert_eq!((soft.len(), soft[0].body), (1, model.bodies.len()));
        assert!((volume(&soft[0]) / 0.05_f32.powi(3) - 1.0).abs() < 1e-3, "{}", volume(&soft[0]));
    }
}
