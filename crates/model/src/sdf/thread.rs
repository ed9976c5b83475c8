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

    /// Signed distance and its gradient.
    pub(super) fn distance(&self, p: &Vec3) -> (f64, Vec3) {
        let rho = p.x.hypot(p.y);
        let (radial, around) = if rho > 0.0 {
            (Vec3::new(p.x / rho, p.y / rho, 0.0), Vec3::new(-p.y / rho, p.x / rho, 0.0))
        } else {
            (Vec3::x(), Vec3::y())
        };
        // Along the axis from the middle of the nearest crest, both sides alike.
        let s = p.z - self.pitch * p.y.atan2(p.x) / TAU;
        let from_crest = s - self.pitch * (s / self.pitch).round();
        let side = if from_crest < 0.0 { -1.0 } else { 1.0 };
        let (distance, [along, up]) = self.in_half_plane(rho, from_crest.abs());
        // Near the axis, where no surface is, the lead is bounded.
        let lead = self.pitch / (TAU * rho.max(0.25 * self.radius));
        let gradient = radial * along + (Vec3::z() - around * lead) * (side * up);
        let length = (along * along + up * up * (1.0 + lead * lead)).sqrt();
        (distance / length, gradient / length)
    }

    /// Distance of `(rho, u)` to the wave, with u from 0 (middle of the crest) to half the pitch (middle of the root).
    fn in_half_plane(&self, rho: f64, u: f64) -> (f64, [f64; 2]) {
        let (crest, root) = (self.pitch / 16.0, self.pitch * 3.0 / 8.0);
        let inner = self.radius - self.depth();
        let points = [[self.radius, 0.0], [self.radius, crest], [inner, root], [inner, 0.5 * self.pitch]];
        let surface = if u <= crest {
            self.radius
        } else if u >= root {
            inner
        } else {
            self.radius - self.depth() * (u - crest) / (root - crest)
        };
        let side = if rho < surface { -1.0 } else { 1.0 };
        let mut best = (f64::INFINITY, [0.0; 2], 0);
        for (segment, ends) in points.windows(2).enumerate() {
            let (a, b) = (ends[0], ends[1]);
            let (edge, to) = ([b[0] - a[0], b[1] - a[1]], [rho - a[0], u - a[1]]);
            let t = (to[0] * edge[0] + to[1] * edge[1]) / (edge[0] * edge[0] + edge[1] * edge[1]);
            let t = t.clamp(0.0, 1.0);
            let off = [to[0] - t * edge[0], to[1] - t * edge[1]];
            let squared = off[0] * off[0] + off[1] * off[1];
            if squared < best.0 {
                best = (squared, off, segment);
            }
        }
        let (squared, off, segment) = best;
        let length = squared.sqrt();
        // On the surface the direction is the segment's own normal.
        let unit = if length > 1e-9 * self.pitch {
            [side * off[0] / length, side * off[1] / length]
        } else {
            let (a, b) = (points[segment], points[segment + 1]);
            let along = (b[0] - a[0]).hypot(b[1] - a[1]);
            [(b[1] - a[1]) / along, (a[0] - b[0]) / along]
        };
        (side * length, unit)
    }
}
