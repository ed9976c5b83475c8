//! Which branch of its law each constraint of a solved step is on, and how far from the next branch.

use manyworlds_shaders::contact::gradient::layout::SLOW;

use crate::constraint::{Constraint, Law};
use crate::model::ContactModel;

/// The branch of a constraint's law at the solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A contact without impulse: it separates, or is tied (neither impulse nor speed).
    Breaking,
    /// A contact inside its friction cone: no velocity but what its compliance allows.
    Sticking,
    /// A contact on its cone, or at a bound of its pyramid: friction opposes the slip. Of a frictionless one too.
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

/// What a constraint is at the solution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Local {
    pub(crate) mode: Mode,
    /// How far from the next branch, m/s (rad/s).
    pub(crate) margin: f64,
    /// Of a sliding contact: tangential impulse over `mu` times the normal one, where that sets it.
    pub(crate) drag: [f64; 2],
    /// Trace of its Delassus block, over its rows, 1/kg.
    pub(crate) delassus: f64,
}

impl Local {
    fn new(mode: Mode, margin: f64) -> Self {
        Self { mode, margin, drag: [0.0; 2], delassus: 0.0 }
    }
}

/// That of a constraint with impulse `lambda` and biased velocity `sigma`. Its margin is how far the argument of the law,
/// `lambda / rho - sigma^`, is from the next branch, rho as in the scaled residual. `delassus`: trace of its block, over 3
/// for three rows, 1/kg.
pub(crate) fn local(constraint: &Constraint, sigma: [f64; 3], delassus: f64) -> Local {
    let lambda = constraint.impulse;
    let y: [f64; 3] = std::array::from_fn(|k| delassus * lambda[k] - sigma[k]);
    let out = match constraint.law {
        Law::Bilateral => Local::new(Mode::Held, f64::INFINITY),
        Law::Row { lower, upper } => {
            let whole = delassus + constraint.r[0];
            let (below, above) = (y[0] - whole * lower, whole * upper - y[0]);
            let mode = if below > 0.0 && above > 0.0 { Mode::Held } else { Mode::AtBound };
            Local::new(mode, below.abs().min(above.abs()))
        }
        Law::Contact { mu, model } => match model {
            ContactModel::Exact => cone(mu, lambda, sigma, y),
            ContactModel::Convex { .. } => convex(mu, constraint, sigma, delassus),
            ContactModel::Pyramid => pyramid(mu, lambda, delassus, y),
        },
    };
    Local { delassus, ..out }
}

/// Against the slip, on a cone.
fn against(sigma: [f64; 3]) -> [f64; 2] {
    let slip = sigma[0].hypot(sigma[1]);
    if slip > 0.0 { [-sigma[0] / slip, -sigma[1] / slip] } else { [0.0; 2] }
}

/// Signorini and Coulomb.
fn cone(mu: f64, lambda: [f64; 3], sigma: [f64; 3], y: [f64; 3]) -> Local {
    let slip = y[0].hypot(y[1]);
    if y[2] <= 0.0 {
        return Local::new(Mode::Breaking, -y[2]);
    }
    if lambda[2] == 0.0 {
        // Tied: neither force nor speed. It stays without force.
        return Local::new(Mode::Breaking, y[2]);
    }
    // Distance to the cone's surface along its normal.
    let inside = (mu * y[2] - slip) / mu.hypot(1.0);
    if inside >= 0.0 && mu > 0.0 {
        return Local::new(Mode::Sticking, inside.min(y[2]));
    }
    let margin = if mu > 0.0 { (-inside).min(y[2]) } else { y[2] };
    let slides = if sigma[0].hypot(sigma[1]) > SLOW { sigma } else { y.map(|y| -y) };
    Local { drag: against(slides), ..Local::new(Mode::Sliding, margin) }
}

/// The projection of `-R^-1 sigma^` on the cone in the metric R (Castro 2022, appendix C), its conditions times R.
fn convex(mu: f64, constraint: &Constraint, sigma: [f64; 3], delassus: f64) -> Local {
    let ([.., carried], [r, _, r_n]) = (constraint.impulse, constraint.r);
    let slip = sigma[0].hypot(sigma[1]);
    let pushed = mu * slip - sigma[2];
    if pushed <= 0.0 {
        return Local::new(Mode::Breaking, -pushed / mu.hypot(1.0));
    }
    // What closes by as much more carries as much less, but for what gives way.
    let closed = pushed + delassus * carried;
    let beyond = slip - mu * r / r_n * -sigma[2];
    if beyond <= 0.0 && mu > 0.0 {
        return Local::new(Mode::Sticking, (-beyond * (1.0 + delassus / r)).min(closed));
    }
    Local { drag: against(sigma), ..Local::new(Mode::Sliding, beyond.min(closed)) }
}

/// Signorini, each tangent by itself within what the normal impulse allows.
fn pyramid(mu: f64, lambda: [f64; 3], delassus: f64, y: [f64; 3]) -> Local {
    if y[2] <= 0.0 || lambda[2] == 0.0 {
        return Local::new(Mode::Breaking, y[2].abs());
    }
    if mu == 0.0 {
        return Local::new(Mode::Sliding, y[2]);
    }
    let most = mu * delassus * lambda[2];
    let mut out = Local::new(Mode::Sticking, y[2]);
    for k in 0..2 {
        out.margin = out.margin.min((most - y[k].abs()).abs());
        if y[k].abs() > most {
            (out.mode, out.drag[k]) = (Mode::Sliding, 1.0f64.copysign(y[k]));
        }
    }
    out
}
