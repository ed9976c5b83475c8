//! Dense blocks of `A`: their factors and what is solved by them; those of free bodies have their loops unrolled.

use super::FREE;
use crate::dense;

/// As [`dense::factor`].
pub(super) fn factor(n: usize, a: &mut [f64]) -> Result<(), usize> {
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
pub(super) const ENTRIES: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

/// [`solve`] of the rows of a contact side by side; `beside` is memory.
pub(super) fn solve_rows(n: usize, l: &[f64], rows: &mut [f64], beside: &mut Vec<[f64; 4]>) {
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
pub(super) fn solve_free(l: &[f64; FREE * FREE], rows: &mut [[f64; FREE]; 3]) {
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
pub(super) fn weigh_free(l: &[f64; FREE * FREE], j: &[[f64; FREE]; 3], g: &mut [f64; 6]) {
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
