//! All equations of an island at once, by one sparse factor.
//!
//! `A dv + J^T R x = f` and `L J dv - D x = -g` (see [`crate::equations`]; the transposed system has L and R exchanged). With a
//! small weight W that x must not leave where it was, `(D + W) x = L J dv + g + W x_before`, what is left for dv is
//! `H = A + J^T R (D + W)^-1 L J`: as sparse as A where a constraint touches nodes of one element, and positive definite also
//! where A alone is not. Rounds of this take W off again: each leaves W beside an eigenvalue of `L J A^-1 J^T R + D` of what there was,
//! and of redundant constraints the share that others carry. Where a contact slides R is not L; that part of H is of rank one a contact
//! and is put on top of the symmetric rest (M. Woodbury 1950).

use std::cell::Cell;

use manyworlds_sparse::{Factor, FactorWork, SparseMatrix};
use nalgebra::{DMatrix, DVector, Dyn, LU, Matrix3};

use super::Iterative;
use super::link::Link;
use super::products::Answer;
use crate::equations::Equations;
use crate::grid::{Grid, axpy, dot};
use crate::input::WholeInput;
use crate::krylov::Solved;

/// W, relative to what a constraint's impulse does to its own velocity.
const WEIGHT: f64 = 1e-9;
/// Rounds at most.
const ROUNDS: usize = 8;
/// Volume that three columns of a block span, beside the product of their lengths, below which it is none.
const SINGULAR: f64 = 1e-3;
/// Of left-overs below this, relative, one more round makes rounding.
const ENOUGH: f64 = 1e-9;

thread_local! {
    /// A thread factors one matrix after the other in the same memory.
    static WORK: Cell<FactorWork> = Cell::default();
}

/// See the module.
pub(super) struct Saddle {
    /// Of each dof of the island its place in the factor.
    places: Vec<u32>,
    /// Of the symmetric part of H, and of dofs of no concern.
    factor: Factor,
    /// A of each tree, with what it carries.
    trees: Vec<Grid>,
    /// W, by unknown.
    weights: Vec<f64>,
    sliding: Option<Sliding>,
    /// Its equations are known to have a solution whatever is given.
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

/// A right-hand side, and how far it is solved.
struct Column {
    f: Vec<f64>,
    g: Vec<f64>,
    v: Vec<f64>,
    x: Vec<f64>,
    /// What is left of the two equations.
    left_f: Vec<f64>,
    left_g: Vec<f64>,
    /// What f and g do to constraints, about: what is left of x' equations counts beside this and what x does.
    given: f64,
    solved: Solved,
}

impl Column {
    fn new(island: &Iterative, transposed: bool, [f, g]: [Vec<f64>; 2]) -> Self {
        let mut pulled = vec![0.0; g.len()];
        island.pull(&island.roughly_moved(&f), transposed, &mut pulled);
        Self {
            v: vec![0.0; f.len()],
            x: vec![0.0; g.len()],
            left_f: f.clone(),
            left_g: g.iter().map(|g| -g).collect(),
            given: largest(&g).max(largest(&pulled)),
            solved: Solved { iterations: 0, residual: f64::INFINITY },
            f,
            g,
        }
    }
}

impl Saddle {
    /// `dofs`: those of the island in the world; `trees`: A of each tree with what it carries; `own`: about what an impulse of each
    /// constraint does to its own velocity. `None`: a constraint is between nodes that no element joins, or H has no factor.
    pub(super) fn new(
        input: &WholeInput,
        dofs: &[usize],
        trees: Vec<Grid>,
        own: &[Matrix3<f64>],
        (equations, links, owners): (&Equations, &[Link], &[usize]),
    ) -> Option<Self> {
        let places: Vec<u32> = dofs.iter().map(|&dof| input.place[dof]).collect();
        let weight = |&owner: &usize| {
            let own = own[owner].trace() / links[owner].height() as f64;
            WEIGHT * if own > 0.0 { own } else { 1.0 }
        };
        let weights: Vec<f64> = owners.iter().map(weight).collect();
        let mut h = momentum_matrix(input, &places, &trees, equations);
        let mut blocks = vec![Matrix3::zeros(); links.len()];
        let mut sliding = Vec::new();
        for (index, (unknown, &owner)) in equations.unknowns.iter().zip(owners).enumerate() {
            let [l, r] = unknown.parts();
            let share = 1.0 / (unknown.diagonal + weights[index]);
            let symmetric = unknown.is_symmetric();
            if !symmetric {
                sliding.push(index);
            }
            let r = if symmetric { r } else { l };
            for (i, r) in r.iter().enumerate() {
                l.iter().enumerate().for_each(|(j, l)| blocks[owner][(i, j)] += share * r * l);
            }
        }
        for (link, block) in links.iter().zip(&blocks) {
            add_constraint(link, block, &places, input.pattern, h.values_mut())?;
        }
        let mut factor = Factor::empty(input.symbolic.clone());
        let mut work = WORK.take();
        let factored = factor.refactor(&h, &mut work);
        WORK.set(work);
        factored.ok()?;
        // H is positive definite, so A is along what constraints leave free; without redundant rows and sliding that is enough.
        let regular = sliding.is_empty() && are_independent(links, owners, equations.n_v);
        let mut out = Self { places, factor, trees, weights, sliding: None, regular };
        if !sliding.is_empty() {
            out.sliding = Some(out.sliding(sliding, (equations, links, owners)));
        }
        Some(out)
    }

