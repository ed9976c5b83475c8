//! A validated problem, piece by piece.

use std::ops::Range;
use std::sync::Arc;

use manyworlds_sparse::{Ordering, SparseMatrix};

use super::block::{factor, solve};
use super::check::{self, Name, SideName, none_such};
use super::error::finite;
use super::{Compliance, Constraint, ContactProblem, Law, Operator, Part, ProblemError, Side, operator};

/// Puts a problem together piece by piece: the blocks of `A`, then constraints, each followed by its sides.
#[derive(Debug)]
pub struct ProblemBuilder {
    problem: ContactProblem,
    /// Constraints of three rows so far.
    n_three: usize,
    /// Parts or sides of the last constraint that were given.
    n_given: usize,
    /// Blocks of `A` that were given.
    n_blocks: usize,
    /// Sparse ones that finishing factors.
    sparse: Vec<(SparseMatrix, Arc<Ordering>)>,
    /// Whether responses are wanted.
    responses: bool,
    /// Where the side that was added last has its numbers.
    last: Range<usize>,
}

impl ProblemBuilder {
    /// Degrees of freedom without mass.
    ///
    /// # Errors
    /// As [`ContactProblem::new`]'s, of subsystems, `b` and parents.
    pub fn new(subsystems: &[[usize; 2]], b: Vec<f64>, parent: Vec<i64>) -> Result<Self, ProblemError> {
        Self::reusing(ContactProblem::default(), subsystems, b, parent)
    }

    /// The same in the memory of a problem that nobody needs any more: batches make one a world and step.
    ///
    /// # Errors
    /// Likewise.
    pub fn reusing(
        memory: ContactProblem,
        subsystems: &[[usize; 2]],
        b: Vec<f64>,
        parent: Vec<i64>,
    ) -> Result<Self, ProblemError> {
        let n_v = b.len();
        finite(|| "b".into(), &b)?;
        let subsystems = check::subsystems(subsystems, n_v)?;
        check::parents(&parent, &subsystems, n_v)?;
        let mut problem = ContactProblem {
            n_v,
            n_rows: 0,
            n_contacts: 0,
            subsystems,
            v_free: b.clone(),
            b,
            parent,
            warm_start: Vec::new(),
            v_start: Vec::new(),
            plan: Default::default(),
            ..memory
        };
        let p = &mut problem;
        for list in [&mut p.a, &mut p.factor, &mut p.jacobian, &mut p.response, &mut p.part_jacobian] {
            list.clear();
        }
        p.constraints.clear();
        p.sides.clear();
        p.parts.clear();
        p.sparse.clear();
        p.touched.clear();
        Ok(Self { problem, n_three: 0, n_given: 0, n_blocks: 0, sparse: Vec::new(), responses: true, last: 0..0 })
    }

    /// Leaves the responses out, for a solver that says that it does without ([`Solver::responds`]).
    ///
    /// [`Solver::responds`]: crate::solve::Solver::responds
    #[must_use]
    pub fn without_responses(self) -> Self {
        Self { responses: false, ..self }
    }

    /// Makes room for so many constraints, with so many numbers in their sides together.
    pub fn reserve(&mut self, constraints: usize, reals: usize) {
        let p = &mut self.problem;
        p.constraints.reserve(constraints);
        p.sides.reserve(2 * constraints);
        p.parts.reserve(2 * constraints);
        p.jacobian.reserve(reals);
        if self.responses {
            p.response.reserve(reals);
        }
    }

