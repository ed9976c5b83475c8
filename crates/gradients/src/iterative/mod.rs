//! An island too large for dense matrices, or with bodies that deform: each constraint has its rows over the dofs that it
//! touches, subsystems have their own derivatives, and the system of the impulses is known by its products with vectors,
//! through their factors ([`Condensed`]). With bodies that deform motion and impulses are found at once where that can be
//! ([`Saddle`]).

mod link;
mod products;
mod redundancy;
mod saddle;

use std::cell::OnceCell;

use nalgebra::Matrix3;

use crate::equations::{After, Equations, Rectangle};
use crate::form::Form;
use crate::grid::{Grid, axpy, dot, dot_by};
use crate::input::{StepInput, WholeInput};
use crate::island::Island;
use crate::joined::{Joined, tree_matrices};
use crate::krylov::Operator;
use crate::member::Member;
use crate::momentum::Momentum;
use crate::sparse::Deformable;
use crate::unknown::Unknown;
use link::{Link, Slopes};
use saddle::{Moving, Parts, Saddle, solve_momenta};

/// An island whose linear system is solved by iterations.
pub(crate) struct Iterative<'a> {
    pub(crate) equations: Equations<'a>,
    /// dF of each tree by its own q, v and ctrl, with v+ and the impulses held.
    momenta: Vec<Momentum>,
    /// By constraint.
    links: Vec<Link>,
    /// [`Iterative::slopes`], once they were asked for.
    slopes: OnceCell<Vec<Slopes>>,
    /// Constraint of each unknown.
    owners: Vec<usize>,
    /// What it takes to solve for motion and impulses at once.
    whole: Option<Whole<'a>>,
    /// [`Iterative::condensed`], once it was asked for.
    condensed: OnceCell<Condensed>,
}

/// What it takes to solve for motion and impulses at once.
struct Whole<'a> {
    input: WholeInput<'a>,
    /// Of each dof of the island its place in factors.
    places: Vec<u32>,
    /// About what an impulse of each constraint does to its own velocity.
    own: Vec<Matrix3<f64>>,
    /// A of each tree, with what it carries.
    trees: Vec<Grid>,
    /// How each dof gives way where all others are held.
    mobilities: Vec<f64>,
    /// The same with 1 where nothing is known, and the inverse of that.
    yielding: Vec<f64>,
    stiffness: Vec<f64>,
    /// [`Iterative::near`], once it was asked for.
    near: OnceCell<Option<Saddle<'a>>>,
    /// [`Iterative::exact`], once it was asked for.
    exact: OnceCell<Option<Saddle<'a>>>,
}

/// What it takes to solve for the impulses alone.
struct Condensed {
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

/// J by constraint, and each one's own block of `J A^-1 J^T`, or about that; of one row alone the first entry.
struct Links {
    links: Vec<Link>,
    own: Vec<Matrix3<f64>>,
    /// A of each tree with what it carries, and how each dof gives way where all others are held; where blocks are made of that.
    rough: Option<(Vec<Grid>, Vec<f64>)>,
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
    /// `dofs`: those of the island in the world.
    pub(crate) fn new(input: &StepInput<'a>, island: Island, dofs: &[usize]) -> Self {
        let whole = input.whole.as_ref().filter(|_| !island.sparse.is_empty());
        let known: Option<Vec<f64>> =
            whole.and_then(|whole| whole.after).map(|after| dofs.iter().map(|&dof| after[dof]).collect());
        let places: Vec<u32> = whole.map_or_else(Vec::new, |whole| dofs.iter().map(|&dof| whole.place[dof]).collect());
        let trees = island.trees.clone();
        let place = |tree: usize| trees.binary_search(&tree).unwrap_or_default();
        let solve = |members: &[Member], deformables: &[Deformable], x: &mut [f64]| {
            whole.is_some_and(|whole| {
                let trees = tree_matrices(members, deformables, place);
                solve_momenta(whole, &places, Moving { members, deformables, trees: &trees, place: &place }, x)
            })
        };
        let after = known.as_deref().map_or(After::Whole(&solve), After::Known);
        let (equations, Links { links, own, rough }) =
            Equations::new(input, island, after, |members, deformables, joined, rows| {
                let links = link::links(members, rows);
                if whole.is_some() {
                    let trees = tree_matrices(members, deformables, place);
                    let mobilities = mobilities(&trees, deformables);
                    let own = links.iter().map(|link| link.roughly(&mobilities)).collect();
                    return Links { own, links, rough: Some((trees, mobilities)) };
                }
                let own = delassus(&links, members, deformables, joined);
                Links { own, links, rough: None }
            });
        let constraints = &equations.rows.constraints;
        let owner = |u: &Unknown| constraints.binary_search_by_key(&u.first(), |c| c.first).unwrap_or_default();
        let owners: Vec<usize> = equations.unknowns.iter().map(owner).collect();
        let condensed = OnceCell::new();
        let whole = match whole.zip(rough) {
            Some((input, (trees, mobilities))) => {
                let [near, exact] = [OnceCell::new(), OnceCell::new()];
                let yielding: Vec<f64> = mobilities.iter().map(|&x| if x > 0.0 { x } else { 1.0 }).collect();
                let stiffness = yielding.iter().map(|x| x.recip()).collect();
                Some(Whole { input: *input, places, own, trees, mobilities, yielding, stiffness, near, exact })
            }
            None => {
                condensed.get_or_init(|| Condensed::new(&equations, &owners, &own));
                None
            }
        };
        Self {
            momenta: equations.members.iter().map(Momentum::of_tree).collect(),
            equations,
            links,
            slopes: OnceCell::new(),
            owners,
            whole,
            condensed,
        }
    }

