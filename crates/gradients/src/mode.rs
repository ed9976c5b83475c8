//! Which branch of its law each constraint of a solved step is on, and how far from the next branch.

use crate::constraint::Law;

/// The branch of a constraint's law at the solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A contact without impulse: it separates, or is tied (neither impulse nor speed).
    Breaking,
    /// A contact inside its friction cone: no velocity.
    Sticking,
    /// A contact on its cone: friction opposes the slip. Of a frictionless one too.
    Sliding,
    /// A row inside its bounds, or a bilateral block.
    Held,
    /// A row at a bound: its impulse does not change.
    AtBound,
}

impl Mode {
    /// One word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Sticking => "sticking",
            Self::Sliding => "sliding",
            Self::Held => "held",
            Self::AtBound => "at bound",
        }
    }
}

/// The mode of a constraint with impulse `lambda` and biased velocity `sigma`, and its margin, m/s (rad/s): how far the
/// argument of the law, `lambda / rho - sigma^`, is from the next branch, rho as in the scaled residual. `delassus`: trace of
/// its block, over 3 for three rows, 1/kg.
pub(crate) fn mode(law: Law, lambda: [f64; 3], sigma: [f64; 3], delassus: f64) -> (Mode, f64) {
    let y: [f64; 3] = std::array::from_fn(|k| delassus * lambda[k] - sigma[k]);
    match law {
        Law::Bilateral => (Mode::Held, f64::INFINITY),
        Law::Row { compliance, lower, upper } => {
            let whole = delassus + compliance;
            let y = whole * lambda[0] - (sigma[0] + compliance * lambda[0]);
            let (below, above) = (y - whole * lower, whole * upper - y);
            let mode = if below > 0.0 && above > 0.0 { Mode::Held } else { Mode::AtBound };
            (mode, below.abs().min(above.abs()))
        }
        Law::Contact { mu } => {
            let slip = y[0].hypot(y[1]);
            if y[2] <= 0.0 {
                return (Mode::Breaking, -y[2]);
            }
            if lambda[2] == 0.0 {
                // Tied: neither force nor speed. It stays without force.
                return (Mode::Breaking, y[2]);
            }
            // Distance to the cone's surface along its normal.
            let inside = (mu * y[2] - slip) / mu.hypot(1.0);
            if inside >= 0.0 && mu > 0.0 {
                (Mode::Sticking, inside.min(y[2]))
            } else if mu > 0.0 {
                (Mode::Sliding, (-inside).min(y[2]))
            } else {
                (Mode::Sliding, y[2])
            }
        }
    }
}
