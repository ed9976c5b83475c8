//! From loose parts to a validated problem: factors, responses, Delassus blocks, packing order.

use std::fmt::{self, Display};
use std::ops::Range;

use manyworlds_collide::organise::{Links, Organiser};

use super::error::finite;
use super::{Compliance, Constraint, ContactProblem, Law, Part, ProblemError, Side, Subsystem};

/// Largest asymmetry of `A` that passes for rounding, relative to its largest entry.
const ASYMMETRY: f64 = 1e-9;

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
#[derive(Debug, Clone, PartialEq)]
pub struct SideInput {
    /// The subsystem.
    pub subsystem: usize,
    /// The body within the subsystem; given for all sides of a constraint or for none.
    pub body: Option<usize>,
    /// `[rows, count]`, row-major.
    pub jacobian: Vec<f64>,
}

/// The loose parts of a problem.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProblemInput {
    /// First degree of freedom and count of each subsystem; together each degree of freedom once.
    pub subsystems: Vec<[usize; 2]>,
    /// Block of `A` of each subsystem, dense row-major.
    pub a: Vec<Vec<f64>>,
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

impl ContactProblem {
    /// Validates and completes a problem.
    ///
    /// # Errors
    /// The first element that is out of range, of a wrong length, not finite, or without meaning: overlapping
    /// subsystems, an `A` that is not symmetric positive definite, negative friction, bounds reversed.
    pub fn new(input: ProblemInput) -> Result<Self, ProblemError> {
        let n_v = input.b.len();
        finite(|| "b".into(), &input.b)?;
        let subsystems = subsystems(&input, n_v)?;
        let (a, factor) = blocks(&input, &subsystems)?;
        parents(&input.parent, &subsystems, n_v)?;
        let n_three = input.constraints.iter().take_while(|c| c.law.rows() == 3).count();
        let mut problem = Self {
            n_v,
            n_rows: 0,
            n_contacts: 0,
            subsystems,
            a,
            factor,
            v_free: input.b.clone(),
            b: input.b,
            parent: input.parent,
            constraints: Vec::with_capacity(input.constraints.len()),
            sides: Vec::new(),
            jacobian: Vec::new(),
            response: Vec::new(),
            parts: Vec::new(),
            part_jacobian: Vec::new(),
            warm_start: input.warm_start,
            plan: Default::default(),
        };
        for s in &problem.subsystems {
            solve(&problem.factor[s.block..], s.count, &mut problem.v_free[s.begin..s.begin + s.count]);
        }
        for (i, constraint) in input.constraints.into_iter().enumerate() {
            let at = if i < n_three { Name::Contact(i) } else { Name::Row(i - n_three) };
            check_law(at, &constraint)?;
            if i >= n_three && constraint.law.rows() == 3 {
                return Err(ProblemError::new(at.to_string(), "a contact after a single row; contacts come first"));
            }
            problem.add(at, constraint)?;
        }
        if problem.warm_start.is_empty() {
            problem.warm_start = vec![0.0; problem.n_rows];
        } else if problem.warm_start.len() != problem.n_rows {
            return Err(ProblemError::length("lambda", problem.n_rows, problem.warm_start.len()));
        }
        finite(|| "lambda".into(), &problem.warm_start)?;
        problem.arrange();
        Ok(problem)
    }

