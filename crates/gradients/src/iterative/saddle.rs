//! All equations of an island at once, by one sparse factor.
//!
//! `A dv + J^T R x = f` and `L J dv - D x = -g` (see [`crate::equations`]; the transposed system has L and R exchanged). With a
//! small weight W that x must not leave where it was, `(D + W) x = L J dv + g + W x_before`, what is left for dv is
//! `H = A + J^T R (D + W)^-1 L J`: as sparse as A where a constraint touches nodes of one element, and positive definite also
//! where A alone is not. Rounds of this take W off again: each leaves W beside an eigenvalue of `L J A^-1 J^T R + D` of what there was,
//! and of redundant constraints the share that others carry. Where a contact slides R is not L; that part of H is of rank one a contact
//! and is put on top of the symmetric rest (M. Woodbury 1950).
//!
//! The last factor of the step itself is nearly that of H, with a larger W and A at a velocity nearby: rounds with that take more of
//! each other to come as close, and need no matrix. What they leave is measured by the exact equations.
//!
//! A round need not come closer by itself: where what a contact pushes hangs on small differences, as of transposed equations of one
//! that slides, rounding makes it overshoot along a few directions. So rounds are taken together such that the least is left over.

use std::borrow::Cow;
use std::cell::Cell;

use manyworlds_sparse::{Factor, FactorWork, SparseMatrix};
use nalgebra::{DMatrix, DVector, Dyn, LU, Matrix3};

use super::Iterative;
use super::link::Link;
use super::products::Answer;
use crate::equations::{Equations, carried};
use crate::grid::{Grid, axpy, dot, dot_by};
use crate::input::WholeInput;
use crate::krylov::Solved;
use crate::member::Member;
use crate::sparse::Deformable;

/// W, relative to what a constraint's impulse does to its own velocity.
const WEIGHT: f64 = 1e-9;
/// Rounds at most.
const ROUNDS: usize = 12;
/// What a round by the step's factor leaves of what there was, at most: where it leaves more a factor of the equations' own is
/// better.
const SLOW: f64 = 0.1;
/// Volume that three columns of a block span, beside the product of their lengths, below which it is none.
const SINGULAR: f64 = 1e-3;
/// What the next round is expected to change, relative to all of dv, below which there is none.
const ENOUGH: f64 = 1e-13;
/// What a round changes beside what earlier ones did, relative to all that it changes, below which it says nothing new.
const NEW: f64 = 1e-8;
/// A round that comes no closer than this, and moves no more than that share of dv, is the last: what is left has no solution.
const STUCK: f64 = 0.99;
const STILL: f64 = 1e-9;
/// Left-overs, relative, at most, of what is solved.
const FAIR: f64 = 1e-9;

thread_local! {
    /// A thread factors one matrix after the other in the same memory.
    static WORK: Cell<FactorWork> = Cell::default();
}

/// What the equations of an island are, but for A of the bodies that deform.
#[derive(Clone, Copy)]
pub(super) struct Parts<'s, 'a> {
    pub(super) input: &'s WholeInput<'a>,
    /// Of each dof of the island its place in factors.
    pub(super) places: &'s [u32],
    /// About what an impulse of each constraint does to its own velocity.
    pub(super) own: &'s [Matrix3<f64>],
    pub(super) equations: &'s Equations<'a>,
    pub(super) links: &'s [Link],
    /// Constraint of each unknown.
    pub(super) owners: &'s [usize],
}

/// See the module.
pub(super) struct Saddle<'a> {
    /// Of the symmetric part of H, and of dofs of no concern.
    factor: Cow<'a, Factor>,
    /// W, by unknown.
    weights: Vec<f64>,
    /// One over what a constraint's impulse does to its own velocity, by unknown.
    masses: Vec<f64>,
    sliding: Option<Sliding>,
    /// Its equations are known to have a solution whatever is given, if they had one that was asked for.
    pub(super) regular: bool,
}

/// The part of H that is not symmetric, `T C N`, by the unknowns that have one: T has the columns `J^T (r - l)`, N the rows `l J`, C is
/// `(D + W)^-1`.
struct Sliding {
    unknowns: Vec<usize>,
    /// T solved by the symmetric part.
    answers: Vec<Vec<f64>>,
    /// `C^-1 + N answers`
    small: LU<f64, Dyn, Dyn>,
    /// The same transposed.
    small_transposed: LU<f64, Dyn, Dyn>,
}

/// Two vectors: by dof and by unknown.
type Pair = [Vec<f64>; 2];

