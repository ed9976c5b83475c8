//! The boxed linear complementarity problem of one island, contacts with friction pyramids.

use manyworlds_collide::organise::Island;

use crate::problem::{Constraint, ContactProblem, Law};

/// What a row's impulse may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bounds {
    /// From one number to another, N s.
    Box(f64, f64),
    /// As far as the normal impulse of row `normal` allows, either way.
    Friction {
        /// Row of the normal impulse.
        normal: usize,
        /// Coulomb friction coefficient.
        mu: f64,
    },
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) bounds: Bounds,
    /// Where it stands in the problem's impulses.
    at: usize,
}

/// `w = G lambda + q`, and for each row `lambda` within its bounds, `w` zero inside of them, not negative at the lower one,
/// not positive at the upper one.
#[derive(Debug, Clone)]
pub(super) struct Lcp {
    pub(super) n: usize,
    /// `[n, n]`, m/s by N s.
    pub(super) g: Vec<f64>,
    /// m/s
    q: Vec<f64>,
    pub(super) rows: Vec<Row>,
    contacts: usize,
}

impl Lcp {
    pub(super) fn new(problem: &ContactProblem, island: &Island) -> Self {
        let ids = problem.plan.constraints_of(island);
        let own: Vec<&Constraint> = ids.iter().map(|&i| &problem.constraints[i as usize]).collect();
        let mut rows = Vec::new();
        let mut q = Vec::new();
        let mut begins = Vec::with_capacity(own.len());
        for c in &own {
            let first = rows.len();
            begins.push(first);
            let sigma = problem.sigma(c, &problem.v_free);
            for r in 0..c.law.rows() {
                let (bounds, e) = row(c, r, first);
                rows.push(Row { bounds, at: c.row + r });
                q.push(sigma[r] + e);
            }
        }
        let n = rows.len();
        let mut lcp = Self { n, g: vec![0.0; n * n], q, rows, contacts: 0 };
        lcp.contacts = own.iter().filter(|c| matches!(c.law, Law::Contact { .. })).count();
        lcp.fill(problem, &own, &begins);
        lcp
    }

    /// `G = J A^-1 J^T`, and what soft rows add to its diagonal.
    fn fill(&mut self, problem: &ContactProblem, own: &[&Constraint], begins: &[usize]) {
        // Constraints meet in subsystems.
        let mut touching: Vec<Vec<(usize, usize)>> = vec![Vec::new(); problem.subsystems.len()];
        for (i, c) in own.iter().enumerate() {
            for side in c.sides.clone() {
                touching[problem.sides[side].subsystem].push((i, side));
            }
        }
        for (subsystem, list) in problem.subsystems.iter().zip(&touching) {
            let n = subsystem.count;
            for &(i, left) in list {
                for &(j, right) in list {
                    for r in 0..own[i].law.rows() {
                        let jacobian = &problem.jacobian[problem.sides[left].offset + r * n..][..n];
                        for s in 0..own[j].law.rows() {
                            let response = &problem.response[problem.sides[right].offset + s * n..][..n];
                            let product: f64 = jacobian.iter().zip(response).map(|(a, b)| a * b).sum();
                            self.g[(begins[i] + r) * self.n + begins[j] + s] += product;
                        }
                    }
                }
            }
        }
        for (c, &at) in own.iter().zip(begins) {
            if let Law::Soft { b, .. } = c.law
                && b > 0.0
            {
                self.g[at * self.n + at] += b.recip();
            }
        }
    }

    /// Lower and upper bound of a row at these impulses.
    pub(super) fn bounds(&self, row: usize, lambda: &[f64]) -> (f64, f64) {
        match self.rows[row].bounds {
            Bounds::Box(lo, hi) => (lo, hi),
            Bounds::Friction { normal, mu } => {
                let most = mu * lambda[normal].max(0.0);
                (-most, most)
            }
        }
    }

    /// `w` of all rows.
    pub(super) fn w(&self, lambda: &[f64]) -> Vec<f64> {
        let row = |(g, q): (&[f64], &f64)| q + g.iter().zip(lambda).map(|(g, x)| g * x).sum::<f64>();
        self.g.chunks_exact(self.n.max(1)).zip(&self.q).map(row).collect()
    }

    /// As number 1 of the certificate, with the pyramid in the cone's place, N s.
    pub(super) fn residual(&self, lambda: &[f64]) -> f64 {
        let w = self.w(lambda);
        let mut mapped: Vec<f64> = lambda.iter().zip(&w).map(|(x, w)| x - w).collect();
        self.clamp(&mut mapped);
        let square: f64 = lambda.iter().zip(&mapped).map(|(x, t)| (x - t).powi(2)).sum();
        square.sqrt() / self.contacts.max(1) as f64
    }

    /// One sweep of projected Gauss-Seidel.
    pub(super) fn sweep(&self, lambda: &mut [f64]) {
        for i in self.order() {
            let g = &self.g[i * self.n..(i + 1) * self.n];
            if g[i] > 0.0 {
                let w = self.q[i] + g.iter().zip(&*lambda).map(|(g, x)| g * x).sum::<f64>();
                let (lo, hi) = self.bounds(i, lambda);
                lambda[i] = (lambda[i] - w / g[i]).max(lo).min(hi);
            }
        }
    }

    /// The island's part of the problem's impulses, within their bounds.
    pub(super) fn read(&self, all: &[f64]) -> Vec<f64> {
        let mut lambda: Vec<f64> = self.rows.iter().map(|row| all[row.at]).collect();
        self.clamp(&mut lambda);
        lambda
    }

    /// Puts impulses within their bounds, normal ones first.
    pub(super) fn clamp(&self, lambda: &mut [f64]) {
        for i in self.order() {
            let (lo, hi) = self.bounds(i, lambda);
            lambda[i] = lambda[i].max(lo).min(hi);
        }
    }

    /// All rows, those whose bounds are numbers before those that a normal impulse bounds.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let is_friction = |i: &usize| matches!(self.rows[*i].bounds, Bounds::Friction { .. });
        let (later, first): (Vec<usize>, Vec<usize>) = (0..self.n).partition(is_friction);
        first.into_iter().chain(later)
    }

    /// Writes the island's impulses where the problem has them.
    pub(super) fn write(&self, lambda: &[f64], all: &mut [f64]) {
        self.rows.iter().zip(lambda).for_each(|(row, &x)| all[row.at] = x);
    }
}

/// Bounds and bias of row `r` of a constraint that begins at row `first`.
fn row(c: &Constraint, r: usize, first: usize) -> (Bounds, f64) {
    let open = f64::INFINITY;
    match c.law {
        Law::Contact { mu } if r < 2 => (Bounds::Friction { normal: first + 2, mu }, c.e[r]),
        Law::Contact { .. } | Law::Unilateral => (Bounds::Box(0.0, open), c.e[r]),
        Law::Block | Law::Bilateral => (Bounds::Box(-open, open), c.e[r]),
        Law::Box { lo, hi } => (Bounds::Box(lo, hi), c.e[r]),
        // `J v + (k / b) e + lambda / b = 0`; a spring without stiffness over the step carries what it carries.
        Law::Soft { k, b, lo, hi } if b > 0.0 => (Bounds::Box(lo, hi), k / b * c.e[0]),
        Law::Soft { k, lo, hi, .. } => {
            let carried = (-k * c.e[0]).max(lo).min(hi);
            (Bounds::Box(carried, carried), 0.0)
        }
    }
}
