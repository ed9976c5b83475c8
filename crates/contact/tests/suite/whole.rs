//! Newton steps on the momentum and contacts of nodes at once.

use std::sync::Arc;

use manyworlds_contact::problem::{ContactProblem, Law};
use manyworlds_contact::solve::whole::{Effort, Found, Motion, WholeWork, newton};
use manyworlds_sparse::{Ordering, SparseMatrix, Symbolic};

use crate::samples::{constraint, particles, problem, side, unit};

/// Nodes whose momentum is linear in the velocity, `r = A v - b`.
struct Nodes {
    matrix: SparseMatrix,
    b: Vec<f64>,
    symbolic: Arc<Symbolic>,
}

impl Nodes {
    /// `a`: of each degree of freedom; those of two nodes are coupled by nothing, if they share an element at all.
    fn new(a: &[f64], b: &[f64], share_an_element: bool) -> Self {
        let n = a.len();
        let shared = |i: usize, j: usize| share_an_element || i / 3 == j / 3;
        let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let entries: Vec<_> =
            all.filter(|&(i, j)| shared(i, j)).map(|(i, j)| (i, j, if i == j { a[i] } else { 0.0 })).collect();
        let matrix = SparseMatrix::from_triplets(n, &entries).expect("a matrix");
        let symbolic = Arc::new(Symbolic::new(&matrix, &Ordering::of(&matrix), &[]));
        Self { matrix, b: b.to_vec(), symbolic }
    }

    fn solved(&self, problem: &ContactProblem, effort: Effort) -> Option<Found> {
        let start = (vec![0.0; self.n()], vec![0.0; problem.warm_start.len()]);
        newton(problem, self, start, (1e-12, effort), |v| v, &mut WholeWork::default())
    }
}

impl Motion for Nodes {
    fn n(&self) -> usize {
        self.b.len()
    }

    fn n_first(&self) -> usize {
        0
    }

    fn place(&self, dof: usize) -> usize {
        dof
    }

    fn pattern(&self) -> &SparseMatrix {
        &self.matrix
    }

    fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }

    fn balance(&self, v: &[f64], r: &mut [f64]) {
        r.iter_mut().zip(&self.b).for_each(|(r, b)| *r = -b);
        self.matrix.add_times(v, r);
    }

    fn slope(&self, v: &[f64], r: &mut [f64], a: &mut SparseMatrix) {
        self.balance(v, r);
        a.values_mut().copy_from_slice(self.matrix.values());
    }

    fn inertia(&self) -> &[f64] {
        &[1.0; 6]
    }
}

/// One node on another: they move as one, and the matrix of one of them has a negative eigenvalue.
fn one_on_another() -> (ContactProblem, [f64; 6], [f64; 6]) {
    let mut input = particles(&[1.0, 1.0], [0.0; 3]);
    let sides = vec![side(0, &unit(1.0)), side(1, &unit(-1.0))];
    input.constraints.push(constraint(Law::Contact { mu: 0.5 }, sides));
    (problem(input), [2.0, 2.0, 2.0, -0.5, 1.0, 1.0], [0.0, 0.0, -1.0, 0.1, 0.0, 0.5])
}

#[test]
fn nodes_that_no_element_joins_are_solved_thoroughly() {
    let (problem, a, b) = one_on_another();
    let nodes = Nodes::new(&a, &b, false);
    assert!(nodes.solved(&problem, Effort::Quick).is_none(), "the pattern has no place for what contact couples");
    let found = nodes.solved(&problem, Effort::Thorough).expect("a step");
    // (A_0 + A_1) v = b_0 + b_1, lambda = A_0 v - b_0.
    let v = [0.1 / 1.5, 0.0, -0.5 / 3.0];
    for k in 0..3 {
        assert!((found.v[k] - v[k]).abs() < 1e-11 && (found.v[3 + k] - v[k]).abs() < 1e-11, "{:?}", found.v);
        assert!((found.lambda[k] - (2.0 * v[k] - b[k])).abs() < 1e-11, "{:?}", found.lambda);
    }
}

#[test]
fn a_matrix_that_contact_does_not_make_positive_definite_is_solved_thoroughly() {
    let mut input = particles(&[1.0, 1.0], [0.0; 3]);
    input.constraints.push(constraint(Law::Contact { mu: 0.5 }, vec![side(0, &unit(1.0))]));
    let problem = problem(input);
    let (_, a, b) = one_on_another();
    let nodes = Nodes::new(&a, &b, true);
    assert!(nodes.solved(&problem, Effort::Quick).is_none(), "there is no Cholesky factor");
    let found = nodes.solved(&problem, Effort::Thorough).expect("a step");
    let wanted = [0.0, 0.0, 0.0, 0.1 / -0.5, 0.0, 0.5];
    assert!(found.v.iter().zip(wanted).all(|(v, wanted)| (v - wanted).abs() < 1e-11), "{:?}", found.v);
    assert!((found.lambda[2] - 1.0).abs() < 1e-11, "{:?}", found.lambda);
}
