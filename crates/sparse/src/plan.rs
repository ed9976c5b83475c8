//! A factorization by blocks, as the list of products that it comes to: for kernels, which run the same list for many
//! matrices of one pattern.

use crate::matrix::SparseMatrix;
use crate::symbolic::Ordering;

/// `A = L L^T` of a symmetric matrix of blocks: where L has blocks, columns one after the other, each from its diagonal
/// down, and from which products each block is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPlan {
    /// Row of the matrix at each position in the order of elimination.
    pub order: Vec<u32>,
    /// First block of each column, `[n + 1]`.
    pub begins: Vec<u32>,
    /// Position of the row of each block.
    pub rows: Vec<u32>,
    /// For each block the pairs of blocks x, y for which `X Y^T` is taken from it.
    pub products: Vec<Vec<[u32; 2]>>,
}

impl BlockPlan {
    /// Of the matrix whose entries stand for blocks: in an order of minimum degree, or in the order given where that takes
    /// fewer products.
    #[must_use]
    pub fn new(matrix: &SparseMatrix) -> Self {
        let natural = (0..matrix.n() as u32).collect();
        let [a, b] = [Ordering::of(matrix).order().to_vec(), natural].map(|order| Self::in_order(matrix, order));
        if b.n_product() < a.n_product() { b } else { a }
    }

    /// Blocks of L.
    #[must_use]
    pub fn n_block(&self) -> usize {
        self.rows.len()
    }

    /// Products of blocks.
    #[must_use]
    pub fn n_product(&self) -> usize {
        self.products.iter().map(Vec::len).sum()
    }

    /// Position of each row of the matrix.
    #[must_use]
    pub fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(position, &row)| places[row as usize] = position as u32);
        places
    }

    fn in_order(matrix: &SparseMatrix, order: Vec<u32>) -> Self {
        let n = order.len();
        let mut out = Self { order, begins: vec![0], rows: Vec::new(), products: Vec::new() };
        let places = out.places();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
        for j in 0..n {
            let own = matrix.row(out.order[j] as usize).0.iter().map(|&i| places[i as usize]);
            let mut rows: Vec<u32> = own.filter(|&i| i as usize > j).chain([j as u32]).collect();
            for &child in &children[j] {
                rows.extend(out.column(child).iter().filter(|&&i| i as usize > j));
            }
            rows.sort_unstable();
            rows.dedup();
            if let Some(&parent) = rows.get(1) {
                children[parent as usize].push(j);
            }
            out.rows.extend(rows);
            out.begins.push(out.rows.len() as u32);
        }
        out.products = vec![Vec::new(); out.rows.len()];
        for k in 0..n {
            let begin = out.begins[k];
            let below = out.column(k)[1..].to_vec();
            for (y, &j) in below.iter().enumerate() {
                // Rows of a column are ascending, and all of these are rows of column j.
                let (first, mut at) = (out.begins[j as usize], 0);
                let rows = out.column(j as usize).to_vec();
                for (x, &i) in below.iter().enumerate().skip(y) {
                    while rows[at] < i {
                        at += 1;
                    }
                    out.products[first as usize + at].push([begin + 1 + x as u32, begin + 1 + y as u32]);
                }
            }
        }
        out
    }

    fn column(&self, j: usize) -> &[u32] {
        &self.rows[self.begins[j] as usize..self.begins[j + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::BlockPlan;
    use crate::SparseMatrix;

    #[test]
    fn the_products_make_up_the_factor() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let n = 30;
        let mut exact = DMatrix::identity(n, n) * 10.0;
        for _ in 0..60 {
            let (i, j) = (rng.random_range(0..n), rng.random_range(0..n));
            (exact[(i, j)], exact[(j, i)]) = (1.0, 1.0);
        }
        let entries: Vec<_> =
            (0..n * n).map(|e| (e / n, e % n, exact[(e / n, e % n)])).filter(|e| e.2 != 0.0).collect();
        let plan = BlockPlan::new(&SparseMatrix::from_triplets(n, &entries).unwrap());
        let places = plan.places();
        assert!((0..n).all(|i| plan.order[places[i] as usize] as usize == i));
        let mut values = vec![0.0; plan.n_block()];
        let mut l = DMatrix::zeros(n, n);
        for j in 0..n {
            let column = plan.begins[j] as usize..plan.begins[j + 1] as usize;
            for at in column.clone() {
                let i = plan.rows[at] as usize;
                let taken: f64 =
                    plan.products[at].iter().map(|p| p.map(|b| values[b as usize])).map(|[x, y]| x * y).sum();
                let own: f64 = exact[(plan.order[i] as usize, plan.order[j] as usize)] - taken;
                values[at] = if at == column.start { own.sqrt() } else { own / values[column.start] };
                l[(i, j)] = values[at];
            }
        }
        let back = &l * l.transpose();
        let moved = DMatrix::from_fn(n, n, |i, j| exact[(plan.order[i] as usize, plan.order[j] as usize)]);
        assert!((back - moved).amax() < 1e-12);
        assert!(plan.n_block() < n * (n + 1) / 2);
    }
}
