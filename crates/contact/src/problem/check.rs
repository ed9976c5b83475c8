//! What is refused of a problem, and how its parts are called in messages.

use std::fmt::{self, Display};
use std::ops::Range;

use super::error::finite;
use super::operator::ASYMMETRY;
use super::{Compliance, Law, Operator, ProblemError, Subsystem};

/// Name of a constraint in messages: contacts and rows are counted separately, as in a file.
#[derive(Clone, Copy)]
pub(super) enum Name {
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
pub(super) struct SideName {
    pub(super) of: Name,
    pub(super) part: Option<usize>,
}

impl Display for SideName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(k) => write!(f, "{}.parts[{k}]", self.of),
            None => write!(f, "{}", self.of),
        }
    }
}

pub(super) fn none_such(subsystem: usize, n: usize) -> String {
    format!("subsystem {subsystem} of {n}")
}

pub(super) fn subsystems(spans: &[[usize; 2]], n_v: usize) -> Result<Vec<Subsystem>, ProblemError> {
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
pub(super) fn block(at: impl Fn() -> String, block: &[f64], n: usize) -> Result<(), ProblemError> {
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

pub(super) fn parents(parent: &[i64], subsystems: &[Subsystem], n_v: usize) -> Result<(), ProblemError> {
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

pub(super) fn law(at: Name, law: Law, e: &[f64; 3], compliance: Option<Compliance>) -> Result<(), ProblemError> {
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
