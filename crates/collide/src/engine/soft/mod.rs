//! Contacts of soft bodies: the triangles of their surfaces against rigid shapes and against each other's.
//!
//! What is flat or given by a function meets the vertices of a surface, one contact a vertex. A convex shape meets every
//! triangle near it, with as many points as their features overlap in; points that triangles share are one contact.
//! Triangles of two surfaces, or of one that touches itself, are paired by a grid. The surface is one-sided: a triangle is
//! pushed inwards only. Inwards is where the body is, also of one that is inside out as a whole. Two triangles have no
//! thickness, so the nearest way out of an overlap may lead through one of them: then it is one of the two faces' normals
//! instead. Two that are behind each other without crossing, as faces flat on one another are that begin a little within each
//! other, are pushed out where no other pair says where these triangles are.

mod between;
mod facet;
mod found;

use std::collections::BTreeMap;

use manyworlds_model::{Contacting, Model};
use parry3d_f64::query::{Ray, RayCast};
use parry3d_f64::shape::TriMesh;

use super::bounds;
use super::convex::{self, Workspace};
use super::core_shape::Core;
use super::facing::Nearest;
use super::grid::{Ball, Grid};
use super::pair::Reach;
use super::place::Geom;
use super::placed::Placed;
use super::sdf;
use super::terrain;
use super::triangle_box;
use super::{Engine, Kind, Matrix, Memory, Sink, Vector};
use crate::soft::{Side, SoftContact};
use crate::{Contact, Overrides};
use between::{Behind, near_pairs};
use facet::{CLOSED, Facet};
use found::Found;

/// So far, of how thick a body is behind a triangle and of the triangle's radius, another may be behind it and count as within the body:
/// beyond, the two are on other sides of their bodies.
const BEHIND: f64 = 0.25;

/// The surfaces of a model's soft bodies.
#[derive(Debug)]
pub(crate) struct Surfaces {
    bodies: Vec<Surface>,
    /// Pairs of a soft body and a rigid geom that may touch.
    rigid: Vec<Pair>,
    /// Pairs of soft bodies that may touch, the smaller number first, or the same twice.
    soft: Vec<Pair>,
}

/// The surface of one soft body.
#[derive(Debug)]
struct Surface {
    triangles: Vec<[u32; 3]>,
    /// Nodes on it, ascending.
    vertices: Vec<u32>,
    radius: f64,
    contacting: Contacting,
    /// What it encloses at rest, six times over, m^3.
    enclosed: f64,
    /// Of what may touch such surfaces, how far another triangle may be behind each and count as within the body, m.
    depths: Vec<f64>,
    /// The largest of these.
    deepest: f64,
    /// Of one that touches itself, the pairs of triangles near each other at rest that are back to back there, ascending: the two
    /// sides of something thin.
    back_to_back: Vec<(u32, u32)>,
}

/// A soft body of a world as collision takes it.
#[derive(Debug, Clone, Copy)]
pub struct SoftPlace<'a> {
    /// Where the vertices of its surface are in the world, as `manyworlds_model::SoftBody::vertices` numbers them, m.
    pub vertices: &'a [[f64; 3]],
    /// How far they may move before contacts are looked for again, m.
    pub travel: f64,
    /// Coulomb friction coefficient of its surface.
    pub friction: f64,
}

/// Two that may touch.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// The soft body.
    soft: usize,
    /// A geom, or another soft body.
    other: usize,
    /// Whose friction coefficient counts: the soft body's, the other's.
    counts: [bool; 2],
    /// That of the other in the model.
    friction: f64,
    restitution: f64,
    reach: Reach,
}

/// A surface where it is.
#[derive(Default)]
struct Standing {
    /// Spheres about the triangles.
    spheres: Vec<Ball>,
    /// 1, or -1 where the body is inside out as a whole, so that its triangles' normals point inwards.
    outward: f64,
}

/// Memory for the contacts of one world's soft bodies.
#[derive(Default)]
pub(super) struct Scratch {
    points: Vec<Contact>,
    standing: Vec<Standing>,
    grid: Grid,
    behind: Behind,
    seen: BTreeMap<(u64, u64), usize>,
}