/// A right-hand side, and how far it is solved.
struct Column {
    /// dv and x.
    found: Pair,
    /// What is left of the two equations.
    left: Pair,
    /// Size of that.
    size: f64,
    /// What each round changed, and how much of the equations' left sides that was, of size 1 and orthogonal to each other.
    rounds: Vec<[Pair; 2]>,
    /// What left-overs of the two count beside: f and what x pushes, and what these do to constraints, about.
    scales: [f64; 2],
    solved: Solved,
    settled: bool,
}

impl Column {
    fn new(island: &Iterative, transposed: bool, [f, g]: Pair) -> Self {
        let mut pulled = vec![0.0; g.len()];
        island.pull(&island.roughly_moved(&f), transposed, &mut pulled);
        Self {
            found: [vec![0.0; f.len()], vec![0.0; g.len()]],
            scales: [largest(&f), largest(&g).max(largest(&pulled))],
            left: [f, g.iter().map(|g| -g).collect()],
            size: f64::INFINITY,
            rounds: Vec::new(),
            solved: Solved { iterations: 0, residual: f64::INFINITY },
            settled: false,
        }
    }
}

impl Parts<'_, '_> {
    /// W, by unknown, where it has a size relative to what a constraint's impulse does to its own velocity.
    fn weights(&self, size: f64) -> Vec<f64> {
        let weight = |&owner: &usize| {
            let own = self.own[owner].trace() / self.links[owner].height() as f64;
            size * if own > 0.0 { own } else { 1.0 }
        };
        self.owners.iter().map(weight).collect()
    }
}

impl<'a> Saddle<'a> {
    /// By the factor that the step left. `None`: it left none.
    pub(super) fn near(parts: Parts<'_, 'a>) -> Option<Self> {
        let near = parts.input.near?;
        Some(Self::new(parts, Cow::Borrowed(near.factor), near.weight))
    }

    /// By a factor of its own; `trees`: A of each tree with what it carries. `None`: a constraint is between nodes that no element joins,
    /// or H has no factor.
    pub(super) fn exact(parts: Parts<'_, 'a>, trees: &[Grid]) -> Option<Self> {
        let Parts { input, places, equations, links, owners, .. } = parts;
        let weights = parts.weights(WEIGHT);
        let place = |tree: usize| equations.island.member_of(tree);
        let Equations { members, deformables, .. } = equations;
        let mut h = momentum_matrix(input, places, Moving { members, deformables, trees, place: &place });
        let mut blocks = vec![Matrix3::zeros(); links.len()];
        for ((unknown, &owner), weight) in equations.unknowns.iter().zip(owners).zip(&weights) {
            let [l, r] = unknown.parts();
            let r = if unknown.is_symmetric() { r } else { l };
            let share = 1.0 / (unknown.diagonal + weight);
            for (i, r) in r.iter().enumerate() {
                l.iter().enumerate().for_each(|(j, l)| blocks[owner][(i, j)] += share * r * l);
            }
        }
        for (link, block) in links.iter().zip(&blocks) {
            add_constraint(link, block, places, input.pattern, h.values_mut())?;
        }
        Some(Self::new(parts, Cow::Owned(factored(input, &h)?), WEIGHT))
    }

    fn new(parts: Parts, factor: Cow<'a, Factor>, size: f64) -> Self {
        let Parts { equations, links, owners, .. } = parts;
        let weights = parts.weights(size);
        let masses = weights.iter().map(|weight| size / weight).collect();
        let sliding: Vec<usize> =
            (0..owners.len()).filter(|&index| !equations.unknowns[index].is_symmetric()).collect();
        // H is positive definite, so A is along what constraints leave free; without redundant rows and sliding that is enough.
        let regular = sliding.is_empty() && are_independent(links, owners, equations.n_v);
        let mut out = Self { factor, weights, masses, sliding: None, regular };
        if !sliding.is_empty() {
            out.sliding = Some(out.sliding(sliding, parts));
        }
        out
    }

    fn sliding(&self, of: Vec<usize>, parts: Parts) -> Sliding {
        let Parts { places, equations, links, owners, .. } = parts;
        let column = |&index: &usize| {
            let (link, [l, r]) = (&links[owners[index]], equations.unknowns[index].parts());
            let mut x = vec![0.0; equations.n_v];
            l.iter().zip(r).enumerate().for_each(|(k, (l, r))| link.add(&link.j, k, r - l, &mut x));
            x
        };
        let mut answers: Vec<Vec<f64>> = of.iter().map(column).collect();
        self.solve_symmetric(places, &mut answers);
        let small = DMatrix::from_fn(of.len(), of.len(), |i, j| {
            let (index, link) = (of[i], &links[owners[of[i]]]);
            let own = if i == j { equations.unknowns[index].diagonal + self.weights[index] } else { 0.0 };
            let l = equations.unknowns[index].parts()[0];
            own + l.iter().enumerate().map(|(k, l)| l * link.times(&link.j, k, &answers[j])).sum::<f64>()
        });
        Sliding { unknowns: of, answers, small_transposed: small.transpose().lu(), small: small.lu() }
    }

