//! The one door to the numbers of a batch: what they are, their shape and strides, and where they lie.
//!
//! A field of a group has a row a world: its shape is `[worlds, ..]`. The kernels keep it in blocks of lanes side by side, and
//! [`Field`] shows these in place: slices on the CPU, buffers on a GPU. [`Batch::read`](crate::Batch::read) and
//! [`Batch::write`](crate::Batch::write) copy rows out and in.

use std::ops::Range;

use crate::group::Worlds;
use crate::wgpu;
use crate::{Error, Precision};

/// Numbers of the worlds of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldId {
    /// Generalized position, `[worlds, n_q]`.
    Position,
    /// Generalized velocity, `[worlds, n_v]`.
    Velocity,
    /// Controls, `[worlds, actuators]`.
    Control,
    /// Applied generalized force, `[worlds, n_v]`, N or N m.
    Force,
    /// Activations of actuators with dynamics, in the order of the actuators, `[worlds, activations]`.
    Activation,
    /// Position and quaternion (w, x, y, z) of each mocap body in the world's frame, `[worlds, mocap bodies, 7]`. In main
    /// memory whatever the executor. What stands on them and what they touch follow in the next step: they push by where they are,
    /// and contacts see the velocity and spin that brought them there since the last step, so friction drags what lies on one.
    /// After a reset, and before the first step, they have none.
    Mocap,
    /// Position and quaternion (w, x, y, z) of each body in the world's frame, `[worlds, bodies, 7]`.
    Pose,
    /// Angular and linear velocity of each body, in world axes, at the first body of its tree, before the last step,
    /// `[worlds, bodies, 6]`.
    Twist,
    /// What kernels found out about each tree by itself in the last step, `[worlds, trees, 9]`: residual, scaled residual,
    /// sweeps, Newton steps, deepest penetration, contacts, rows that could act, the residual the solver
    /// stopped at, contacts left out as nothing moves their bodies apart.
    /// [`Batch::summaries`](crate::Batch::summaries) has the certificates of whole worlds, whoever solved them.
    Certificate,
    /// What the sensors show, in the order of the model's, `[worlds, readings]`; where each begins says
    /// [`Model::readings`](crate::Model::readings). Of the state that the last step began with, and of what that step did, as
    /// MuJoCo's `sensordata` after `mj_step`; zeros before the first step. What is not of one tree alone (frames between trees or
    /// of mocap bodies, bounds, zones, energies, time, actuators with states of their own) the host computes by the model's own
    /// parameters; on a device that takes a readback of the state in each step.
    Sensor,
}

impl FieldId {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Position,
        Self::Velocity,
        Self::Control,
        Self::Force,
        Self::Activation,
        Self::Mocap,
        Self::Pose,
        Self::Twist,
        Self::Certificate,
        Self::Sensor,
    ];
    /// The parts of a state, in the order of [`crate::State`].
    pub const STATE: [Self; 5] = [Self::Position, Self::Velocity, Self::Control, Self::Force, Self::Activation];
    /// Those that may be written: the parts of a state, and poses of mocap bodies.
    pub const WRITABLE: [Self; 6] =
        [Self::Position, Self::Velocity, Self::Control, Self::Force, Self::Activation, Self::Mocap];

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Position => "q",
            Self::Velocity => "v",
            Self::Control => "controls",
            Self::Force => "tau",
            Self::Activation => "act",
            Self::Mocap => "mocap",
            Self::Pose => "poses",
            Self::Twist => "twists",
            Self::Certificate => "certificates",
            Self::Sensor => "sensors",
        }
    }

    pub(crate) fn writable(self) -> Result<(), Error> {
        if Self::WRITABLE.contains(&self) {
            return Ok(());
        }
        Err(Error::Option {
            option: "field",
            expected: "q, v, controls, tau, act or mocap to be written",
            found: self.name().into(),
        })
    }
}

/// A field of all worlds of a group, where it lies.
pub struct Field<'a> {
    pub(crate) group: &'a dyn Worlds,
    pub(crate) id: FieldId,
    /// First world of the group.
    pub(crate) first: usize,
}

/// A field of all worlds of a group, where it lies, to be written.
pub struct FieldMut<'a> {
    pub(crate) group: &'a mut dyn Worlds,
    pub(crate) id: FieldId,
    /// First world of the group.
    pub(crate) first: usize,
}