    /// What moves the constraints between bodies, each with its link; what moves a row of a tree is with the island's rows.
    fn slopes(&self) -> impl Iterator<Item = (&Link, &Slopes)> {
        let rows = &self.equations.rows;
        let at = |first: usize| rows.constraints.binary_search_by_key(&first, |c| c.first).unwrap_or_default();
        let own = self.slopes.get_or_init(|| {
            let one =
                |(first, form): &(usize, Form)| Slopes::new(&self.equations.members, form, &self.links[at(*first)]);
            rows.forms.iter().map(one).collect()
        });
        rows.forms.iter().zip(own).map(move |((first, _), slopes)| (&self.links[at(*first)], slopes))
    }

    fn condensed(&self) -> &Condensed {
        self.condensed.get_or_init(|| {
            let Equations { members, deformables, .. } = &self.equations;
            let own = delassus(&self.links, members, deformables, self.equations.joined());
            Condensed::new(&self.equations, &self.owners, &own)
        })
    }

    /// By the factor that the step left, if it left one.
    fn near(&self) -> Option<&Saddle<'a>> {
        let whole = self.whole.as_ref()?;
        whole.near.get_or_init(|| Saddle::near(self.parts(whole))).as_ref()
    }

    /// By a factor of the equations' own, if they have one.
    fn exact(&self) -> Option<&Saddle<'a>> {
        let whole = self.whole.as_ref()?;
        whole.exact.get_or_init(|| Saddle::exact(self.parts(whole), &whole.trees)).as_ref()
    }

    fn parts<'s>(&'s self, whole: &'s Whole<'a>) -> Parts<'s, 'a> {
        let Self { equations, links, owners, .. } = self;
        let Whole { input, places, own, .. } = whole;
        Parts { input, places, own, equations, links, owners }
    }

    /// Of each dof its place in factors of everything, where there are such.
    fn places(&self) -> &[u32] {
        self.whole.as_ref().map_or(&[], |whole| &whole.places)
    }

    /// About `A^-1 f`: by how each dof gives way where all others are held, where that is known.
    fn roughly_moved(&self, f: &[f64]) -> Vec<f64> {
        let mobilities = self.whole.as_ref().map_or(&[][..], |whole| &whole.mobilities);
        mobilities.iter().zip(f).map(|(mobility, f)| mobility * f).collect()
    }

    /// How large a change of the velocity is, or one of the adjoint of the momentum balance: by what holds each dof where all others are
    /// held, where something does.
    fn size(&self, v: &[f64]) -> f64 {
        self.whole.as_ref().map_or(0.0, |whole| dot_by(&whole.stiffness, v, v).sqrt())
    }

    /// How far two changes of momenta are along each other: by how each dof gives way where all others are held, where it does.
    fn along(&self, f: &[f64], other: &[f64]) -> f64 {
        self.whole.as_ref().map_or(0.0, |whole| dot_by(&whole.yielding, f, other))
    }

    /// `out += A v`
    fn add_momentum(&self, v: &[f64], out: &mut [f64]) {
        let equations = &self.equations;
        let trees = self.whole.as_ref().map_or(&[][..], |whole| &whole.trees);
        for (member, a) in equations.members.iter().zip(trees) {
            let own = member.dofs();
            own.clone().enumerate().for_each(|(i, dof)| out[dof] += dot(&a.row(i)[..own.len()], &v[own.clone()]));
        }
        for body in &equations.deformables {
            let own = body.dofs();
            body.input.matrix.add_times(1.0, &v[own.clone()], &mut out[own]);
        }
        for (tree, own, carrier) in equations.carried() {
            for (dof, coupling) in own.zip(carrier.coupling.chunks_exact(tree.len())) {
                out[dof] += dot(coupling, &v[tree.clone()]);
                axpy(v[dof], coupling, &mut out[tree.clone()]);
            }
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

impl Condensed {
    /// `own`: of each constraint its block of `J A^-1 J^T`.
    fn new(equations: &Equations, owners: &[usize], own: &[Matrix3<f64>]) -> Self {
        Self {
            symmetric: equations.unknowns.iter().all(|u| u.parts()[0] == u.parts()[1])
                && equations.deformables.iter().all(Deformable::is_definite),
            preconditioner: preconditioner(&equations.unknowns, owners, own),
        }
    }
}

/// Of each constraint its own block of `J A^-1 J^T`.
fn delassus(links: &[Link], members: &[Member], deformables: &[Deformable], joined: &[Joined]) -> Vec<Matrix3<f64>> {
    let owner: Vec<usize> = members.iter().enumerate().flat_map(|(m, member)| vec![m; member.forward.n_v()]).collect();
    links.iter().map(|link| link.delassus(members, deformables, joined, &owner)).collect()
}

/// One over the diagonal of A, of each dof of an island.
fn mobilities(trees: &[Grid], deformables: &[Deformable]) -> Vec<f64> {
    let of_trees = trees.iter().flat_map(|tree| (0..tree.height()).map(move |i| tree[(i, i)]));
    let diagonal = of_trees.chain(deformables.iter().flat_map(|body| body.input.matrix.diagonal()));
    diagonal.map(|x| if x > 0.0 { x.recip() } else { 0.0 }).collect()
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
        for Block { first, count, inverse } in &self.island.condensed().preconditioner {
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
        self.island.condensed().symmetric
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