    /// Solves for dv and x, of several f and g at once; gives these and what is left.
    pub(super) fn solve(&self, island: &Iterative, transposed: bool, columns: Vec<Pair>) -> Vec<Answer> {
        let mut all: Vec<Column> = columns.into_iter().map(|column| Column::new(island, transposed, column)).collect();
        let mut open: Vec<&mut Column> = all.iter_mut().collect();
        for _ in 0..ROUNDS {
            let pushes: Vec<Vec<f64>> = open.iter().map(|column| self.shares(island, &column.left[1])).collect();
            let mut moved: Vec<Vec<f64>> = open.iter().map(|column| column.left[0].clone()).collect();
            for (pushes, dv) in pushes.iter().zip(&mut moved) {
                island.add_push(pushes, transposed, dv);
            }
            self.solve_whole(island, transposed, &mut moved);
            let mut steps = pushes.into_iter().zip(moved);
            open.retain_mut(|column| steps.next().is_some_and(|step| self.take(island, transposed, step, column)));
            if open.is_empty() {
                break;
            }
        }
        let answer = |Column { found: [v, x], solved, settled, .. }: Column| {
            let settled = settled || self.is_own() && solved.residual <= FAIR;
            Answer { v, x, solved, settled }
        };
        all.into_iter().map(answer).collect()
    }

    /// Whether the factor is the equations' own.
    fn is_own(&self) -> bool {
        matches!(self.factor, Cow::Owned(_))
    }

    /// `(D + W)^-1 y`
    fn shares(&self, island: &Iterative, y: &[f64]) -> Vec<f64> {
        let diagonals = island.equations.unknowns.iter().zip(&self.weights);
        y.iter().zip(diagonals).map(|(y, (unknown, w))| y / (unknown.diagonal + w)).collect()
    }

    /// How far two pairs of momenta and of constraints' velocities are along each other, by what these take of energy, about.
    fn along(&self, island: &Iterative, [f, g]: &Pair, [other_f, other_g]: &Pair) -> f64 {
        island.along(f, other_f) + dot_by(&self.masses, g, other_g)
    }

    /// Ends a round of a column, whose change of v and what of x was known before are given; whether there is to be another.
    ///
    /// The round's change is taken with those of all rounds before such that the least is left over (S. Eisenstat, H. Elman and
    /// M. Schultz 1983, generalised conjugate residuals).
    fn take(
        &self,
        island: &Iterative,
        transposed: bool,
        (pushes, dv): (Vec<f64>, Vec<f64>),
        column: &mut Column,
    ) -> bool {
        let Column { found, left, size, rounds, scales, solved, settled } = column;
        let mut pulled = vec![0.0; left[1].len()];
        island.pull(&dv, transposed, &mut pulled);
        let mut dx = self.shares(island, &pulled);
        dx.iter_mut().zip(&pushes).for_each(|(dx, known)| *dx -= known);
        let mut pushed = vec![0.0; left[0].len()];
        island.add_push(&dx, transposed, &mut pushed);
        if rounds.is_empty() {
            *size = self.along(island, left, left).sqrt();
            scales[0] = scales[0].max(largest(&pushed));
            let mut own = vec![0.0; left[1].len()];
            island.pull(&island.roughly_moved(&pushed), transposed, &mut own);
            scales[1] = scales[1].max(largest(&own));
        }
        island.add_momentum(&dv, &mut pushed);
        for ((pulled, dx), unknown) in pulled.iter_mut().zip(&dx).zip(&island.equations.unknowns) {
            *pulled -= unknown.diagonal * dx;
        }

        let (mut change, mut taken) = ([dv, dx], [pushed, pulled]);
        let raw = self.along(island, &taken, &taken).sqrt();
        for [other, of_other] in &*rounds {
            let share = -self.along(island, &taken, of_other);
            add(share, other, &mut change);
            add(share, of_other, &mut taken);
        }
        let whole = self.along(island, &taken, &taken).sqrt();
        // Of what is as good as known only rounding is left, and a change that has nothing to do with it.
        if !(whole > NEW * raw && whole.is_finite()) {
            if *size == 0.0 {
                solved.residual = 0.0;
            }
            *settled = solved.residual <= FAIR;
            return false;
        }
        change.iter_mut().chain(&mut taken).flatten().for_each(|x| *x *= whole.recip());
        let share = self.along(island, left, &taken);
        add(share, &change, found);
        add(-share, &taken, left);
        let moved = share.abs() * island.size(&change[0]);
        rounds.push([change, taken]);
        solved.iterations += 1;
        let before = std::mem::replace(size, self.along(island, left, left).sqrt());
        let relative = |left: f64, scale: f64| if left == 0.0 { 0.0 } else { left / scale };
        solved.residual = relative(largest(&left[0]), scales[0]).max(relative(largest(&left[1]), scales[1]));
        // The next round changes as much less as this one left.
        let next = moved * (*size / before);
        let (is_fair, all) = (solved.residual <= FAIR, island.size(&found[0]));
        let is_last = next <= ENOUGH * all || *size > STUCK * before && moved <= STILL * all;
        *settled = is_fair && is_last || *size == 0.0;
        !*settled && (*size < SLOW * before || self.is_own() || is_fair)
    }

