//! Which pairs come near each other: a list known beforehand for small models, a grid for large ones.

use super::grid::{Ball, Grid};
use super::list::{List, Spheres};
use super::place::{Geom, Placed};
use super::{CollideError, Filter, Kind, Vector};
use crate::pairs::{FrictionSource, Mixed};

/// A model with at most this many geoms has its pairs enumerated when it is built.
const LIST_GEOMS: usize = 512;
/// A list up to this long is gone through every step, four pairs at a time; above, the grid is cheaper.
const LIST_PAIRS: usize = 8192;
/// Pairs are numbered `low * n + high` in 32 bits when they are not listed.
const MOST_GEOMS: usize = 1 << 16;

/// How near two come to have a contact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Distance below which there is a contact between what is at rest, m.
    still: f64,
    /// How much nearer the two may come within it, m.
    speculative: f64,
}

impl Reach {
    pub(super) fn new(margin: f64, speculative: f64) -> Self {
        Self { still: margin + speculative, speculative }
    }

    /// The distance for two that may come so much nearer, m.
    #[inline(always)]
    pub(super) fn of(self, approach: f64) -> f64 {
        self.still + (approach - self.speculative).max(0.0)
    }
}

/// Two geoms that may touch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// The geoms, in the order of their kinds, then of their indices.
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) friction: f64,
    pub(super) restitution: f64,
    pub(super) reach: Reach,
    pub(super) source: FrictionSource,
    /// Whether nothing of a world's geoms counts.
    pub(super) explicit: bool,
    /// Whether `a` is a plane.
    against_plane: bool,
}

impl Pair {
    fn new(low: usize, high: usize, geoms: &[Geom], mixed: &Mixed, speculative: f64) -> Self {
        let ordered = geoms[low].kind <= geoms[high].kind;
        let (a, b) = if ordered { (low, high) } else { (high, low) };
        Self {
            a: a as u32,
            b: b as u32,
            friction: mixed.friction,
            restitution: mixed.restitution,
            reach: Reach::new(mixed.margin, speculative),
            source: mixed.source,
            explicit: mixed.explicit,
            against_plane: geoms[a].kind == Kind::Plane,
        }
    }

    /// Its geoms, the lower one first.
    pub(super) fn ascending(&self) -> (u32, u32) {
        (self.a.min(self.b), self.a.max(self.b))
    }

    /// Distance below which there is a contact, m; none where the bounding spheres do not come so near.
    #[inline(always)]
    pub(super) fn reach_if_near(&self, placed: &[Placed]) -> Option<f64> {
        let (a, b) = (&placed[self.a as usize], &placed[self.b as usize]);
        let between = b.centre - a.centre;
        let is_within = |reach: f64| {
            if self.against_plane {
                return between.dot(a.axis()) < b.radius + reach;
            }
            let near = a.radius + b.radius + reach;
            between.length_squared() < near * near
        };
        // A plane that turns reaches far beyond its travel.
        let plane_turns = self.against_plane && a.turned != Vector::ZERO;
        let farthest = self.reach.of(a.travel + b.travel);
        if !plane_turns && !is_within(farthest.min(self.reach.of(a.stray + b.stray))) {
            return None;
        }
        let one_is_still = a.travel == 0.0 || b.travel == 0.0;
        if !plane_turns && (one_is_still || farthest == self.reach.still) {
            return Some(farthest);
        }
        Some(self.reach.of(approach(a, b))).filter(|&reach| is_within(reach))
    }
}

/// How much nearer the surfaces of two may come: what moves with the other comes no nearer.
fn approach(a: &Placed, b: &Placed) -> f64 {
    let small = if a.radius < b.radius { a } else { b };
    let motion = |of: &Placed| of.moved + of.turned.cross(small.centre - of.centre);
    (motion(b) - motion(a)).length() + (b.turned - a.turned).length() * small.radius
}

/// Memory of the search for near pairs.
#[derive(Default)]
pub(super) struct Near {
    spheres: Spheres,
    grid: Grid,
}

/// How near pairs are found.
#[derive(Debug)]
pub(super) enum Broad {
    /// All pairs that may touch.
    List(List),
    /// Pairs are found by a grid, then filtered.
    Search(Search),
}

/// What the grid needs of a model.
#[derive(Debug)]
pub(super) struct Search {
    filter: Filter,
    /// Planes touch what is anywhere: they are not in the grid.
    planes: Vec<u32>,
    /// Everything else, movable or not.
    others: Vec<u32>,
    kinds: Vec<Geom>,
    speculative: f64,
    /// That of the largest margin of any pair.
    reach: Reach,
}

impl Broad {
    pub(super) fn new(geoms: &[Geom], filter: Filter, speculative: f64) -> Result<Self, CollideError> {
        if geoms.len() > MOST_GEOMS {
            return Err(CollideError::TooManyGeoms { found: geoms.len(), limit: MOST_GEOMS });
        }
        if geoms.len() <= LIST_GEOMS {
            let mut pairs = Vec::new();
            for high in 1..geoms.len() {
                for low in 0..high {
                    if let Some(mixed) = filter.mix(low, high) {
                        pairs.push(Pair::new(low, high, geoms, &mixed, speculative));
                    }
                }
            }
            if pairs.len() <= LIST_PAIRS {
                return Ok(Self::List(List::new(pairs)));
            }
        }
        let (planes, others) = (0..geoms.len() as u32).partition(|&g| geoms[g as usize].kind == Kind::Plane);
        let reach = Reach::new(filter.largest_margin(), speculative);
        Ok(Self::Search(Search { filter, planes, others, kinds: geoms.to_vec(), speculative, reach }))
    }

    /// Calls back with the number of each near pair, the pair, and its reach, in increasing order of both geoms.
    #[inline]
    pub(super) fn visit(&self, placed: &[Placed], near: &mut Near, found: impl FnMut(u32, &Pair, f64)) {
        match self {
            Self::List(list) => list.visit(placed, &mut near.spheres, found),
            Self::Search(search) => search.visit(placed, &mut near.grid, found),
        }
    }
}

impl Search {
    fn visit(&self, placed: &[Placed], grid: &mut Grid, mut found: impl FnMut(u32, &Pair, f64)) {
        // Whatever moves most may meet whatever moves as much.
        let farthest = placed.iter().fold(0.0, |most: f64, shape| most.max(shape.travel));
        let reach = self.reach.of(2.0 * farthest);
        let ball = |geom: u32| {
            let Placed { centre, radius, .. } = placed[geom as usize];
            Ball { centre, radius }
        };
        grid.find(self.others.iter().copied(), ball, reach);
        for &plane in &self.planes {
            let (normal, origin) = (placed[plane as usize].axis(), placed[plane as usize].centre);
            for &other in &self.others {
                let (centre, radius) = (placed[other as usize].centre, placed[other as usize].radius);
                if (centre - origin).dot(normal) < radius + reach {
                    grid.near.push((plane.min(other), plane.max(other)));
                }
            }
        }
        grid.near.sort_unstable();
        for &(low, high) in &grid.near {
            let (low, high) = (low as usize, high as usize);
            if let Some(mixed) = self.filter.mix(low, high) {
                let pair = Pair::new(low, high, &self.kinds, &mixed, self.speculative);
                if let Some(reach) = pair.reach_if_near(placed) {
                    found((low * self.kinds.len() + high) as u32, &pair, reach);
                }
            }
        }
    }
}
