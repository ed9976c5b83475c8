//! Dantzig's pivoting: row after row is driven until it and all before it are complementary.

use manyworlds_sparse::pseudo_inverse;
use nalgebra::{DMatrix, DVector};

use super::lcp::{Bounds, Lcp};

/// Added to the diagonal of `G`, relative to its mean: redundant rows then share what they carry.
const SHIFT: f64 = 1e-11;
/// Impulses and velocities this close to a bound or to zero, relative to the largest, are there.
const CLOSE: f64 = 1e-9;
/// What is left of rows below this share of the largest is that of redundant ones.
const RANK: f64 = 1e-10;

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// Inside of its bounds, its velocity zero: "clamping".
    Free,
    /// At its lower bound; "separating" if that is zero.
    Low,
    /// At its upper bound.
    High,
    /// Not driven yet: as it was at first.
    Waiting,
}

/// The pivoting's state.
pub(super) struct Pivot<'a> {
    lcp: &'a Lcp,
    shift: f64,
    pub(super) sets: Vec<Set>,
    pub(super) lambda: Vec<f64>,
    pub(super) pivots: u32,
}

/// What ends a drive, or changes a set on its way.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The driven row is done.
    Done(Set),
    /// Another row changes its set.
    Change(usize, Set),
}

impl<'a> Pivot<'a> {
    pub(super) fn new(lcp: &'a Lcp) -> Self {
        let mean = (0..lcp.n).map(|i| lcp.g[i * lcp.n + i]).sum::<f64>() / lcp.n.max(1) as f64;
        let start = |row: &super::lcp::Row| match row.bounds {
            Bounds::Box(lo, hi) => 0.0f64.max(lo).min(hi),
            Bounds::Friction { .. } => 0.0,
        };
        Self {
            lcp,
            shift: SHIFT * mean,
            sets: vec![Set::Waiting; lcp.n],
            lambda: lcp.rows.iter().map(start).collect(),
            pivots: 0,
        }
    }

    /// Drives all rows, with at most so many pivots. False when they were too few, or nothing stops a row.
    #[must_use]
    pub(super) fn run(&mut self, most: u32) -> bool {
        self.lcp.order().all(|row| self.drive(row, most))
    }

    /// Sets by what impulses, and the velocity they give, look like.
    pub(super) fn guess(&mut self, lambda: &[f64]) {
        let largest = lambda.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let w = self.lcp.w(lambda);
        for i in 0..self.lcp.n {
            let (lo, hi) = self.lcp.bounds(i, lambda);
            let close = CLOSE * largest;
            self.sets[i] = match (lambda[i] <= lo + close, hi - close <= lambda[i]) {
                (true, true) if w[i] < 0.0 => Set::High,
                (true, _) => Set::Low,
                (_, true) => Set::High,
                _ => Set::Free,
            };
        }
        self.lambda.copy_from_slice(lambda);
    }

    /// How much the impulse of a row at a bound follows that of its normal.
    fn follows(&self, i: usize) -> Option<(usize, f64)> {
        match (self.lcp.rows[i].bounds, self.sets[i]) {
            (Bounds::Friction { normal, mu }, Set::Low) => Some((normal, -mu)),
            (Bounds::Friction { normal, mu }, Set::High) => Some((normal, mu)),
            _ => None,
        }
    }

    /// Column of `G`, with this much added to its diagonal, of a row and the friction rows that follow it.
    fn column(&self, j: usize, shift: f64) -> Vec<f64> {
        let n = self.lcp.n;
        let mut column: Vec<f64> = (0..n).map(|i| self.lcp.g[i * n + j]).collect();
        column[j] += shift;
        for k in 0..n {
            if let Some((normal, share)) = self.follows(k)
                && normal == j
            {
                column.iter_mut().enumerate().for_each(|(i, x)| *x += share * self.lcp.g[i * n + k]);
                column[k] += share * shift;
            }
        }
        column
    }

