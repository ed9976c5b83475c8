//! The endless helical thread.

use std::f64::consts::TAU;

use crate::Vec3;

/// A right-handed thread about z of the basic profile of ISO 68-1.
///
/// In the half-plane through a point and the axis the thread is a trapezoidal wave along z. The distance there, divided
/// by the length of its gradient in space, is the distance to first order: the wave is cut obliquely, by the lead angle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thread {
    /// Of the crests, m.
    pub(super) radius: f64,
    /// Advance a turn, m.
    pub(super) pitch: f64,
}

impl Thread {
    /// Depth of the thread: 5/8 of the height of the sharp triangle.
    fn depth(&self) -> f64 {
        0.625 * 0.75_f64.sqrt() * self.pitch
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !(self.pitch > 0.0 && self.pitch.is_finite()) {
            return Err(format!("the pitch must be positive, found {}", self.pitch));
        }
        if !(self.radius > 2.0 * self.depth() && self.radius.is_finite()) {
            let least = 2.0 * self.depth();
            return Err(format!("the radius must be above twice the thread's depth ({least}), found {}", self.radius));
        }
        Ok(())
    }

    /// Radius of the root.
    fn inner(&self) -> f64 {
        self.radius - self.depth()
    }

    /// Signed distance and its gradient.
    pub(super) fn distance(&self, p: &Vec3) -> (f64, Vec3) {
        let wave = self.wave(p.x, p.y, p.z);
        let Wave { rho, lead, .. } = wave;
        let (radial, around) = if rho > 0.0 {
            (Vec3::new(p.x / rho, p.y / rho, 0.0), Vec3::new(-p.y / rho, p.x / rho, 0.0))
        } else {
            (Vec3::x(), Vec3::y())
        };
        let [along, up] = wave.direction(self.pitch);
        let gradient = radial * along + (Vec3::z() - around * lead) * (wave.above * up);
        let length = (along * along + up * up * (1.0 + lead * lead)).sqrt();
        (wave.value(self.pitch), gradient / length)
    }

    /// The same without the gradient.
    pub(super) fn value(&self, p: &Vec3) -> f64 {
        self.wave(p.x, p.y, p.z).value(self.pitch)
    }

    /// The same at some points, by coordinate: side by side in registers.
    pub(super) fn values<const N: usize>(&self, [x, y, z]: &[[f64; N]; 3], out: &mut [f64; N]) {
        for (i, value) in out.iter_mut().enumerate() {
            *value = self.wave(x[i], y[i], z[i]).value(self.pitch);
        }
    }

    /// Lower bound of the distance of a point that is so far from the axis, in no time.
    pub(super) fn at_least(&self, rho: f64) -> f64 {
        if rho > self.radius {
            (rho - self.radius) / STEEPEST[0]
        } else {
            -self.depth() - larger(self.inner() - rho, 0.0)
        }
    }

    /// Upper bound of the same.
    pub(super) fn at_most(&self, rho: f64) -> f64 {
        if rho < self.inner() {
            (rho - self.inner()) / STEEPEST[1]
        } else {
            self.depth() + larger(rho - self.radius, 0.0)
        }
    }

    /// The nearest point of the wave, in the half-plane. Without branches, for registers.
    #[inline(always)]
    fn wave(&self, x: f64, y: f64, z: f64) -> Wave {
        let rho = (x * x + y * y).sqrt();
        // Along the axis from the middle of the nearest crest, both sides alike: u goes to half the pitch, the middle of the root.
        let turns = z / self.pitch - turns(y, x);
        let from_crest = turns - turns.round_ties_even();
        let (above, u) = (1.0_f64.copysign(from_crest), self.pitch * from_crest.abs());
        // Near the axis, where no surface is, the lead is bounded.
        let lead = self.pitch / (TAU * larger(rho, 0.25 * self.radius));
        let (crest, root, inner) = (self.pitch / 16.0, self.pitch * 3.0 / 8.0, self.inner());
        let beyond = larger(u - crest, 0.0);
        let surface = larger(self.radius - FLANK[1] / FLANK[0] * beyond, inner);
        let side = 1.0_f64.copysign(rho - surface);
        // To the crest, to the flank, from where it leaves the crest, and to the root.
        let to = [rho - self.radius, u - crest];
        let along = smaller(larger(FLANK[0] * to[1] - FLANK[1] * to[0], 0.0), 0.625 * self.pitch);
        let flank = [to[0] + FLANK[1] * along, to[1] - FLANK[0] * along];
        let root = [rho - inner, smaller(u - root, 0.0)];
        let square = |off: [f64; 2]| off[0] * off[0] + off[1] * off[1];
        let (mut off, mut across) = ([to[0], beyond], [1.0, 0.0]);
        if square(flank) < square(off) {
            (off, across) = (flank, FLANK);
        }
        if square(root) < square(off) {
            (off, across) = (root, [1.0, 0.0]);
        }
        Wave { rho, lead, above, side, off, squared: square(off), across }
    }
}

/// As the library's `max` and `min` of numbers; these are calls of functions in a browser.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Part along the axis and part toward it of a flank of 60 degrees, of unit length.
const FLANK: [f64; 2] = [0.5, 0.866_025_403_784_438_6];
/// By how much the gradient in space is longer than in the half-plane at most: outside of the crests, where the radius is more
/// than twice the depth, and near the axis, where the lead is bounded.
const STEEPEST: [f64; 2] = [1.011, 1.161];

