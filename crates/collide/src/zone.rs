//! Zones that do not collide: what touch sensors feel.

use manyworlds_model::{Pose, Vec3, Zone};
use parry3d_f64::math::Vector;
use parry3d_f64::query::{Ray, RayCast};
use parry3d_f64::shape::{Ball, Capsule, Cuboid, Cylinder};

/// Whether a ray from a point, which may be inside, meets a zone that stands at `frame`.
#[must_use]
pub fn ray_meets(zone: &Zone, frame: &Pose, point: Vec3, direction: Vec3) -> bool {
    let point = frame.inverse_transform_point(&point.into());
    let direction = frame.inverse_transform_vector(&direction);
    let ray = |at: Vec3, along: Vec3| Ray::new(Vector::new(at.x, at.y, at.z), Vector::new(along.x, along.y, along.z));
    let meets = |shape: &dyn RayCast, ray: Ray| shape.intersects_local_ray(&ray, f64::MAX);
    let own = ray(point.coords, direction);
    match zone {
        Zone::Sphere(radius) => meets(&Ball::new(*radius), own),
        Zone::Capsule(radius, half) => meets(&Capsule::new_z(*half, *radius), own),
        Zone::Ellipsoid(radii) => {
            meets(&Ball::new(1.0), ray(point.coords.component_div(radii), direction.component_div(radii)))
        }
        // Its axis is y there.
        Zone::Cylinder(radius, half) => {
            let turned = |x: Vec3| Vec3::new(x.x, x.z, -x.y);
            meets(&Cylinder::new(*half, *radius), ray(turned(point.coords), turned(direction)))
        }
        Zone::Box(half) => meets(&Cuboid::new(Vector::new(half.x, half.y, half.z)), own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zone of each shape that is 2 long in z and 1 wide, standing at x = 3 with its z axis along x.
    #[test]
    fn rays_meet_what_is_before_them() {
        let zones = [
            Zone::Sphere(1.0),
            Zone::Capsule(0.5, 0.5),
            Zone::Ellipsoid(Vec3::new(0.5, 0.5, 1.0)),
            Zone::Cylinder(0.5, 1.0),
            Zone::Box(Vec3::new(0.5, 0.5, 1.0)),
        ];
        let turn = nalgebra::UnitQuaternion::rotation_between(&Vec3::z(), &Vec3::x()).expect("not opposite");
        let frame = Pose::from_parts(Vec3::new(3.0, 0.0, 0.0).into(), turn);
        for zone in &zones {
            let meets = |point: [f64; 3], along: [f64; 3]| ray_meets(zone, &frame, point.into(), along.into());
            assert!(meets([3.1, 0.1, -0.1], [0.0, 1.0, 0.0]), "{zone:?}: from inside");
            assert!(meets([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]), "{zone:?}: from before it");
            assert!(!meets([0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]), "{zone:?}: it is behind");
            assert!(meets([3.9, 0.0, 2.0], [0.0, 0.0, -1.0]), "{zone:?}: along x it is 2 long");
            assert!(!meets([4.1, 0.0, 2.0], [0.0, 0.0, -1.0]), "{zone:?}: beside its end");
            assert_eq!(meets([3.0, 0.7, 2.0], [0.0, 0.0, -1.0]), matches!(zone, Zone::Sphere(_)), "{zone:?}: 1 wide");
        }
    }
}
