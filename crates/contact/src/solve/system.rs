//! The contact problem of one island in velocities, for the solvers whose unknowns they are.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::UNBOUNDED;

use super::sparse::{BlockMatrix, dot};
use crate::problem::{Compliance, ContactProblem, Law};

/// Three rows of a constraint; those beyond its law's are zero.
pub(super) type Rows<T> = [T; 3];
/// A block of a constraint, row by row.
pub(super) type Block<T> = [[T; 3]; 3];

/// Effective masses below this are taken for those of constraints that move nothing.
const TINY: f64 = 1e-30;

/// A subsystem of the island.
pub(super) struct Body<T> {
    /// First entry in the problem's velocity.
    begin: usize,
    /// First entry in the island's.
    first: usize,
    /// Entries.
    n: usize,
    /// Its block of A, `[n, n]`.
    a: Vec<T>,
}

/// What a constraint sees of one subsystem.
pub(super) struct Side<T> {
    /// Which of the island's subsystems.
    body: usize,
    /// `[rows, n]`
    jacobian: Vec<T>,
    /// `Y^T = (A^-1 J^T)^T`, `[rows, n]`.
    response: Vec<T>,
}

/// A constraint in this arithmetic.
pub(super) struct Constraint<T> {
    /// What it demands.
    pub(super) law: Law,
    /// Bias, m/s.
    pub(super) e: Rows<T>,
    /// How it gives way.
    pub(super) compliance: Option<Compliance>,
    /// First entry in the problem's impulses.
    row: usize,
    sides: Vec<Side<T>>,
    /// Inverse mean of the diagonal of `G_ii`: its effective mass, kg; zero where it moves nothing.
    pub(super) mass: T,
    /// `G_ii`: 00 01 02 11 12 22; one row: the first.
    pub(super) delassus: [T; 6],
}

/// An island: `A v = b + J^T lambda`.
pub(super) struct System<T> {
    bodies: Vec<Body<T>>,
    /// `[n_v]`
    b: Vec<T>,
    pub(super) constraints: Vec<Constraint<T>>,
}

/// A number of the problem in this arithmetic; infinite bounds become large ones.
pub(super) fn cast<T: Scalar>(x: f64) -> T {
    T::from_f64(x.clamp(-UNBOUNDED, UNBOUNDED))
}

impl<T: Scalar> System<T> {
    pub(super) fn new(problem: &ContactProblem, island: &Island) -> Self {
        let plan = &problem.plan;
        let list = |x: &[f64]| x.iter().map(|&x| cast(x)).collect::<Vec<T>>();
        let members = plan.members_of(island);
        let mut b = Vec::new();
        let bodies = members.iter().map(|&s| {
            let s = &problem.subsystems[s as usize];
            let first = b.len();
            b.extend(list(&problem.b[s.begin..s.begin + s.count]));
            Body { begin: s.begin, first, n: s.count, a: list(&problem.a[s.block..s.block + s.count * s.count]) }
        });
        let bodies = bodies.collect();
        let ids = plan.constraints_of(island);
        let constraints = ids.iter().map(|&i| {
            let c = &problem.constraints[i as usize];
            let sides = problem.sides[c.sides.clone()].iter().map(|s| {
                // Members are ascending.
                let body = members.partition_point(|&m| (m as usize) < s.subsystem);
                let own = s.offset..s.offset + c.law.rows() * problem.subsystems[s.subsystem].count;
                Side { body, jacobian: list(&problem.jacobian[own.clone()]), response: list(&problem.response[own]) }
            });
            let g = &c.delassus;
            let mean = if c.law.rows() == 3 { (g[0] + g[3] + g[5]) / 3.0 } else { g[0] };
            let mass = if mean > TINY { 1.0 / mean } else { 0.0 };
            let (e, delassus) = (c.e.map(cast), c.delassus.map(cast));
            let sides = sides.collect();
            Constraint { law: c.law, e, compliance: c.compliance, row: c.row, sides, mass: cast(mass), delassus }
        });
        let constraints = constraints.collect();
        Self { bodies, b, constraints }
    }

    /// The island's part of a velocity of the problem.
    pub(super) fn velocity_of(&self, v: &[f64]) -> Vec<T> {
        self.bodies.iter().flat_map(|s| &v[s.begin..s.begin + s.n]).map(|&x| cast(x)).collect()
    }

    /// Writes the island's velocity where the problem has it.
    pub(super) fn write_velocity(&self, own: &[T], v: &mut [f64]) {
        for s in &self.bodies {
            let own = &own[s.first..s.first + s.n];
            v[s.begin..s.begin + s.n].iter_mut().zip(own).for_each(|(v, x)| *v = x.to_f64());
        }
    }

