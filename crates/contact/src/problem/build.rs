//! From loose parts to a validated problem: factors, responses, Delassus blocks, packing order.

use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;

use manyworlds_collide::organise::{Links, Organiser};
use manyworlds_sparse::{Ordering, SparseMatrix, SparseOperator};

use super::error::finite;
use super::operator::{self, ASYMMETRY};
use super::{Compliance, Constraint, ContactProblem, FREE, Law, Operator, Part, ProblemError, Side, Subsystem};
use crate::dense::{self, dot};

/// A constraint to be put into a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintInput {
    /// What it demands.
    pub law: Law,
    /// Bias, as many entries as rows count.
    pub e: [f64; 3],
    /// How it gives way; contacts only.
    pub compliance: Option<Compliance>,
    /// Its Jacobian; several of one subsystem add up.
    pub sides: Vec<SideInput>,
}

/// A constraint's Jacobian with respect to one subsystem, or one body of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SideInput {
    /// The subsystem.
    pub subsystem: usize,
    /// The body within the subsystem; given for all sides of a constraint or for none.
    pub body: Option<usize>,
    /// Of a sparse subsystem: the degrees of freedom that its columns are, numbered within the subsystem. Empty: all.
    pub dofs: Vec<u32>,
    /// `[rows, columns]`, row-major.
    pub jacobian: Vec<f64>,
}

/// The loose parts of a problem.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProblemInput {
    /// First degree of freedom and count of each subsystem; together each degree of freedom once.
    pub subsystems: Vec<[usize; 2]>,
    /// Block of `A` of each subsystem, dense row-major; empty where it is sparse.
    pub a: Vec<Vec<f64>>,
    /// Subsystems with a sparse block, and that.
    pub sparse: Vec<(usize, SparseMatrix)>,
    /// Right-hand side; its length is the number of degrees of freedom.
    pub b: Vec<f64>,
    /// Parent of each degree of freedom, -1 at a root; or empty.
    pub parent: Vec<i64>,
    /// Constraints, those of three rows first.
    pub constraints: Vec<ConstraintInput>,
    /// Impulses to start from, or empty.
    pub warm_start: Vec<f64>,
}

/// Name of a constraint in messages: contacts and rows are counted separately, as in a file.
#[derive(Clone, Copy)]
enum Name {
    Contact(usize),
    Row(usize),
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contact(i) => write!(f, "contacts[{i}]"),
            Self::Row(i) => write!(f, "rows[{i}]"),
        }
    }
}

/// Name of a side in messages: that of its constraint, or its number among the parts.
#[derive(Clone, Copy)]
struct SideName {
    of: Name,
    part: Option<usize>,
}

impl Display for SideName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(k) => write!(f, "{}.parts[{k}]", self.of),
            None => write!(f, "{}", self.of),
        }
    }
}

fn none_such(subsystem: usize, n: usize) -> String {
    format!("subsystem {subsystem} of {n}")
}

impl ContactProblem {
    /// Validates and completes a problem.
    ///
    /// # Errors
    /// The first element that is out of range, of a wrong length, not finite, or without meaning: overlapping
    /// subsystems, an `A` that is not symmetric positive definite, negative friction, bounds reversed.
    pub fn new(input: ProblemInput) -> Result<Self, ProblemError> {
        if input.a.len() != input.subsystems.len() {
            return Err(ProblemError::length("A_blocks", input.subsystems.len(), input.a.len()));
        }
        let mut builder = ProblemBuilder::new(&input.subsystems, input.b, input.parent)?;
        let mut sparse: Vec<Option<SparseMatrix>> = vec![None; input.a.len()];
        for (subsystem, matrix) in input.sparse {
            let Some(place) = sparse.get_mut(subsystem) else {
                let what = format!("subsystem {subsystem} of {}", input.a.len());
                return Err(ProblemError::new("A_sparse", what));
            };
            *place = Some(matrix);
        }
        for (block, sparse) in input.a.iter().zip(sparse) {
            match sparse {
                Some(matrix) => {
                    let ordering = Arc::new(Ordering::of(&matrix));
                    builder.sparse_block(matrix, ordering)?;
                }
                None => builder.block(block)?,
            }
        }
        for c in &input.constraints {
            builder.constraint(c.law, c.e, c.compliance)?;
            let split = c.sides.iter().any(|s| s.body.is_some());
            for side in &c.sides {
                let part = split.then_some(side.body);
                if side.dofs.is_empty() {
                    builder.side(side.subsystem, part, &side.jacobian)?;
                } else {
                    builder.sparse_side(side.subsystem, part, &side.dofs, &side.jacobian)?;
                }
            }
        }
        builder.finish(input.warm_start)
    }
}

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
        let subsystems = self::subsystems(subsystems, n_v)?;
        parents(&parent, &subsystems, n_v)?;
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
        checked(at, a, s.count)?;
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
        check_law(self.name(), law, &e, compliance)?;
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

