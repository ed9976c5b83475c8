//! The step of a world with soft bodies as Newton's method on all of it sees it.

use std::sync::{Arc, OnceLock};

use manyworlds_contact::solve::whole::Motion;
use manyworlds_gradients::WholeInput;
use manyworlds_model::Model;
use manyworlds_sparse::{Ordering, SparseMatrix, Symbolic};

use super::super::problem::Inertia;
use super::super::soft::{Soft, SoftStep};
use super::super::subsystems::{Subsystem, Subsystems};

/// Degrees of freedom of trees at most: each is a column of every soft body's rows.
const MOST_FIRST: usize = 64;

/// The order of a model's degrees of freedom: those of trees, then those of soft bodies.
#[derive(Debug)]
pub(in crate::group) struct WholeOrder {
    /// Of each degree of freedom of the model.
    place: Vec<u32>,
    n_first: usize,
    /// First of each soft body.
    begins: Vec<usize>,
    pattern: SparseMatrix,
    /// Found when it is asked for: large bodies do without.
    symbolic: OnceLock<Arc<Symbolic>>,
}

/// One world.
pub(super) struct WholeStep<'a> {
    order: &'a WholeOrder,
    soft: &'a [Soft],
    steps: &'a [SoftStep],
    /// What does not change with the velocity: trees, and what soft bodies weigh on them.
    base: SparseMatrix,
    /// Of the trees.
    b: Vec<f64>,
    inertia: Vec<f64>,
    /// Of each soft body the tree that carries it, first place and count; none where it stands.
    carriers: Vec<[usize; 2]>,
}

impl WholeOrder {
    /// `None` where trees have too many degrees of freedom.
    pub(in crate::group) fn new(model: &Model, soft: &[Soft]) -> Option<Self> {
        let mut place = vec![0; model.n_v];
        let mut next = 0;
        for tree in model.trees.iter().filter(|tree| tree.soft.is_none()) {
            tree.v.clone().for_each(|dof| {
                place[dof] = next;
                next += 1;
            });
        }
        let n_first = next as usize;
        if soft.is_empty() || n_first > MOST_FIRST {
            return None;
        }
        let n = model.n_v;
        let mut entries: Vec<_> = (0..n_first).flat_map(|i| (0..n).map(move |j| (i, j, 0.0))).collect();
        let mut begins = Vec::with_capacity(soft.len());
        for own in soft {
            let begin = next as usize;
            begins.push(begin);
            model.trees[own.tree].v.clone().for_each(|dof| {
                place[dof] = next;
                next += 1;
            });
            let pattern = own.system.pattern();
            entries.extend((begin..begin + pattern.n()).flat_map(|i| (0..n_first).map(move |j| (i, j, 0.0))));
            entries.extend(pattern.entries().map(|(i, j, _)| (begin + i, begin + j, 0.0)));
        }
        let pattern = SparseMatrix::from_triplets(n, &entries)?;
        Some(Self { place, n_first, begins, pattern, symbolic: OnceLock::new() })
    }

    fn symbolic(&self) -> &Arc<Symbolic> {
        self.symbolic.get_or_init(|| {
            let last: Vec<u32> = (0..self.n_first as u32).collect();
            Arc::new(Symbolic::new(&self.pattern, &Ordering::of(&self.pattern), &last))
        })
    }

    /// As derivatives take it; `after`: v+ in the order of the model.
    pub(in crate::group) fn input<'a>(&'a self, after: &'a [f64]) -> WholeInput<'a> {
        let Self { place, n_first, pattern, .. } = self;
        WholeInput { place, n_first: *n_first, pattern, symbolic: self.symbolic(), after }
    }

    /// From the order of the model.
    pub(super) fn ordered(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; v.len()];
        self.place.iter().zip(v).for_each(|(&at, v)| out[at as usize] = *v);
        out
    }

    /// To the order of the model.
    pub(super) fn given_back(&self, v: &[f64]) -> Vec<f64> {
        self.place.iter().map(|&at| v[at as usize]).collect()
    }
}

