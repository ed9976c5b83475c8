//! The distance functions: negative inside, positive outside, zero on the surface, each in its own frame.

use super::thread::Thread;
use crate::Vec3;

/// A solid given by its signed distance function; lengths in m, z is the axis of revolution or of the thread.
///
/// A function is the exact distance wherever its variant does not say otherwise, and never grows faster than by 1 % more
/// than distance does, so that a ball about a point, a little larger than its value, holds no surface.
#[derive(Debug, Clone, PartialEq)]
pub enum DistanceFunction {
    /// A ring about z.
    Torus {
        /// Of the circle along the middle of the ring.
        ring_radius: f64,
        /// Of the ring's section.
        tube_radius: f64,
    },
    /// A spherical shell about the origin below a height, padded on both sides: `mujoco.sdf.bowl`.
    Bowl {
        /// Of the middle of the wall.
        radius: f64,
        /// Where the rim is, above the origin.
        height: f64,
        /// Half the thickness of the wall; its rim is round.
        padding: f64,
    },
    /// A line of points `(rho, z)` revolved about z and padded on both sides: distance to the nearest segment, less
    /// the padding (Lee 2024, appendix B, eq. 45, there with the two segments OA and AB). Within the wall, where segments
    /// meet at an angle, the amount is below the depth.
    Dish {
        /// The line; `rho` is the distance from the axis, at least 0.
        profile: Vec<[f64; 2]>,
        /// Half the thickness of the wall; edges are round.
        padding: f64,
    },
    /// A threaded rod: the basic profile of ISO 68-1 (flanks at 60 degrees, flats of 1/8 and 1/4 of the pitch), right-handed,
    /// cut off square at both ends. Exact to first order near the surface: within `(pitch / (2 pi rho))^2 / 2` of the
    /// distance, 0.07 % for an M48; beyond the edges at the ends, the farther of the two faces counts.
    Bolt {
        /// Nominal radius: that of the crests.
        radius: f64,
        /// Advance a turn.
        pitch: f64,
        /// Half the length.
        half_length: f64,
    },
    /// A hexagonal nut on the rod of [`DistanceFunction::Bolt`], whose thread stands off from the rod's by the
    /// clearance everywhere. As exact as that.
    Nut {
        /// Nominal radius of its bolt.
        radius: f64,
        /// Advance a turn.
        pitch: f64,
        /// Half the height.
        half_height: f64,
        /// Half the width across flats.
        half_width: f64,
        /// Gap between the flanks when the nut is centred on the bolt.
        clearance: f64,
    },
}

impl DistanceFunction {
    /// Signed distance of a point (m) and its gradient, a unit vector except on the axis or where two parts of the
    /// surface are equally near: there it is that of one of them.
    #[must_use]
    pub fn distance(&self, p: &Vec3) -> (f64, Vec3) {
        match *self {
            Self::Torus { ring_radius, tube_radius } => revolved(p, |rho, z| {
                let (length, unit) = away([rho - ring_radius, z]);
                (length - tube_radius, unit)
            }),
            Self::Bowl { radius, height, padding } => revolved(p, |rho, z| {
                let rim = (radius * radius - height * height).sqrt();
                let (length, unit) = if height * rho < rim * z {
                    away([rho - rim, z - height])
                } else {
                    let (from_centre, unit) = away([rho, z]);
                    let side = if from_centre < radius { -1.0 } else { 1.0 };
                    ((from_centre - radius).abs(), unit.map(|x| side * x))
                };
                (length - padding, unit)
            }),
            Self::Dish { ref profile, padding } => revolved(p, |rho, z| {
                let mut best = (f64::INFINITY, [0.0, 1.0], 0.0);
                for ends in profile.windows(2) {
                    let found = from_segment([rho, z], ends[0], ends[1]);
                    if found.0 < best.0 {
                        best = found;
                    }
                }
                (best.0 - padding, best.1)
            }),
            Self::Bolt { radius, pitch, half_length } => {
                let ends = slab(p, half_length);
                intersection(Thread { radius, pitch }.distance(p), ends)
            }
            Self::Nut { radius, pitch, half_height, half_width, clearance } => {
                let (thread, out) = Thread { radius, pitch }.distance(p);
                let outside = square_intersection(hexagon(p, half_width), slab(p, half_height));
                intersection((clearance - thread, -out), outside)
            }
        }
    }

    /// The value of [`DistanceFunction::distance`] where that is below a limit, to rounding: of most points that are not, this
    /// is known at once.
    #[must_use]
    pub fn value_below(&self, p: &Vec3, limit: f64) -> Option<f64> {
        let value = match *self {
            Self::Bolt { radius, pitch, half_length } => {
                let (thread, end) = (Thread { radius, pitch }, p.z.abs() - half_length);
                if end >= limit || thread.at_least(from_axis(p)) >= limit {
                    return None;
                }
                thread.value(p).max(end)
            }
            Self::Nut { radius, pitch, half_height, half_width, clearance } => {
                let (thread, end, rho) = (Thread { radius, pitch }, p.z.abs() - half_height, from_axis(p));
                // The middle of a side is nearest to the axis, an edge farthest.
                let side = 0.75_f64.sqrt() * rho - half_width;
                if end.max(side).max(clearance - thread.at_most(rho)) >= limit {
                    return None;
                }
                nut(p, clearance - thread.value(p), half_height, half_width)
            }
            _ => self.distance(p).0,
        };
        (value < limit).then_some(value)
    }