impl ContactProblem {
    /// Responses of all sides where they are not known, and the constraints' own blocks of the Delassus operator.
    fn respond(&mut self) {
        let known = self.response.len() == self.jacobian.len();
        if !known {
            self.response.clear();
            self.response.extend_from_slice(&self.jacobian);
        }
        let mut beside = Vec::new();
        for c in &mut self.constraints {
            let rows = c.law.rows();
            for side in &self.sides[c.sides.clone()] {
                let s = &self.subsystems[side.subsystem];
                let Operator::Dense { block } = s.operator else { continue };
                let own = side.offset..side.offset + rows * s.count;
                let (l, j, y) = (&self.factor[block..], &self.jacobian[own.clone()], &mut self.response[own]);
                match (l.first_chunk(), y.as_chunks_mut().0.first_chunk_mut()) {
                    _ if known => {}
                    (Some(l), Some(y)) if s.count == FREE => solve_free(l, y),
                    _ if rows == 1 => solve(s.count, l, y),
                    _ => solve_rows(s.count, l, y, &mut beside),
                }
                for (g, (a, b)) in c.delassus.iter_mut().zip(ENTRIES) {
                    if b < rows {
                        let (j, y) = (&j[a * s.count..][..s.count], &y[b * s.count..][..s.count]);
                        *g += j.iter().zip(y).map(|(j, y)| j * y).sum::<f64>();
                    }
                }
            }
        }
    }

    /// Factors of sparse blocks, what constraints touch eliminated last, and free velocities.
    fn factor_sparse(&mut self, blocks: Vec<(SparseMatrix, Arc<Ordering>)>) -> Result<(), ProblemError> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut touched = vec![Vec::new(); blocks.len()];
        for side in &self.sides {
            if let Operator::Sparse { index } = self.subsystems[side.subsystem].operator {
                touched[index].extend_from_slice(&self.touched[side.dofs.clone()]);
            }
        }
        let owners: Vec<usize> = (0..self.subsystems.len())
            .filter(|&s| matches!(self.subsystems[s].operator, Operator::Sparse { .. }))
            .collect();
        for (((matrix, ordering), touched), owner) in blocks.into_iter().zip(touched).zip(owners) {
            let own = SparseOperator::new(matrix, ordering, touched)
                .map_err(|e| ProblemError::new(format!("A_sparse[{owner}]"), e.to_string()))?;
            let s = &self.subsystems[owner];
            own.factor().solve(&mut self.v_free[s.begin..s.begin + s.count]);
            self.sparse.push(own);
        }
        Ok(())
    }

    /// The constraints' own blocks of the Delassus operator alone: `J A^-1 J^T = X X^T`, `X^T = L^-1 J^T`.
    fn weigh(&mut self) {
        let mut x = Vec::new();
        for c in &mut self.constraints {
            let rows = c.law.rows();
            for side in &self.sides[c.sides.clone()] {
                let s = &self.subsystems[side.subsystem];
                let block = match s.operator {
                    Operator::Dense { block } => block,
                    Operator::Sparse { index } => {
                        let dofs = &self.touched[side.dofs.clone()];
                        let j = &self.jacobian[side.offset..][..rows * dofs.len()];
                        let own = self.sparse[index].compliance(dofs, j);
                        for (g, (a, b)) in c.delassus.iter_mut().zip(ENTRIES).filter(|(_, (_, b))| *b < rows) {
                            *g += own[a * rows + b];
                        }
                        continue;
                    }
                };
                let (l, j) = (&self.factor[block..], &self.jacobian[side.offset..][..rows * s.count]);
                if let (Some(l), Some(j)) = (l.first_chunk(), j.as_chunks().0.first_chunk())
                    && s.count == FREE
                {
                    weigh_free(l, j, &mut c.delassus);
                    continue;
                }
                x.clear();
                x.extend_from_slice(j);
                x.chunks_exact_mut(s.count).for_each(|row| dense::forward(s.count, l, row));
                for (g, (a, b)) in c.delassus.iter_mut().zip(ENTRIES) {
                    if b < rows {
                        let (a, b) = (&x[a * s.count..][..s.count], &x[b * s.count..][..s.count]);
                        *g += dot(a, b);
                    }
                }
            }
        }
    }

    /// Islands and colours.
    fn arrange(&mut self) {
        let touched: Vec<u32> = self.sides.iter().map(|s| s.subsystem as u32).collect();
        let ends = self.constraints.iter().map(|c| c.sides.end as u32);
        let begins: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let links = Links { n_subsystems: self.subsystems.len(), begins: &begins, touched: &touched };
        self.plan = Organiser::default().organise(links, 1).clone();
    }
}

