//! An island too large for dense matrices, or with bodies that deform: each constraint has its rows over the dofs that it
//! touches, subsystems have their own derivatives, and the system of the impulses is known by its products with vectors,
//! through their factors.

mod link;
mod products;

use nalgebra::Matrix3;

use crate::equations::{Equations, Rectangle};
use crate::input::StepInput;
use crate::island::Island;
use crate::krylov::Operator;
use crate::momentum::Momentum;
use crate::sparse::Deformable;
use crate::unknown::Unknown;
use link::Link;

/// An island whose linear system is solved by iterations.
pub(crate) struct Iterative<'a> {
    pub(crate) equations: Equations<'a>,
    /// dF of each tree by its own q, v and ctrl, with v+ and the impulses held.
    momenta: Vec<Momentum>,
    /// By constraint.
    links: Vec<Link>,
    /// Constraint of each unknown.
    owners: Vec<usize>,
    preconditioner: Vec<Block>,
    /// Whether every equation is along its own direction.
    symmetric: bool,
}

/// The inverse of a constraint's own block of the system.
struct Block {
    /// First of its unknowns.
    first: usize,
    /// How many.
    count: usize,
    inverse: Matrix3<f64>,
}

/// J by constraint, and each one's own block of `J A^-1 J^T`; of one row alone the first entry.
struct Links {
    links: Vec<Link>,
    own: Vec<Matrix3<f64>>,
}

impl Rectangle for Links {
    fn times(&self, v: &[f64]) -> Vec<f64> {
        self.links.iter().flat_map(|link| (0..link.height()).map(|r| link.times(&link.j, r, v))).collect()
    }

    fn own_trace(&self, constraint: usize, _: usize, _: usize) -> f64 {
        self.own[constraint].trace()
    }
}

impl<'a> Iterative<'a> {
    pub(crate) fn new(input: &StepInput<'a>, island: Island) -> Self {
        let (equations, Links { links, own }) = Equations::new(input, island, |members, deformables, joined, rows| {
            let links = link::links(members, rows);
            let owner: Vec<usize> =
                members.iter().enumerate().flat_map(|(m, member)| vec![m; member.forward.n_v()]).collect();
            Links { own: links.iter().map(|link| link.delassus(members, deformables, joined, &owner)).collect(), links }
        });
        let constraints = &equations.rows.constraints;
        let owner = |u: &Unknown| constraints.binary_search_by_key(&u.first(), |c| c.first).unwrap_or_default();
        let owners: Vec<usize> = equations.unknowns.iter().map(owner).collect();
        Self {
            momenta: equations.members.iter().map(Momentum::of_tree).collect(),
            symmetric: equations.unknowns.iter().all(|u| u.parts()[0] == u.parts()[1])
                && equations.deformables.iter().all(Deformable::is_definite),
            preconditioner: preconditioner(&equations.unknowns, &owners, &own),
            equations,
            links,
            owners,
        }
    }

    /// `f += J^T R x`, or `J^T L^T x`.
    fn add_push(&self, x: &[f64], transposed: bool, f: &mut [f64]) {
        for ((unknown, &owner), &x) in self.equations.unknowns.iter().zip(&self.owners).zip(x) {
            let link = &self.links[owner];
            let part = unknown.parts()[usize::from(!transposed)];
            part.iter().enumerate().filter(|p| *p.1 != 0.0).for_each(|(r, p)| link.add(&link.j, r, x * p, f));
        }
    }

    /// `y = L J v`, or `R^T J v`.
    fn pull(&self, v: &[f64], transposed: bool, y: &mut [f64]) {
        for ((unknown, &owner), y) in self.equations.unknowns.iter().zip(&self.owners).zip(y) {
            let link = &self.links[owner];
            let part = unknown.parts()[usize::from(transposed)];
            *y = part.iter().enumerate().filter(|p| *p.1 != 0.0).map(|(r, p)| p * link.times(&link.j, r, v)).sum();
        }
    }
}

/// The system of an island, or its transpose; of all unknowns or of some.
struct System<'s, 'a> {
    island: &'s Iterative<'a>,
    transposed: bool,
    /// Which unknowns count; empty: all.
    kept: &'s [bool],
}

impl System<'_, '_> {
    fn counts(&self, i: usize) -> bool {
        self.kept.get(i).copied().unwrap_or(true)
    }
}

impl Operator for System<'_, '_> {
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let equations = &self.island.equations;
        let mut f = vec![0.0; equations.n_v];
        self.island.add_push(x, self.transposed, &mut f);
        equations.solve_touched(&mut f);
        self.island.pull(&f, self.transposed, y);
        for (i, (y, x)) in y.iter_mut().zip(x).enumerate() {
            *y = if self.counts(i) { *y + equations.unknowns[i].diagonal * x } else { 0.0 };
        }
    }

    fn precondition(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        for Block { first, count, inverse } in &self.island.preconditioner {
            for r in 0..*count {
                for c in 0..*count {
                    let entry = if self.transposed { inverse[(c, r)] } else { inverse[(r, c)] };
                    y[first + r] += entry * x[first + c];
                }
            }
        }
        (0..y.len()).filter(|&i| !self.counts(i)).for_each(|i| y[i] = 0.0);
    }

    fn symmetric(&self) -> bool {
        self.island.symmetric
    }
}

/// The inverses of the blocks of the system that belong to one constraint each.
fn preconditioner(unknowns: &[Unknown], owners: &[usize], own: &[Matrix3<f64>]) -> Vec<Block> {
    let mut out = Vec::new();
    let mut first = 0;
    while first < unknowns.len() {
        let count = owners[first..].iter().take_while(|&&owner| owner == owners[first]).count().min(3);
        let w = &own[owners[first]];
        let mut block = Matrix3::identity();
        for r in 0..count {
            for c in 0..count {
                let [l, d] = [unknowns[first + r].parts()[0], unknowns[first + c].parts()[1]];
                let mut sum = if r == c { unknowns[first + r].diagonal } else { 0.0 };
                for (i, l) in l.iter().enumerate() {
                    for (j, d) in d.iter().enumerate() {
                        sum += l * w[(i, j)] * d;
                    }
                }
                block[(r, c)] = sum;
            }
        }
        // One that is singular is taken by its diagonal.
        let inverse =
            block.try_inverse().filter(|inverse| inverse.iter().all(|x| x.is_finite())).unwrap_or_else(|| {
                Matrix3::from_diagonal(&block.diagonal().map(|x| if x.abs() > 0.0 { 1.0 / x } else { 1.0 }))
            });
        out.push(Block { first, count, inverse });
        first += count;
    }
    out
}
