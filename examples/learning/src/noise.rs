//! Random numbers of a run, from its seed alone.

use manyworlds::random;

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Noise {
    seed: u64,
    stream: u64,
    drawn: u64,
}

impl Noise {
    /// Sequences of other seeds or streams have nothing to do with each other.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { seed, stream, drawn: 0 }
    }

    /// Evenly in [-1, 1).
    pub fn even(&mut self) -> f64 {
        self.drawn += 1;
        random::symmetric(self.seed, self.stream, self.drawn, 0)
    }

    /// Normally distributed, mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        self.drawn += 1;
        random::normal(self.seed, self.stream, self.drawn, 0)
    }

    /// So many of them.
    pub fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    /// 0 to n - 1 in an order of no kind (Fisher and Yates).
    pub fn order(&mut self, n: usize) -> Vec<u32> {
        let mut out: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            let other = (0.5 * (1.0 + self.even()) * (last + 1) as f64) as usize;
            out.swap(last, other.min(last));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Noise;

    #[test]
    fn an_order_has_each_once() {
        let mut order = Noise::new(1, 2).order(1000);
        assert!(order[0] != 0 || order[1] != 1);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
}
