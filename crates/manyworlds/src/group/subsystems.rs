//! The subsystems of a model's contact problems: its trees, each with the soft bodies that it carries.
//!
//! A soft body on a body that moves is coupled to the tree of that by its mass, so that both are one subsystem: the tree's degrees
//! of freedom, then those of each soft body. Its matrix is sparse but for the tree's rows and columns.

use std::sync::Arc;

use manyworlds_model::Model;
use manyworlds_sparse::{Ordering, SparseMatrix};

use super::soft::step::{Linearised, Soft, SoftStep};

/// See the module.
#[derive(Debug)]
pub(super) struct Subsystems {
    /// First degree of freedom and count of each.
    pub(super) spans: Vec<[usize; 2]>,
    /// Of each tree of the model its subsystem, and its first degree of freedom within that.
    places: Vec<(usize, usize)>,
    /// What each is.
    pub(super) all: Vec<Subsystem>,
}

/// What a subsystem is.
#[derive(Debug)]
pub(super) enum Subsystem {
    /// A tree of the model that carries no soft body.
    Tree(usize),
    /// A soft body on something that stands, among those of the model.
    Soft(usize),
    /// A tree and the soft bodies that it carries.
    Joined(Joined),
}

impl Subsystem {
    /// The tree of the model that is in it; none of a soft body on something that stands.
    pub(super) fn tree(&self) -> Option<usize> {
        match self {
            Self::Tree(tree) => Some(*tree),
            Self::Joined(of) => Some(of.tree),
            Self::Soft(_) => None,
        }
    }
}

/// A tree and the soft bodies that it carries.
#[derive(Debug)]
pub(super) struct Joined {
    /// Of the model.
    pub(super) tree: usize,
    /// Among the soft bodies of the model, in the order of their degrees of freedom.
    pub(super) soft: Vec<usize>,
    pattern: SparseMatrix,
    pub(super) ordering: Arc<Ordering>,
}

impl Subsystems {
    pub(super) fn new(model: &Model, soft: &[Soft]) -> Self {
        let carrier = |index: usize| model.bodies[model.soft[index].body].tree;
        let mut places = vec![(0, 0); model.trees.len()];
        let (mut spans, mut all) = (Vec::new(), Vec::new());
        for (tree, of) in model.trees.iter().enumerate() {
            let number = all.len();
            let own = match of.soft {
                Some(soft) if carrier(soft).is_some() => continue,
                Some(soft) => Subsystem::Soft(soft),
                None => {
                    let mut carried: Vec<usize> =
                        (0..soft.len()).filter(|&index| carrier(index) == Some(tree)).collect();
                    carried.sort_unstable_by_key(|&index| model.soft[index].v.start);
                    if carried.is_empty() {
                        Subsystem::Tree(tree)
                    } else {
                        Subsystem::Joined(Joined::new(of.v.len(), tree, carried, soft))
                    }
                }
            };
            let mut span = [of.v.start, of.v.len()];
            places[tree] = (number, 0);
            if let Subsystem::Joined(joined) = &own {
                for &index in &joined.soft {
                    places[soft[index].tree] = (number, span[1]);
                    span[1] += model.soft[index].v.len();
                }
            }
            spans.push(span);
            all.push(own);
        }
        Self { spans, places, all }
    }

    /// The subsystem of a tree of the model, and the tree's first degree of freedom within that.
    pub(super) fn place(&self, tree: usize) -> (usize, usize) {
        self.places[tree]
    }

    /// Whether a subsystem's sides name what they touch.
    pub(super) fn is_sparse(&self, subsystem: usize) -> bool {
        !matches!(self.all[subsystem], Subsystem::Tree(_))
    }
}

impl Joined {
    fn new(n: usize, tree: usize, carried: Vec<usize>, soft: &[Soft]) -> Self {
        let count = n + carried.iter().map(|&index| soft[index].system.n_v()).sum::<usize>();
        let mut entries: Vec<_> = (0..n).flat_map(|i| (0..count).map(move |j| (i, j, 0.0))).collect();
        let mut begin = n;
        for &index in &carried {
            let pattern = soft[index].system.pattern();
            entries.extend((begin..begin + pattern.n()).flat_map(|i| (0..n).map(move |j| (i, j, 0.0))));
            entries.extend(pattern.entries().map(|(i, j, _)| (begin + i, begin + j, 0.0)));
            begin += pattern.n();
        }
        let pattern = SparseMatrix::from_triplets(count, &entries).unwrap_or_default();
        let ordering = Arc::new(Ordering::of(&pattern));
        Self { tree, soft: carried, pattern, ordering }
    }

    /// The matrix of the whole from that of the tree, row-major, to which it adds what the nodes weigh on it; the same to the tree's
    /// part of `b`.
    pub(super) fn assemble(
        &self,
        (mut tree, b): (Vec<f64>, &mut [f64]),
        steps: &[SoftStep],
        about: &[Linearised],
    ) -> SparseMatrix {
        let n = b.len();
        for step in self.soft.iter().map(|&index| &steps[index]) {
            step.add_to_tree(&mut tree, b);
        }
        let mut matrix = self.pattern.clone();
        let stride = self.pattern.n();
        let values = matrix.values_mut();
        // The tree's rows have every column, and every row of a soft body begins with the tree's.
        (0..n).for_each(|i| values[i * stride..i * stride + n].copy_from_slice(&tree[i * n..(i + 1) * n]));
        let (mut column, mut at) = (n, n * stride);
        for &index in &self.soft {
            let own = &about[index].matrix;
            for (i, coupled) in steps[index].coupling().enumerate() {
                for (j, x) in coupled.enumerate() {
                    values[at + j] = x;
                    values[j * stride + column + i] = x;
                }
                let row = own.row(i).1;
                values[at + n..at + n + row.len()].copy_from_slice(row);
                at += n + row.len();
            }
            column += own.n();
        }
        matrix
    }
}
