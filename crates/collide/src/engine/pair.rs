//! Two geoms that may touch.

use wide::f64x4;

use super::Kind;
use super::place::Geom;
use super::placed::Places;
use crate::pairs::{FrictionSource, Mixed};

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
    pub(super) fn new(low: usize, high: usize, geoms: &[Geom], mixed: &Mixed, speculative: f64) -> Self {
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
