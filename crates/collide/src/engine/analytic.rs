//! Pairs whose contacts have closed forms. Points lie midway between the surfaces, normals point from `a` to `b`.

use super::placed::Placed;
use super::{Sink, Vector};

/// Vectors shorter than this (squared) have no direction.
const TINY: f64 = f64::MIN_POSITIVE * 1e8;

/// A unit vector perpendicular to a unit vector.
pub(super) fn perpendicular(v: Vector) -> Vector {
    v.any_orthonormal_vector()
}

/// A contact between two balls; `fallback` is the normal when their centres coincide.
#[inline(always)]
fn balls(a: Vector, radius_a: f64, b: Vector, radius_b: f64, fallback: Vector, feature: u32, sink: &mut Sink<'_>) {
    let between = b - a;
    let squared = between.length_squared();
    let reach = radius_a + radius_b + sink.reach;
    if squared >= reach * reach {
        return;
    }
    let (length, normal) = if squared > TINY { (squared.sqrt(), between / squared.sqrt()) } else { (0.0, fallback) };
    // Symmetric in the two, so that swapping them changes the sign of the normal and nothing else.
    let point = 0.5 * ((a + normal * radius_a) + (b - normal * radius_b));
    sink.push(point, normal, length - (radius_a + radius_b), feature);
}

/// A contact between the plane and a ball.
#[inline(always)]
fn plane_ball(plane: &Placed, centre: Vector, radius: f64, feature: u32, sink: &mut Sink<'_>) {
    let normal = plane.axis();
    let distance = (centre - plane.centre).dot(normal) - radius;
    sink.push(centre - normal * (radius + 0.5 * distance), normal, distance, feature);
}

pub(super) fn plane_sphere(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    plane_ball(a, b.centre, b.size[0], 0, sink);
}

/// Both caps, where near.
pub(super) fn plane_capsule(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let half = b.axis() * b.size[1];
    plane_ball(a, b.centre - half, b.size[0], 0, sink);
    plane_ball(a, b.centre + half, b.size[0], 1, sink);
}

/// The deepest point of each rim, and three more about the lower one, so that a standing cylinder stands.
pub(super) fn plane_cylinder(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let (normal, axis) = (a.axis(), b.axis());
    let [radius, half, _] = b.size;
    // The direction across the axis that goes down most; any when the cylinder stands upright.
    let along = normal.dot(axis);
    let mut down = axis * along - normal;
    let length = down.length();
    down = if length > 1e-6 { down / length } else { b.axes.x_axis };
    let side = axis.cross(down);
    let lower = if along > 0.0 { -1.0 } else { 1.0 };
    for end in [-1.0, 1.0] {
        let centre = b.centre + axis * (end * half);
        let first = if end < 0.0 { 0 } else { 4 };
        plane_ball(a, centre + down * radius, 0.0, first, sink);
        if end == lower {
            plane_ball(a, centre + side * radius, 0.0, first + 1, sink);
            plane_ball(a, centre - down * radius, 0.0, first + 2, sink);
            plane_ball(a, centre - side * radius, 0.0, first + 3, sink);
        }
    }
}

/// The near corners, the lowest four if there are more.
pub(super) fn plane_box(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let normal = a.axis();
    let height = (b.centre - a.centre).dot(normal);
    let edges = [b.axes.x_axis * b.size[0], b.axes.y_axis * b.size[1], b.axes.z_axis * b.size[2]];
    let rise = edges.map(|e| e.dot(normal));
    if height - (rise[0].abs() + rise[1].abs() + rise[2].abs()) >= sink.reach {
        return;
    }
    // The four lowest corners: both signs along the two axes that rise least.
    let steepest = if rise[0].abs() >= rise[1].abs() && rise[0].abs() >= rise[2].abs() {
        0
    } else if rise[1].abs() >= rise[2].abs() {
        1
    } else {
        2
    };
    let down = if rise[steepest] > 0.0 { 0 } else { 1 };
    for bits in 0..4 {
        let corner = corner_bits(steepest, down, bits);
        let signs = [0, 1, 2].map(|i| if corner >> i & 1 == 1 { 1.0 } else { -1.0 });
        let offset = edges[0] * signs[0] + edges[1] * signs[1] + edges[2] * signs[2];
        plane_ball(a, b.centre + offset, 0.0, corner, sink);
    }
}

