//! Whether an island is solved, and when its penalties change next.

use super::layout::{Split, constraint, island};
use crate::Scalar;
use crate::contact::island::info;

/// Adds up the residuals of an island after `done` iterations.
#[inline(always)]
pub(super) fn judge<T: Scalar>(all: &Split, number: usize, split: &mut [T], infos: &mut [T], done: u32) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let record = &all.islands[number];
    let (mut square, mut scaled) = (zero, zero);
    for i in record.constraint_begin..record.constraint_end {
        let c = &split[all.constraint_at(i as usize)..][..constraint::SIZE];
        square += c[constraint::SQUARE];
        // A NaN must not be swallowed.
        scaled = if c[constraint::SCALED] <= scaled { scaled } else { c[constraint::SCALED] };
    }
    let residual = square.sqrt() / T::lit(f64::from(record.n_contacts.max(1)));
    let dims = all.dims;
    let solved = residual <= Split::number(dims.tolerance) || scaled <= Split::number::<T>(dims.tolerance_scaled);
    // What is not finite will not become so.
    let stopped = solved || !(residual.is_finite() && scaled.is_finite());
    let own = &mut split[all.island_at(number)..][..island::SIZE];
    let outcome = &mut infos[info::SIZE * number..][..info::SIZE];
    outcome[info::ITERATIONS] = T::lit(f64::from(done));
    outcome[info::STOPPED] = if stopped { one } else { zero };
    own[island::STOPPED] = outcome[info::STOPPED];
    let wait = T::lit(f64::from(dims.adapt_after));
    if done == 0 {
        own[island::NEXT] = wait;
        own[island::WAIT] = longer(wait);
        own[island::REFACTOR] = one;
        return;
    }
    own[island::REFACTOR] = zero;
    let done = T::lit(f64::from(done));
    if done < own[island::NEXT] {
        return;
    }
    own[island::NEXT] = done + own[island::WAIT];
    own[island::WAIT] = longer(own[island::WAIT]);
    own[island::REFACTOR] = one;
}

/// The next wait.
#[inline(always)]
fn longer<T: Scalar>(wait: T) -> T {
    wait * T::lit(1.25)
}