impl Surfaces {
    pub(super) fn new(model: &Model, speculative: f64) -> Self {
        let several = model.soft.len() > 1;
        let bodies: Vec<Surface> = model.soft.iter().map(|soft| Surface::new(soft, several)).collect();
        let pair = |soft: usize, other: usize, a: &Contacting, b: &Contacting| {
            let mixed = a.mix(b);
            let counts =
                [a.priority >= b.priority, b.priority >= a.priority].map(|counts| counts && !mixed.frictionless);
            let reach = Reach::new(mixed.margin, speculative);
            let restitution = mixed.restitution;
            a.may_touch(b).then_some(Pair { soft, other, counts, friction: b.friction, restitution, reach })
        };
        let mut rigid = Vec::new();
        let mut soft = Vec::new();
        let welds = model.welds();
        for (index, body) in bodies.iter().enumerate() {
            let own = &model.soft[index];
            let (pinned, carrier) = (!own.pinned.is_empty(), welds[own.body]);
            for (geom, of) in model.geoms.iter().enumerate() {
                // What it grows out of it does not touch, nor what moves with that.
                let is_carrier = of.body == own.body || (carrier != 0 && welds[of.body] == carrier);
                if pinned && is_carrier && of.body != 0 {
                    continue;
                }
                rigid.extend(pair(index, geom, &body.contacting, &of.contact));
            }
            let first = if own.touches_itself { index } else { index + 1 };
            for (other, second) in bodies.iter().enumerate().skip(first) {
                soft.extend(pair(index, other, &body.contacting, &second.contacting));
            }
        }
        Self { bodies, rigid, soft }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rigid.is_empty() && self.soft.is_empty()
    }
}

impl Pair {
    /// The friction coefficient of the two.
    fn friction(&self, own: f64, other: f64) -> f64 {
        let of = |counts: bool, x: f64| if counts { x } else { 0.0 };
        of(self.counts[0], own).max(of(self.counts[1], other))
    }
}

impl Surface {
    /// `several`: there are others in its world.
    fn new(soft: &manyworlds_model::SoftBody, several: bool) -> Self {
        let triangles = soft.surface();
        let mut vertices: Vec<u32> = triangles.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut own = Self {
            triangles,
            vertices,
            radius: soft.radius,
            contacting: soft.contacting,
            enclosed: 0.0,
            depths: Vec::new(),
            deepest: 0.0,
            back_to_back: Vec::new(),
        };
        let at: Vec<[f64; 3]> = soft.vertices().into_iter().map(Into::into).collect();
        own.enclosed = own.encloses(&at);
        if several || soft.touches_itself {
            own.depths = own.depths_at(&at);
            own.deepest = own.depths.iter().copied().fold(0.0, f64::max);
        }
        if soft.touches_itself {
            own.back_to_back = own.pairs_back_to_back(&at);
        }
        own
    }

    /// See the field; by the way from the middle of each triangle to the next one inwards.
    fn depths_at(&self, at: &[[f64; 3]]) -> Vec<f64> {
        let mut balls = Vec::new();
        self.spheres(at, &mut balls);
        let points = at.iter().copied().map(Vector::from_array).collect();
        let mesh = TriMesh::new(points, self.triangles.clone()).ok();
        let depth = |(&corners, ball): (&[u32; 3], &Ball)| {
            let thickness = Facet::new(corners, at, ball, 1.0).zip(mesh.as_ref()).and_then(|(facet, mesh)| {
                let from = ball.centre - facet.normal * (CLOSED * ball.radius);
                mesh.cast_local_ray(&Ray::new(from, -facet.normal), ball.radius, false)
            });
            BEHIND * thickness.unwrap_or(ball.radius)
        };
        self.triangles.iter().zip(&balls).map(depth).collect()
    }