/// Corner number (bit i: the sign along axis i) of the face of `axis` on side `up`, by two bits for the other axes.
fn corner_bits(axis: usize, up: u32, bits: u32) -> u32 {
    let (low, high) = (bits & 1, bits >> 1);
    match axis {
        0 => up | low << 1 | high << 2,
        1 => low | up << 1 | high << 2,
        _ => low | high << 1 | up << 2,
    }
}

pub(super) fn plane_ellipsoid(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let down = -b.local(a.axis());
    let radii = Vector::from_array(b.size);
    let scaled = radii * down;
    let support = radii * scaled / scaled.length();
    plane_ball(a, b.centre + b.axes * support, 0.0, 0, sink);
}

pub(super) fn sphere_sphere(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    balls(a.centre, a.size[0], b.centre, b.size[0], Vector::Z, 0, sink);
}

pub(super) fn sphere_capsule(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let along = (a.centre - b.centre).dot(b.axis()).clamp(-b.size[1], b.size[1]);
    let nearest = b.centre + b.axis() * along;
    balls(a.centre, a.size[0], nearest, b.size[0], b.axes.x_axis, 0, sink);
}

/// Between nearly parallel axes the capsules touch along a line: both ends of the common stretch, and the nearest points
/// where they are nearer than those. Else the nearest points alone.
pub(super) fn capsule_capsule(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let (u, v) = (a.axis(), b.axis());
    let (ha, hb) = (a.size[1], b.size[1]);
    let between = b.centre - a.centre;
    let (cosine, on_u, on_v) = (u.dot(v), between.dot(u), between.dot(v));
    let across = u.cross(v);
    let sine_squared = across.length_squared();
    // Closest points of two segments: s = on_u + t cosine, t = s cosine - on_v, each clamped to its segment.
    let mut s = if sine_squared > TINY { ((on_u - cosine * on_v) / sine_squared).clamp(-ha, ha) } else { 0.0 };
    let t = (s * cosine - on_v).clamp(-hb, hb);
    s = (on_u + t * cosine).clamp(-ha, ha);
    let fallback = if sine_squared > TINY { across / sine_squared.sqrt() } else { perpendicular(u) };
    let points = |s: f64, t: f64| (a.centre + u * s, b.centre + v * t);
    let (on_a, on_b) = points(s, t);
    let mut nearest = true;
    // Within about two degrees of parallel.
    if sine_squared < 1e-3 && ha > 0.0 && hb > 0.0 {
        // The stretch of a's axis that b's axis projects to.
        let reach = hb * cosine.abs();
        let (low, high) = ((on_u - reach).max(-ha), (on_u + reach).min(ha));
        if low < high {
            let apart = on_a.distance(on_b) + 1e-5 * a.size[0].min(b.size[0]);
            for (along, feature) in [(low, 1), (high, 2)] {
                let (on_a, on_b) = points(along, ((along - on_u) * cosine).clamp(-hb, hb));
                nearest &= on_a.distance(on_b) > apart;
                balls(on_a, a.size[0], on_b, b.size[0], fallback, feature, sink);
            }
        }
    }
    if nearest {
        balls(on_a, a.size[0], on_b, b.size[0], fallback, 0, sink);
    }
}

/// From the nearest point of a solid's surface, its outward normal there and the signed distance of the centre.
#[inline(always)]
fn sphere_at(a: &Placed, b: &Placed, nearest: Vector, outward: Vector, distance: f64, sink: &mut Sink<'_>) {
    let normal = -(b.axes * outward);
    let surface = b.centre + b.axes * nearest;
    let point = 0.5 * (surface + (a.centre + normal * a.size[0]));
    sink.push(point, normal, distance - a.size[0], 0);
}

pub(super) fn sphere_box(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let centre = b.local(a.centre - b.centre);
    let half = Vector::from_array(b.size);
    let clamped = centre.clamp(-half, half);
    let out = centre - clamped;
    let squared = out.length_squared();
    if squared > TINY {
        let length = squared.sqrt();
        return sphere_at(a, b, clamped, out / length, length, sink);
    }
    // Inside: out through the nearest face.
    let depth = half - centre.abs();
    let axis = if depth.x <= depth.y && depth.x <= depth.z {
        Vector::X
    } else if depth.y <= depth.z {
        Vector::Y
    } else {
        Vector::Z
    };
    let outward = if centre.dot(axis) < 0.0 { -axis } else { axis };
    let distance = -depth.dot(axis);
    sphere_at(a, b, centre - outward * distance, outward, distance, sink);
}