/// Where the numbers of a block are.
///
/// The `i`-th of a world's `trees` lanes is lane `L = (world - worlds.start) * trees + i`, and its number `e` stands at
/// `offset + (L / shape[1]) * strides[0] + (L % shape[1]) * strides[1] + e * strides[2]`. It is entry `column(i, e)` of the
/// world's row. Lanes behind those of the last world are padding.
#[derive(Debug, Clone)]
pub struct Layout<'a> {
    /// Worlds of the batch.
    pub worlds: Range<usize>,
    /// Lanes of a world: trees of the model that are alike.
    pub trees: usize,
    /// Tiles, lanes of a tile, numbers of a lane.
    pub shape: [usize; 3],
    /// Distances along these, in numbers.
    pub strides: [usize; 3],
    /// The first number.
    pub offset: usize,
    /// Entries of a world's row by tree and number, `[trees][pitch]`.
    pub(crate) columns: &'a [u32],
    pub(crate) pitch: usize,
}

/// One run of worlds and the trees in them that are alike: a strided tensor.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// Shape, strides, and what stands where.
    pub layout: Layout<'a>,
    /// The memory that they are about.
    pub numbers: Numbers<'a>,
}

/// [`Block`], to be written.
#[derive(Debug)]
pub struct BlockMut<'a> {
    /// Shape, strides, and what stands where.
    pub layout: Layout<'a>,
    /// The memory that they are about.
    pub numbers: NumbersMut<'a>,
}

/// Memory of a block.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// In main memory.
    F32(&'a [f32]),
    /// In main memory.
    F64(&'a [f64]),
    /// On the device, in the batch's precision: a storage buffer that can be copied from and to. What has been submitted to
    /// the same queue comes before what will be. It is another buffer when the batch is another.
    Device(&'a wgpu::Buffer),
}

/// [`Numbers`], to be written.
#[derive(Debug)]
pub enum NumbersMut<'a> {
    /// In main memory.
    F32(&'a mut [f32]),
    /// In main memory.
    F64(&'a mut [f64]),
    /// On the device: write it by work submitted to the batch's queue, before the next step is.
    Device(&'a wgpu::Buffer),
}

impl Layout<'_> {
    /// Where number `e` of the `tree`-th lane of a world stands; `None` if there is no such world, lane or number.
    #[must_use]
    pub fn index(&self, world: usize, tree: usize, e: usize) -> Option<usize> {
        if !self.worlds.contains(&world) || tree >= self.trees || e >= self.shape[2] {
            return None;
        }
        let lane = (world - self.worlds.start) * self.trees + tree;
        let [tiles, lanes, numbers] = self.strides;
        Some(self.offset + lane / self.shape[1] * tiles + lane % self.shape[1] * lanes + e * numbers)
    }

    /// The entry of a world's row that number `e` of its `tree`-th lane is.
    #[must_use]
    pub fn column(&self, tree: usize, e: usize) -> Option<usize> {
        (tree < self.trees && e < self.shape[2]).then(|| self.columns[tree * self.pitch + e] as usize)
    }

    /// Where an entry of a world's row stands, if it is in this block.
    fn find(&self, world: usize, column: usize) -> Option<usize> {
        let of_tree = |tree| (0..self.shape[2]).map(move |e| (tree, e));
        let mut all = (0..self.trees).flat_map(of_tree);
        all.find(|&(tree, e)| self.column(tree, e) == Some(column)).and_then(|(tree, e)| self.index(world, tree, e))
    }
}

impl<'a> Field<'a> {
    /// Which field it is.
    #[must_use]
    pub fn id(&self) -> FieldId {
        self.id
    }

    /// Worlds, then the shape of a world's row.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        std::iter::once(self.group.len()).chain(self.group.row_shape(self.id)).collect()
    }

    /// Worlds of the batch.
    #[must_use]
    pub fn worlds(&self) -> Range<usize> {
        self.first..self.first + self.group.len()
    }

    /// The number type.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.group.precision()
    }

    /// The blocks that hold it, in order of worlds; some numbers of a row may be in none: those of bodies that never move.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let (group, id, first) = (self.group, self.id, self.first);
        (0..group.n_blocks(id)).map(move |at| group.block(id, first, at))
    }

    /// One number of a world's row. `None` on a device, and for what is in no block. A search: for looks at a few numbers.
    #[must_use]
    pub fn get(&self, world: usize, column: usize) -> Option<f64> {
        self.blocks().find_map(|block| {
            let index = block.layout.find(world, column)?;
            match block.numbers {
                Numbers::F32(numbers) => numbers.get(index).map(|&x| x.into()),
                Numbers::F64(numbers) => numbers.get(index).copied(),
                Numbers::Device(_) => None,
            }
        })
    }
}

impl FieldMut<'_> {
    /// Which field it is.
    #[must_use]
    pub fn id(&self) -> FieldId {
        self.id
    }

    /// Calls with each block that holds it, in order of worlds.
    pub fn for_each_block(&mut self, mut f: impl FnMut(BlockMut<'_>)) {
        self.group.for_each_block_mut(self.id, self.first, &mut f);
    }
}

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
