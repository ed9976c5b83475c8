//! Derivatives other than that of the step as it is computed, each a named choice.

use crate::constraint::Law;
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

/// How derivatives are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GradientRules {
    /// How bounces are differentiated.
    pub bounces: Bounces,
    /// Saddle escape, of products with the transposed Jacobian alone (K. Werling et al. 2021, section 4.4): contacts that
    /// hold back what the loss wants are also tried as if they let go, and of the two gradients the one that is larger by v
    /// and tau is given. It is then no derivative, but a direction that leads off a plateau.
    pub escape: bool,
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
            axpy(record.approach, self.rows.j.row(record.first + 2), &mut tau);
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
            member.inverse.add_transposed_times(1.0, &forward.b, &mut free[own.clone()]);
            for (free, v) in free[own].iter_mut().zip(forward.v()) {
                *free = (*free - v) / forward.h();
            }
        }
        let height = self.rows.j.height();
        let mut change = Pooled::copy(&free);
        let momentum = self.momentum();
        for (momentum, rows, along) in
            [(&momentum.v, &self.rows.by_v, &free), (&momentum.q, &self.rows.by_q, &velocity)]
        {
            let force = (0..n).map(|i| dot(momentum.row(i), along)).collect();
            let rows: Vec<f64> = (0..height).map(|r| dot(rows.row(r), along)).collect();
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