    fn sliding(&self, of: Vec<usize>, (equations, links, owners): (&Equations, &[Link], &[usize])) -> Sliding {
        let column = |&index: &usize| {
            let (link, [l, r]) = (&links[owners[index]], equations.unknowns[index].parts());
            let mut x = vec![0.0; equations.n_v];
            l.iter().zip(r).enumerate().for_each(|(k, (l, r))| link.add(&link.j, k, r - l, &mut x));
            x
        };
        let mut answers: Vec<Vec<f64>> = of.iter().map(column).collect();
        self.solve_symmetric(&mut answers);
        let small = DMatrix::from_fn(of.len(), of.len(), |i, j| {
            let (index, link) = (of[i], &links[owners[of[i]]]);
            let own = if i == j { equations.unknowns[index].diagonal + self.weights[index] } else { 0.0 };
            let l = equations.unknowns[index].parts()[0];
            own + l.iter().enumerate().map(|(k, l)| l * link.times(&link.j, k, &answers[j])).sum::<f64>()
        });
        Sliding { unknowns: of, answers, small_transposed: small.transpose().lu(), small: small.lu() }
    }

    /// Solves for dv and x, of several f and g at once; gives these and what was left before the last round.
    pub(super) fn solve(&self, island: &Iterative, transposed: bool, columns: Vec<[Vec<f64>; 2]>) -> Vec<Answer> {
        let mut all: Vec<Column> = columns.into_iter().map(|column| Column::new(island, transposed, column)).collect();
        let mut open: Vec<&mut Column> = all.iter_mut().collect();
        for _ in 0..ROUNDS {
            let pushes: Vec<Vec<f64>> = open.iter().map(|column| self.shares(island, &column.left_g)).collect();
            let mut moved: Vec<Vec<f64>> = open.iter().map(|column| column.left_f.clone()).collect();
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
        all.into_iter().map(|Column { v, x, solved, .. }| Answer { v, x, solved }).collect()
    }

    /// `(D + W)^-1 y`
    fn shares(&self, island: &Iterative, y: &[f64]) -> Vec<f64> {
        let diagonals = island.equations.unknowns.iter().zip(&self.weights);
        y.iter().zip(diagonals).map(|(y, (unknown, w))| y / (unknown.diagonal + w)).collect()
    }

    /// Ends a round of a column, whose change of v and what of x was known before are given; whether there is to be another.
    fn take(
        &self,
        island: &Iterative,
        transposed: bool,
        (pushes, dv): (Vec<f64>, Vec<f64>),
        column: &mut Column,
    ) -> bool {
        let Column { f, g, v, x, left_f, left_g, given, solved } = column;
        let unknowns = &island.equations.unknowns;
        let mut pulled = vec![0.0; g.len()];
        island.pull(&dv, transposed, &mut pulled);
        let next_v: Vec<f64> = v.iter().zip(&dv).map(|(v, dv)| v + dv).collect();
        let dx = self.shares(island, &pulled).into_iter().zip(&pushes).map(|(a, b)| a - b);
        let next_x: Vec<f64> = x.iter().zip(dx).map(|(x, dx)| x + dx).collect();
        solved.iterations += 1;
        if solved.residual <= ENOUGH {
            (*v, *x) = (next_v, next_x);
            return false;
        }

        let mut pushed = vec![0.0; f.len()];
        island.add_push(&next_x, transposed, &mut pushed);
        left_f.copy_from_slice(f);
        self.subtract_momentum(island, &next_v, left_f);
        axpy(-1.0, &pushed, left_f);
        island.pull(&next_v, transposed, left_g);
        for (i, left) in left_g.iter_mut().enumerate() {
            *left = unknowns[i].diagonal * next_x[i] - g[i] - *left;
        }
        island.pull(&island.roughly_moved(&pushed), transposed, &mut pulled);
        let scale = given.max(largest(&pulled));
        let relative = |left: f64, scale: f64| if left == 0.0 { 0.0 } else { left / scale };
        let of_f = relative(largest(left_f), largest(f).max(largest(&pushed)));
        let now = of_f.max(relative(largest(left_g), scale));
        let before = solved.residual;
        if now.is_nan() || now >= before {
            return false;
        }
        (*v, *x, solved.residual) = (next_v, next_x, now);
        now <= ENOUGH || now <= 0.1 * before
    }

    /// `H x = x`, or `H^T x = x`, of several x.
    fn solve_whole(&self, island: &Iterative, transposed: bool, columns: &mut [Vec<f64>]) {
        let Some(Sliding { unknowns, answers, small, small_transposed }) = &self.sliding else {
            self.solve_symmetric(columns);
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
            self.solve_symmetric(columns);
        } else {
            self.solve_symmetric(columns);
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
    fn solve_symmetric(&self, columns: &mut [Vec<f64>]) {
        let placed = |x: &Vec<f64>| {
            let mut all = vec![0.0; self.factor.n()];
            self.places.iter().zip(x).for_each(|(&place, x)| all[place as usize] = *x);
            all
        };
        let mut all: Vec<Vec<f64>> = columns.iter().map(placed).collect();
        self.factor.solve_columns(&mut all.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        for (x, all) in columns.iter_mut().zip(&all) {
            self.places.iter().zip(x).for_each(|(&place, x)| *x = all[place as usize]);
        }
    }

    /// `out -= A v`
    fn subtract_momentum(&self, island: &Iterative, v: &[f64], out: &mut [f64]) {
        let equations = &island.equations;
        for (member, a) in equations.members.iter().zip(&self.trees) {
            let own = member.dofs();
            own.clone().enumerate().for_each(|(i, dof)| out[dof] -= dot(&a.row(i)[..own.len()], &v[own.clone()]));
        }
        for body in &equations.deformables {
            let own = body.dofs();
            let minus: Vec<f64> = v[own.clone()].iter().map(|v| -v).collect();
            body.input.matrix.add_times(&minus, &mut out[own]);
        }
        for (tree, own, carrier) in equations.carried() {
            for (dof, coupling) in own.zip(carrier.coupling.chunks_exact(tree.len())) {
                out[dof] -= dot(coupling, &v[tree.clone()]);
                axpy(-v[dof], coupling, &mut out[tree.clone()]);
            }
        }
    }
}

/// A of an island among all that moves; the identity for what is not of the island.
fn momentum_matrix(input: &WholeInput, places: &[u32], trees: &[Grid], equations: &Equations) -> SparseMatrix {
    let mut out = input.pattern.clone();
    let mut is_own = vec![false; out.n()];
    places.iter().for_each(|&place| is_own[place as usize] = true);
    (0..out.n()).filter(|&place| !is_own[place]).for_each(|place| out.add_diagonal(place, 1.0));
    let first = |dofs: &std::ops::Range<usize>| places.get(dofs.start).map_or(0, |&place| place as usize);
    for (member, a) in equations.members.iter().zip(trees) {
        let (begin, n) = (first(&member.dofs()), a.height());
        for i in 0..n {
            let to = out.row_begin(begin + i) + begin;
            out.values_mut()[to..to + n].copy_from_slice(&a.row(i)[..n]);
        }
    }
    for body in &equations.deformables {
        let begin = first(&body.dofs());
        for i in 0..body.n_v() {
            let own = body.input.matrix.row(i).1;
            let to = out.row_begin(begin + i) + input.n_first;
            out.values_mut()[to..to + own.len()].copy_from_slice(own);
        }
    }
    for (tree, own, carrier) in equations.carried() {
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

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most: f64, x| if x.abs() <= most { most } else { x.abs() })
}
