//! Contacts of two surfaces, or of one with itself.

use super::facet::{CLOSED, Facet};
use super::found::Found;
use super::{Ball, Contact, Core, Engine, Grid, Nearest, Pair, Side, Sink, SoftPlace, Standing, Vector, Workspace};
use super::{bounds, convex};

/// Of the depth of triangles that cross, that of triangles which do not.
const PARALLEL: f64 = 0.25;

/// Triangles of two bodies that may be behind each other.
#[derive(Default)]
pub(super) struct Behind {
    /// Those found so, with the nearest way.
    pairs: Vec<([u32; 2], Nearest)>,
    /// The triangles that face one of the other body or cross it, which says where they are.
    facing: Vec<u32>,
}

impl Engine {
    /// Adds the contacts of two surfaces, or of one with itself.
    pub(super) fn soft_on_soft(
        &self,
        pair: &Pair,
        places: [SoftPlace<'_>; 2],
        standing: &[Standing],
        grid: &mut Grid,
        behind: &mut Behind,
        workspace: &mut Workspace,
        points: &mut Vec<Contact>,
        found: &mut Found<'_>,
    ) {
        let bodies = [pair.soft, pair.other];
        let surfaces = bodies.map(|body| &self.surfaces.bodies[body]);
        let radii = surfaces.map(|surface| surface.radius);
        let reach = pair.reach.of(places[0].travel + places[1].travel);
        let counts = surfaces.map(|surface| surface.triangles.len() as u32);
        let itself = bodies[0] == bodies[1];
        // Triangles of the second body are numbered behind those of the first.
        let second = if itself { 0 } else { counts[0] };
        let side_of = |number: u32| usize::from(number >= counts[0]);
        let of_body = |number: u32| (number - if number < counts[0] { 0 } else { second }) as usize;
        let ball = |number: u32| standing[bodies[side_of(number)]].spheres[of_body(number)];
        let corners = |number: u32| surfaces[side_of(number)].triangles[of_body(number)];
        let facet = |number: u32| {
            let side = side_of(number);
            Facet::new(corners(number), places[side].vertices, &ball(number), standing[bodies[side]].outward)
        };
        let depth = |number: u32| surfaces[side_of(number)].depths[of_body(number)];
        let near = reach + radii[0] + radii[1];
        // Triangles of two bodies count when they are behind each other, too.
        let behind_by = |deepest: f64| if itself { 0.0 } else { PARALLEL * deepest };
        let [first_deepest, other_deepest] = surfaces.map(|surface| surface.deepest);
        near_pairs(counts, itself, ball, near.max(behind_by(first_deepest.min(other_deepest))), grid);
        let mut push = |[first, other]: [u32; 2], [a, b]: [&Facet; 2], nearest: &Nearest, workspace: &mut Workspace| {
            points.clear();
            let mut sink = Sink::new(points, self.pose_rounding);
            sink.reach = reach;
            let cores = [a, b].map(|facet| Core::Triangle(facet.about));
            convex::touch(&cores[0], &a.placed, &cores[1], &b.placed, radii, nearest, workspace, &mut sink);
            for contact in points.iter() {
                let (point, normal) = (Vector::from_array(contact.point), Vector::from_array(contact.normal));
                let half = 0.5 * contact.distance;
                let side = |number: u32, body: usize, facet: &Facet, on: Vector| Side::Soft {
                    soft: body as u32,
                    vertices: corners(number),
                    weights: facet.weights(on),
                };
                let on_first = side(first, bodies[0], a, point - normal * (half + radii[0]));
                let on_second = side(other, bodies[1], b, point + normal * (half + radii[1]));
                found.push(contact, on_second, Some(on_first), [first, other - second]);
            }
        };
        behind.pairs.clear();
        behind.facing.clear();
        let mut own: Option<(u32, Facet)> = None;
        let mut smallest = f64::INFINITY;
        for &(first, other) in &grid.near {
            if own.as_ref().is_none_or(|own| own.0 != first) {
                own = facet(first).map(|facet| (first, facet));
            }
            let Some((_, a)) = &own else { continue };
            if itself && corners(first).iter().any(|vertex| corners(other).contains(vertex)) {
                continue;
            }
            let Some(b) = facet(other) else { continue };
            let deepest = depth(first).min(depth(other));
            if itself
                && (!(a.is_before(&b, deepest) && b.is_before(a, deepest))
                    || surfaces[0].back_to_back.binary_search(&(first, other)).is_ok())
            {
                continue;
            }
            smallest = smallest.min(a.placed.radius).min(b.placed.radius);
            let (core, triangle) = (Core::Triangle(a.about), Core::Triangle(b.about));
            let within = near.max(behind_by(deepest));
            if bounds::are_apart(&core, &a.placed, &triangle, &b.placed, within) {
                continue;
            }
            let Ok(nearest) = convex::nearest(&core, &a.placed, &triangle, &b.placed, within, workspace) else {
                continue;
            };
            if let Some(way) = a.facing(&b, &nearest, [near, deepest]) {
                behind.facing.extend([first, other]);
                push([first, other], [a, &b], &way, workspace);
            } else if !itself && let Some(way) = a.behind(&b, &nearest, behind_by(deepest)) {
                behind.pairs.push(([first, other], way));
            }
        }
        behind.facing.sort_unstable();
        for (pair, way) in &behind.pairs {
            if pair.iter().any(|number| behind.facing.binary_search(number).is_ok()) {
                continue;
            }
            if let [Some(a), Some(b)] = pair.map(facet) {
                push(*pair, [&a, &b], way, workspace);
            }
        }
        found.settle(CLOSED * smallest);
    }
}

/// Fills the grid's list with the pairs of triangles of two surfaces whose spheres come within reach, in order.
pub(super) fn near_pairs(
    [first, second]: [u32; 2],
    itself: bool,
    ball: impl Fn(u32) -> Ball,
    reach: f64,
    grid: &mut Grid,
) {
    if itself {
        grid.find(0..first, ball, reach);
    } else {
        // Those that come near the other's box at all.
        let bounds = |mut all: std::ops::Range<u32>| {
            let wide = |at: u32| {
                let Ball { centre, radius } = ball(at);
                [centre - Vector::splat(radius), centre + Vector::splat(radius)]
            };
            let one = all.next().map_or([Vector::ZERO; 2], wide);
            all.map(wide).fold(one, |[low, high], [a, b]| [low.min(a), high.max(b)])
        };
        let (of_first, of_second) = (bounds(0..first), bounds(first..first + second));
        let is_near = |at: &u32| {
            let (Ball { centre, radius }, [low, high]) = (ball(*at), if *at < first { of_second } else { of_first });
            let outside = (low - centre).max(centre - high).max_element();
            outside < radius + reach
        };
        grid.find((0..first + second).filter(is_near), &ball, reach);
        grid.near.retain(|&(a, b)| a < first && first <= b);
    }
    grid.near.sort_unstable();
}
