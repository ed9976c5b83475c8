//! Whether threads share out the chunks of a group of the CPU.

use std::time::Duration;

use manyworlds_gpu::Instant;
use rayon::prelude::*;

use crate::Error;

/// What takes one thread less than this takes several longer, who wait for each other: steps of 16 cart-poles took one 10 us and two 24,
/// of 16 half-cheetahs 19 and 28, of 64 of these 64 and 50.
const LEAST: Duration = Duration::from_micros(30);
/// What takes one thread more than this is shared out from then on. In between it stays as it is: threads that slept are slow to wake.
const MOST: Duration = Duration::from_micros(80);
/// Part of the time that threads take together which one would take by itself: two of one core slow each other down.
const BY_ITSELF: f64 = 2.0 / 3.0;

/// What takes about as long as so many steps: a step, new states, a field that is read, a copy of the last step, derivatives of it.
const STEP: f64 = 1.0;
pub(super) const RESTART: f64 = 1.0;
pub(super) const READ: f64 = 0.1;
pub(super) const COPY: f64 = 0.5;
pub(super) const DERIVATIVES: f64 = 4.0;

/// How long a group's steps take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Whether chunks may be worked on at once: those of a device take turns on it.
    pub(super) side_by_side: bool,
    /// The last step of all chunks by one thread, roughly; none before the first.
    step: Option<Duration>,
    /// Whether it was shared out.
    shared: bool,
}

impl Work {
    pub(super) fn new(side_by_side: bool) -> Self {
        Self { side_by_side, step: None, shared: false }
    }

    /// Notes how long the last step of all chunks took: one after the other, or the sum of all where threads shared them.
    fn note(&mut self, step: Duration, shared: bool) {
        self.step = Some(if shared { step.mul_f64(BY_ITSELF) } else { step });
        self.shared = shared;
    }

    /// Whether to share out so many parts of a group, which take as long as so many steps together.
    fn is_shared(self, steps: f64, parts: usize) -> bool {
        let worth = if self.shared { LEAST } else { MOST };
        self.side_by_side
            && parts > 1
            && rayon::current_num_threads() > 1
            && self.step.is_none_or(|step| worth < step.mul_f64(steps))
    }

    /// Steps every chunk, and notes how long it took. Nothing is allocated.
    pub(super) fn step<A: Send>(
        &mut self,
        chunks: &mut [A],
        step: impl Fn(usize, &mut A) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let timed = |(c, chunk): (usize, &mut A)| {
            let clock = Instant::now();
            step(c, chunk)?;
            Ok(clock.elapsed())
        };
        let shared = self.is_shared(STEP, chunks.len());
        let passed = if shared {
            chunks.par_iter_mut().enumerate().map(timed).try_reduce(Duration::default, |a, b| Ok(a + b))?
        } else {
            chunks.iter_mut().enumerate().map(timed).sum::<Result<_, Error>>()?
        };
        self.note(passed, shared);
        Ok(())
    }

    /// Makes something of each of some parts of a group, which takes as long as so many steps for all.
    pub(super) fn map<A: Send, B: Send>(
        self,
        steps: f64,
        parts: Vec<A>,
        f: impl Fn(A) -> Result<B, Error> + Sync + Send,
    ) -> Result<Vec<B>, Error> {
        if self.is_shared(steps, parts.len()) {
            parts.into_par_iter().map(f).collect()
        } else {
            parts.into_iter().map(f).collect()
        }
    }
}

/// Makes something of each of some worlds of a chunk. Chunks of a device take turns: threads share out the worlds of each.
pub(super) fn map_worlds<A: Send, B: Send>(
    on_device: bool,
    worlds: Vec<A>,
    f: impl Fn(A) -> Result<B, Error> + Sync + Send,
) -> Result<Vec<B>, Error> {
    if on_device { worlds.into_par_iter().map(f).collect() } else { worlds.into_iter().map(f).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_less_than_it_takes_to_share_it_is_not_shared() {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut work = Work::new(true);
        pool(2).install(|| {
            assert!(work.is_shared(STEP, 2));
            for (us, was_shared, is_shared) in
                [(79, false, false), (81, false, true), (50, true, true), (40, true, false), (50, false, false)]
            {
                work.note(Duration::from_micros(us), was_shared);
                assert_eq!(work.is_shared(STEP, 2), is_shared);
            }
            assert_eq!([1.0, 2.0].map(|steps| work.is_shared(steps, 2)), [false, true]);
            assert!(!work.is_shared(1000.0, 1));
            assert!(!Work::new(false).is_shared(1000.0, 2));
            for steps in [1.0, 2.0] {
                assert_eq!(work.map(steps, vec![1, 2, 3], |x| Ok(2 * x)).unwrap(), [2, 4, 6]);
            }
        });
        assert!(!pool(1).install(|| work.is_shared(1000.0, 2)));
    }
}
