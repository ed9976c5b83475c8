//! Whether threads share out the chunks of a group of the CPU.

use std::time::Duration;

use rayon::prelude::*;

use crate::Error;

/// What takes one thread less than this takes several longer, who wait for each other: steps of 16 cart-poles took one 10 us and two 24,
/// of 16 half-cheetahs 19 and 28, of 64 of these 64 and 50.
const LEAST: Duration = Duration::from_micros(40);

/// What takes about as long as so many steps: a step, new states, a field that is read, a copy of the last step, derivatives of it.
pub(super) const STEP: f64 = 1.0;
pub(super) const RESTART: f64 = 1.0;
pub(super) const READ: f64 = 0.1;
pub(super) const COPY: f64 = 0.5;
pub(super) const DERIVATIVES: f64 = 4.0;

/// How long a group's steps take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// The last step of all chunks, one after the other; none before the first.
    pub(super) step: Option<Duration>,
}

impl Work {
    /// Whether to share out what takes as long as so many steps.
    pub(super) fn is_shared(self, steps: f64) -> bool {
        rayon::current_num_threads() > 1 && self.step.is_none_or(|step| LEAST < step.mul_f64(steps))
    }

    /// Makes something of each of some parts of a group, which takes as long as so many steps for all.
    pub(super) fn map<A: Send, B: Send>(
        self,
        steps: f64,
        parts: Vec<A>,
        f: impl Fn(A) -> Result<B, Error> + Sync + Send,
    ) -> Result<Vec<B>, Error> {
        if parts.len() > 1 && self.is_shared(steps) {
            parts.into_par_iter().map(f).collect()
        } else {
            parts.into_iter().map(f).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_less_than_it_takes_to_share_it_is_not_shared() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let work = |us| Work { step: Some(Duration::from_micros(us)) };
        pool.install(|| {
            assert!(Work::default().is_shared(1.0));
            assert_eq!([39, 41].map(|us| work(us).is_shared(1.0)), [false, true]);
            assert_eq!([39, 41].map(|us| work(us).is_shared(0.5)), [false, false]);
            assert_eq!(work(10).map(1.0, vec![1, 2, 3], |x| Ok(2 * x)).unwrap(), [2, 4, 6]);
            assert_eq!(work(50).map(1.0, vec![1, 2, 3], |x| Ok(2 * x)).unwrap(), [2, 4, 6]);
        });
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert!(!one.install(|| work(1000).is_shared(1.0)));
    }
}
