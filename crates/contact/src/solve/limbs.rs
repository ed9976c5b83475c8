//! The limbs of a tree: its degrees of freedom between the places where it branches.
//!
//! `A` of a tree has entries only between degrees of freedom of which one carries the other (Featherstone 2008, section 6.4):
//! what happens on one branch does not fill in the others. Taken limb by limb, factorizations and products leave out the rest.

use std::ops::Range;

use crate::problem::{ContactProblem, Subsystem};

/// Degrees of freedom from which on a tree is taken limb by limb.
const BRANCHED: usize = 20;

/// The limbs of a subsystem, within it: its degrees of freedom between the places where it branches; all of it where it is small
/// or does not say how they hang together.
pub(super) fn cut(problem: &ContactProblem, s: &Subsystem) -> Vec<Range<usize>> {
    let mut begins = if s.count < BRANCHED || problem.parent.is_empty() {
        vec![0]
    } else {
        branches(&problem.parent[s.begin..][..s.count], s)
    };
    begins.push(s.count);
    begins.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Where limbs begin in a subsystem of these parents.
fn branches(parents: &[i64], s: &Subsystem) -> Vec<usize> {
    let mut children = vec![0; s.count];
    let parent = |p: i64| usize::try_from(p).ok().map(|p| p - s.begin);
    parents.iter().filter_map(|&p| parent(p)).for_each(|p| children[p] += 1);
    // A limb goes on where its last degree of freedom has a single child, which is the next.
    let goes_on = |&i: &usize| parent(parents[i]) == Some(i - 1) && children[i - 1] == 1;
    (0..s.count).filter(|i| *i == 0 || !goes_on(i)).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::problem::{ConstraintInput, Law, ProblemInput, SideInput};
    use crate::solve::cholesky::Cholesky;
    use crate::solve::rows::Rows;
    use crate::solve::system::System;

    #[test]
    fn a_tree_is_cut_where_it_branches() {
        // A base of six, two legs of seven, one of which ends in two toes; and a small tree.
        let mut parent: Vec<i64> = (-1..24).collect();
        (parent[13], parent[22], parent[23], parent[24]) = (5, 19, 22, -1);
        let n = parent.len();
        let identity = |n: usize| (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let input = ProblemInput {
            subsystems: vec![[0, 24], [24, 1]],
            a: vec![identity(24), identity(1)],
            b: vec![0.0; n],
            parent,
            ..ProblemInput::default()
        };
        let problem = ContactProblem::new(input).expect("a valid problem");
        let [tree, small] = [0, 1].map(|s| cut(&problem, &problem.subsystems[s]));
        assert_eq!(tree, [0..6, 6..13, 13..20, 20..22, 22..24]);
        assert_eq!((small.len(), small[0].clone()), (1, 0..1));
    }

    /// A base of six degrees of freedom with four legs of six, and contacts between legs; with or without saying so.
    fn walker(says: bool) -> ContactProblem {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let n = 30;
        let parent: Vec<i64> = (0..n as i64).map(|i| if i > 6 && i % 6 == 0 { 5 } else { i - 1 }).collect();
        let moves = |dof: usize, tip: usize| {
            std::iter::successors(Some(tip), |&i| usize::try_from(parent[i]).ok()).any(|i| i == dof)
        };
        // The kinetic energy of points at the ends of the degrees of freedom.
        let mut a = vec![0.0; n * n];
        for tip in 0..n {
            let j: Vec<f64> =
                (0..n).map(|dof| if moves(dof, tip) { rng.random_range(-1.0..1.0) } else { 0.0 }).collect();
            (0..n * n).for_each(|k| a[k] += j[k / n] * j[k % n]);
            a[tip * n + tip] += 0.1;
        }
        let contact = |&(from, to): &(usize, usize)| {
            let mut sum =
                |dof: usize| if moves(dof, from) || moves(dof, to) { rng.random_range(-1.0..1.0) } else { 0.0 };
            let jacobian = (0..3).flat_map(|_| (0..n).map(&mut sum).collect::<Vec<f64>>()).collect();
            ConstraintInput {
                law: Law::Contact { mu: 0.5 },
                e: [0.0, 0.0, -0.1],
                compliance: None,
                sides: vec![SideInput { jacobian, ..SideInput::default() }],
            }
        };
        let input = ProblemInput {
            subsystems: vec![[0, n]],
            a: vec![a],
            b: (0..n).map(|i| (i as f64).sin()).collect(),
            constraints: [(11, 17), (23, 29), (29, 29), (17, 23), (5, 5)].iter().map(contact).collect(),
            parent: if says { parent.clone() } else { Vec::new() },
            ..ProblemInput::default()
        };
        ContactProblem::new(input).expect("a valid problem")
    }

    /// Products and factorizations of a tree that is taken limb by limb are those of one that is taken whole.
    #[test]
    fn limb_by_limb_is_as_whole() {
        let [limbs, whole] = [true, false].map(walker);
        let systems = [&limbs, &whole].map(|p| System::<f64>::new(p, &p.plan.islands[0]));
        assert_eq!([&limbs, &whole].map(|p| cut(p, &p.subsystems[0]).len()), [5, 1]);
        let v: Vec<f64> = (0..30).map(|i| (f64::from(i) * 7.7).sin()).collect();
        let lambda: Vec<Rows<f64>> =
            (0..5).map(|i| std::array::from_fn(|r| f64::from(i * 3 + r as i32).cos())).collect();
        // Symmetric, and not.
        let even = vec![[[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]]; 5];
        let odd = vec![[[4.0, 1.0, 0.3], [0.0, 3.0, 0.5], [0.0, 0.0, 2.0]]; 5];
        let of = |s: &System<f64>| {
            let mut all = s.relative(&v).concat();
            let mut own = vec![0.0; 30];
            s.momentum(&v, &mut own);
            s.add_impulse(&lambda, &mut own);
            all.extend_from_slice(&own);
            s.constraints.iter().zip(&lambda).for_each(|(c, lambda)| s.push(c, lambda, &mut own));
            all.extend_from_slice(&own);
            let mut matrix = s.matrix();
            s.assemble(&odd, &mut matrix);
            assert!(matrix.factor());
            matrix.solve(&mut own);
            all.extend_from_slice(&own);
            let mut matrix = Cholesky::default();
            s.shape(&mut matrix);
            s.assemble_symmetric(&even, &mut matrix);
            assert!(matrix.factor());
            matrix.solve(&mut own);
            all.extend(own);
            all
        };
        let [a, b] = systems.each_ref().map(of);
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{i}: {a} {b}");
        }
    }
}
