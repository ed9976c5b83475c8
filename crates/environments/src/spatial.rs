//! What MuJoCo calls com-based: inertias, velocities and forces of bodies about the centre of mass of all of them, in world
//! axes, as spatial vectors with the angular part first (Featherstone). For models of one tree.

use manyworlds::ContactImpulse;
use manyworlds::kinematics::Motion;
use manyworlds::model::{Model, Vec3};

/// Numbers of the inertia of a body: xx, yy, zz, xy, xz, yz, first moment, mass.
pub(crate) const INERTIA: usize = 10;
/// Numbers of a spatial vector.
pub(crate) const SPATIAL: usize = 6;

/// A body's centre of mass in the world, m.
fn centre_of(model: &Model, motions: &[Motion], body: usize) -> Vec3 {
    motions[body].pose.translation.vector + motions[body].pose.rotation * model.bodies[body].inertial.com
}

/// Centre of mass of all bodies, m.
pub(crate) fn centre(model: &Model, motions: &[Motion]) -> Vec3 {
    let (mut moment, mut mass) = (Vec3::zeros(), 0.0);
    for (number, body) in model.bodies.iter().enumerate() {
        moment += body.inertial.mass * centre_of(model, motions, number);
        mass += body.inertial.mass;
    }
    moment / mass
}

/// Inertia of each body but the ground about a point, `[bodies - 1][10]`.
pub(crate) fn inertias(model: &Model, motions: &[Motion], about: &Vec3, out: &mut [f64]) {
    for (out, body) in out.chunks_exact_mut(INERTIA).zip(1..) {
        let inertial = &model.bodies[body].inertial;
        let turned = motions[body].pose.rotation.to_rotation_matrix();
        let inertia = turned * inertial.inertia * turned.transpose();
        let arm = centre_of(model, motions, body) - about;
        let m = inertial.mass;
        let about_point =
            inertia + m * (arm.norm_squared() * manyworlds::model::Mat3::identity() - arm * arm.transpose());
        out.copy_from_slice(&[
            about_point[(0, 0)],
            about_point[(1, 1)],
            about_point[(2, 2)],
            about_point[(0, 1)],
            about_point[(0, 2)],
            about_point[(1, 2)],
            m * arm.x,
            m * arm.y,
            m * arm.z,
            m,
        ]);
    }
}

/// Velocity of each body but the ground at a point, `[bodies - 1][6]`, rad/s and m/s.
pub(crate) fn velocities(motions: &[Motion], at: &Vec3, out: &mut [f64]) {
    for (out, motion) in out.chunks_exact_mut(SPATIAL).zip(&motions[1..]) {
        out[..3].copy_from_slice(motion.angular.as_slice());
        out[3..].copy_from_slice(motion.velocity_at(at).as_slice());
    }
}

/// Torque about a point and force on each body but the ground by contacts, `[bodies - 1][6]`, N m and N.
pub(crate) fn forces(contacts: &[ContactImpulse], dt: f64, about: &Vec3, out: &mut [f64]) {
    out.fill(0.0);
    for contact in contacts {
        let force = Vec3::from(contact.impulse) / dt;
        let torque = (Vec3::from(contact.point) - about).cross(&force);
        for (body, sign) in contact.bodies.into_iter().zip([-1.0, 1.0]) {
            // The ground's is nobody's observation.
            let Some(body) = body.checked_sub(1) else { continue };
            let own = &mut out[SPATIAL * body..SPATIAL * (body + 1)];
            for k in 0..3 {
                own[k] += sign * torque[k];
                own[3 + k] += sign * force[k];
            }
        }
    }
}
