//! The order in which Newton's method on a whole step has the degrees of freedom of a model with soft bodies.

use std::sync::{Arc, OnceLock};

use manyworlds_contact::solve::whole::StepFactor;
use manyworlds_gradients::{NearFactor, WholeInput};
use manyworlds_model::Model;
use manyworlds_sparse::{Ordering, SparseMatrix, Symbolic};

use super::super::soft::step::Soft;

/// Degrees of freedom of trees at most: each is a column of every soft body's rows.
const MOST_FIRST: usize = 64;

/// The order of a model's degrees of freedom: those of trees, then those of soft bodies.
#[derive(Debug)]
pub(in crate::group) struct WholeOrder {
    /// Of each degree of freedom of the model.
    pub(super) place: Vec<u32>,
    pub(super) n_first: usize,
    /// First of each soft body.
    pub(super) begins: Vec<usize>,
    pub(super) pattern: SparseMatrix,
    /// Found when it is asked for: large bodies do without.
    pub(super) symbolic: OnceLock<Arc<Symbolic>>,
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

    pub(super) fn symbolic(&self) -> &Arc<Symbolic> {
        self.symbolic.get_or_init(|| {
            let last: Vec<u32> = (0..self.n_first as u32).collect();
            Arc::new(Symbolic::new(&self.pattern, &Ordering::of(&self.pattern), &last))
        })
    }

    /// As derivatives take it; `after`: v+ in the order of the model, where that is exact; `kept`: what the step was solved with.
    pub(in crate::group) fn input<'a>(
        &'a self,
        after: Option<&'a [f64]>,
        kept: Option<&'a StepFactor>,
    ) -> WholeInput<'a> {
        let Self { place, n_first, pattern, .. } = self;
        let near = kept.map(|kept| NearFactor { factor: &kept.factor, weight: kept.proximal });
        WholeInput { place, n_first: *n_first, pattern, symbolic: self.symbolic(), after, near }
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
