//! Memory of intermediate numbers, kept by each thread from one derivative to the next: taking a few kilobytes from the
//! allocator costs as much as filling them.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Vectors that a thread keeps at most.
const KEPT: usize = 128;
/// Larger ones go back to the allocator.
const LARGEST: usize = 1 << 16;

thread_local! {
    static FREE: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// Numbers whose memory goes back to the thread that drops them.
#[derive(Debug, Default)]
pub(crate) struct Pooled(Vec<f64>);

impl Pooled {
    pub(crate) fn zeros(n: usize) -> Self {
        if n == 0 {
            return Self::default();
        }
        let mut kept = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
        kept.clear();
        kept.resize(n, 0.0);
        Self(kept)
    }

    pub(crate) fn copy(from: &[f64]) -> Self {
        let mut kept = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(from);
        Self(kept)
    }
}

impl Clone for Pooled {
    fn clone(&self) -> Self {
        Self::copy(self)
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let numbers = std::mem::take(&mut self.0);
        if (1..=LARGEST).contains(&numbers.capacity()) {
            // While a thread ends its store may be gone.
            let _ = FREE.try_with(|free| {
                if let Ok(mut free) = free.try_borrow_mut()
                    && free.len() < KEPT
                {
                    free.push(numbers);
                }
            });
        }
    }
}

impl Deref for Pooled {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl DerefMut for Pooled {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}
