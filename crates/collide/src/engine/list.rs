//! Pairs that are known beforehand: those whose bounding spheres come near each other, in all worlds side by side.

use wide::f64x4;

use super::broad::Pair;
use super::place::Places;
use super::vectors::Vectors;

/// The spheres are as much too large as makes up for their sums' rounding.
const ROUNDING: f64 = 1e-12;

/// All pairs that may touch, by their lower geom, then by the other.
#[derive(Debug)]
pub(super) struct List {
    pairs: Vec<Pair>,
    /// Geoms of pairs, ascending; what follows counts by places in here.
    geoms: Vec<u32>,
    /// Lower geoms of pairs, and where the pairs of each end.
    lower: Vec<(u32, u32)>,
    /// The other geom of each pair.
    higher: Vec<u32>,
    /// Half of what two at rest may be apart at most, m.
    half_reach: f64,
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
}

impl List {
    /// Of pairs in any order.
    pub(super) fn new(mut pairs: Vec<Pair>) -> Self {
        pairs.sort_by_key(|pair| pair.ascending());
        let mut geoms: Vec<u32> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
        geoms.sort_unstable();
        geoms.dedup();
        // A geom of a pair is among the geoms.
        let place = |of: u32| geoms.partition_point(|&geom| geom < of) as u32;
        let higher = pairs.iter().map(|pair| place(pair.ascending().1)).collect();
        let mut lower: Vec<(u32, u32)> = Vec::new();
        for (index, pair) in pairs.iter().enumerate() {
            let (own, end) = (place(pair.ascending().0), index as u32 + 1);
            match lower.last_mut() {
                Some(last) if last.0 == own => last.1 = end,
                _ => lower.push((own, end)),
            }
        }
        let farthest = pairs.iter().fold(0.0, |most: f64, pair| most.max(pair.reach.of(0.0)));
        Self { half_reach: 0.5 * farthest, pairs, geoms, lower, higher }
    }

    /// The pairs.
    pub(super) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Calls back with the number of each pair that is near in one of the `wanted` worlds, the pair, the worlds, and its reach in each;
    /// in their order.
    #[inline]
    pub(super) fn visit(
        &self,
        places: &[Places],
        spheres: &mut Vec<Sphere>,
        wanted: u32,
        mut found: impl FnMut(u32, &Pair, u32, f64x4),
    ) {
        spheres.clear();
        spheres.extend(self.geoms.iter().map(|&geom| {
            let Places { centre, radius, stray, .. } = places[geom as usize];
            Sphere { centre, radius: (radius + stray + f64x4::splat(self.half_reach)) * f64x4::splat(1.0 + ROUNDING) }
        }));
        let mut first = 0;
        for &(lower, end) in &self.lower {
            let own = spheres[lower as usize];
            for (number, &higher) in (first..end).zip(&self.higher[first as usize..end as usize]) {
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
            first = end;
        }
    }
}
