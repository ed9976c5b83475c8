//! Contact problems as JSON files.
//!
//! `{"A": [[..]] | "A_blocks": [[[..]]], "b", "subsystems": [[first, count]], "contacts": [{"J" | "parts", "mu", "e"}],
//! "rows": [{"J", "kind", "e", "k", "b", "lo", "hi"}], "parent"?, "lambda"?}`. A contact may say `"kind": "bilateral"`
//! (three rows held at zero) instead of `mu`; one that gives way has a `compliance`, 1/kg, and may have a `v_hat`, m/s,
//! instead of `-e_n` ([`Compliance`]); a part may leave out its `body`; a row may give `parts` instead of `J`;
//! `lambda` is a warm start. Unknown keys are skipped.
//!
//! A body that deforms has a sparse block, `"A_sparse": [{"subsystem", "entries": [[i, j, x]]}]`, the entries those of the
//! lower triangle, numbered within the subsystem; its entry of `A_blocks` is empty or left out with all others. A part of
//! such a subsystem names the `dofs` that the columns of its `J` are.

use std::ops::Range;

use manyworlds_sparse::SparseMatrix;
use serde::{Deserialize, Serialize};
use serde_json::Serializer;

use super::short::{DIGITS, Short};
use super::{Compliance, ConstraintInput, ContactProblem, Law, Operator, ProblemError, ProblemInput, SideInput};