    /// The next subsystem's block of `A`, dense row-major.
    ///
    /// # Errors
    /// A block of a wrong length, or that is not finite, symmetric and positive definite.
    pub fn block(&mut self, a: &[f64]) -> Result<(), ProblemError> {
        let number = self.next_block()?;
        let p = &mut self.problem;
        let (s, at) = (&mut p.subsystems[number], || format!("A_blocks[{number}]"));
        check::block(at, a, s.count)?;
        let done = p.a.len();
        s.operator = Operator::Dense { block: done };
        p.factor.extend_from_slice(a);
        let l = &mut p.factor[done..];
        factor(s.count, l).map_err(|i| {
            let what = format!("not positive definite: pivot of row {i} is zero, negative or out of range");
            ProblemError::new(at(), what)
        })?;
        solve(s.count, l, &mut p.v_free[s.begin..s.begin + s.count]);
        p.a.extend_from_slice(a);
        Ok(())
    }

    /// The next subsystem's block of `A`, sparse, with an order of elimination of its pattern. That it is positive definite
    /// is found at the end, when it is known what constraints touch.
    ///
    /// # Errors
    /// A block of a wrong size, or that is not finite and symmetric.
    pub fn sparse_block(&mut self, matrix: SparseMatrix, ordering: Arc<Ordering>) -> Result<(), ProblemError> {
        let number = self.next_block()?;
        let s = &mut self.problem.subsystems[number];
        operator::checked(|| format!("A_sparse[{number}]"), &matrix, s.count)?;
        s.operator = Operator::Sparse { index: self.sparse.len() };
        self.sparse.push((matrix, ordering));
        Ok(())
    }

    /// The next subsystem's block of `A` is sparse and known elsewhere: for [`Self::constraints`] alone.
    ///
    /// # Errors
    /// More blocks than subsystems.
    pub fn open_block(&mut self) -> Result<(), ProblemError> {
        let number = self.next_block()?;
        self.problem.subsystems[number].operator = Operator::Sparse { index: 0 };
        Ok(())
    }

    /// The constraints and their sides alone, without what sparse blocks are needed for: factors, free velocities, Delassus
    /// operators, islands.
    #[must_use]
    pub fn constraints(self) -> ContactProblem {
        self.problem
    }

    /// The subsystem whose block is at hand.
    fn next_block(&mut self) -> Result<usize, ProblemError> {
        let n = self.problem.subsystems.len();
        self.n_blocks += 1;
        if n < self.n_blocks {
            return Err(ProblemError::new("A_blocks", format!("more than {n} blocks")));
        }
        Ok(self.n_blocks - 1)
    }

    /// Begins the next constraint; those of three rows come first. All blocks of `A` stand.
    ///
    /// # Errors
    /// A law without meaning, or a contact behind a single row.
    pub fn constraint(&mut self, law: Law, e: [f64; 3], compliance: Option<Compliance>) -> Result<(), ProblemError> {
        let p = &mut self.problem;
        let (rows, three) = (law.rows(), self.n_three == p.constraints.len());
        self.n_given = 0;
        self.n_three += usize::from(three && rows == 3);
        p.n_contacts += usize::from(matches!(law, Law::Contact { .. }));
        p.constraints.push(Constraint {
            law,
            e,
            compliance,
            cap: f64::INFINITY,
            row: p.n_rows,
            sides: p.sides.len()..p.sides.len(),
            parts: p.parts.len()..p.parts.len(),
            delassus: [0.0; 6],
        });
        p.n_rows += rows;
        check::law(self.name(), law, &e, compliance)?;
        if !three && rows == 3 {
            return Err(ProblemError::new(
                self.name().to_string(),
                "a contact after a single row; contacts come first",
            ));
        }
        Ok(())
    }

    /// Name of the constraint at hand.
    fn name(&self) -> Name {
        let n = self.problem.constraints.len();
        if self.n_three == n { Name::Contact(n - 1) } else { Name::Row(n - 1 - self.n_three) }
    }