    /// `H x = x`, or `H^T x = x`, of several x.
    fn solve_whole(&self, island: &Iterative, transposed: bool, columns: &mut [Vec<f64>]) {
        let Some(Sliding { unknowns, answers, small, small_transposed }) = &self.sliding else {
            self.solve_symmetric(island.places(), columns);
            return;
        };
        let parts = |index: usize| (&island.links[island.owners[index]], island.equations.unknowns[index].parts()[0]);
        // A matrix without inverse gives numbers that are not finite, which whoever asked notices.
        let solve = |small: &LU<f64, Dyn, Dyn>, mut shares: DVector<f64>| {
            if !small.solve_mut(&mut shares) {
                shares.fill(f64::NAN);
            }
            shares
        };
        if transposed {
            for x in &mut *columns {
                let shares = DVector::from_fn(answers.len(), |i, _| dot(&answers[i], x));
                for (index, share) in unknowns.iter().zip(&solve(small_transposed, shares)) {
                    let (link, l) = parts(*index);
                    l.iter().enumerate().for_each(|(k, l)| link.add(&link.j, k, -share * l, x));
                }
            }
            self.solve_symmetric(island.places(), columns);
        } else {
            self.solve_symmetric(island.places(), columns);
            for x in columns {
                let shares = DVector::from_fn(answers.len(), |i, _| {
                    let (link, l) = parts(unknowns[i]);
                    l.iter().enumerate().map(|(k, l)| l * link.times(&link.j, k, x)).sum()
                });
                answers.iter().zip(&solve(small, shares)).for_each(|(answer, share)| axpy(-share, answer, x));
            }
        }
    }

    /// The same by the symmetric part.
    fn solve_symmetric(&self, places: &[u32], columns: &mut [Vec<f64>]) {
        solve_placed(&self.factor, places, &mut columns.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    }
}

/// What moves of an island.
#[derive(Clone, Copy)]
pub(super) struct Moving<'s, 'a> {
    pub(super) members: &'s [Member<'a>],
    pub(super) deformables: &'s [Deformable<'a>],
    /// A of each tree with what it carries.
    pub(super) trees: &'s [Grid],
    /// Where a tree of the world stands among the members.
    pub(super) place: &'s dyn Fn(usize) -> usize,
}

/// `A x = x` of an island, by a factor of A; `false` where it has none.
pub(super) fn solve_momenta(input: &WholeInput, places: &[u32], moving: Moving, x: &mut [f64]) -> bool {
    let Some(factor) = factored(input, &momentum_matrix(input, places, moving)) else { return false };
    solve_placed(&factor, places, &mut [x]);
    true
}

/// The factor of a matrix of the pattern of everything.
fn factored(input: &WholeInput, matrix: &SparseMatrix) -> Option<Factor> {
    let mut factor = Factor::empty(input.symbolic.clone());
    let mut work = WORK.take();
    let is_factored = factor.refactor(matrix, &mut work).is_ok();
    WORK.set(work);
    is_factored.then_some(factor)
}

