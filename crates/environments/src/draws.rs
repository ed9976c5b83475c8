//! Random numbers of one start of one environment.

use manyworlds::random;

/// Draws of an episode: the same for the same seed and episode, whatever other environments do.
#[derive(Debug)]
pub(crate) struct Draws {
    seed: u64,
    episode: u64,
    drawn: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64, episode: u64) -> Self {
        Self { seed, episode, drawn: 0 }
    }

    /// Evenly in `[low, high)`.
    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.drawn += 1;
        low + (high - low) * 0.5 * (1.0 + random::symmetric(self.seed, self.episode, 0, self.drawn))
    }

    /// Normally, mean 0 and variance 1.
    pub(crate) fn normal(&mut self) -> f64 {
        self.drawn += 1;
        random::normal(self.seed, self.episode, 0, self.drawn)
    }
}