    /// Adds what the constraint at hand sees of a subsystem, `[rows, count]`; several of one add up. `part`: as a part of
    /// its own, about a body of the subsystem if the problem says which.
    ///
    /// # Errors
    /// A subsystem that is none or sparse, or a Jacobian of a wrong length or that is not finite.
    pub fn side(
        &mut self,
        subsystem: usize,
        part: Option<Option<usize>>,
        jacobian: &[f64],
    ) -> Result<(), ProblemError> {
        let here = self.next_side(part.is_some());
        let p = &mut self.problem;
        let Some(of) = p.subsystems.get(subsystem) else {
            return Err(ProblemError::new(here.to_string(), none_such(subsystem, p.subsystems.len())));
        };
        if let Operator::Sparse { .. } = of.operator {
            let what = format!("subsystem {subsystem} is sparse: its sides name the degrees of freedom they touch");
            return Err(ProblemError::new(format!("{here}.dofs"), what));
        }
        let Some(c) = p.constraints.last_mut() else { return Ok(()) };
        let n = c.law.rows() * of.count;
        if jacobian.len() != n {
            return Err(ProblemError::length(format!("{here}.J"), n, jacobian.len()));
        }
        finite(|| format!("{here}.J"), jacobian)?;
        if let Some(body) = part {
            p.parts.push(Part { subsystem, body, offset: p.part_jacobian.len(), dofs: 0..0 });
            p.part_jacobian.extend_from_slice(jacobian);
            c.parts.end += 1;
        }
        match p.sides[c.sides.clone()].iter().find(|s| s.subsystem == subsystem) {
            Some(same) => {
                self.last = same.offset..same.offset + n;
                let own = &mut p.jacobian[self.last.clone()];
                own.iter_mut().zip(jacobian).for_each(|(sum, j)| *sum += j);
            }
            None => {
                p.sides.push(Side { subsystem, offset: p.jacobian.len(), dofs: 0..0 });
                p.jacobian.extend_from_slice(jacobian);
                self.last = p.jacobian.len() - n..p.jacobian.len();
                c.sides.end += 1;
            }
        }
        Ok(())
    }

    /// The same of a sparse subsystem, of which it touches `dofs`: `[rows, dofs]`.
    ///
    /// # Errors
    /// A subsystem that is none or dense, a degree of freedom that it does not have or that is named twice, or a Jacobian
    /// of a wrong length or that is not finite.
    pub fn sparse_side(
        &mut self,
        subsystem: usize,
        part: Option<Option<usize>>,
        dofs: &[u32],
        jacobian: &[f64],
    ) -> Result<(), ProblemError> {
        let here = self.next_side(part.is_some());
        let p = &mut self.problem;
        let Some(of) = p.subsystems.get(subsystem) else {
            return Err(ProblemError::new(here.to_string(), none_such(subsystem, p.subsystems.len())));
        };
        if let Operator::Dense { .. } = of.operator {
            let what = format!("subsystem {subsystem} is dense: its sides have a column for each degree of freedom");
            return Err(ProblemError::new(format!("{here}.dofs"), what));
        }
        let mut columns: Vec<usize> = (0..dofs.len()).collect();
        columns.sort_unstable_by_key(|&k| dofs[k]);
        if let Some(&dof) = columns.last().map(|&k| &dofs[k]).filter(|&&dof| dof as usize >= of.count) {
            let what = format!("{dof} of {} degrees of freedom", of.count);
            return Err(ProblemError::new(format!("{here}.dofs"), what));
        }
        if let Some(pair) = columns.windows(2).find(|pair| dofs[pair[0]] == dofs[pair[1]]) {
            return Err(ProblemError::new(format!("{here}.dofs"), format!("{} twice", dofs[pair[0]])));
        }
        let Some(c) = p.constraints.last_mut() else { return Ok(()) };
        let rows = c.law.rows();
        if jacobian.len() != rows * dofs.len() {
            return Err(ProblemError::length(format!("{here}.J"), rows * dofs.len(), jacobian.len()));
        }
        finite(|| format!("{here}.J"), jacobian)?;
        let terms = |r: usize| columns.iter().map(move |&k| (dofs[k], jacobian[r * dofs.len() + k]));
        if let Some(body) = part {
            let first = p.touched.len();
            p.touched.extend(columns.iter().map(|&k| dofs[k]));
            p.parts.push(Part { subsystem, body, offset: p.part_jacobian.len(), dofs: first..p.touched.len() });
            (0..rows).for_each(|r| p.part_jacobian.extend(terms(r).map(|(_, j)| j)));
            c.parts.end += 1;
        }
        // Together with what the constraint has seen of it before: sides are few and short.
        let same = p.sides[c.sides.clone()].iter_mut().find(|s| s.subsystem == subsystem);
        let (before, offset) = match &same {
            Some(same) => (p.touched[same.dofs.clone()].to_vec(), same.offset),
            None => (Vec::new(), 0),
        };
        let mut all: Vec<u32> = before.iter().chain(dofs).copied().collect();
        all.sort_unstable();
        all.dedup();
        let (first, begin) = (p.touched.len(), p.jacobian.len());
        p.jacobian.resize(begin + rows * all.len(), 0.0);
        let (known, sums) = p.jacobian.split_at_mut(begin);
        for (r, sums) in sums.chunks_exact_mut(all.len().max(1)).enumerate() {
            let known = before.iter().copied().zip(known[offset + r * before.len()..].iter().copied());
            for (dof, j) in known.chain(terms(r)) {
                sums[all.binary_search(&dof).unwrap_or_default()] += j;
            }
        }
        p.touched.extend(all);
        let side = Side { subsystem, offset: begin, dofs: first..p.touched.len() };
        self.last = 0..0;
        match same {
            Some(same) => *same = side,
            None => {
                p.sides.push(side);
                c.sides.end += 1;
            }
        }
        Ok(())
    }

