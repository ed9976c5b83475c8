//! Numbers of a chunk's buffers as the host sees them.

use std::ops::Range;

use manyworlds_gpu::{BufferId, Store};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::index::tile_at;

use crate::Error;

/// A whole buffer, copied.
pub(super) fn whole<T: Scalar>(store: &mut dyn Store<T>, buffer: BufferId) -> Result<Vec<T>, Error> {
    let mut all = vec![T::default(); store.len(buffer)];
    store.read(buffer, &mut all)?;
    Ok(all)
}

/// Parts of a buffer, copied to where they stand in it; the rest is zero.
pub(super) fn some<T: Scalar>(
    store: &mut dyn Store<T>,
    buffer: BufferId,
    parts: &[Range<usize>],
) -> Result<Vec<T>, Error> {
    let mut all = vec![T::default(); store.len(buffer)];
    for part in parts {
        store.read_part(buffer, part.start, &mut all[part.clone()])?;
    }
    Ok(all)
}

/// Ranges of numbers, by those of items with `n` numbers each.
pub(super) fn times(items: &[Range<usize>], n: usize) -> Vec<Range<usize>> {
    items.iter().map(|range| range.start * n..range.end * n).collect()
}

/// A buffer that the host looks into: a copy where it must be one.
pub(super) enum Seen<T> {
    InPlace(BufferId),
    Read(Vec<T>),
}

impl<T: Scalar> Seen<T> {
    pub(super) fn new(store: &mut dyn Store<T>, buffer: BufferId) -> Result<Self, Error> {
        let in_place = store.numbers(buffer).is_some();
        Ok(if in_place { Self::InPlace(buffer) } else { Self::Read(whole(store, buffer)?) })
    }

    /// Parts of it.
    pub(super) fn some(store: &mut dyn Store<T>, buffer: BufferId, parts: &[Range<usize>]) -> Result<Self, Error> {
        let in_place = store.numbers(buffer).is_some();
        Ok(if in_place { Self::InPlace(buffer) } else { Self::Read(some(store, buffer, parts)?) })
    }

    /// Where the numbers are now.
    pub(super) fn of<'a>(&'a self, store: &'a dyn Store<T>) -> &'a [T] {
        match self {
            Self::InPlace(buffer) => store.numbers(*buffer).unwrap_or_default(),
            Self::Read(numbers) => numbers,
        }
    }
}

/// The numbers of one lane, in double precision.
pub(super) struct Lane<'a, T> {
    all: &'a [T],
    tile: usize,
    first: usize,
}

impl<'a, T: Scalar> Lane<'a, T> {
    /// Of a buffer of tiles so wide, with so many reals a lane.
    pub(super) fn new(all: &'a [T], tile: usize, lane: usize, reals: usize) -> Self {
        Self { all, tile, first: tile_at(tile, lane, reals, 0) }
    }

    #[inline(always)]
    pub(super) fn at(&self, e: usize) -> f64 {
        self.all[self.first + e * self.tile].to_f64()
    }

    /// Those from one entry on.
    pub(super) fn some(&self, at: usize, n: usize) -> impl Iterator<Item = f64> + '_ {
        (at..at + n).map(|e| self.at(e))
    }
}
