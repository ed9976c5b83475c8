//! How contacts give way, for solvers of compliant contact.

use manyworlds_collide::Contact;
use manyworlds_contact::problem::Compliance;
use manyworlds_gradients::Give;
use manyworlds_model::{Contacting, Model};

/// What geoms are made of.
#[derive(Debug)]
pub(crate) struct Surfaces {
    geoms: Vec<Contacting>,
}

impl Surfaces {
    pub(crate) fn new(model: &Model) -> Self {
        Self { geoms: model.geoms.iter().map(|geom| geom.contact).collect() }
    }

    /// How a contact gives way over a step of h seconds.
    pub(super) fn compliance(&self, contact: &Contact, h: f64) -> Option<Compliance> {
        compliance(contact.geoms.map(|geom| &self.geoms[geom as usize]), h, contact)
    }
}

/// The same, of a contact between geoms that look like this.
pub(crate) fn compliance(geoms: [&Contacting; 2], h: f64, contact: &Contact) -> Option<Compliance> {
    let give = give(geoms, contact);
    Some(Compliance { r_n: give.softness(h), v_hat: -contact.distance / give.span(h)? })
}

/// The same for any time step, by the stiffness and dissipation of its geoms. What is rigid dissipates within the step,
/// `tau_d = h / pi` (Castro 2022, section V-B); what bounces is left to its bias.
pub(crate) fn give([a, b]: [&Contacting; 2], contact: &Contact) -> Give {
    match a.compliance(b) {
        Some((stiffness, dissipation)) => Give::Spring { stiffness, dissipation },
        None if contact.restitution > 0.0 => Give::Bias,
        None => Give::Rigid { dissipation: std::f64::consts::FRAC_1_PI },
    }
}
