//! The named buffers of a chunk.

use manyworlds_gpu::{BufferId, BufferSpec};
use manyworlds_shaders::Kind;

/// Declares the buffers of a tree set once: field, kind.
macro_rules! set_buffers {
    ($($name:ident: $kind:ident),* $(,)?) => {
        /// Buffers of one tree set, in the layouts that the kernels' headers say.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct SetBuffers {
            $(pub(crate) $name: BufferId,)*
        }

        impl SetBuffers {
            /// Appends the buffers of another set to a store's list.
            pub(crate) fn declare(specs: &mut Vec<BufferSpec>) -> Self {
                let mut next = |name, kind| {
                    specs.push(BufferSpec { name, kind });
                    BufferId(specs.len() as u32 - 1)
                };
                Self { $($name: next(stringify!($name), Kind::$kind),)* }
            }
        }
    };
}

set_buffers! {
    topology: Index,
    params: Real,
    lane_params: Tile,
    state: Tile,
    status: Index,
    pose: Tile,
    motion: Tile,
    twist: Tile,
    work: Tile,
    bias: Tile,
    mass: Tile,
    momentum: Tile,
    factor: Tile,
    b: Tile,
    v_free: Tile,
    velocity: Tile,
    contact: Tile,
    contact_map: Index,
    slots: Index,
    constraint: Tile,
    impulse_a: Tile,
    impulse_b: Tile,
    row: Tile,
    info: Tile,
    solver_work: Tile,
    marked: Index,
    source: Tile,
}

impl SetBuffers {
    /// Impulses of the step before and of this one.
    pub(crate) fn impulses(&self, odd: bool) -> [BufferId; 2] {
        if odd { [self.impulse_b, self.impulse_a] } else { [self.impulse_a, self.impulse_b] }
    }
}