pub(super) fn sphere_cylinder(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let centre = b.local(a.centre - b.centre);
    let [radius, half, _] = b.size;
    let across = (centre.x * centre.x + centre.y * centre.y).sqrt();
    let radial = if across > TINY { Vector::new(centre.x / across, centre.y / across, 0.0) } else { Vector::X };
    let upward = if centre.z < 0.0 { -Vector::Z } else { Vector::Z };
    let clamped = radial * across.min(radius) + Vector::Z * centre.z.clamp(-half, half);
    let out = centre - clamped;
    let squared = out.length_squared();
    if (across > radius || centre.z.abs() > half) && squared > TINY {
        let length = squared.sqrt();
        return sphere_at(a, b, clamped, out / length, length, sink);
    }
    // Inside: out through the side or the nearer end.
    let (to_side, to_end) = (radius - across, half - centre.z.abs());
    let (outward, depth) = if to_side <= to_end { (radial, to_side) } else { (upward, to_end) };
    sphere_at(a, b, centre + outward * depth, outward, -depth, sink);
}

pub(super) fn sphere_ellipsoid(a: &Placed, b: &Placed, sink: &mut Sink<'_>) {
    let centre = b.local(a.centre - b.centre);
    let radii = Vector::from_array(b.size);
    let nearest = nearest_on_ellipsoid(centre, radii);
    let outward = (nearest / (radii * radii)).normalize();
    sphere_at(a, b, nearest, outward, (centre - nearest).dot(outward), sink);
}

/// The point of an ellipsoid's surface nearest to `p`, in its axes.
///
/// It is `r_i^2 p_i / (t + r_i^2)` with the largest root t of `sum (r_i p_i / (t + r_i^2))^2 = 1`
/// (D. Eberly, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid). The left side falls with t
/// beyond the pole of the smallest axis, so that Newton from the left, kept in a bracket, converges.
fn nearest_on_ellipsoid(p: Vector, radii: Vector) -> Vector {
    let largest = radii.max_element();
    // In units of the largest axis.
    let (r, y) = (radii / largest, p.abs() / largest);
    let squared = r * r;
    let smallest = squared.min_element();
    let product = r * y;
    // Bounds by the smallest axis' term alone and by all terms over that pole.
    let on_smallest = if squared.x == smallest {
        product.x
    } else if squared.y == smallest {
        product.y
    } else {
        product.z
    };
    let (mut low, mut high) = (on_smallest - smallest, product.length() - smallest);
    let mut t = low;
    if high - low > 0.0 || on_smallest > 0.0 {
        for _ in 0..60 {
            let terms = product / (squared + Vector::splat(t)).max(Vector::splat(f64::MIN_POSITIVE.sqrt()));
            let value = terms.length_squared() - 1.0;
            if value > 0.0 {
                low = t;
            } else {
                high = t;
            }
            let slope = -2.0 * (terms * terms / (squared + Vector::splat(t))).element_sum();
            let newton = t - value / slope;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if (next - t).abs() <= f64::EPSILON * (t.abs() + smallest) {
                break;
            }
            t = next;
        }
    }
    let mut q = squared * y / (squared + Vector::splat(t)).max(Vector::splat(f64::MIN_POSITIVE));
    // On the plane across the smallest axis, deep inside, the root sits on the pole: what is missing goes along it.
    let filled = (q / r).length_squared();
    if on_smallest <= f64::EPSILON && filled < 1.0 {
        let rest = ((1.0 - filled) * smallest).sqrt();
        if squared.x == smallest {
            q.x = rest;
        } else if squared.y == smallest {
            q.y = rest;
        } else {
            q.z = rest;
        }
    }
    // Onto the surface to rounding, with the signs of p.
    q *= (q / r).length().recip();
    Vector::new(q.x.copysign(p.x), q.y.copysign(p.y), q.z.copysign(p.z)) * largest
}
