//! The step of a world with soft bodies as Newton's method on all of it sees it.

use std::cell::RefCell;
use std::sync::Arc;

use manyworlds_contact::solve::whole::Motion;
use manyworlds_model::Model;
use manyworlds_sparse::{SparseMatrix, Symbolic};

use super::super::problem::Inertia;
use super::super::soft::step::{Soft, SoftStep};
use super::super::subsystems::{Subsystem, Subsystems};
use super::order::WholeOrder;

/// Memory for one world after the other.
#[derive(Debug, Default)]
pub(super) struct WholeMemory {
    base: SparseMatrix,
    /// Stiffness of each soft body.
    stiffness: Vec<SparseMatrix>,
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
    stiffness: RefCell<Vec<SparseMatrix>>,
}

impl<'a> WholeStep<'a> {
    pub(super) fn new(
        order: &'a WholeOrder,
        model: &Model,
        subsystems: &Subsystems,
        (soft, steps): (&'a [Soft], &'a [SoftStep]),
        inertia: Inertia,
        WholeMemory { base, mut stiffness }: WholeMemory,
    ) -> Self {
        let Inertia { matrices, begins, b, .. } = inertia;
        let mut base = base.reused(&order.pattern);
        base.values_mut().fill(0.0);
        stiffness.resize(soft.len(), SparseMatrix::default());
        let each = stiffness.into_iter().zip(soft).map(|(memory, own)| memory.reused(own.system.pattern()));
        let stiffness = RefCell::new(each.collect());
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
        Self { order, soft, steps, base, b: right, inertia: masses, carriers, stiffness }
    }

    /// The memory, for the next world.
    pub(super) fn into_memory(self) -> WholeMemory {
        WholeMemory { base: self.base, stiffness: self.stiffness.into_inner() }
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
        let mut stiffness = self.stiffness.borrow_mut();
        for ((index, step), stiffness) in self.steps.iter().enumerate().zip(stiffness.iter_mut()) {
            let (span, [first, n]) = (self.span(index), self.carriers[index]);
            let square = step.h() * step.h();
            let at = (&v[span.clone()], &v[first..first + n]);
            let (own, diagonal) = step.slope(&self.soft[index].system, at, stiffness);
            r[span.clone()].copy_from_slice(&own);
            for ((i, row), mass) in span.enumerate().zip(diagonal) {
                let values = stiffness.row(i).1;
                let to = a.row_begin(row) + self.order.n_first;
                let to = &mut a.values_mut()[to..to + values.len()];
                to.iter_mut().zip(values).for_each(|(to, k)| *to = square * k);
                a.add_diagonal(row, mass);
            }
        }
    }

    fn inertia(&self) -> &[f64] {
        &self.inertia
    }
}
