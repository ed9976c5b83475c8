//! Pairs that are known beforehand: those whose bounding spheres come near each other, in all worlds side by side.
//!
//! Of a body with some geoms another geom first asks whether it meets the sphere that holds them all: robots made of
//! hundreds of spheres have tens of thousands of pairs, of which hardly any body comes near the other.

use wide::f64x4;

use super::pair::Pair;
use super::place::Geom;
use super::placed::Places;
use super::vectors::Vectors;
use super::{Kind, Vector};

/// The spheres are as much too large as makes up for their sums' rounding.
const ROUNDING: f64 = 1e-12;
/// A sphere about a body's geoms is asked before so many pairs; fewer are as cheap themselves.
const FLOCK: usize = 4;
/// In place of such a sphere where there is none.
const NONE: u32 = u32::MAX;

/// All pairs that may touch, by their lower geom, then by the other.
#[derive(Debug)]
pub(super) struct List {
    pairs: Vec<Pair>,
    /// Geoms of pairs, ascending; what follows counts by places in here.
    geoms: Vec<u32>,
    /// Begin and end of the geoms that are of one body.
    flocks: Vec<[u32; 2]>,
    /// Lower geoms of pairs, and where the runs of each end.
    lower: Vec<(u32, u32)>,
    runs: Vec<Run>,
    /// The other geom of each pair.
    higher: Vec<u32>,
    /// Half of what two at rest may be apart at most, m.
    half_reach: f64,
}

/// Pairs of a lower geom, one behind the other.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The flock of all other geoms, if they are of one.
    flock: u32,
    /// End of the pairs.
    end: u32,
}

/// A bounding sphere, grown by what it strays and by half of what two may be apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sphere {
    centre: Vectors,
    /// m
    radius: f64x4,
}

impl Sphere {
    /// In which worlds it meets another one, a bit each.
    #[inline(always)]
    fn meets(&self, other: &Self) -> u32 {
        let Vectors { x, y, z } = other.centre - self.centre;
        let reach = self.radius + other.radius;
        x.mul_add(x, y.mul_add(y, z * z)).simd_lt(reach * reach).to_bitmask()
    }

    /// One that holds some others in each world, about the middle of the box that does.
    fn about(spheres: &[Self]) -> Self {
        let everywhere = Vectors::splat(Vector::INFINITY);
        let (low, high) = spheres.iter().fold((everywhere, everywhere * -f64x4::ONE), |(low, high), sphere| {
            let radius = Vectors::new(sphere.radius, sphere.radius, sphere.radius);
            (low.min(sphere.centre - radius), high.max(sphere.centre + radius))
        });
        let centre = (low + high) * f64x4::HALF;
        let radius = spheres
            .iter()
            .fold(f64x4::ZERO, |most, sphere| most.fast_max((sphere.centre - centre).length() + sphere.radius));
        Self { centre, radius: radius * f64x4::splat(1.0 + ROUNDING) }
    }
}

/// Bounding spheres.
#[derive(Default)]
pub(super) struct Memory {
    /// Of geoms of pairs.
    spheres: Vec<Sphere>,
    /// About those of each flock.
    flocks: Vec<Sphere>,
}

impl List {
    /// Of pairs in any order.
    pub(super) fn new(mut pairs: Vec<Pair>, of: &[Geom]) -> Self {
        pairs.sort_by_key(|pair| pair.ascending());
        let mut geoms: Vec<u32> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
        geoms.sort_unstable();
        geoms.dedup();
        let farthest = pairs.iter().fold(0.0, |most: f64, pair| most.max(pair.reach.of(0.0)));
        // A geom of a pair is among the geoms.
        let place = |of: u32| geoms.partition_point(|&geom| geom < of) as u32;
        let flocks = flocks(&geoms, of);
        let (mut higher, mut runs, mut lower) = (Vec::with_capacity(pairs.len()), Vec::new(), Vec::new());
        for own in pairs.chunk_by(|one, next| one.ascending().0 == next.ascending().0) {
            let first = higher.len();
            higher.extend(own.iter().map(|pair| place(pair.ascending().1)));
            add_runs(&higher, first, &flocks, &mut runs);
            lower.push((place(own[0].ascending().0), runs.len() as u32));
        }
        Self { pairs, geoms, flocks, lower, runs, higher, half_reach: 0.5 * farthest }
    }