    /// The values of [`DistanceFunction::distance`] at some points, by coordinate, to rounding: as fast as it goes.
    pub fn values<const N: usize>(&self, points: &[[f64; N]; 3], out: &mut [f64; N]) {
        let [x, y, z] = points;
        match *self {
            Self::Bolt { radius, pitch, half_length } => {
                Thread { radius, pitch }.values(points, out);
                out.iter_mut().zip(z).for_each(|(value, z)| *value = value.max(z.abs() - half_length));
            }
            Self::Nut { radius, pitch, half_height, half_width, clearance } => {
                Thread { radius, pitch }.values(points, out);
                for (i, value) in out.iter_mut().enumerate() {
                    let p = Vec3::new(x[i], y[i], z[i]);
                    *value = nut(&p, clearance - *value, half_height, half_width);
                }
            }
            _ => {
                for (i, value) in out.iter_mut().enumerate() {
                    *value = self.distance(&Vec3::new(x[i], y[i], z[i])).0;
                }
            }
        }
    }

    /// As [`DistanceFunction::distance`] for each part of the surface that has a nearest point of its own, numbered: the
    /// segments of a dish, of which a ball in its corner touches two; one part for the others.
    pub fn parts(&self, p: &Vec3, mut found: impl FnMut(u32, f64, Vec3)) {
        let Self::Dish { profile, padding } = self else {
            let (distance, gradient) = self.distance(p);
            return found(0, distance, gradient);
        };
        let rho = p.x.hypot(p.y);
        let along = |ends: &[[f64; 2]]| from_segment([rho, p.z], ends[0], ends[1]).2;
        for (index, ends) in profile.windows(2).enumerate() {
            let t = along(ends);
            // A point between two segments is the first's if neither has a nearer one, else that other segment's.
            let is_next = t >= 1.0 && profile.get(index + 1..index + 3).is_some_and(|next| along(next) > 0.0);
            if (t <= 0.0 && index > 0) || is_next {
                continue;
            }
            let (distance, gradient) = revolved(p, |rho, z| {
                let (distance, unit, _) = from_segment([rho, z], ends[0], ends[1]);
                (distance - padding, unit)
            });
            found(index as u32, distance, gradient);
        }
    }

    /// Half the edges of a box about the origin that holds the solid, m.
    #[must_use]
    pub fn half_extents(&self) -> Vec3 {
        match *self {
            Self::Torus { ring_radius, tube_radius } => {
                let across = ring_radius + tube_radius;
                Vec3::new(across, across, tube_radius)
            }
            Self::Bowl { radius, padding, .. } => Vec3::repeat(radius + padding),
            Self::Dish { ref profile, padding } => {
                let most = |axis: usize| profile.iter().fold(0.0, |m: f64, p| m.max(p[axis].abs())) + padding;
                Vec3::new(most(0), most(0), most(1))
            }
            Self::Bolt { radius, half_length, .. } => Vec3::new(radius, radius, half_length),
            Self::Nut { half_height, half_width, .. } => {
                let corner = half_width * 2.0 / 3.0_f64.sqrt();
                Vec3::new(corner, corner, half_height)
            }
        }
    }

    /// A spacing of surface points that resolves the solid: a 32nd of its largest half extent, or less where the wall or
    /// the thread is finer, m.
    #[must_use]
    pub fn default_spacing(&self) -> f64 {
        let coarse = self.half_extents().max() / 32.0;
        match *self {
            Self::Torus { tube_radius, .. } => coarse.min(tube_radius / 4.0),
            Self::Bowl { padding, .. } | Self::Dish { padding, .. } => coarse.min(padding),
            Self::Bolt { pitch, .. } | Self::Nut { pitch, .. } => coarse.min(pitch / 6.0),
        }
    }

    /// Whether all is right with the dimensions.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let positive = |name: &str, x: f64| {
            if x > 0.0 && x.is_finite() { Ok(()) } else { Err(format!("{name} must be positive, found {x}")) }
        };
        match self {
            Self::Torus { ring_radius, tube_radius } => {
                positive("the ring's radius", *ring_radius)?;
                positive("the tube's radius", *tube_radius)?;
                less("the tube's radius", *tube_radius, "the ring's", *ring_radius)
            }
            Self::Bowl { radius, height, padding } => {
                positive("the radius", *radius)?;
                positive("the thickness", *padding)?;
                less("the thickness", *padding, "the radius", *radius)?;
                less("the height's amount", height.abs(), "the radius", *radius)
            }
            Self::Dish { profile, padding } => {
                positive("the padding", *padding)?;
                if profile.len() < 2 {
                    return Err(format!("the profile needs at least 2 points, found {}", profile.len()));
                }
                match profile.iter().find(|p| !(p[0] >= 0.0 && p[0].is_finite() && p[1].is_finite())) {
                    Some(p) => Err(format!("the profile needs finite points with rho >= 0, found {} {}", p[0], p[1])),
                    None => Ok(()),
                }
            }
            Self::Bolt { radius, pitch, half_length } => {
                Thread { radius: *radius, pitch: *pitch }.check()?;
                positive("half the length", *half_length)
            }
            Self::Nut { radius, pitch, half_height, half_width, clearance } => {
                Thread { radius: *radius, pitch: *pitch }.check()?;
                positive("half the height", *half_height)?;
                positive("half the width", *half_width)?;
                if !(*clearance >= 0.0 && clearance.is_finite()) {
                    return Err(format!("the clearance must not be negative, found {clearance}"));
                }
                less("the radius with the clearance", radius + clearance, "half the width", *half_width)
            }
        }
    }
}

