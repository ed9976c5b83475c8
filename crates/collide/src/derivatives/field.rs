//! A point of one shape against the distance function of the other.
//!
//! A point x goes with its body, or is the middle of a ball that does (radius r); the other shape has the function f,
//! whose unit gradient g is the way out of it. The contact is at `x - g (f(x) + r) / 2`, its distance `f(x) - r`. The
//! slopes of f and g of functions other than of primitives are differences of fourth order of the function itself, in its
//! frame: g need not be the gradient of f to the last digit.

use manyworlds_model::{DistanceFunction, Sdf, Vec3};
use nalgebra::{Matrix3, SMatrix, Vector3};

use super::slope::ContactSlope;

/// Contacts found by points of the second shape carry this bit in their feature (see the engine's `sdf`).
const SECOND: u32 = 1 << 31;
/// Differences are taken so far apart, relative to the distance of the function's samples.
const STEP: f64 = 1e-4;
/// A second difference of the direction above this says that the surface has a crease there, or that its curvature jumps.
const KINK: f64 = 1e-2 * STEP;

/// One of the shapes of a contact with a distance function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shaped<'a> {
    /// z = 0.
    Plane,
    /// Radius.
    Ball(f64),
    /// Radius, half length along z.
    Capsule(f64, f64),
    /// Half edges.
    Box(Vector3<f64>),
    /// A distance function, with its samples.
    Function(&'a Sdf),
}

impl Shaped<'_> {
    /// Radius of the balls whose middles are the points of this shape.
    fn radius(&self) -> f64 {
        match *self {
            Self::Ball(radius) | Self::Capsule(radius, _) => radius,
            _ => 0.0,
        }
    }

    /// Slopes of its distance and of the unit gradient at a point, both by the point.
    fn slopes(&self, part: Option<u32>, p: Vec3) -> Result<(Vec3, Matrix3<f64>), &'static str> {
        // Round about what is left of p: a point, a line, an edge or corner of a box.
        let round = |out: Vec3, free: Matrix3<f64>| {
            let length = out.norm();
            let normal = out.try_normalize(0.0).ok_or("the middle of a round shape")?;
            Ok((normal, (free - normal * normal.transpose()) / length))
        };
        match *self {
            Self::Plane => Ok((Vec3::z(), Matrix3::zeros())),
            Self::Ball(_) => round(p, Matrix3::identity()),
            Self::Capsule(_, half) => {
                let along = if p.z.abs() < half { 0.0 } else { 1.0 };
                let free = Matrix3::from_diagonal(&Vec3::new(1.0, 1.0, along));
                round(p - Vec3::z() * p.z.clamp(-half, half), free)
            }
            Self::Box(half) => {
                let beyond = p.abs() - half;
                let out = beyond.map(|x| x.max(0.0)).zip_map(&p, |x, p| x.copysign(p));
                if out.norm() > 0.0 {
                    return round(out, Matrix3::from_diagonal(&beyond.map(|x| if x > 0.0 { 1.0 } else { 0.0 })));
                }
                let axis = beyond.imax();
                let normal = Vec3::from_fn(|i, _| if i == axis { p[i].signum() } else { 0.0 });
                Ok((normal, Matrix3::zeros()))
            }
            Self::Function(sdf) => differences(sdf, part, p),
        }
    }
}

/// Value and unit gradient of a function, or of one part of its surface; none where that part has no nearest point.
fn of_part(function: &DistanceFunction, part: Option<u32>, p: &Vec3) -> Option<(f64, Vec3)> {
    let Some(wanted) = part else { return Some(function.distance(p)) };
    let mut found = None;
    function.parts(p, |part, distance, gradient| {
        if part == wanted {
            found = Some((distance, gradient));
        }
    });
    found
}

