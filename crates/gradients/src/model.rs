//! The contact that a step was solved with: what a contact is at its solution, and how it gives way.

/// The law of contacts, and how stiff everything else is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ContactModel {
    /// Signorini and Coulomb; what is rigid does not give way.
    #[default]
    Exact,
    /// Compliant and convex (Castro 2022, eqs. 23, 29, 30): every row gives way by `R lambda`. `R = near W` of normal rows,
    /// limits and what is held, `R = slip W` of friction, W the size of the constraint's Delassus block, 1/kg.
    Convex {
        /// `beta^2 / 4 pi^2`
        near: f64,
        /// `sigma`
        slip: f64,
    },
    /// Signorini, and friction within a pyramid along the tangents (Werling 2021, section 4).
    Pyramid,
}

/// How a contact gives way under [`ContactModel::Convex`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Give {
    /// Not at all by itself: its bias is that of exact contact.
    Bias,
    /// As a rigid one, with a dissipation time of so many time steps.
    Rigid {
        /// `tau_d / h`
        dissipation: f64,
    },
    /// As a spring.
    Spring {
        /// k, N/m.
        stiffness: f64,
        /// `tau_d`, s.
        dissipation: f64,
    },
}

impl Give {
    /// `h + tau_d`, over which a distance closes; none: that is what a bias says.
    #[must_use]
    pub fn span(self, h: f64) -> Option<f64> {
        match self {
            Self::Bias => None,
            Self::Rigid { dissipation } => Some(h + dissipation * h),
            Self::Spring { dissipation, .. } => Some(h + dissipation),
        }
    }

    /// `R_n = 1 / (h k (h + tau_d))`, 1/kg.
    #[must_use]
    pub fn softness(self, h: f64) -> f64 {
        match self {
            Self::Bias | Self::Rigid { .. } => 0.0,
            Self::Spring { stiffness, dissipation } => 1.0 / (h * stiffness * (h + dissipation)),
        }
    }
}