/// Entries of a dense `A` outside the blocks may be this large, relative to the largest entry.
const COUPLING: f64 = 1e-12;

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    #[serde(rename = "A", skip_serializing_if = "Option::is_none")]
    a: Option<Vec<Vec<f64>>>,
    #[serde(rename = "A_blocks", skip_serializing_if = "Option::is_none")]
    a_blocks: Option<Vec<Vec<Vec<f64>>>>,
    #[serde(rename = "A_sparse", default, skip_serializing_if = "Vec::is_empty")]
    a_sparse: Vec<Sparse>,
    b: Vec<f64>,
    subsystems: Vec<[usize; 2]>,
    #[serde(default)]
    contacts: Vec<Contact>,
    #[serde(default)]
    rows: Vec<Row>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parent: Vec<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lambda: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sparse {
    subsystem: usize,
    entries: Vec<(usize, usize, f64)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contact {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(rename = "J", skip_serializing_if = "Option::is_none")]
    j: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<Part>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mu: Option<f64>,
    #[serde(default)]
    e: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compliance: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    v_hat: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    subsystem: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dofs: Vec<u32>,
    #[serde(rename = "J")]
    j: Vec<Vec<f64>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Row {
    #[serde(rename = "J", skip_serializing_if = "Option::is_none")]
    j: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<Part>>,
    kind: String,
    #[serde(default)]
    e: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lo: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hi: Option<f64>,
}

/// Reads a problem.
///
/// # Errors
/// JSON that is none (with line and column), or the first element at fault.
pub fn read(text: &str) -> Result<ContactProblem, ProblemError> {
    let file: File = serde_json::from_str(text).map_err(|e| ProblemError::new("contact problem", e.to_string()))?;
    ContactProblem::new(input(file)?)
}

fn input(file: File) -> Result<ProblemInput, ProblemError> {
    let n_v = file.b.len();
    for (s, &[begin, count]) in file.subsystems.iter().enumerate() {
        if begin.checked_add(count).is_none_or(|end| end > n_v) {
            let what = format!("{count} from {begin} on exceeds {n_v} degrees of freedom");
            return Err(ProblemError::new(format!("subsystems[{s}]"), what));
        }
    }
    let sparse = sparse(&file.a_sparse, &file.subsystems)?;
    let is_sparse: Vec<bool> = (0..file.subsystems.len()).map(|s| sparse.iter().any(|&(own, _)| own == s)).collect();
    let a = match (file.a, file.a_blocks) {
        (Some(_), None) if !sparse.is_empty() => {
            return Err(ProblemError::new("A", "given beside A_sparse: give A_blocks"));
        }
        (Some(a), None) => split_dense(&a, &file.subsystems, n_v)?,
        (None, Some(blocks)) => {
            if blocks.len() != file.subsystems.len() {
                return Err(ProblemError::length("A_blocks", file.subsystems.len(), blocks.len()));
            }
            let flat = |(s, block): (usize, &Vec<Vec<f64>>)| {
                let n = if is_sparse[s] { 0 } else { file.subsystems[s][1] };
                flatten(&format!("A_blocks[{s}]"), block, n, n)
            };
            blocks.iter().enumerate().map(flat).collect::<Result<_, _>>()?
        }
        (None, None) if !is_sparse.is_empty() && is_sparse.iter().all(|&x| x) => vec![Vec::new(); is_sparse.len()],
        (None, None) => return Err(ProblemError::new("A", "missing: give A or A_blocks")),
        (Some(_), Some(_)) => return Err(ProblemError::new("A", "given beside A_blocks: give one of them")),
    };
    let mut constraints = Vec::with_capacity(file.contacts.len() + file.rows.len());
    for (i, c) in file.contacts.into_iter().enumerate() {
        let at = format!("contacts[{i}]");
        let law = match (c.kind.as_deref().unwrap_or("contact"), c.mu) {
            ("contact", Some(mu)) => Law::Contact { mu },
            ("contact", None) => return Err(ProblemError::new(format!("{at}.mu"), "missing")),
            ("bilateral", None) => Law::Block,
            ("bilateral", Some(_)) => return Err(ProblemError::new(format!("{at}.mu"), "a bilateral block has none")),
            (other, _) => {
                return Err(ProblemError::new(
                    format!("{at}.kind"),
                    format!("\"{other}\" is not contact or bilateral"),
                ));
            }
        };
        let e = match c.e[..] {
            [] => [0.0; 3],
            [t1, t2, n] => [t1, t2, n],
            _ => return Err(ProblemError::length(format!("{at}.e"), 3, c.e.len())),
        };
        let compliance = match (c.compliance, c.v_hat) {
            (None, None) => None,
            (Some(r_n), v_hat) => Some(Compliance { r_n, v_hat: v_hat.unwrap_or(-e[2]) }),
            (None, Some(_)) => return Err(ProblemError::new(format!("{at}.v_hat"), "given without a compliance")),
        };
        let sides = sides(&at, 3, c.j, c.parts, (&file.subsystems, &is_sparse), n_v)?;
        constraints.push(ConstraintInput { law, e, sides, compliance });
    }
    for (i, row) in file.rows.into_iter().enumerate() {
        let at = format!("rows[{i}]");
        let law = row_law(&at, &row)?;
        let j = row.j.map(|j| vec![j]);
        let sides = sides(&at, 1, j, row.parts, (&file.subsystems, &is_sparse), n_v)?;
        constraints.push(ConstraintInput { law, e: [row.e, 0.0, 0.0], sides, compliance: None });
    }
    let File { b, subsystems, parent, lambda, .. } = file;
    Ok(ProblemInput { subsystems, a, sparse, b, parent, constraints, warm_start: lambda })
}

/// The sparse blocks and whose they are.
fn sparse(blocks: &[Sparse], subsystems: &[[usize; 2]]) -> Result<Vec<(usize, SparseMatrix)>, ProblemError> {
    let mut out: Vec<(usize, SparseMatrix)> = Vec::with_capacity(blocks.len());
    for (k, block) in blocks.iter().enumerate() {
        let at = format!("A_sparse[{k}]");
        let Some(&[_, n]) = subsystems.get(block.subsystem) else {
            let what = format!("{} of {}", block.subsystem, subsystems.len());
            return Err(ProblemError::new(format!("{at}.subsystem"), what));
        };
        if out.iter().any(|&(other, _)| other == block.subsystem) {
            return Err(ProblemError::new(format!("{at}.subsystem"), format!("{} a second time", block.subsystem)));
        }
        if let Some((e, (i, j, _))) = block.entries.iter().enumerate().find(|(_, (i, j, _))| i < j || *i >= n) {
            let what = format!("[{i}, {j}] is not in the lower triangle of {n} rows");
            return Err(ProblemError::new(format!("{at}.entries[{e}]"), what));
        }
        let mirrored = block.entries.iter().filter(|(i, j, _)| i != j).map(|&(i, j, x)| (j, i, x));
        let all: Vec<_> = block.entries.iter().copied().chain(mirrored).collect();
        let matrix = SparseMatrix::from_triplets(n, &all)
            .ok_or_else(|| ProblemError::new(&at, format!("{n} degrees of freedom are too many")))?;
        out.push((block.subsystem, matrix));
    }
    Ok(out)
}

fn row_law(at: &str, row: &Row) -> Result<Law, ProblemError> {
    let need = |key: &str, value: Option<f64>| {
        value.ok_or_else(|| ProblemError::new(format!("{at}.{key}"), format!("missing: a {} row has one", row.kind)))
    };
    Ok(match row.kind.as_str() {
        "bilateral" => Law::Bilateral,
        "unilateral" => Law::Unilateral,
        "soft" => Law::Soft {
            k: need("k", row.k)?,
            b: need("b", row.b)?,
            lo: row.lo.unwrap_or(f64::NEG_INFINITY),
            hi: row.hi.unwrap_or(f64::INFINITY),
        },
        // A side of a box that is left out is open.
        "box" if row.lo.is_none() && row.hi.is_none() => {
            return Err(ProblemError::new(at, "a box row needs lo or hi"));
        }
        "box" => Law::Box { lo: row.lo.unwrap_or(f64::NEG_INFINITY), hi: row.hi.unwrap_or(f64::INFINITY) },
        other => {
            let what = format!("\"{other}\" is not bilateral, unilateral, soft or box");
            return Err(ProblemError::new(format!("{at}.kind"), what));
        }
    })
}

/// Rows of a matrix, one after the other.
fn flatten(at: &str, rows: &[Vec<f64>], n_rows: usize, n_columns: usize) -> Result<Vec<f64>, ProblemError> {
    if rows.len() != n_rows {
        return Err(ProblemError::new(at, format!("expected {n_rows} rows, found {}", rows.len())));
    }
    match rows.iter().position(|row| row.len() != n_columns) {
        Some(i) => Err(ProblemError::length(format!("{at}[{i}]"), n_columns, rows[i].len())),
        None => Ok(rows.concat()),
    }
}

fn split_dense(a: &[Vec<f64>], subsystems: &[[usize; 2]], n_v: usize) -> Result<Vec<Vec<f64>>, ProblemError> {
    let dense = flatten("A", a, n_v, n_v)?;
    super::error::finite(|| "A".into(), &dense)?;
    let mut owner = vec![usize::MAX; n_v];
    for (s, &[begin, count]) in subsystems.iter().enumerate() {
        owner[begin..begin + count].fill(s);
    }
    let largest = dense.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for i in 0..n_v {
        for j in 0..n_v {
            if owner[i] != owner[j] && dense[i * n_v + j].abs() > COUPLING * largest {
                let what = format!("{} couples two subsystems", dense[i * n_v + j]);
                return Err(ProblemError::new(format!("A[{i}][{j}]"), what));
            }
        }
    }
    let block = |&[begin, count]: &[usize; 2]| {
        (begin..begin + count).flat_map(|i| dense[i * n_v + begin..][..count].iter().copied()).collect()
    };
    Ok(subsystems.iter().map(block).collect())
}

/// Sides from a dense `J` (its non-zero subsystems) or from `parts`.
fn sides(
    at: &str,
    rows: usize,
    j: Option<Vec<Vec<f64>>>,
    parts: Option<Vec<Part>>,
    (subsystems, is_sparse): (&[[usize; 2]], &[bool]),
    n_v: usize,
) -> Result<Vec<SideInput>, ProblemError> {
    match (j, parts) {
        (Some(j), None) => {
            let here = format!("{at}.J");
            let dense = flatten(&here, &j, rows, n_v)?;
            super::error::finite(|| here.clone(), &dense)?;
            let side = |(s, &[begin, count]): (usize, &[usize; 2])| {
                let is_touched = |&i: &usize| (0..rows).any(|r| dense[r * n_v + begin + i] != 0.0);
                let touched: Vec<usize> = (0..count).filter(is_touched).collect();
                if touched.is_empty() {
                    return None;
                }
                let columns = if is_sparse[s] { touched } else { (0..count).collect() };
                let dofs = if is_sparse[s] { columns.iter().map(|&i| i as u32).collect() } else { Vec::new() };
                let row = |r: usize| columns.iter().map(move |&i| (r, i));
                let jacobian = (0..rows).flat_map(row).map(|(r, i)| dense[r * n_v + begin + i]).collect();
                Some(SideInput { subsystem: s, body: None, dofs, jacobian })
            };
            Ok(subsystems.iter().enumerate().filter_map(side).collect())
        }
        (None, Some(parts)) => {
            let side = |(k, part): (usize, Part)| {
                let here = format!("{at}.parts[{k}]");
                let Some(&[_, count]) = subsystems.get(part.subsystem) else {
                    let what = format!("{} of {}", part.subsystem, subsystems.len());
                    return Err(ProblemError::new(format!("{here}.subsystem"), what));
                };
                let columns = if part.dofs.is_empty() { count } else { part.dofs.len() };
                let jacobian = flatten(&format!("{here}.J"), &part.j, rows, columns)?;
                Ok(SideInput { subsystem: part.subsystem, body: part.body, dofs: part.dofs, jacobian })
            };
            parts.into_iter().enumerate().map(side).collect()
        }
        (None, None) => Err(ProblemError::new(format!("{at}.J"), "missing: give J or parts")),
        (Some(_), Some(_)) => Err(ProblemError::new(format!("{at}.J"), "given beside parts: give one of them")),
    }
}

/// Writes a problem, by blocks and parts; [`read`] gives the same problem back.
#[must_use]
pub fn write(problem: &ContactProblem) -> String {
    write_rounded(problem, DIGITS)
}

/// As [`write()`], with so many significant digits at most: smaller, and another problem by that much.
#[must_use]
pub fn write_rounded(problem: &ContactProblem, digits: usize) -> String {
    let rows_of = |flat: &[f64], n: usize| flat.chunks_exact(n).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let parts_of = |c: &super::Constraint| {
        let rows = c.law.rows();
        let part = |subsystem: usize, body: Option<usize>, dofs: &Range<usize>, from: &[f64], offset: usize| {
            let dofs = problem.touched_by(subsystem, dofs).unwrap_or_default().to_vec();
            let n = if dofs.is_empty() { problem.subsystems[subsystem].count } else { dofs.len() };
            Part { subsystem, body, dofs, j: rows_of(&from[offset..offset + rows * n], n) }
        };
        if c.parts.is_empty() {
            let own = &problem.sides[c.sides.clone()];
            own.iter().map(|s| part(s.subsystem, None, &s.dofs, &problem.jacobian, s.offset)).collect()
        } else {
            let own = &problem.parts[c.parts.clone()];
            own.iter().map(|p| part(p.subsystem, p.body, &p.dofs, &problem.part_jacobian, p.offset)).collect::<Vec<_>>()
        }
    };
    let bound = |x: f64| x.is_finite().then_some(x);
    let sparse_of = |(subsystem, s): (usize, &super::Subsystem)| {
        let Operator::Sparse { index } = s.operator else { return None };
        let lower = problem.sparse[index].matrix.entries().filter(|(i, j, _)| j <= i);
        Some(Sparse { subsystem, entries: lower.collect() })
    };
    let mut file = File {
        a_blocks: Some(problem.subsystems.iter().map(|s| rows_of(problem.block(s), s.count)).collect()),
        a_sparse: problem.subsystems.iter().enumerate().filter_map(sparse_of).collect(),
        b: problem.b.clone(),
        subsystems: problem.subsystems.iter().map(|s| [s.begin, s.count]).collect(),
        parent: problem.parent.clone(),
        lambda: if problem.warm_start.iter().any(|&x| x != 0.0) { problem.warm_start.clone() } else { Vec::new() },
        ..Default::default()
    };
    for c in &problem.constraints {
        let parts = Some(parts_of(c));
        let mut row = Row { e: c.e[0], ..Default::default() };
        match c.law {
            Law::Contact { mu } => {
                let (compliance, v_hat) = c.compliance.map(|c| (c.r_n, c.v_hat)).unzip();
                file.contacts.push(Contact {
                    kind: None,
                    j: None,
                    parts,
                    mu: Some(mu),
                    e: c.e.to_vec(),
                    compliance,
                    v_hat,
                });
                continue;
            }
            Law::Block => {
                let kind = Some("bilateral".to_owned());
                let e = c.e.to_vec();
                file.contacts.push(Contact { kind, j: None, parts, mu: None, e, compliance: None, v_hat: None });
                continue;
            }
            Law::Bilateral => row.kind = "bilateral".into(),
            Law::Unilateral => row.kind = "unilateral".into(),
            Law::Soft { k, b, lo, hi } => {
                row = Row { kind: "soft".into(), k: Some(k), b: Some(b), lo: bound(lo), hi: bound(hi), ..row };
            }
            Law::Box { lo, hi } => row = Row { kind: "box".into(), lo: bound(lo), hi: bound(hi), ..row },
        }
        file.rows.push(Row { parts, ..row });
    }
    let mut text = Vec::new();
    // Only maps with keys that are no strings, and failing writers, can fail here; neither exists.
    let written = file.serialize(&mut Serializer::with_formatter(&mut text, Short { digits }));
    debug_assert!(written.is_ok());
    String::from_utf8(text).unwrap_or_default()
}