/// Where a point is from the nearest of the wave.
struct Wave {
    /// Distance from the axis, m.
    rho: f64,
    /// Advance along the axis by way around it.
    lead: f64,
    /// Sign of the side of the crest.
    above: f64,
    /// Sign of the distance.
    side: f64,
    /// From the nearest point, away from the axis and from the crest, m.
    off: [f64; 2],
    squared: f64,
    /// Normal of the part that it lies on.
    across: [f64; 2],
}

impl Wave {
    /// Away from the solid, in the half-plane. On the surface it is the normal.
    fn direction(&self, pitch: f64) -> [f64; 2] {
        let length = self.squared.sqrt();
        if length > 1e-9 * pitch { self.off.map(|x| self.side * x / length) } else { self.across }
    }

    /// The distance in space to first order.
    #[inline(always)]
    fn value(&self, pitch: f64) -> f64 {
        let is_off = self.squared > 1e-18 * pitch * pitch;
        let [along, up] = if is_off { self.off } else { self.across };
        let length = if is_off { self.squared } else { self.squared.sqrt() };
        self.side * length / (along * along + up * up * (1.0 + self.lead * self.lead)).sqrt()
    }
}

/// `atan2(y, x) / (2 pi)`, to rounding. The library's takes a fifth of a step of a nut on a bolt, more in a browser.
#[inline(always)]
fn turns(y: f64, x: f64) -> f64 {
    let (ay, ax) = (y.abs(), x.abs());
    let (low, high) = (smaller(ay, ax), larger(larger(ay, ax), f64::MIN_POSITIVE));
    // Within the first eighth of a turn, by the angle from the middle of its lower or its upper half.
    let (middle, sine, cosine) = if low < TAN_16TH * high { MIDDLES[0] } else { MIDDLES[1] };
    let t = (low * cosine - high * sine) / (high * cosine + low * sine);
    let square = t * t;
    let series = ARCTANGENT.iter().rev().fold(0.0, |sum, term| sum * square + term);
    let eighth = middle + t * series / TAU;
    let quarter = if ay > ax { 0.25 - eighth } else { eighth };
    let half = if x < 0.0 { 0.5 - quarter } else { quarter };
    half.copysign(y)
}

/// Tangent of a sixteenth of a turn.
const TAN_16TH: f64 = 0.414_213_562_373_095_03;
/// A 32nd of a turn and three of these, with sine and cosine.
const MIDDLES: [(f64, f64, f64); 2] = [
    (1.0 / 32.0, 0.195_090_322_016_128_25, 0.980_785_280_403_230_4),
    (3.0 / 32.0, 0.555_570_233_019_602_2, 0.831_469_612_302_545_2),
];
/// Of the powers of t, two apart, from 1 on: `atan t` to 1e-17 up to the tangent of a 32nd of a turn.
const ARCTANGENT: [f64; 11] = [
    1.0,
    -1.0 / 3.0,
    1.0 / 5.0,
    -1.0 / 7.0,
    1.0 / 9.0,
    -1.0 / 11.0,
    1.0 / 13.0,
    -1.0 / 15.0,
    1.0 / 17.0,
    -1.0 / 19.0,
    1.0 / 21.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_those_of_the_library() {
        for i in 0..=4000 {
            let angle = (f64::from(i) - 2000.0) / 2000.0 * std::f64::consts::PI;
            for length in [1e-9, 0.024, 7e5] {
                let (y, x) = (length * angle.sin(), length * angle.cos());
                let off = turns(y, x) - y.atan2(x) / TAU;
                assert!(off.abs() < 2e-16, "{y} {x}: {off}");
            }
        }
        for (y, x) in [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-0.0, -1.0), (-1.0, 0.0), (0.0, 0.0)] {
            let off = turns(y, x) - f64::atan2(y, x) / TAU;
            assert!(off.abs() < 2e-16, "{y} {x}: {off}");
        }
    }

    #[test]
    fn the_distance_lies_between_its_bounds() {
        for radius in [0.00545, 0.024, 3.0] {
            let thread = Thread { radius, pitch: 0.005 };
            thread.check().unwrap();
            for i in 0..20_000_u32 {
                let part = |n: u32| f64::from(i.wrapping_mul(n) % 10_007) / 10_007.0;
                let (rho, angle) = (2.0 * radius * part(7919), TAU * part(104_729));
                let p = Vec3::new(rho * angle.cos(), rho * angle.sin(), 0.02 * part(15_485_863));
                let (value, rounding) = (thread.distance(&p).0, 1e-15 * radius);
                assert!(thread.at_least(rho) <= value + rounding, "{p}: {} {value}", thread.at_least(rho));
                assert!(value <= thread.at_most(rho) + rounding, "{p}: {value} {}", thread.at_most(rho));
                assert_eq!(value, thread.value(&p));
                let mut both = [0.0; 2];
                thread.values(&[[p.x; 2], [p.y; 2], [p.z; 2]], &mut both);
                assert!((both[0] - value).abs() <= rounding && both[0] == both[1], "{p}: {value} {both:?}");
            }
        }
    }
}