    /// The island's part of the impulses of the problem, by constraint.
    pub(super) fn impulses_of(&self, lambda: &[f64]) -> Vec<Rows<T>> {
        let own = |c: &Constraint<T>| {
            std::array::from_fn(|r| if r < c.law.rows() { cast(lambda[c.row + r]) } else { T::lit(0.0) })
        };
        self.constraints.iter().map(own).collect()
    }

    /// Writes the island's impulses where the problem has them.
    pub(super) fn write_impulses(&self, own: &[Rows<T>], lambda: &mut [f64]) {
        for (c, own) in self.constraints.iter().zip(own) {
            (0..c.law.rows()).for_each(|r| lambda[c.row + r] = own[r].to_f64());
        }
    }

    /// `J_i v` of one constraint, m/s.
    pub(super) fn relative_of(&self, c: &Constraint<T>, v: &[T]) -> Rows<T> {
        let mut out = [T::lit(0.0); 3];
        for side in &c.sides {
            let s = &self.bodies[side.body];
            for (out, row) in out.iter_mut().zip(side.jacobian.chunks_exact(s.n)) {
                *out += dot(row, &v[s.first..s.first + s.n]);
            }
        }
        out
    }

    /// `J v` by constraint, m/s.
    pub(super) fn relative(&self, v: &[T]) -> Vec<Rows<T>> {
        self.constraints.iter().map(|c| self.relative_of(c, v)).collect()
    }

    /// `v += A^-1 J_i^T lambda_i` of one constraint.
    pub(super) fn push(&self, c: &Constraint<T>, lambda: &Rows<T>, v: &mut [T]) {
        for side in &c.sides {
            let s = &self.bodies[side.body];
            for (&x, row) in lambda.iter().zip(side.response.chunks_exact(s.n)) {
                v[s.first..s.first + s.n].iter_mut().zip(row).for_each(|(v, &y)| *v = y.mul_add(x, *v));
            }
        }
    }

    /// `A v`.
    pub(super) fn momentum(&self, v: &[T]) -> Vec<T> {
        let rows = |s: &Body<T>| {
            let own = &v[s.first..s.first + s.n];
            s.a.chunks_exact(s.n).map(|row| dot(row, own)).collect::<Vec<T>>()
        };
        self.bodies.iter().flat_map(rows).collect()
    }

    /// `out += J^T lambda`.
    pub(super) fn add_impulse(&self, lambda: &[Rows<T>], out: &mut [T]) {
        for (c, lambda) in self.constraints.iter().zip(lambda) {
            for side in &c.sides {
                let s = &self.bodies[side.body];
                for (&x, row) in lambda.iter().zip(side.jacobian.chunks_exact(s.n)) {
                    out[s.first..s.first + s.n].iter_mut().zip(row).for_each(|(out, &j)| *out = j.mul_add(x, *out));
                }
            }
        }
    }

    /// `A v - b - J^T lambda`.
    pub(super) fn gradient(&self, v: &[T], lambda: &[Rows<T>]) -> Vec<T> {
        let mut pushed = self.b.clone();
        self.add_impulse(lambda, &mut pushed);
        self.momentum(v).into_iter().zip(pushed).map(|(p, j)| p - j).collect()
    }

    /// Square of a momentum in the norm of `diag(A)^-1`, J.
    pub(super) fn energy(&self, p: &[T]) -> T {
        let one = |s: &Body<T>| {
            let own = p[s.first..s.first + s.n].iter().enumerate();
            own.fold(T::lit(0.0), |sum, (i, &p)| sum + p * p / s.a[i * (s.n + 1)])
        };
        self.bodies.iter().map(one).fold(T::lit(0.0), |sum, x| sum + x)
    }

    /// A matrix with the pattern of `A + J^T W J`.
    pub(super) fn matrix(&self, symmetric: bool) -> BlockMatrix<T> {
        let sizes: Vec<usize> = self.bodies.iter().map(|s| s.n).collect();
        let mut pairs = Vec::new();
        for c in &self.constraints {
            for (i, a) in c.sides.iter().enumerate() {
                pairs.extend(c.sides[i + 1..].iter().map(|b| (a.body, b.body)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        BlockMatrix::new(&sizes, &pairs, symmetric)
    }

    /// `A + J^T W J`, W one block a constraint.
    pub(super) fn assemble(&self, w: &[Block<T>], matrix: &mut BlockMatrix<T>) {
        matrix.clear();
        for (i, s) in self.bodies.iter().enumerate() {
            matrix.diagonal_mut(i).copy_from_slice(&s.a);
        }
        for (c, w) in self.constraints.iter().zip(w) {
            if w.iter().flatten().all(|&x| x == T::lit(0.0)) {
                continue;
            }
            for a in &c.sides {
                for b in &c.sides {
                    matrix.add((a.body, &a.jacobian), w, (b.body, &b.jacobian));
                }
            }
        }
    }
}
