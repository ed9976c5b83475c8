//! What a mirror is called with.

use bytemuck::TransparentWrapper;

use crate::Real;
use crate::buffer::{Buffer, Lanes};

/// One dispatch on the CPU, of a mirror that computes with R: the uniform block, the number of items, the bound buffers.
#[derive(Debug)]
pub struct Args<'a, R: Real> {
    /// Words of the dims struct, as many as a dispatch carries.
    pub dims: &'a [u32],
    /// Lanes, or workgroups of a kernel whose workgroup has a width of its own.
    pub count: u32,
    /// Storage buffers in binding order.
    pub buffers: &'a mut [&'a mut Buffer<R::Scalar>],
}

impl<R: Real> Args<'_, R> {
    /// The typed dims struct.
    ///
    /// # Panics
    /// If the recording carries fewer words than the struct has: a fault of the program.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn dims<D: bytemuck::Pod>(&self) -> D {
        bytemuck::pod_read_unaligned(&bytemuck::cast_slice(self.dims)[..size_of::<D>()])
    }

    /// The buffers by name: `let [topology, state, pose] = args.split();`.
    ///
    /// # Panics
    /// If the kernel binds another number of them: a fault of the program, caught by recordings.
    #[inline]
    #[track_caller]
    pub fn split<const N: usize>(&mut self) -> [&mut Lanes<R>; N] {
        let count = self.buffers.len();
        let Ok(buffers) = <&mut [&mut Buffer<R::Scalar>; N]>::try_from(&mut *self.buffers) else {
            panic!("a mirror takes {N} buffers, its recording binds {count}")
        };
        buffers.each_mut().map(|buffer| Lanes::wrap_mut(&mut **buffer))
    }

    /// Tiles that hold the lanes.
    #[inline]
    #[must_use]
    pub fn tiles(&self) -> usize {
        (self.count as usize).div_ceil(R::N)
    }
}
