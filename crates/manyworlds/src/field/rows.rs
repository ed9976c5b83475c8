//! Rows of numbers of the caller's.

use std::ops::Range;

use crate::Error;

/// A number type of arrays that go into a batch and come out of it.
pub trait Number: sealed::Sealed + Copy + Into<f64> + Send + Sync {}
impl Number for f32 {}
impl Number for f64 {}

/// Rows of numbers of the caller's.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// In single precision.
    F32(&'a [f32]),
    /// In double precision.
    F64(&'a [f64]),
}

/// [`Rows`], to be written.
#[derive(Debug)]
pub enum RowsMut<'a> {
    /// In single precision.
    F32(&'a mut [f32]),
    /// In double precision.
    F64(&'a mut [f64]),
}

mod sealed {
    use super::{Rows, RowsMut};

    pub trait Sealed: Sized {
        fn rows(all: &[Self]) -> Rows<'_>;
        fn rows_mut(all: &mut [Self]) -> RowsMut<'_>;
    }

    impl Sealed for f32 {
        fn rows(all: &[Self]) -> Rows<'_> {
            Rows::F32(all)
        }
        fn rows_mut(all: &mut [Self]) -> RowsMut<'_> {
            RowsMut::F32(all)
        }
    }

    impl Sealed for f64 {
        fn rows(all: &[Self]) -> Rows<'_> {
            Rows::F64(all)
        }
        fn rows_mut(all: &mut [Self]) -> RowsMut<'_> {
            RowsMut::F64(all)
        }
    }
}

pub(crate) fn rows<N: Number>(all: &[N]) -> Rows<'_> {
    sealed::Sealed::rows(all)
}

pub(crate) fn rows_mut<N: Number>(all: &mut [N]) -> RowsMut<'_> {
    sealed::Sealed::rows_mut(all)
}

/// Numbers looked at together when all are checked: enough for vector registers, few enough to stop early.
const CHECKED: usize = 256;

impl<'a> Rows<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(all) => all.len(),
            Self::F64(all) => all.len(),
        }
    }

    pub(crate) fn split_at(self, n: usize) -> (Self, Self) {
        match self {
            Self::F32(all) => {
                let (before, after) = all.split_at(n);
                (Self::F32(before), Self::F32(after))
            }
            Self::F64(all) => {
                let (before, after) = all.split_at(n);
                (Self::F64(before), Self::F64(after))
            }
        }
    }

    pub(crate) fn part(self, range: Range<usize>) -> Self {
        match self {
            Self::F32(all) => Self::F32(&all[range]),
            Self::F64(all) => Self::F64(&all[range]),
        }
    }

    /// That every number is finite, else the first that is not and where it stands. `Ok` costs a pass of vector
    /// instructions, a fraction of what the copy costs that follows.
    pub(crate) fn check(self, what: &'static str) -> Result<(), Error> {
        fn first<N: Number>(all: &[N], finite: impl Fn(N) -> bool) -> Option<usize> {
            let whole = |some: &[N]| some.iter().fold(true, |all, &x| all & finite(x));
            let (at, some) = all.chunks(CHECKED).enumerate().find(|(_, some)| !whole(some))?;
            some.iter().position(|&x| !finite(x)).map(|within| at * CHECKED + within)
        }
        let found = match self {
            Self::F32(all) => first(all, f32::is_finite).map(|index| (index, f64::from(all[index]))),
            Self::F64(all) => first(all, f64::is_finite).map(|index| (index, all[index])),
        };
        match found {
            None => Ok(()),
            Some((index, found)) => Err(Error::NotFinite { what, world: None, index, found }),
        }
    }
}

impl RowsMut<'_> {
    /// The same rows, lent on.
    pub(crate) fn again(&mut self) -> RowsMut<'_> {
        match self {
            Self::F32(all) => RowsMut::F32(all),
            Self::F64(all) => RowsMut::F64(all),
        }
    }
}

impl<'a> RowsMut<'a> {
    /// Runs of `n` numbers, the last one shorter where it must be.
    pub(crate) fn chunks(self, n: usize) -> Vec<RowsMut<'a>> {
        match self {
            Self::F32(all) => all.chunks_mut(n).map(RowsMut::F32).collect(),
            Self::F64(all) => all.chunks_mut(n).map(RowsMut::F64).collect(),
        }
    }
}
