//! Derivatives by other rules than the step's own: impacts within the step, and contacts that let go.

use super::Dense;
use super::dynamics::Dynamics;
use crate::constraint::Law;
use crate::grid::{axpy, dot};
use crate::integrate::carried;
use crate::mode::Mode;
use crate::pool::Pooled;

/// What an impact within the step adds to its derivative: with `t = tau . dq`, `dv+ += change t` and
/// `dq+ += D_v change t + D_q jump t`.
///
/// A change dq of the position puts the impact off by `-t`: until then the body goes on with v, from then on with what the
/// impulses of the impact make of it; the free acceleration a acts before and after.
pub(super) struct Impact {
    /// Of a change of the position, by its time to the impact, s.
    pub(super) tau: Pooled,
    /// Jump of the velocity by the contacts that bounce.
    pub(super) jump: Pooled,
    /// `a - (dv+/dv) a - (dv+/dq) v`
    pub(super) change: Pooled,
}

impl Dense<'_> {
    /// That of an island; none where nothing bounces.
    pub(super) fn impact(&self) -> Option<Impact> {
        let n = self.equations.n_v;
        let (mut tau, mut jump) = (Pooled::zeros(n), Pooled::zeros(n));
        let mut squares = 0.0;
        for (record, mode) in self.equations.rows.constraints.iter().zip(&self.equations.modes) {
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
        for member in &self.equations.members {
            let (forward, own) = (&member.forward, member.dofs());
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
            let (dv, _) = self.velocities(force, &rows);
            axpy(-1.0, &dv, &mut change);
        }
        Some(Impact { tau, jump, change })
    }

    /// `D_q x`.
    pub(super) fn carried(&self, x: &[f64]) -> Pooled {
        let mut out = Pooled::zeros(self.equations.n_v);
        for member in &self.equations.members {
            let own = member.dofs();
            carried(&member.forward, &member.after, &x[own.clone()], &mut out[own]);
        }
        out
    }

    /// The unknowns that are left when contacts let go that hold back a loss, whose gradient by v+ is given; none when no
    /// contact does.
    pub(super) fn kept(&self, gradient: &[f64]) -> Option<Vec<usize>> {
        let leaves = |first: usize| dot(self.responses.row(first + 2), gradient) < 0.0;
        let left: Vec<usize> = self
            .equations
            .rows
            .constraints
            .iter()
            .zip(&self.equations.modes)
            .filter(|(record, mode)| {
                matches!(record.law, Law::Contact { .. })
                    && matches!(mode, Mode::Sticking | Mode::Sliding)
                    && leaves(record.first)
            })
            .map(|(record, _)| record.first)
            .collect();
        let kept = (0..self.equations.unknowns.len()).filter(|&i| !left.contains(&self.equations.unknowns[i].first()));
        (!left.is_empty()).then(|| kept.collect())
    }
}
