//! Square sparse matrices.

use std::sync::Arc;

/// A square matrix, its entries by row and, within a row, by ascending column. Clones share where these are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMatrix {
    pattern: Arc<Pattern>,
    values: Vec<f64>,
}

/// Where a matrix has entries.
#[derive(Debug, PartialEq, Default)]
struct Pattern {
    /// Where each row's entries begin, and where the last one's end: `[n + 1]`.
    begins: Vec<usize>,
    columns: Vec<u32>,
}

impl SparseMatrix {
    /// From (row, column, value); several of one place add up. `None` where a row or column is not below `n`.
    #[must_use]
    pub fn from_triplets(n: usize, triplets: &[(usize, usize, f64)]) -> Option<Self> {
        if n > u32::MAX as usize || triplets.iter().any(|&(i, j, _)| i >= n || j >= n) {
            return None;
        }
        // Sorted by row through counting, then each short row by itself.
        let mut begins = vec![0; n + 1];
        triplets.iter().for_each(|&(i, ..)| begins[i + 1] += 1);
        (0..n).for_each(|i| begins[i + 1] += begins[i]);
        let (mut next, mut entries) = (begins.clone(), vec![(0, 0.0); triplets.len()]);
        for &(i, j, x) in triplets {
            entries[next[i]] = (j as u32, x);
            next[i] += 1;
        }
        let (mut pattern, mut values) = (Pattern { begins: vec![0], columns: Vec::new() }, Vec::new());
        for i in 0..n {
            let row = &mut entries[begins[i]..begins[i + 1]];
            row.sort_by_key(|&(j, _)| j);
            let first = pattern.columns.len();
            for &(j, x) in &*row {
                if pattern.columns.len() > first && pattern.columns.last() == Some(&j) {
                    let last = values.len() - 1;
                    values[last] += x;
                } else {
                    pattern.columns.push(j);
                    values.push(x);
                }
            }
            pattern.begins.push(pattern.columns.len());
        }
        Some(Self { pattern: Arc::new(pattern), values })
    }

    /// Another matrix of a pattern in the memory of this one; its values mean nothing.
    #[must_use]
    pub fn reused(mut self, pattern: &Self) -> Self {
        self.values.resize(pattern.values.len(), 0.0);
        Self { pattern: Arc::clone(&pattern.pattern), values: self.values }
    }

    /// Rows, and columns.
    #[must_use]
    pub fn n(&self) -> usize {
        self.pattern.begins.len().saturating_sub(1)
    }

    /// Columns and values of a row.
    #[must_use]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let own = self.pattern.begins[i]..self.pattern.begins[i + 1];
        (&self.pattern.columns[own.clone()], &self.values[own])
    }

    /// Where among [`Self::values`] a row begins.
    ///
    /// # Panics
    /// For a row that there is not.
    #[must_use]
    pub fn row_begin(&self, i: usize) -> usize {
        self.pattern.begins[i]
    }

    /// An entry, where there is one.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> Option<f64> {
        self.position(i, j).map(|at| self.values[at])
    }

    /// Where among [`Self::values`] an entry is.
    #[must_use]
    pub fn position(&self, i: usize, j: usize) -> Option<usize> {
        let own = self.pattern.begins.get(i).copied()?..self.pattern.begins.get(i + 1).copied()?;
        self.pattern.columns[own.clone()].binary_search(&(j as u32)).ok().map(|at| own.start + at)
    }

    /// Values in the order of [`Self::entries`].
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// As [`Self::values`]: another matrix of the same pattern.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// All entries: row, column, value.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (0..self.n()).flat_map(move |i| {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).map(move |(&j, &x)| (i, j as usize, x))
        })
    }

    /// Adds to an entry of the diagonal; to none that the pattern does not have.
    pub fn add_diagonal(&mut self, i: usize, x: f64) {
        if let Some(at) = self.position(i, i) {
            self.values[at] += x;
        }
    }

    /// `y += M x`.
    pub fn add_times(&self, x: &[f64], y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate().take(self.n()) {
            let (columns, values) = self.row(i);
            *y += columns.iter().zip(values).map(|(&j, m)| m * x[j as usize]).sum::<f64>();
        }
    }

    /// `y += M^T x`.
    pub fn add_transposed_times(&self, x: &[f64], y: &mut [f64]) {
        for (i, &x) in x.iter().enumerate().take(self.n()) {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).for_each(|(&j, m)| y[j as usize] += m * x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SparseMatrix;

    #[test]
    fn entries_of_one_place_add_up_and_products_are_sums() {
        let triplets = [(0, 2, 1.0), (2, 0, 4.0), (0, 0, 2.0), (0, 2, 0.5), (1, 1, 3.0)];
        let m = SparseMatrix::from_triplets(3, &triplets).unwrap();
        assert_eq!(m.entries().collect::<Vec<_>>(), [(0, 0, 2.0), (0, 2, 1.5), (1, 1, 3.0), (2, 0, 4.0)]);
        assert_eq!((m.get(0, 2), m.get(2, 2)), (Some(1.5), None));
        assert_eq!((m.position(1, 1), m.position(3, 0), m.values()[2]), (Some(2), None, 3.0));
        let [mut y, mut z] = [[1.0; 3]; 2];
        m.add_times(&[1.0, 2.0, 3.0], &mut y);
        assert_eq!(y, [7.5, 7.0, 5.0]);
        m.add_transposed_times(&[1.0, 2.0, 3.0], &mut z);
        assert_eq!(z, [15.0, 7.0, 2.5]);
        assert!(SparseMatrix::from_triplets(3, &[(0, 3, 1.0)]).is_none());
    }
}