fn less(what: &str, x: f64, bound: &str, most: f64) -> Result<(), String> {
    if x < most { Ok(()) } else { Err(format!("{what} must be below {bound} ({most}), found {x}")) }
}

/// Distance to a nut where that to its thread is known.
fn nut(p: &Vec3, thread: f64, half_height: f64, half_width: f64) -> f64 {
    let (rho, end) = (from_axis(p), p.z.abs() - half_height);
    // Within the circle that touches all sides these are not nearer than it.
    if rho <= half_width && thread >= end && thread >= rho - half_width {
        return thread;
    }
    thread.max(square_intersection(hexagon(p, half_width), slab(p, half_height)).0)
}

/// Distance from the axis.
fn from_axis(p: &Vec3) -> f64 {
    (p.x * p.x + p.y * p.y).sqrt()
}

/// A function of `(rho, z)` and its gradient, turned about z.
fn revolved(p: &Vec3, plane: impl Fn(f64, f64) -> (f64, [f64; 2])) -> (f64, Vec3) {
    let rho = p.x.hypot(p.y);
    let (distance, [along, up]) = plane(rho, p.z);
    let radial = if rho > 0.0 { Vec3::new(p.x / rho, p.y / rho, 0.0) } else { Vec3::x() };
    (distance, radial * along + Vec3::z() * up)
}

/// Length and direction of a vector of the plane; a zero vector points up.
fn away([x, y]: [f64; 2]) -> (f64, [f64; 2]) {
    let length = x.hypot(y);
    if length > 0.0 { (length, [x / length, y / length]) } else { (0.0, [0.0, 1.0]) }
}

/// Distance from a segment of the plane, the direction away from it, and where its nearest point is, 0 (a) to 1 (b).
fn from_segment(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> (f64, [f64; 2], f64) {
    let (edge, to) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let squared = edge[0] * edge[0] + edge[1] * edge[1];
    let t = if squared > 0.0 { ((to[0] * edge[0] + to[1] * edge[1]) / squared).clamp(0.0, 1.0) } else { 0.0 };
    let (length, unit) = away([to[0] - t * edge[0], to[1] - t * edge[1]]);
    (length, unit, t)
}

/// The layer |z| <= half.
fn slab(p: &Vec3, half: f64) -> (f64, Vec3) {
    (p.z.abs() - half, Vec3::new(0.0, 0.0, if p.z < 0.0 { -1.0 } else { 1.0 }))
}

/// The endless prism over a regular hexagon with two sides across y.
fn hexagon(p: &Vec3, half_width: f64) -> (f64, Vec3) {
    // The side that is farthest along its own normal: y's, turned by a multiple of 60 degrees.
    let (half, root) = (0.5, 0.75_f64.sqrt());
    let turns: [[f64; 2]; 3] = [[0.0, 1.0], [root, half], [-root, half]];
    let along = turns.map(|[sine, cosine]| cosine * p.y - sine * p.x);
    let mut side = 0;
    for other in [1, 2] {
        if along[other].abs() > along[side].abs() {
            side = other;
        }
    }
    let [sine, cosine] = if along[side] < 0.0 { turns[side].map(|x| -x) } else { turns[side] };
    let (across, out) = (cosine * p.x + sine * p.y, cosine * p.y - sine * p.x);
    let corner = half_width / 3.0_f64.sqrt();
    let beyond = across - across.clamp(-corner, corner);
    let (distance, [x, y]) = if out > half_width && beyond != 0.0 {
        away([beyond, out - half_width])
    } else {
        (out - half_width, [0.0, 1.0])
    };
    (distance, Vec3::new(cosine * x - sine * y, sine * x + cosine * y, 0.0))
}

/// The part common to two solids: the farther face counts, which beyond an edge is less than the distance to it.
fn intersection(a: (f64, Vec3), b: (f64, Vec3)) -> (f64, Vec3) {
    if a.0 > b.0 { a } else { b }
}

/// As [`intersection`], with the distance to the edge for solids whose faces meet at right angles.
fn square_intersection(a: (f64, Vec3), b: (f64, Vec3)) -> (f64, Vec3) {
    if a.0 > 0.0 && b.0 > 0.0 {
        let length = a.0.hypot(b.0);
        (length, (a.1 * a.0 + b.1 * b.0) / length)
    } else {
        intersection(a, b)
    }
}
