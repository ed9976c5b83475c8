//! Which pairs come near each other: a list known beforehand for small models, a grid for large ones.

use wide::f64x4;

use super::grid::{Ball, Grid};
use super::list::{self, List};
use super::place::{Geom, Placed, Places};
use super::{CollideError, Filter, Kind};
use crate::pairs::{FrictionSource, Mixed};

/// A model with at most so many geoms has its pairs listed when it is built: to go through all of them in four worlds at
/// once is several times as fast as the grid is in one after another, and as fast as that for one world alone.
const LIST_GEOMS: usize = 512;
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

    /// The same in all worlds.
    #[inline(always)]
    fn of_all(self, approach: f64x4) -> f64x4 {
        f64x4::splat(self.still) + (approach - f64x4::splat(self.speculative)).fast_max(f64x4::ZERO)
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
    /// Whether both are solids, with a core in a box.
    pub(super) solid: bool,
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
            solid: geoms[a].kind > Kind::Plane && geoms[b].kind <= Kind::Mesh,
        }
    }

    /// Its geoms, the lower one first.
    pub(super) fn ascending(&self) -> (u32, u32) {
        (self.a.min(self.b), self.a.max(self.b))
    }

    /// In which worlds the bounding spheres come so near that there may be a contact, a bit each; the distance below which there is
    /// one, m.
    #[inline(always)]
    pub(super) fn near(&self, places: &[Places]) -> (u32, f64x4) {
        let (a, b) = (&places[self.a as usize], &places[self.b as usize]);
        let between = b.centre - a.centre;
        let is_within = |reach: f64x4| {
            if self.against_plane {
                return between.dot(a.axes[2]).simd_lt(b.radius + reach);
            }
            let near = a.radius + b.radius + reach;
            between.length_squared().simd_lt(near * near)
        };
        // A plane that turns reaches far beyond its travel.
        let nothing = f64x4::ZERO;
        let turning = if self.against_plane { a.turned.length_squared() } else { nothing };
        let plane_turns = nothing.simd_lt(turning);
        let farthest = self.reach.of_all(a.travel + b.travel);
        let strays = self.reach.of_all(a.stray + b.stray);
        let near = plane_turns | is_within(farthest.fast_min(strays));
        let one_is_still = a.travel.simd_eq(nothing) | b.travel.simd_eq(nothing);
        let still = farthest.simd_eq(f64x4::splat(self.reach.still));
        let all_told = !plane_turns & (one_is_still | still);
        let open = (near & !all_told).to_bitmask();
        if open == 0 {
            return (near.to_bitmask(), farthest);
        }
        let reach = self.reach.of_all(approach(a, b));
        let near = near & (all_told | is_within(reach));
        (near.to_bitmask(), all_told.bitselect(farthest, reach))
    }
}

/// How much nearer the surfaces of two may come: what moves with the other comes no nearer.
fn approach(a: &Places, b: &Places) -> f64x4 {
    let a_is_small = a.radius.simd_lt(b.radius);
    let small = a.centre.or(a_is_small, b.centre);
    let motion = |of: &Places| of.moved + of.turned.cross(small - of.centre);
    let radius = a_is_small.bitselect(a.radius, b.radius);
    (motion(b) - motion(a)).length() + (b.turned - a.turned).length() * radius
}

/// Memory of the search for near pairs.
#[derive(Default)]
pub(super) struct Near {
    list: list::Memory,
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
            return Ok(Self::List(List::new(pairs, geoms)));
        }
        let (planes, others) = (0..geoms.len() as u32).partition(|&g| geoms[g as usize].kind == Kind::Plane);
        let reach = Reach::new(filter.largest_margin(), speculative);
        Ok(Self::Search(Search { filter, planes, others, kinds: geoms.to_vec(), speculative, reach }))
    }

    /// Calls back with the number of each pair that is near in one of the `wanted` worlds, the pair, the worlds, and its reach in each;
    /// in each world in increasing order of both geoms. `placed`: by world.
    #[inline]
    pub(super) fn visit(
        &self,
        places: &[Places],
        placed: &[Vec<Placed>],
        wanted: u32,
        near: &mut Near,
        mut found: impl FnMut(u32, &Pair, u32, f64x4),
    ) {
        match self {
            Self::List(list) => list.visit(places, &mut near.list, wanted, found),
            Self::Search(search) => {
                for (lane, placed) in placed.iter().enumerate().filter(|(lane, _)| wanted >> lane & 1 != 0) {
                    search.visit(places, placed, lane, &mut near.grid, &mut found);
                }
            }
        }
    }
}

impl Search {
    /// Pairs of one world.
    fn visit(
        &self,
        places: &[Places],
        placed: &[Placed],
        lane: usize,
        grid: &mut Grid,
        found: &mut impl FnMut(u32, &Pair, u32, f64x4),
    ) {
        // Whatever moves most may meet whatever moves as much.
        let farthest = places.iter().fold(0.0, |most: f64, shape| most.max(shape.travel.to_array()[lane]));
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
                let (near, reach) = pair.near(places);
                if near >> lane & 1 != 0 {
                    found((low * self.kinds.len() + high) as u32, &pair, 1 << lane, reach);
                }
            }
        }
    }
}