    /// The pairs.
    pub(super) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Fills in the spheres of geoms, and those about flocks.
    fn surround(&self, places: &[Places], memory: &mut Memory) {
        let Memory { spheres, flocks } = memory;
        spheres.clear();
        spheres.extend(self.geoms.iter().map(|&geom| {
            let Places { centre, radius, stray, .. } = places[geom as usize];
            Sphere { centre, radius: (radius + stray + f64x4::splat(self.half_reach)) * f64x4::splat(1.0 + ROUNDING) }
        }));
        flocks.clear();
        flocks.extend(self.flocks.iter().map(|&[begin, end]| Sphere::about(&spheres[begin as usize..end as usize])));
    }

    /// Calls back with the number of each pair that is near in one of the `wanted` worlds, the pair, the worlds, and its reach in each;
    /// in their order.
    #[inline]
    pub(super) fn visit(
        &self,
        places: &[Places],
        memory: &mut Memory,
        wanted: u32,
        mut found: impl FnMut(u32, &Pair, u32, f64x4),
    ) {
        self.surround(places, memory);
        let Memory { spheres, flocks } = memory;
        let (mut first, mut run) = (0, 0);
        for &(lower, runs) in &self.lower {
            let own = spheres[lower as usize];
            for &Run { flock, end } in &self.runs[run..runs as usize] {
                let begin = std::mem::replace(&mut first, end);
                if flock != NONE && own.meets(&flocks[flock as usize]) & wanted == 0 {
                    continue;
                }
                for (number, &higher) in (begin..end).zip(&self.higher[begin as usize..end as usize]) {
                    let near = own.meets(&spheres[higher as usize]) & wanted;
                    if near == 0 {
                        continue;
                    }
                    let pair = &self.pairs[number as usize];
                    let (near_too, reach) = pair.near(places);
                    if near & near_too != 0 {
                        found(number, pair, near & near_too, reach);
                    }
                }
            }
            run = runs as usize;
        }
    }
}

/// Which of some geoms are of one body that moves, enough of them; their begins and ends. Planes have no sphere.
fn flocks(geoms: &[u32], of: &[Geom]) -> Vec<[u32; 2]> {
    let mut flocks = Vec::new();
    let mut begin = 0;
    for flock in geoms.chunk_by(|&one, &next| {
        let (one, next) = (&of[one as usize], &of[next as usize]);
        one.body.is_some() && one.body == next.body && one.kind != Kind::Plane && next.kind != Kind::Plane
    }) {
        let end = begin + flock.len() as u32;
        if flock.len() >= FLOCK {
            flocks.push([begin, end]);
        }
        begin = end;
    }
    flocks
}

/// Adds the runs of the other geoms of a lower one, those from `first` on.
fn add_runs(higher: &[u32], first: usize, flocks: &[[u32; 2]], runs: &mut Vec<Run>) {
    let flock_of = |geom: u32| {
        let after = flocks.partition_point(|&[begin, _]| begin <= geom);
        if after > 0 && geom < flocks[after - 1][1] { after as u32 - 1 } else { NONE }
    };
    let (own, mut end) = (runs.len(), first as u32);
    for run in higher[first..].chunk_by(|&one, &next| flock_of(one) == flock_of(next)) {
        let flock = if run.len() < FLOCK { NONE } else { flock_of(run[0]) };
        end += run.len() as u32;
        match runs[own..].last_mut() {
            Some(last) if last.flock == NONE && flock == NONE => last.end = end,
            _ => runs.push(Run { flock, end }),
        }
    }
}
