//! What a mirror is called with.

use crate::Scalar;
use crate::buffer::Buffer;

/// One dispatch on the CPU: the uniform block, the number of items, the bound buffers.
#[derive(Debug)]
pub struct Args<'a, T: Scalar> {
    /// Words of the dims struct, as many as a dispatch carries.
    pub dims: &'a [u32],
    /// Lanes, or workgroups of a kernel whose workgroup has a width of its own.
    pub count: u32,
    /// Storage buffers in binding order.
    pub buffers: &'a mut [&'a mut Buffer<T>],
}

impl<T: Scalar> Args<'_, T> {
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
    pub fn split<const N: usize>(&mut self) -> [&mut Buffer<T>; N] {
        let count = self.buffers.len();
        let Ok(buffers) = <&mut [&mut Buffer<T>; N]>::try_from(&mut *self.buffers) else {
            panic!("a mirror takes {N} buffers, its recording binds {count}")
        };
        buffers.each_mut().map(|buffer| &mut **buffer)
    }

    /// Tiles that hold the lanes.
    #[inline]
    #[must_use]
    pub fn tiles(&self) -> usize {
        (self.count as usize).div_ceil(crate::LANES)
    }
}