    /// Changes of all impulses and velocities, by a unit change of one row's impulse.
    fn direction(&self, row: usize, sign: f64) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = self.lcp.n;
        let free: Vec<usize> = (0..n).filter(|&i| self.sets[i] == Set::Free).collect();
        let columns: Vec<Vec<f64>> = free.iter().map(|&j| self.column(j, self.shift)).collect();
        let own = self.column(row, self.shift);
        let mut change = vec![0.0; n];
        change[row] = sign;
        let mut dw: Vec<f64> = own.iter().map(|x| sign * x).collect();
        if !free.is_empty() {
            let matrix = DMatrix::from_fn(free.len(), free.len(), |i, j| columns[j][free[i]]);
            let right = DVector::from_fn(free.len(), |i, _| -dw[free[i]]);
            let solved = matrix.lu().solve(&right)?;
            for ((&j, column), &x) in free.iter().zip(&columns).zip(solved.iter()) {
                change[j] = x;
                dw.iter_mut().zip(column).for_each(|(dw, c)| *dw += x * c);
            }
        }
        for i in 0..n {
            if let Some((normal, share)) = self.follows(i) {
                change[i] = share * change[normal];
            }
        }
        Some((change, dw))
    }

    /// Drives one row.
    fn drive(&mut self, row: usize, most: u32) -> bool {
        loop {
            let mut w = self.lcp.w(&self.lambda);
            w.iter_mut().zip(&self.lambda).for_each(|(w, x)| *w += self.shift * x);
            let (lo, hi) = self.lcp.bounds(row, &self.lambda);
            let x = self.lambda[row];
            let done = if x <= lo && 0.0 <= w[row] {
                Some(Set::Low)
            } else if hi <= x && w[row] <= 0.0 {
                Some(Set::High)
            } else {
                (w[row] == 0.0).then_some(Set::Free)
            };
            if let Some(set) = done {
                self.sets[row] = set;
                return true;
            }
            if self.pivots == most {
                return false;
            }
            self.pivots += 1;
            let sign = -w[row].signum();
            let Some((change, dw)) = self.direction(row, sign) else { return false };
            let Some((step, event)) = self.first_event(row, &w, &change, &dw) else { return false };
            self.lambda.iter_mut().zip(&change).for_each(|(x, d)| *x += step * d);
            match event {
                Event::Done(set) => {
                    self.sets[row] = set;
                    self.snap(row);
                    return true;
                }
                Event::Change(other, set) => {
                    self.sets[other] = set;
                    self.snap(other);
                }
            }
        }
    }

    /// Puts a row that is at a bound exactly there.
    fn snap(&mut self, row: usize) {
        let (lo, hi) = self.lcp.bounds(row, &self.lambda);
        match self.sets[row] {
            Set::Low => self.lambda[row] = lo,
            Set::High => self.lambda[row] = hi,
            Set::Free | Set::Waiting => {}
        }
    }

    /// How far the driven row may go, and what happens there. None when nothing stops it.
    fn first_event(&self, row: usize, w: &[f64], change: &[f64], dw: &[f64]) -> Option<(f64, Event)> {
        let mut first: Option<(f64, Event)> = None;
        let mut offer = |step: f64, event: Event| {
            let step = step.max(0.0);
            if step.is_finite() && first.is_none_or(|(best, _)| step < best) {
                first = Some((step, event));
            }
        };
        if w[row] * dw[row] < 0.0 {
            offer(-w[row] / dw[row], Event::Done(Set::Free));
        }
        for i in 0..self.lcp.n {
            let driven = i == row;
            let event = |set| if driven { Event::Done(set) } else { Event::Change(i, set) };
            match self.sets[i] {
                // Bounds of friction move with the normal impulse.
                Set::Waiting | Set::Free if driven || self.sets[i] == Set::Free => {
                    let (lo, hi) = self.lcp.bounds(i, &self.lambda);
                    let opening = match self.lcp.rows[i].bounds {
                        Bounds::Friction { normal, mu } => mu * change[normal],
                        Bounds::Box(..) => 0.0,
                    };
                    let (up, down) = (change[i] - opening, -change[i] - opening);
                    if up > 0.0 {
                        offer((hi - self.lambda[i]) / up, event(Set::High));
                    }
                    if down > 0.0 {
                        offer((self.lambda[i] - lo) / down, event(Set::Low));
                    }
                }
                Set::Low if dw[i] < 0.0 => offer(-w[i] / dw[i], Event::Change(i, Set::Free)),
                Set::High if dw[i] > 0.0 => offer(-w[i] / dw[i], Event::Change(i, Set::Free)),
                _ => {}
            }
        }
        first
    }

    /// Impulses of these sets, those of redundant rows of least norm (Werling 2021, A.1). None where a matrix cannot be
    /// factored.
    pub(super) fn settled(&self) -> Option<Vec<f64>> {
        let n = self.lcp.n;
        let mut lambda: Vec<f64> = (0..n)
            .map(|i| match (self.lcp.rows[i].bounds, self.sets[i]) {
                (Bounds::Box(lo, _), Set::Low) => lo,
                (Bounds::Box(_, hi), Set::High) => hi,
                _ => 0.0,
            })
            .collect();
        let free: Vec<usize> = (0..n).filter(|&i| self.sets[i] == Set::Free).collect();
        if !free.is_empty() {
            let w = self.lcp.w(&lambda);
            let columns: Vec<Vec<f64>> = free.iter().map(|&j| self.column(j, 0.0)).collect();
            let matrix = DMatrix::from_fn(free.len(), free.len(), |i, j| columns[j][free[i]]);
            let right = DVector::from_fn(free.len(), |i, _| -w[free[i]]);
            let solved = pseudo_inverse(&matrix, RANK)? * right;
            free.iter().zip(solved.iter()).for_each(|(&i, &x)| lambda[i] = x);
        }
        for i in 0..n {
            if let Some((normal, share)) = self.follows(i) {
                lambda[i] = share * lambda[normal];
            }
        }
        lambda.iter().all(|x| x.is_finite()).then_some(lambda)
    }
}