/// `H x = x` of several x by dof of an island, with a factor of everything.
fn solve_placed(factor: &Factor, places: &[u32], columns: &mut [&mut [f64]]) {
    let placed = |x: &&mut [f64]| {
        let mut all = vec![0.0; factor.n()];
        places.iter().zip(x.iter()).for_each(|(&place, x)| all[place as usize] = *x);
        all
    };
    let mut all: Vec<Vec<f64>> = columns.iter().map(placed).collect();
    factor.solve_columns(&mut all.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    for (x, all) in columns.iter_mut().zip(&all) {
        places.iter().zip(x.iter_mut()).for_each(|(&place, x)| *x = all[place as usize]);
    }
}

/// A of an island among all that moves; the identity for what is not of the island.
fn momentum_matrix(input: &WholeInput, places: &[u32], moving: Moving) -> SparseMatrix {
    let Moving { members, deformables, trees, place } = moving;
    let mut out = input.pattern.clone();
    let mut is_own = vec![false; out.n()];
    places.iter().for_each(|&place| is_own[place as usize] = true);
    (0..out.n()).filter(|&place| !is_own[place]).for_each(|place| out.add_diagonal(place, 1.0));
    let first = |dofs: &std::ops::Range<usize>| places.get(dofs.start).map_or(0, |&place| place as usize);
    for (member, a) in members.iter().zip(trees) {
        let (begin, n) = (first(&member.dofs()), a.height());
        for i in 0..n {
            let to = out.row_begin(begin + i) + begin;
            out.values_mut()[to..to + n].copy_from_slice(&a.row(i)[..n]);
        }
    }
    for body in deformables {
        let (begin, matrix) = (first(&body.dofs()), body.input.matrix.matrix());
        for i in 0..body.n_v() {
            let own = matrix.row(i).1;
            let to = out.row_begin(begin + i) + input.n_first;
            out.values_mut()[to..to + own.len()].copy_from_slice(own);
        }
    }
    for (tree, own, carrier) in carried(members, deformables, place) {
        let (begin, body) = (first(&tree), first(&own));
        for (i, coupling) in carrier.coupling.chunks_exact(tree.len()).enumerate() {
            let to = out.row_begin(body + i) + begin;
            out.values_mut()[to..to + coupling.len()].copy_from_slice(coupling);
            for (j, x) in coupling.iter().enumerate() {
                let across = out.row_begin(begin + j) + body + i;
                out.values_mut()[across] = *x;
            }
        }
    }
    out
}

/// Adds `J^T block J` of a constraint to the values of a matrix; `None` where its pattern has no place for an entry.
fn add_constraint(
    link: &Link,
    block: &Matrix3<f64>,
    places: &[u32],
    pattern: &SparseMatrix,
    values: &mut [f64],
) -> Option<()> {
    let (height, n) = (link.height(), link.dofs.len());
    let mut weighted = Grid::zeros(height, n);
    for r in 0..height {
        (0..height).for_each(|s| axpy(block[(r, s)], link.j.row(s), weighted.row_mut(r)));
    }
    for (a, &dof) in link.dofs.iter().enumerate() {
        if (0..height).all(|r| link.j[(r, a)] == 0.0) {
            continue;
        }
        let row = places[dof] as usize;
        let (columns, begin) = (pattern.row(row).0, pattern.row_begin(row));
        // Most entries stand right behind the one before.
        let mut next = 0;
        for (b, &dof) in link.dofs.iter().enumerate() {
            let x: f64 = (0..height).map(|r| link.j[(r, a)] * weighted[(r, b)]).sum();
            if x == 0.0 {
                continue;
            }
            let column = places[dof];
            if columns.get(next) != Some(&column) {
                next = columns.binary_search(&column).ok()?;
            }
            values[begin + next] += x;
            next += 1;
        }
    }
    Some(())
}

/// Whether rows of the constraints that have unknowns are seen to be independent: each has dofs that no other touches, as many as rows.
fn are_independent(links: &[Link], owners: &[usize], n: usize) -> bool {
    let mut acting = owners.to_vec();
    acting.dedup();
    let mut touching = vec![0; n];
    let of = |&owner: &usize| &links[owner];
    acting.iter().map(of).for_each(|link| link.dofs.iter().for_each(|&dof| touching[dof] += 1));
    acting.iter().map(of).all(|link| {
        let own: Vec<usize> = (0..link.dofs.len()).filter(|&a| touching[link.dofs[a]] == 1).collect();
        let height = link.height();
        // Dofs of one node follow each other.
        own.windows(height).any(|own| {
            let block = Matrix3::from_fn(|r, c| {
                if r < height && c < height { link.j[(r, own[c])] } else { f64::from(u8::from(r == c)) }
            });
            block.determinant().abs() > SINGULAR * (0..3).map(|c| block.column(c).norm()).product::<f64>()
        })
    })
}

/// `y += a x`
fn add(a: f64, x: &Pair, y: &mut Pair) {
    x.iter().zip(y).for_each(|(x, y)| axpy(a, x, y));
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most: f64, x| if x.abs() <= most { most } else { x.abs() })
}