fn subsystems(spans: &[[usize; 2]], n_v: usize) -> Result<Vec<Subsystem>, ProblemError> {
    let mut owner = vec![None; n_v];
    let mut list = Vec::with_capacity(spans.len());
    for (s, &[begin, count]) in spans.iter().enumerate() {
        let at = || format!("subsystems[{s}]");
        if count == 0 {
            return Err(ProblemError::new(at(), "no degree of freedom"));
        }
        let range: Range<usize> = match begin.checked_add(count) {
            Some(end) if end <= n_v => begin..end,
            _ => {
                return Err(ProblemError::new(
                    at(),
                    format!("{count} from {begin} on exceeds {n_v} degrees of freedom"),
                ));
            }
        };
        for (dof, slot) in range.clone().zip(&mut owner[range]) {
            if let Some(other) = slot.replace(s) {
                return Err(ProblemError::new(at(), format!("degree of freedom {dof} is in subsystems[{other}] too")));
            }
        }
        // Until its block is given.
        list.push(Subsystem { begin, count, operator: Operator::Dense { block: 0 } });
    }
    match owner.iter().position(Option::is_none) {
        Some(dof) => Err(ProblemError::new("subsystems", format!("degree of freedom {dof} is in none"))),
        None => Ok(list),
    }
}

/// Refuses a block of `A` that is not `[n, n]`, finite and symmetric.
fn checked(at: impl Fn() -> String, block: &[f64], n: usize) -> Result<(), ProblemError> {
    if block.len() != n * n {
        return Err(ProblemError::length(at(), n * n, block.len()));
    }
    finite(&at, block)?;
    let largest = block.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for i in 0..n {
        for j in 0..i {
            if (block[i * n + j] - block[j * n + i]).abs() > ASYMMETRY * largest {
                let what =
                    format!("not symmetric: [{i}][{j}] is {}, [{j}][{i}] is {}", block[i * n + j], block[j * n + i]);
                return Err(ProblemError::new(at(), what));
            }
        }
    }
    Ok(())
}

fn parents(parent: &[i64], subsystems: &[Subsystem], n_v: usize) -> Result<(), ProblemError> {
    if parent.is_empty() {
        return Ok(());
    }
    if parent.len() != n_v {
        return Err(ProblemError::length("parent", n_v, parent.len()));
    }
    for s in subsystems {
        for dof in s.begin..s.begin + s.count {
            let p = parent[dof];
            if p != -1 && !(s.begin as i64..dof as i64).contains(&p) {
                let what = format!("{p} is neither -1 nor an earlier degree of freedom of the same subsystem");
                return Err(ProblemError::new(format!("parent[{dof}]"), what));
            }
        }
    }
    Ok(())
}

fn check_law(at: Name, law: Law, e: &[f64; 3], compliance: Option<Compliance>) -> Result<(), ProblemError> {
    finite(|| format!("{at}.e"), &e[..law.rows()])?;
    let non_negative = |key: &str, x: f64| {
        if x >= 0.0 && x.is_finite() {
            return Ok(());
        }
        Err(ProblemError::new(format!("{at}.{key}"), format!("{x} is negative or not finite")))
    };
    let ordered = |lo: f64, hi: f64| {
        if lo <= hi {
            return Ok(());
        }
        Err(ProblemError::new(at.to_string(), format!("lo {lo} is not at or below hi {hi}")))
    };
    match (law, compliance) {
        (Law::Contact { .. }, Some(Compliance { r_n, v_hat })) => {
            non_negative("compliance", r_n).and_then(|()| finite(|| format!("{at}.v_hat"), &[v_hat]))?;
        }
        (_, Some(_)) => return Err(ProblemError::new(format!("{at}.compliance"), "only a contact has one")),
        (_, None) => {}
    }
    match law {
        Law::Contact { mu } => non_negative("mu", mu),
        Law::Soft { k, b, lo, hi } => {
            non_negative("k", k).and_then(|()| non_negative("b", b)).and_then(|()| ordered(lo, hi))
        }
        Law::Box { lo, hi } => ordered(lo, hi),
        Law::Block | Law::Bilateral | Law::Unilateral => Ok(()),
    }
}