impl<'a> WholeStep<'a> {
    pub(super) fn new(
        order: &'a WholeOrder,
        model: &Model,
        subsystems: &Subsystems,
        (soft, steps): (&'a [Soft], &'a [SoftStep]),
        inertia: Inertia,
    ) -> Self {
        let Inertia { matrices, begins, b, .. } = inertia;
        let mut base = order.pattern.clone();
        let first = |tree: usize| model.trees[tree].v.clone().next().map_or(0, |dof| order.place[dof] as usize);
        let mut right = vec![0.0; order.n_first];
        let mut masses = vec![0.0; model.n_v];
        let mut carriers = vec![[0; 2]; soft.len()];
        for subsystem in &subsystems.all {
            let (tree, carried) = match subsystem {
                Subsystem::Tree(tree) => (*tree, &[][..]),
                Subsystem::Joined(joined) => (joined.tree, &joined.soft[..]),
                Subsystem::Soft(_) => continue,
            };
            let (n, begin) = (model.trees[tree].v.len(), first(tree));
            let mut a = matrices[begins[tree]..begins[tree + 1]].to_vec();
            let own = &mut right[begin..begin + n];
            own.copy_from_slice(&b[model.trees[tree].v.clone()]);
            for &index in carried {
                steps[index].add_to_tree(&mut a, own);
                carriers[index] = [begin, n];
                for (i, row) in steps[index].coupling().enumerate() {
                    let at = order.begins[index] + i;
                    let to = base.row_begin(at) + begin;
                    for (j, x) in row.enumerate() {
                        base.values_mut()[to + j] = x;
                        let across = base.row_begin(begin + j) + at;
                        base.values_mut()[across] = x;
                    }
                }
            }
            for i in 0..n {
                let to = base.row_begin(begin + i) + begin;
                base.values_mut()[to..to + n].copy_from_slice(&a[i * n..(i + 1) * n]);
                masses[begin + i] = a[i * n + i];
            }
        }
        for (step, &begin) in steps.iter().zip(&order.begins) {
            step.mass_and_weight().enumerate().for_each(|(i, (mass, _))| masses[begin + i] = mass);
        }
        Self { order, soft, steps, base, b: right, inertia: masses, carriers }
    }

    /// Degrees of freedom of a soft body, in the order of the step.
    fn span(&self, index: usize) -> std::ops::Range<usize> {
        let begin = self.order.begins[index];
        begin..begin + self.soft[index].system.n_v()
    }

    /// The balance of the trees.
    fn balance_first(&self, v: &[f64], r: &mut [f64]) {
        for (i, b) in self.b.iter().enumerate() {
            let values = self.base.row(i).1;
            r[i] = values.iter().zip(v).map(|(a, v)| a * v).sum::<f64>() - b;
        }
    }
}

impl Motion for WholeStep<'_> {
    fn n(&self) -> usize {
        self.order.pattern.n()
    }

    fn n_first(&self) -> usize {
        self.order.n_first
    }

    fn place(&self, dof: usize) -> usize {
        self.order.place[dof] as usize
    }

    fn pattern(&self) -> &SparseMatrix {
        &self.order.pattern
    }

    fn symbolic(&self) -> &Arc<Symbolic> {
        self.order.symbolic()
    }

    fn balance(&self, v: &[f64], r: &mut [f64]) {
        self.balance_first(v, r);
        for (index, step) in self.steps.iter().enumerate() {
            let [first, n] = self.carriers[index];
            let own = step.momentum(&self.soft[index].system, &v[self.span(index)], &v[first..first + n]);
            r[self.span(index)].copy_from_slice(&own);
        }
    }

    fn slope(&self, v: &[f64], r: &mut [f64], a: &mut SparseMatrix) {
        self.balance_first(v, r);
        a.values_mut().copy_from_slice(self.base.values());
        for (index, step) in self.steps.iter().enumerate() {
            let (span, [first, n]) = (self.span(index), self.carriers[index]);
            let about = step.about(&self.soft[index].system, &v[span.clone()], false);
            let own = &mut r[span.clone()];
            own.iter_mut().zip(&about.b).for_each(|(r, b)| *r = -b);
            about.matrix.add_times(&v[span.clone()], own);
            for (i, row) in span.enumerate() {
                let begin = a.row_begin(row);
                let coupled = &a.values()[begin + first..begin + first + n];
                own[i] += coupled.iter().zip(&v[first..first + n]).map(|(c, v)| c * v).sum::<f64>();
                let values = about.matrix.row(i).1;
                let to = begin + self.order.n_first;
                a.values_mut()[to..to + values.len()].copy_from_slice(values);
            }
        }
    }

    fn inertia(&self) -> &[f64] {
        &self.inertia
    }
}
