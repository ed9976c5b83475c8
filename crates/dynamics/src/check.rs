//! What values a parameter may have.

use nalgebra::{Matrix3, SymmetricEigen};

use crate::layout::Parameter;

/// Whether the numbers lie in a range; what the range is, if not.
fn all(values: &[f64], allowed: impl Fn(f64) -> bool, range: &str) -> Result<(), String> {
    match values.iter().find(|&&x| !allowed(x)) {
        Some(found) => Err(format!("expected {range}, found {found}")),
        None => Ok(()),
    }
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

impl Parameter {
    /// Refuses values that would make a tree that cannot be: of the right number already.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub fn check(self, values: &[f64]) -> Result<(), String> {
        use Parameter as P;
        all(values, f64::is_finite, "finite numbers")?;
        match self {
            P::Timestep | P::BodyMass(_) | P::Young | P::Density => all(values, |x| x > 0.0, "a number above zero"),
            P::CorrectionFraction => all(values, |x| (0.0..=1.0).contains(&x), "a number from 0 to 1"),
            P::CorrectionMax
            | P::RestitutionThreshold
            | P::JointStiffness(_)
            | P::JointDamping(_)
            | P::JointArmature(_)
            | P::JointFriction(_)
            | P::ActuatorTimes(_)
            | P::MuscleForce(_)
            | P::TendonStiffness(_)
            | P::TendonDamping(_)
            | P::TendonFriction(_)
            | P::StiffnessDamping
            | P::MassDamping
            | P::SurfaceFriction => all(values, |x| x >= 0.0, "a number not below zero"),
            // A direction or an orientation of another length would scale what it turns.
            P::BodyOrientation(_) | P::JointAxis(_) => match length(values) {
                n if (n - 1.0).abs() < 1e-6 => Ok(()),
                n => Err(format!("expected numbers of unit length, found a length of {n}")),
            },
            P::JointRange(_)
            | P::ActuatorControlRange(_)
            | P::ActuatorForceRange(_)
            | P::TendonRange(_)
            | P::TendonSpringRange(_) => match *values {
                [lower, upper] if lower > upper => Err(format!("the bounds are reversed: {lower} and {upper}")),
                _ => Ok(()),
            },
            P::BodyInertia(_) => inertia(values),
            P::Poisson => all(values, |x| (0.0..0.5).contains(&x), "a number from 0 to below 0.5"),
            P::Gravity
            | P::BodyPosition(_)
            | P::BodyCom(_)
            | P::BodyGravityCompensation(_)
            | P::JointAnchor(_)
            | P::JointReference(_)
            | P::JointSpringReference(_)
            | P::ActuatorGear(_)
            | P::ActuatorGain(_)
            | P::ActuatorBias(_)
            | P::CouplingCoefficients(_)
            | P::Pressure(_) => Ok(()),
        }
    }
}

/// The principal moments must be those of some body: not negative, none above the sum of the others.
fn inertia(values: &[f64]) -> Result<(), String> {
    let &[xx, yy, zz, xy, xz, yz] = values else { return Ok(()) };
    let moments = SymmetricEigen::new(Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)).eigenvalues;
    let slack = 1e-9 * moments.amax();
    if moments.min() < -slack || 2.0 * moments.max() > moments.sum() + slack {
        let [a, b, c]: [f64; 3] = moments.into();
        return Err(format!("no body has the principal moments {a:e}, {b:e}, {c:e} kg m^2"));
    }
    Ok(())
}
