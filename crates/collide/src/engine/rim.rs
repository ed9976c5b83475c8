//! Numbers of points of a cylinder's rims, by which polytopes are kept from step to step.

use super::Vector;

/// Parts of a quarter of a cylinder's rim that have numbers, by the tangent of half the angle; the quarter and the end stand above that.
const BITS: u32 = 13;
const PARTS: u16 = (1 << BITS) - 1;

/// The number that is nearest to a point of a cylinder's rim.
pub(super) fn number(radius: f64, point: Vector) -> u16 {
    let Vector { x, y, z } = point;
    // Turned into the first quarter.
    let (quarter, x, y) = match (x > 0.0, y > 0.0) {
        (true, true) => (0, x, y),
        (false, true) => (1, y, -x),
        (false, false) => (2, -x, -y),
        (true, false) => (3, -y, x),
    };
    let part = (f64::from(PARTS) * (y / (radius + x)) + 0.5) as u16;
    part.min(PARTS) | quarter << BITS | u16::from(z.is_sign_positive()) << (BITS + 2)
}

/// The point of a cylinder's rim that has a number.
pub(super) fn point(radius: f64, half: f64, number: u16) -> Vector {
    let tangent = f64::from(number & PARTS) * f64::from(PARTS).recip();
    let scale = radius / tangent.mul_add(tangent, 1.0);
    let (x, y) = ((1.0 - tangent * tangent) * scale, 2.0 * tangent * scale);
    let (x, y) = match number >> BITS & 3 {
        0 => (x, y),
        1 => (-y, x),
        2 => (-x, -y),
        _ => (y, -x),
    };
    Vector::new(x, y, if number >> (BITS + 2) & 1 == 1 { half } else { -half })
}

#[cfg(test)]
mod tests {
    use super::super::core_shape::Core;
    use super::*;

    /// Points of a cylinder's rims are as near to those of their numbers as there are many; those lie on the rims.
    #[test]
    fn numbers_stand_for_points_of_rims() {
        let (radius, half) = (0.3, 0.2);
        let core = Core::Cylinder(radius, half);
        for k in 0..1000 {
            let angle = f64::from(k) * 0.1;
            let point = core.support(Vector::new(angle.cos(), angle.sin(), if k % 2 == 0 { 0.1 } else { -0.1 }));
            let found = core.corner(core.number(point));
            assert!(found.distance(point) < 1.25e-4 * radius, "{k}: {found} for {point}");
            assert!((found.x.hypot(found.y) - radius).abs() < 1e-15, "{k}: {found}");
        }
        // Across the axis there is no direction: some point will do.
        assert_eq!(core.corner(core.number(Vector::new(0.0, 0.0, half))).z, half);
    }
}
