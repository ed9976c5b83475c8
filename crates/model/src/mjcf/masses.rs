//! What the compiler does to masses after the bodies are read.

use super::{Compiler, Importer};
use crate::validate::{self, Part};
use crate::{Inertial, Mat3, ModelError, Vec3};

/// What moments may be off by from rotating them, relative to the largest.
const ROUNDING: f64 = 1e-12;

/// Lower bounds, balance and total mass, in MuJoCo's order.
pub(crate) fn adjusted(inertials: Vec<&mut Inertial>, compiler: &Compiler) -> Result<(), &'static str> {
    let mut total = 0.0;
    let mut adjusted = Vec::with_capacity(inertials.len());
    for inertial in inertials {
        inertial.mass = inertial.mass.max(compiler.bound_mass);
        let (mut moments, axes) = inertial.principal();
        let low = compiler.bound_inertia > 0.0 && moments.min() < compiler.bound_inertia;
        if low {
            moments = moments.map(|m| m.max(compiler.bound_inertia));
        }
        let unbalanced = compiler.balance_inertia && !validate::is_triangle(&moments, ROUNDING);
        if unbalanced {
            moments = Vec3::repeat(moments.mean());
        }
        if low || unbalanced {
            inertial.inertia = axes * Mat3::from_diagonal(&moments) * axes.transpose();
        }
        total += inertial.mass;
        adjusted.push(inertial);
    }
    if compiler.total_mass > 0.0 {
        if total <= 0.0 {
            return Err("`settotalmass` has no mass to scale");
        }
        adjusted.into_iter().for_each(|inertial| *inertial = inertial.scaled(compiler.total_mass / total));
    }
    Ok(())
}

impl Importer<'_> {
    /// [`adjusted`] from one body on.
    pub(super) fn adjust_masses(&mut self, first: usize) -> Result<(), ModelError> {
        let bodies = self.builder.bodies.iter_mut().skip(first).map(|body| &mut body.inertial).collect();
        adjusted(bodies, &self.compiler).map_err(|why| crate::import::file_error(&self.directory, why))
    }

    /// Springs, dampers and gains that are given relative to the inertia at the reference position.
    pub(super) fn reference_dynamics(&mut self) -> Result<(), ModelError> {
        if self.spring_dampers.is_empty() && self.damp_ratios.is_empty() {
            return Ok(());
        }
        let joint = self.spring_dampers.first().map(|(j, _)| self.origins.get(&(Part::Joint, *j)));
        let actuator = self.damp_ratios.first().map(|(u, _)| self.origins.get(&(Part::Actuator, *u)));
        let location = joint.or(actuator).flatten().cloned();
        let Some(inverse) = crate::reference::inverse_mass_matrix(&self.builder) else {
            let message = "the mass matrix at the reference position is singular".to_owned();
            return Err(match location {
                Some(location) => ModelError::Import { location, message },
                None => crate::import::file_error(&self.directory, message),
            });
        };
        for &(joint, [time_constant, ratio]) in &self.spring_dampers {
            let dofs = inverse.dofs(joint);
            let n = dofs.len() as f64;
            let inertia = n / dofs.map(|i| inverse.matrix[(i, i)]).sum::<f64>();
            let joint = &mut self.builder.joints[joint];
            joint.stiffness = inertia / (time_constant * ratio).powi(2);
            joint.damping = 2.0 * inertia / time_constant;
        }
        for &(index, ratio) in &self.damp_ratios {
            let actuator = &mut self.builder.actuators[index];
            let dofs: Vec<usize> = actuator.joint().into_iter().flat_map(|joint| inverse.dofs(joint)).collect();
            // 1 / m = J M^-1 J^T with the gear as J.
            let mut inverse_mass = 0.0;
            for (i, row) in dofs.iter().enumerate() {
                for (j, column) in dofs.iter().enumerate() {
                    inverse_mass += actuator.gear[i] * inverse.matrix[(*row, *column)] * actuator.gear[j];
                }
            }
            actuator.bias[2] = -2.0 * ratio * (actuator.gain[0] / inverse_mass).sqrt();
        }
        Ok(())
    }
}
