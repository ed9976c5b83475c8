//! Which pairs come near each other: a list known beforehand for small models, a grid for large ones.

use wide::f64x4;

use super::grid::{Ball, Grid};
use super::list::{self, List};
use super::pair::{Pair, Reach};
use super::place::Geom;
use super::placed::{Placed, Places};
use super::{CollideError, Filter, Kind};

/// A model with at most so many geoms has its pairs listed when it is built: to go through all of them in four worlds at
/// once is several times as fast as the grid is in one after another, and as fast as that for one world alone.
const LIST_GEOMS: usize = 512;
/// Pairs are numbered `low * n + high` in 32 bits when they are not listed.
const MOST_GEOMS: usize = 1 << 16;

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
    /// Two geoms that may touch, the lower one first.
    pub(super) fn pair(&self, low: usize, high: usize) -> Option<Pair> {
        let mixed = self.filter.mix(low, high)?;
        Some(Pair::new(low, high, &self.kinds, &mixed, self.speculative))
    }

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
            if let Some(pair) = self.pair(low, high) {
                let (near, reach) = pair.near(places);
                if near >> lane & 1 != 0 {
                    found((low * self.kinds.len() + high) as u32, &pair, 1 << lane, reach);
                }
            }
        }
    }
}