/// As [`dense::factor`].
fn factor(n: usize, a: &mut [f64]) -> Result<(), usize> {
    match a.first_chunk_mut() {
        Some(a) if n == FREE => factor_free(a),
        _ => dense::factor(n, a, &mut vec![0.0; n]),
    }
}

/// The same of a free body, its loops unrolled.
fn factor_free(a: &mut [f64; FREE * FREE]) -> Result<(), usize> {
    for i in 0..FREE {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| a[i * FREE + k] * a[j * FREE + k]).sum();
            let rest = a[i * FREE + j] - dot;
            if i != j {
                a[i * FREE + j] = rest / a[j * FREE + j];
            } else if rest > 0.0 && rest.is_finite() {
                a[i * FREE + i] = rest.sqrt();
            } else {
                return Err(i);
            }
        }
    }
    Ok(())
}

/// Rows and columns of the entries of a Delassus block.
const ENTRIES: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

/// [`solve`] of the rows of a contact side by side; `beside` is memory.
fn solve_rows(n: usize, l: &[f64], rows: &mut [f64], beside: &mut Vec<[f64; 4]>) {
    // A fourth row that is zero fills a vector register.
    let row = |r: usize, i: usize| rows.get(r * n + i).copied().unwrap_or_default();
    beside.clear();
    beside.extend((0..n).map(|i| std::array::from_fn(|r| row(r, i))));
    dense::solve_beside(n, l, beside);
    for (r, row) in rows.chunks_exact_mut(n).enumerate() {
        row.iter_mut().zip(&*beside).for_each(|(x, beside)| *x = beside[r]);
    }
}

/// [`solve`] of the rows of a contact with a free body, side by side and in the same order of operations.
fn solve_free(l: &[f64; FREE * FREE], rows: &mut [[f64; FREE]; 3]) {
    // A fourth row that is zero fills a vector register.
    let mut x: [[f64; 4]; FREE] =
        std::array::from_fn(|i| std::array::from_fn(|r| if r < 3 { rows[r][i] } else { 0.0 }));
    for i in 0..FREE {
        let mut dot = [0.0; 4];
        for k in 0..i {
            (0..4).for_each(|r| dot[r] += l[i * FREE + k] * x[k][r]);
        }
        (0..4).for_each(|r| x[i][r] = (x[i][r] - dot[r]) / l[i * FREE + i]);
    }
    for i in (0..FREE).rev() {
        let mut dot = [0.0; 4];
        for k in i + 1..FREE {
            (0..4).for_each(|r| dot[r] += l[k * FREE + i] * x[k][r]);
        }
        (0..4).for_each(|r| x[i][r] = (x[i][r] - dot[r]) / l[i * FREE + i]);
    }
    for (r, row) in rows.iter_mut().enumerate() {
        *row = std::array::from_fn(|i| x[i][r]);
    }
}

/// What a contact's share of a free body adds to its block of the Delassus operator.
fn weigh_free(l: &[f64; FREE * FREE], j: &[[f64; FREE]; 3], g: &mut [f64; 6]) {
    // A fourth row that is zero fills a vector register.
    let mut x: [[f64; 4]; FREE] = std::array::from_fn(|i| [j[0][i], j[1][i], j[2][i], 0.0]);
    for i in 0..FREE {
        let mut own = x[i];
        for k in 0..i {
            (0..4).for_each(|r| own[r] -= l[i * FREE + k] * x[k][r]);
        }
        let inverse = 1.0 / l[i * FREE + i];
        x[i] = own.map(|x| x * inverse);
    }
    for (g, (a, b)) in g.iter_mut().zip(ENTRIES) {
        *g += x.iter().map(|x| x[a] * x[b]).sum::<f64>();
    }
}

/// As [`dense::solve`].
pub(super) fn solve(n: usize, l: &[f64], x: &mut [f64]) {
    match (l.first_chunk(), x.first_chunk_mut()) {
        (Some(l), Some(x)) if n == FREE => solve_one_free(l, x),
        _ => dense::solve(n, l, x),
    }
}

/// The same of a free body, its loops unrolled.
fn solve_one_free(l: &[f64; FREE * FREE], x: &mut [f64; FREE]) {
    for i in 0..FREE {
        let dot: f64 = (0..i).map(|k| l[i * FREE + k] * x[k]).sum();
        x[i] = (x[i] - dot) / l[i * FREE + i];
    }
    for i in (0..FREE).rev() {
        let dot: f64 = (i + 1..FREE).map(|k| l[k * FREE + i] * x[k]).sum();
        x[i] = (x[i] - dot) / l[i * FREE + i];
    }
}
