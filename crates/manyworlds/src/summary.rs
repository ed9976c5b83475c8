//! How a world fared in its last step.

use manyworlds_contact::solve::Stage;

/// Bits of a world's status word.
pub use manyworlds_shaders::dynamics::tree::status;

/// The certificate of one world for its last step: residuals recomputed outside the solver.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    /// Contact residual (Lee 2024, section VII): `|lambda - T(lambda - J v - e)| / max(n_c, 1)`, N s.
    pub residual: f64,
    /// Largest scaled residual of a constraint, m/s.
    pub residual_scaled: f64,
    /// What is left of the balance of momentum of bodies that deform, N s: a part of `residual`, but not of `residual_scaled`.
    pub balance: f64,
    /// Deepest penetration, m.
    pub penetration: f64,
    /// Contacts, open ones within the speculative distance included.
    pub contacts: u32,
    /// Iterations of the island that took most.
    pub iterations: u32,
    /// Bits of [`status`], of all the world's trees.
    pub status: u32,
    /// Where the kernels left the world unsolved: the last stage that the host's part of the solver needed.
    pub stage: Option<Stage>,
    /// Contacts that the residuals so far are means over.
    counted: f64,
}

impl Summary {
    /// Takes in the certificate of an island with `contacts` contacts.
    pub(crate) fn add(&mut self, residual: f64, scaled: f64, contacts: f64, penetration: f64) {
        // Until `close`, `residual` is the squared norm over all rows.
        self.residual += (residual * contacts.max(1.0)).powi(2);
        self.counted += contacts;
        self.residual_scaled = self.residual_scaled.max(scaled);
        self.penetration = self.penetration.max(penetration);
    }

    /// Takes in contacts that only the host knows.
    pub(crate) fn count(&mut self, contacts: usize, penetration: f64) {
        self.counted += contacts as f64;
        self.penetration = self.penetration.max(penetration);
    }

    /// Residuals of all islands that were found otherwise: the sum of the squared norms, and the largest scaled one.
    pub(crate) fn replace(&mut self, square: f64, scaled: f64) {
        self.residual = square;
        self.residual_scaled = scaled;
    }

    /// From a sum over islands to the world's mean.
    pub(crate) fn close(&mut self) {
        self.residual = self.residual.sqrt() / self.counted.max(1.0);
        // A world has converged when all of its trees have.
        if self.status & !(status::CONVERGED | status::RELAXED) != 0 {
            self.status &= !status::CONVERGED;
        }
    }

    /// Whether the world stopped: its state turned non-finite, or the host froze it.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.status & status::STOPPED != 0
    }

    /// Whether the step asked for what no motion gives, so that biases gave way: the certificate is that of the relaxed
    /// problem, and [`Inspection::relaxed`](crate::Inspection::relaxed) says by how much.
    #[must_use]
    pub fn is_relaxed(&self) -> bool {
        self.status & status::RELAXED != 0
    }

    /// The status in words.
    #[must_use]
    pub fn status_name(&self) -> &'static str {
        if self.status & status::NON_FINITE != 0 {
            "non-finite"
        } else if self.status & status::FROZEN != 0 {
            "frozen"
        } else if self.status & status::BREAKDOWN != 0 {
            "breakdown"
        } else if self.status & status::ITERATION_LIMIT != 0 {
            "iteration limit"
        } else if self.is_relaxed() {
            "relaxed"
        } else {
            "converged"
        }
    }
}