    /// What the dense side that was just added responds with, `Y^T = (A^-1 J^T)^T`, `[rows, count]`, where it is known: of all sides
    /// or of none.
    ///
    /// # Errors
    /// A response of a wrong length, that is not finite, or behind a side without one.
    pub fn response(&mut self, response: &[f64]) -> Result<(), ProblemError> {
        let name = self.name();
        if response.len() != self.last.len() {
            return Err(ProblemError::length(format!("{name}.Y"), self.last.len(), response.len()));
        }
        finite(|| format!("{name}.Y"), response)?;
        let known = &mut self.problem.response;
        if known.len() < self.last.start {
            return Err(ProblemError::new(format!("{name}.Y"), "a side before it has none"));
        }
        known.resize(known.len().max(self.last.end), 0.0);
        known[self.last.clone()].iter_mut().zip(response).for_each(|(sum, y)| *sum += y);
        Ok(())
    }

    /// Name of the side at hand, of the constraint at hand.
    fn next_side(&mut self, split: bool) -> SideName {
        let name = SideName { of: self.name(), part: split.then_some(self.n_given) };
        self.n_given += 1;
        name
    }

    /// The problem, to be started from these impulses; none: from zeros.
    ///
    /// # Errors
    /// Impulses of a wrong number or that are not finite, or blocks of `A` that are missing.
    pub fn finish(mut self, warm_start: Vec<f64>) -> Result<ContactProblem, ProblemError> {
        let p = &mut self.problem;
        if self.n_blocks < p.subsystems.len() {
            return Err(ProblemError::new("A_blocks", format!("fewer than {} blocks", p.subsystems.len())));
        }
        p.factor_sparse(self.sparse)?;
        if self.responses && p.sparse.is_empty() {
            p.respond();
        } else {
            p.weigh();
        }
        p.warm_start = warm_start;
        if p.warm_start.is_empty() {
            p.warm_start = vec![0.0; p.n_rows];
        } else if p.warm_start.len() != p.n_rows {
            return Err(ProblemError::length("lambda", p.n_rows, p.warm_start.len()));
        }
        finite(|| "lambda".into(), &p.warm_start)?;
        p.arrange();
        Ok(self.problem)
    }
}
