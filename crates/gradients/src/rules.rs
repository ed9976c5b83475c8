//! Derivatives other than that of the step as it is computed, each a named choice.

use crate::constraint::Law;
use crate::dense::Dynamics;
use crate::grid::{axpy, dot};
use crate::integrate::carried;
use crate::island::Island;
use crate::mode::Mode;
use crate::pool::Pooled;

/// How bounces are differentiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bounces {
    /// As the step computes them, at its end: exact for the simulator. A body let fall from higher up is then where it was
    /// higher up by as much, and bounces no sooner.
    #[default]
    AsStepped,
    /// At the time of impact within the step, by the saltation matrix of the impact: what a finer and finer time step
    /// tends to.
    AtImpact,
}

/// [`GradientRules::largest_dense`]: from here on elimination takes longer.
const LARGEST_DENSE: usize = 600;

/// How derivatives are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GradientRules {
    /// How bounces are differentiated.
    pub bounces: Bounces,
    /// Saddle escape, of products with the transposed Jacobian alone (K. Werling et al. 2021, section 4.4): contacts that
    /// hold back what the loss wants are also tried as if they let go, and of the two gradients the one that is larger by v
    /// and tau is given. It is then no derivative, but a direction that leads off a plateau.
    pub escape: bool,
    /// Degrees of freedom, and rows of constraints that act, of an island that products solve by elimination at most; those
    /// of larger ones are found by iterations, through the trees' factors.
    pub largest_dense: usize,
}

impl Default for GradientRules {
    fn default() -> Self {
        Self { bounces: Bounces::default(), escape: false, largest_dense: LARGEST_DENSE }
    }
}

/// What an impact within the step adds to its derivative: with `t = tau . dq`, `dv+ += change t` and
/// `dq+ += D_v change t + D_q jump t`.
///
/// A change dq of the position puts the impact off by `-t`: until then the body goes on with v, from then on with what the
/// impulses of the impact make of it; the free acceleration a acts before and after.
pub(crate) struct Impact {
    /// Of a change of the position, by its time to the impact, s.
    pub(crate) tau: Pooled,
    /// Jump of the velocity by the contacts that bounce.
    pub(crate) jump: Pooled,
    /// `a - (dv+/dv) a - (dv+/dq) v`
    pub(crate) change: Pooled,
}

impl Island<'_> {
    /// That of an island; none where nothing bounces.
    pub(crate) fn impact(&self) -> Option<Impact> {
        let n = self.n_v;
        let (mut tau, mut jump) = (Pooled::zeros(n), Pooled::zeros(n));
        let mut squares = 0.0;
        for (record, mode) in self.rows.constraints.iter().zip(&self.constraint_modes) {
            if record.approach == 0.0 || *mode == Mode::Breaking {
                continue;
            }
            // Of several at once the time that fits best.
            axpy(record.approach, self.j.row(record.first + 2), &mut tau);
            squares += record.approach * record.approach;
            (0..3).for_each(|k| axpy(record.impulse[k], self.responses.row(record.first + k), &mut jump));
        }
        if squares == 0.0 {
            return None;
        }
        tau.iter_mut().for_each(|x| *x /= squares);
        let (mut velocity, mut free) = (Pooled::zeros(n), Pooled::zeros(n));
        for member in &self.members {
            let (forward, own) = (&member.forward, member.at[0]..member.at[0] + member.forward.n_v());
            velocity[own.clone()].copy_from_slice(forward.v());
            free[own.clone()].copy_from_slice(&forward.b);
            forward.solve(&mut free[own.clone()]);
            for (free, v) in free[own].iter_mut().zip(forward.v()) {
                *free = (*free - v) / forward.h();
            }
        }
        let mut change = Pooled::copy(&free);
        let Dynamics { momentum, slopes } = self.dynamics();
        let parts = [(&momentum.v, slopes.by_v.as_ref(), &free), (&momentum.q, Some(&slopes.by_q), &velocity)];
        for (momentum, rows, along) in parts {
            let force = (0..n).map(|i| dot(momentum.row(i), along)).collect();
            let row = |r: usize| rows.map_or(0.0, |rows| dot(rows.row(r), along));
            let rows: Vec<f64> = (0..self.j.height()).map(row).collect();
            let [_, dv] = self.along(force, &rows);
            axpy(-1.0, &dv, &mut change);
        }
        Some(Impact { tau, jump, change })
    }

    /// `D_q x`.
    pub(crate) fn carried(&self, x: &[f64]) -> Pooled {
        let mut out = Pooled::zeros(self.n_v);
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            carried(&member.forward, &member.after, &x[own.clone()], &mut out[own]);
        }
        out
    }

    /// The unknowns that are left when contacts let go that hold back a loss, whose gradient by v+ is given; none when no
    /// contact does.
    pub(crate) fn kept(&self, gradient: &[f64]) -> Option<Vec<usize>> {
        let leaves = |first: usize| dot(self.responses.row(first + 2), gradient) < 0.0;
        let left: Vec<usize> = self
            .rows
            .constraints
            .iter()
            .zip(&self.constraint_modes)
            .filter(|(record, mode)| {
                matches!(record.law, Law::Contact { .. })
                    && matches!(mode, Mode::Sticking | Mode::Sliding)
                    && leaves(record.first)
            })
            .map(|(record, _)| record.first)
            .collect();
        let kept = (0..self.unknowns.len()).filter(|&i| !left.contains(&self.unknowns[i].first()));
        (!left.is_empty()).then(|| kept.collect())
    }
}