    /// See the field.
    fn pairs_back_to_back(&self, at: &[[f64; 3]]) -> Vec<(u32, u32)> {
        let (mut balls, mut grid) = (Vec::new(), Grid::default());
        self.spheres(at, &mut balls);
        let largest = balls.iter().fold(0.0, |most: f64, ball| most.max(ball.radius));
        near_pairs([balls.len() as u32; 2], true, |which| balls[which as usize], BEHIND * largest, &mut grid);
        let facets: Vec<Option<Facet>> =
            self.triangles.iter().zip(&balls).map(|(&corners, ball)| Facet::new(corners, at, ball, 1.0)).collect();
        let is_back_to_back = |&(a, b): &(u32, u32)| match (&facets[a as usize], &facets[b as usize]) {
            (Some(a), Some(b)) => !(a.is_before(b, 0.0) && b.is_before(a, 0.0)),
            _ => true,
        };
        grid.near.into_iter().filter(is_back_to_back).collect()
    }

    /// Six times the volume that the triangles enclose where they are now, m^3.
    fn encloses(&self, at: &[[f64; 3]]) -> f64 {
        let of = |corners: &[u32; 3]| {
            let from = Vector::from_array(at[self.vertices[0] as usize]);
            let [a, b, c] = corners.map(|vertex| Vector::from_array(at[vertex as usize]) - from);
            a.cross(b).dot(c)
        };
        self.triangles.iter().map(of).sum()
    }

    /// See [`Standing`].
    fn outward(&self, at: &[[f64; 3]]) -> f64 {
        if self.encloses(at) * self.enclosed < 0.0 { -1.0 } else { 1.0 }
    }

    /// Spheres about the triangles where they are now.
    fn spheres(&self, at: &[[f64; 3]], out: &mut Vec<Ball>) {
        out.clear();
        out.extend(self.triangles.iter().map(|corners| {
            let corners = corners.map(|vertex| Vector::from_array(at[vertex as usize]));
            let centre = (corners[0] + corners[1] + corners[2]) / 3.0;
            let square = corners.iter().fold(0.0, |r: f64, &corner| r.max((corner - centre).length_squared()));
            Ball { centre, radius: square.sqrt() }
        }));
    }
}

