//! Pairs that are known beforehand: those whose bounding spheres come near each other are found four at a time.

use wide::f64x4;

use super::broad::Pair;
use super::place::Placed;

/// Geoms computed side by side.
const WIDTH: usize = 4;
/// Geoms of a word.
const WORD: usize = 64;
/// The spheres are as much too large as makes up for their sums' rounding.
const ROUNDING: f64 = 1e-12;

/// All pairs that may touch, by their lower geom, then by the other.
#[derive(Debug)]
pub(super) struct List {
    pairs: Vec<Pair>,
    /// Geoms of pairs, ascending; what follows counts by places in here.
    geoms: Vec<u32>,
    /// By geom, where its words begin in `partners`: the first is that of its own place.
    begins: Vec<usize>,
    /// A bit for each geom behind it with which it has a pair.
    partners: Vec<u64>,
    /// Half of what two at rest may be apart at most, m.
    half_reach: f64,
}

/// Bounding spheres of one world, grown by what they stray and by half of what two may be apart; by geom of the list.
#[derive(Debug, Default)]
pub(super) struct Spheres {
    /// Centres xyz and radius, m.
    groups: Vec<[[f64; WIDTH]; 4]>,
}

impl List {
    /// Of pairs in any order.
    pub(super) fn new(mut pairs: Vec<Pair>) -> Self {
        pairs.sort_by_key(|pair| pair.ascending());
        let mut geoms: Vec<u32> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
        geoms.sort_unstable();
        geoms.dedup();
        let words = geoms.len().div_ceil(WORD);
        let mut begins = Vec::with_capacity(geoms.len());
        let mut partners = Vec::new();
        let mut rest = &pairs[..];
        for (place, &geom) in geoms.iter().enumerate() {
            let (first, begin) = (place / WORD, partners.len());
            begins.push(begin);
            partners.resize(begin + words - first, 0);
            let own;
            (own, rest) = rest.split_at(rest.partition_point(|pair| pair.ascending().0 == geom));
            for pair in own {
                // A geom of a pair is among the geoms.
                let other = geoms.partition_point(|&geom| geom < pair.ascending().1);
                partners[begin + other / WORD - first] |= 1 << (other % WORD);
            }
        }
        let farthest = pairs.iter().fold(0.0, |most: f64, pair| most.max(pair.reach.of(0.0)));
        Self { pairs, geoms, begins, partners, half_reach: 0.5 * farthest }
    }

    /// The pairs.
    pub(super) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Calls back with the number of each near pair, the pair, and its reach, in their order.
    #[inline]
    pub(super) fn visit(&self, placed: &[Placed], spheres: &mut Spheres, mut found: impl FnMut(u32, &Pair, f64)) {
        self.grow(placed, spheres);
        let mut first = 0;
        for (place, &begin) in self.begins.iter().enumerate() {
            let words = self.geoms.len().div_ceil(WORD) - place / WORD;
            let own = spheres.at(place);
            for (word, &partners) in self.partners[begin..begin + words].iter().enumerate() {
                let mut near = spheres.near(own, WORD * (place / WORD + word), partners);
                while near != 0 {
                    let before = (1 << near.trailing_zeros()) - 1;
                    let number = first + (partners & before).count_ones() as usize;
                    let pair = &self.pairs[number];
                    if let Some(reach) = pair.reach_if_near(placed) {
                        found(number as u32, pair, reach);
                    }
                    near &= near - 1;
                }
                first += partners.count_ones() as usize;
            }
        }
    }

    /// The spheres of a world.
    fn grow(&self, placed: &[Placed], spheres: &mut Spheres) {
        spheres.groups.resize(self.geoms.len().div_ceil(WIDTH), Default::default());
        for (geoms, group) in self.geoms.chunks(WIDTH).zip(&mut spheres.groups) {
            for (k, &geom) in geoms.iter().enumerate() {
                let own = &placed[geom as usize];
                [group[0][k], group[1][k], group[2][k]] = own.centre.to_array();
                group[3][k] = (own.radius + own.stray + self.half_reach) * (1.0 + ROUNDING);
            }
        }
    }
}

impl Spheres {
    /// One of them, beside itself.
    #[inline(always)]
    fn at(&self, place: usize) -> [f64x4; 4] {
        self.groups[place / WIDTH].map(|of| f64x4::splat(of[place % WIDTH]))
    }

    /// Which of these, of a word's geoms from a place on, meet it.
    #[inline(always)]
    fn near(&self, [x, y, z, radius]: [f64x4; 4], from: usize, partners: u64) -> u64 {
        let mut near = 0;
        for (group, other) in self.groups[from / WIDTH..].iter().take(WORD / WIDTH).enumerate() {
            let shift = WIDTH * group;
            if partners >> shift & ((1 << WIDTH) - 1) == 0 {
                continue;
            }
            let [of_x, of_y, of_z, of_radius] = other.map(f64x4::from);
            let (x, y, z, reach) = (of_x - x, of_y - y, of_z - z, of_radius + radius);
            let apart = x.mul_add(x, y.mul_add(y, z * z));
            near |= u64::from(apart.simd_lt(reach * reach).to_bitmask()) << shift;
        }
        near & partners
    }
}
