//! Buffers of the CPU executor, as mirrors see them.

use bytemuck::TransparentWrapper;

use crate::{Real, Scalar};

/// One named buffer of a store.
#[derive(Debug, Clone)]
pub enum Buffer<T: Scalar> {
    /// Tile layout: [`LANES`](crate::LANES) lanes a pack, `n` packs a tile.
    Tile(Vec<T::Pack>),
    /// Plain numbers: parameters shared by all lanes, ragged records.
    Real(Vec<T>),
    /// Integers, plain or in tile layout.
    Index(Vec<u32>),
}

/// A buffer as a mirror that computes with R sees it.
#[derive(Debug)]
#[repr(transparent)]
pub struct Lanes<R: Real>(Buffer<R::Scalar>);

// SAFETY: transparent over the buffer.
unsafe impl<R: Real> TransparentWrapper<Buffer<R::Scalar>> for Lanes<R> {}

/// What a buffer holds and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// [`Buffer::Tile`].
    Tile,
    /// [`Buffer::Real`].
    Real,
    /// [`Buffer::Index`].
    Index,
}

impl<T: Scalar> Buffer<T> {
    /// An empty buffer.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Tile => Self::Tile(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Index => Self::Index(Vec::new()),
        }
    }

    /// What it holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Tile(_) => Kind::Tile,
            Self::Real(_) => Kind::Real,
            Self::Index(_) => Kind::Index,
        }
    }

    /// Numbers or integers in it (of a tile buffer: of all lanes).
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Tile(packs) => packs.len() * crate::LANES,
            Self::Real(reals) => reals.len(),
            Self::Index(words) => words.len(),
        }
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its memory in use `[B]`.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len() * if self.kind() == Kind::Index { 4 } else { size_of::<T>() }
    }

    /// Makes it hold `len` numbers (of a tile buffer rounded up to whole packs), new ones zero. Never gives memory back.
    pub fn resize(&mut self, len: usize) {
        match self {
            Self::Tile(packs) => packs.resize(len.div_ceil(crate::LANES), bytemuck::Zeroable::zeroed()),
            Self::Real(reals) => reals.resize(len, T::default()),
            Self::Index(words) => words.resize(len, 0),
        }
    }

    /// Integers.
    ///
    /// # Panics
    /// On a buffer of numbers, which is a fault of the program.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn index(&self) -> &[u32] {
        match self {
            Self::Index(words) => words,
            other => wrong(Kind::Index, other.kind()),
        }
    }

    /// The same, to write.
    ///
    /// # Panics
    /// See [`Self::index`].
    #[inline]
    #[track_caller]
    pub fn index_mut(&mut self) -> &mut [u32] {
        match self {
            Self::Index(words) => words,
            other => wrong(Kind::Index, other.kind()),
        }
    }

    /// The numbers of all lanes one after the other as they lie in memory, whether tiled or plain.
    ///
    /// # Panics
    /// On an index buffer.
    #[must_use]
    #[track_caller]
    pub fn scalars(&self) -> &[T] {
        match self {
            Self::Tile(packs) => bytemuck::cast_slice(packs),
            Self::Real(reals) => reals,
            Self::Index(_) => wrong(Kind::Real, Kind::Index),
        }
    }

    /// [`Self::scalars`], to write.
    ///
    /// # Panics
    /// On an index buffer.
    #[track_caller]
    pub fn scalars_mut(&mut self) -> &mut [T] {
        match self {
            Self::Tile(packs) => bytemuck::cast_slice_mut(packs),
            Self::Real(reals) => reals,
            Self::Index(_) => wrong(Kind::Real, Kind::Index),
        }
    }
}

impl<R: Real> Lanes<R> {
    /// See [`Buffer::scalars`].
    ///
    /// # Panics
    /// On an index buffer.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn scalars(&self) -> &[R::Scalar] {
        self.0.scalars()
    }

    /// See [`Buffer::scalars`].
    ///
    /// # Panics
    /// On an index buffer.
    #[inline]
    #[track_caller]
    pub fn scalars_mut(&mut self) -> &mut [R::Scalar] {
        self.0.scalars_mut()
    }

    /// Numbers of a tile buffer, those of a tile's lanes in one R.
    ///
    /// # Panics
    /// On a buffer of another kind, which is a fault of the program (of its recording), not of its input; so do the
    /// accessors below.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn tile(&self) -> &[R] {
        match &self.0 {
            Buffer::Tile(packs) => bytemuck::cast_slice(packs),
            other => wrong(Kind::Tile, other.kind()),
        }
    }

    /// The same, to write.
    #[inline]
    #[track_caller]
    pub fn tile_mut(&mut self) -> &mut [R] {
        match &mut self.0 {
            Buffer::Tile(packs) => bytemuck::cast_slice_mut(packs),
            other => wrong(Kind::Tile, other.kind()),
        }
    }

    /// Numbers of a plain buffer.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn real(&self) -> &[R::Scalar] {
        match &self.0 {
            Buffer::Real(reals) => reals,
            other => wrong(Kind::Real, other.kind()),
        }
    }

    /// The same, to write.
    #[inline]
    #[track_caller]
    pub fn real_mut(&mut self) -> &mut [R::Scalar] {
        match &mut self.0 {
            Buffer::Real(reals) => reals,
            other => wrong(Kind::Real, other.kind()),
        }
    }

    /// Integers.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn index(&self) -> &[u32] {
        self.0.index()
    }

    /// Integers, to write.
    #[inline]
    #[track_caller]
    pub fn index_mut(&mut self) -> &mut [u32] {
        self.0.index_mut()
    }
}

#[cold]
#[track_caller]
fn wrong(wanted: Kind, found: Kind) -> ! {
    panic!("a mirror wants a {wanted:?} buffer where its recording binds a {found:?} one")
}