    /// Appends a constraint whose law has been checked.
    fn add(&mut self, at: Name, input: ConstraintInput) -> Result<(), ProblemError> {
        let rows = input.law.rows();
        let (first_side, first_part) = (self.sides.len(), self.parts.len());
        let split = input.sides.iter().any(|s| s.body.is_some());
        for (k, side) in input.sides.iter().enumerate() {
            let here = || if split { format!("{at}.parts[{k}]") } else { at.to_string() };
            let Some(subsystem) = self.subsystems.get(side.subsystem) else {
                let what = format!("subsystem {} of {}", side.subsystem, self.subsystems.len());
                return Err(ProblemError::new(here(), what));
            };
            let n = rows * subsystem.count;
            if side.jacobian.len() != n {
                return Err(ProblemError::length(format!("{}.J", here()), n, side.jacobian.len()));
            }
            finite(|| format!("{}.J", here()), &side.jacobian)?;
            if split {
                self.parts.push(Part { subsystem: side.subsystem, body: side.body, offset: self.part_jacobian.len() });
                self.part_jacobian.extend_from_slice(&side.jacobian);
            }
            match self.sides[first_side..].iter().find(|s| s.subsystem == side.subsystem) {
                Some(same) => {
                    let own = &mut self.jacobian[same.offset..same.offset + n];
                    own.iter_mut().zip(&side.jacobian).for_each(|(sum, j)| *sum += j);
                }
                None => {
                    self.sides.push(Side { subsystem: side.subsystem, offset: self.jacobian.len() });
                    self.jacobian.extend_from_slice(&side.jacobian);
                }
            }
        }
        let mut delassus = [0.0; 6];
        for side in &self.sides[first_side..] {
            let s = &self.subsystems[side.subsystem];
            self.response.extend_from_slice(&self.jacobian[side.offset..side.offset + rows * s.count]);
            for y in self.response[side.offset..].chunks_exact_mut(s.count) {
                solve(&self.factor[s.block..], s.count, y);
            }
            for (k, (r, c)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].into_iter().enumerate() {
                if c < rows {
                    let j = &self.jacobian[side.offset + r * s.count..][..s.count];
                    let y = &self.response[side.offset + c * s.count..][..s.count];
                    delassus[k] += j.iter().zip(y).map(|(j, y)| j * y).sum::<f64>();
                }
            }
        }
        self.n_contacts += usize::from(matches!(input.law, Law::Contact { .. }));
        self.constraints.push(Constraint {
            law: input.law,
            e: input.e,
            compliance: input.compliance,
            row: self.n_rows,
            sides: first_side..self.sides.len(),
            parts: first_part..self.parts.len(),
            delassus,
        });
        self.n_rows += rows;
        Ok(())
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

fn subsystems(input: &ProblemInput, n_v: usize) -> Result<Vec<Subsystem>, ProblemError> {
    let mut owner = vec![None; n_v];
    let mut block = 0usize;
    let mut list = Vec::with_capacity(input.subsystems.len());
    for (s, &[begin, count]) in input.subsystems.iter().enumerate() {
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
        list.push(Subsystem { begin, count, block });
        block += count * count;
    }
    match owner.iter().position(Option::is_none) {
        Some(dof) => Err(ProblemError::new("subsystems", format!("degree of freedom {dof} is in none"))),
        None => Ok(list),
    }
}

fn blocks(input: &ProblemInput, subsystems: &[Subsystem]) -> Result<(Vec<f64>, Vec<f64>), ProblemError> {
    if input.a.len() != subsystems.len() {
        return Err(ProblemError::length("A_blocks", subsystems.len(), input.a.len()));
    }
    let (mut a, mut factor) = (Vec::new(), Vec::new());
    for (s, (block, subsystem)) in input.a.iter().zip(subsystems).enumerate() {
        let at = || format!("A_blocks[{s}]");
        let n = subsystem.count;
        if block.len() != n * n {
            return Err(ProblemError::length(at(), n * n, block.len()));
        }
        finite(at, block)?;
        let largest = block.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for i in 0..n {
            for j in 0..i {
                if (block[i * n + j] - block[j * n + i]).abs() > ASYMMETRY * largest {
                    let what = format!(
                        "not symmetric: [{i}][{j}] is {}, [{j}][{i}] is {}",
                        block[i * n + j],
                        block[j * n + i]
                    );
                    return Err(ProblemError::new(at(), what));
                }
            }
        }
        let l = cholesky(block, n).map_err(|i| {
            ProblemError::new(
                at(),
                format!("not positive definite: pivot of row {i} is zero, negative or out of range"),
            )
        })?;
        a.extend_from_slice(block);
        factor.extend(l);
    }
    Ok((a, factor))
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

fn check_law(at: Name, c: &ConstraintInput) -> Result<(), ProblemError> {
    finite(|| format!("{at}.e"), &c.e[..c.law.rows()])?;
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
    match (c.law, c.compliance) {
        (Law::Contact { .. }, Some(Compliance { r_n, v_hat })) => {
            non_negative("compliance", r_n).and_then(|()| finite(|| format!("{at}.v_hat"), &[v_hat]))?;
        }
        (_, Some(_)) => return Err(ProblemError::new(format!("{at}.compliance"), "only a contact has one")),
        (_, None) => {}
    }
    match c.law {
        Law::Contact { mu } => non_negative("mu", mu),
        Law::Soft { k, b, lo, hi } => {
            non_negative("k", k).and_then(|()| non_negative("b", b)).and_then(|()| ordered(lo, hi))
        }
        Law::Box { lo, hi } => ordered(lo, hi),
        Law::Block | Law::Bilateral | Law::Unilateral => Ok(()),
    }
}

/// Lower Cholesky factor of a dense row-major matrix, or the row whose pivot is not positive.
pub(crate) fn cholesky(a: &[f64], n: usize) -> Result<Vec<f64>, usize> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - dot;
            if i != j {
                l[i * n + j] = rest / l[j * n + j];
            } else if rest > 0.0 && rest.is_finite() {
                l[i * n + i] = rest.sqrt();
            } else {
                return Err(i);
            }
        }
    }
    Ok(l)
}

/// `x <- (L L^T)^-1 x`.
pub(crate) fn solve(l: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
        x[i] = (x[i] - dot) / l[i * n + i];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
        x[i] = (x[i] - dot) / l[i * n + i];
    }
}