impl Engine {
    /// Contacts of the soft bodies of one of the worlds whose geoms were placed last; `overrides` as then.
    pub(crate) fn collide_soft<'n>(
        &self,
        places: &dyn Fn(usize) -> SoftPlace<'n>,
        overrides: &Overrides<'_>,
        lane: usize,
        memory: &mut Memory,
        out: &mut Vec<SoftContact>,
    ) {
        out.clear();
        let Memory { places: all, placed, workspace, soft: scratch, .. } = memory;
        let placed = &placed[lane];
        workspace.points.rounding.relative = self.pose_rounding;
        let Scratch { points, standing, grid, behind, seen } = scratch;
        standing.resize_with(self.surfaces.bodies.len(), Standing::default);
        for (index, (surface, standing)) in self.surfaces.bodies.iter().zip(&mut *standing).enumerate() {
            let at = places(index).vertices;
            surface.spheres(at, &mut standing.spheres);
            standing.outward = surface.outward(at);
        }
        for (number, pair) in self.surfaces.rigid.iter().enumerate() {
            let (surface, place) = (&self.surfaces.bodies[pair.soft], places(pair.soft));
            let (at, Standing { spheres, outward }) = (place.vertices, &standing[pair.soft]);
            let (geom, shape) = (&self.geoms[pair.other], &placed[pair.other]);
            let reach = pair.reach.of(place.travel + all[pair.other].travel.to_array()[lane]);
            let friction =
                pair.friction(place.friction, overrides.friction.get(pair.other).copied().unwrap_or(pair.friction));
            let first = Some(Side::Rigid { body: geom.owner, geom: pair.other as u32 });
            let mut found = Found::new(out, seen, (number as u64, pair), friction, first);
            if matches!(geom.kind, Kind::Plane | Kind::HeightField | Kind::Sdf) {
                self.vertices_on(surface, (pair.soft, at), (geom, shape), reach, workspace, points, &mut found);
                continue;
            }
            let core = Core::of(geom.kind, shape, self.meshes.get(geom.asset as usize));
            let rounding = [Core::rounding(geom.kind, shape), surface.radius];
            workspace.points.rounding.origin = shape.centre.abs().max_element();
            for (number, (ball, &corners)) in spheres.iter().zip(&surface.triangles).enumerate() {
                let near = ball.radius + shape.radius + reach + surface.radius;
                let offset = ball.centre - shape.centre;
                if offset.length_squared() >= near * near {
                    continue;
                }
                // A plate is far smaller than the sphere about it.
                if let Core::Box(half) = core {
                    let beside = shape.local(offset).abs() - half;
                    if beside.max_element() > ball.radius + reach + surface.radius {
                        continue;
                    }
                }
                let Some(facet) = Facet::new(corners, at, ball, *outward) else { continue };
                points.clear();
                let mut sink = Sink::new(points, self.pose_rounding);
                sink.reach = reach;
                let triangle = Core::Triangle(facet.about);
                let by_directions = match core {
                    Core::Box(half) => {
                        let within = reach + surface.radius;
                        triangle_box::nearest(half, shape, facet.about, &facet.placed, within)
                    }
                    _ => None,
                };
                match by_directions {
                    None => {
                        convex::convex_convex(
                            core,
                            shape,
                            rounding,
                            triangle,
                            &facet.placed,
                            None,
                            workspace,
                            &mut sink,
                        );
                    }
                    Some(Ok(nearest)) => {
                        convex::touch(&core, shape, &triangle, &facet.placed, rounding, &nearest, workspace, &mut sink);
                    }
                    Some(Err(_)) => continue,
                }
                for contact in points.iter() {
                    let (point, normal) = (Vector::from_array(contact.point), Vector::from_array(contact.normal));
                    if !facet.takes(normal) {
                        continue;
                    }
                    let on = point + normal * (0.5 * contact.distance + surface.radius);
                    let side = Side::Soft { soft: pair.soft as u32, vertices: corners, weights: facet.weights(on) };
                    found.push(contact, side, None, [0, number as u32]);
                }
            }
        }
        for (number, pair) in self.surfaces.soft.iter().enumerate() {
            let number = (self.surfaces.rigid.len() + number) as u64;
            let own = [pair.soft, pair.other].map(places);
            let mut found =
                Found::new(out, seen, (number, pair), pair.friction(own[0].friction, own[1].friction), None);
            self.soft_on_soft(pair, own, standing, grid, behind, workspace, points, &mut found);
        }
    }

    /// Contacts of a surface's vertices with something that is not convex.
    fn vertices_on(
        &self,
        surface: &Surface,
        (soft, at): (usize, &[[f64; 3]]),
        (geom, shape): (&Geom, &Placed),
        reach: f64,
        workspace: &mut Workspace,
        points: &mut Vec<Contact>,
        found: &mut Found<'_>,
    ) {
        for &vertex in &surface.vertices {
            let centre = Vector::from_array(at[vertex as usize]);
            let radius = surface.radius;
            if geom.kind != Kind::Plane {
                let near = shape.radius + reach + radius;
                if (centre - shape.centre).length_squared() >= near * near {
                    continue;
                }
            }
            points.clear();
            let mut sink = Sink::new(points, self.pose_rounding);
            sink.reach = reach;
            let size = [radius, 0.0, 0.0];
            let ball = Placed { centre, axes: Matrix::IDENTITY, radius, size };
            match geom.kind {
                Kind::Plane => {
                    let normal = shape.axis();
                    let distance = (centre - shape.centre).dot(normal) - radius;
                    // Normals here point from the ball into the other.
                    sink.push(centre - normal * (radius + 0.5 * distance), -normal, distance, 0);
                }
                Kind::HeightField => {
                    let field = &self.fields[geom.asset as usize];
                    terrain::contacts(Core::Point, radius, &ball, shape, field, workspace, &mut sink);
                }
                _ => sdf::sphere_sdf(&ball, shape, &self.sdfs[geom.asset as usize], &mut sink),
            }
            for contact in points.iter() {
                let contact = Contact { normal: contact.normal.map(|x| -x), ..*contact };
                let side = Side::Soft { soft: soft as u32, vertices: [vertex; 3], weights: [1.0, 0.0, 0.0] };
                found.push(&contact, side, None, [0; 2]);
            }
        }
    }
}