/// Slopes of a function and of its unit gradient.
fn differences(sdf: &Sdf, part: Option<u32>, at: Vec3) -> Result<(Vec3, Matrix3<f64>), &'static str> {
    let of = |p: Vec3| of_part(sdf.function(), part, &p).ok_or("a part of a surface that ends there");
    let (_, gradient) = of(at)?;
    let e = STEP * sdf.spacing();
    let (mut slope, mut bend) = (Vec3::zeros(), Matrix3::zeros());
    for axis in 0..3 {
        let mut sums = (0.0, Vec3::zeros());
        for (near, weight) in [(1.0, 8.0), (2.0, -1.0)] {
            let mut by = Vec3::zeros();
            by[axis] = near * e;
            let (up, down) = (of(at + by)?, of(at - by)?);
            if (up.1 + down.1 - 2.0 * gradient).norm() > KINK {
                return Err("a crease, or a jump of the curvature, of a distance function");
            }
            sums.0 += weight * (up.0 - down.0);
            sums.1 += weight * (up.1 - down.1);
        }
        slope[axis] = sums.0 / (12.0 * e);
        bend.set_column(axis, &(sums.1 / (12.0 * e)));
    }
    Ok((slope, bend))
}

/// Which of two shapes the points are of and which the function, and which part of the function; by a contact's feature.
fn roles(shapes: &[Shaped; 2], feature: u32) -> ([usize; 2], Option<u32>) {
    // The engine takes a function for the second shape of a pair unless both are.
    let is_function = |shape: &Shaped| matches!(shape, Shaped::Function(_));
    let [first, second] = if is_function(&shapes[0]) && !is_function(&shapes[1]) { [1, 0] } else { [0, 1] };
    if matches!(shapes[first], Shaped::Ball(_)) {
        ([first, second], Some(feature))
    } else if feature & SECOND == 0 {
        ([first, second], None)
    } else {
        ([second, first], None)
    }
}

/// Derivative of a contact by the twists of the bodies. `normal` from the first shape to the second; `frames`: origin
/// and axes of each shape in the world.
pub(super) fn slope(
    shapes: &[Shaped; 2],
    frames: &[(Vector3<f64>, Matrix3<f64>); 2],
    feature: u64,
    point: Vector3<f64>,
    normal: Vector3<f64>,
    distance: f64,
) -> Result<ContactSlope, &'static str> {
    let ([of_points, of_function], part) = roles(shapes, feature as u32);
    // Points of a distance function's own surface have no radius.
    let radius = shapes[of_points].radius();
    // Out of the function's solid.
    let sign = if of_function == 0 { 1.0 } else { -1.0 };
    let out = normal * sign;
    let half = 0.5 * distance + radius;
    let middle = point + out * half;
    let (origin, axes) = &frames[of_function];
    let (value, bend) = shapes[of_function].slopes(part, axes.transpose() * (middle - origin))?;
    let (value, bend) = (axes * value, axes * bend * axes.transpose());
    let mut matrix = SMatrix::<f64, 7, 12>::zeros();
    for column in 0..12 {
        let (side, k) = (column / 6, column % 6);
        let e = Vector3::from_fn(|i, _| if i == k % 3 { 1.0 } else { 0.0 });
        let moved = if k < 3 { e } else { e.cross(&(middle - point)) };
        // How the point moves, in the world and against the function.
        let (own, relative, turned) = if side == of_points {
            (moved, moved, Vector3::zeros())
        } else {
            (Vector3::zeros(), -moved, if k < 3 { Vector3::zeros() } else { e.cross(&out) })
        };
        let by_distance = value.dot(&relative);
        let by_out = bend * relative + turned;
        let by_point = own - by_out * half - out * (0.5 * by_distance);
        matrix.fixed_view_mut::<3, 1>(0, column).copy_from(&by_point);
        matrix.fixed_view_mut::<3, 1>(3, column).copy_from(&(by_out * sign));
        matrix[(6, column)] = by_distance;
    }
    Ok(ContactSlope::new(matrix))
}
