//! The named buffers of a chunk: of each tree set, and of islands of several trees.

use manyworlds_gpu::{BufferId, BufferSpec};
use manyworlds_shaders::Kind;

/// Declares a struct of buffers once: field, kind.
macro_rules! buffers {
    ($(#[$doc:meta])* $struct:ident { $($name:ident: $kind:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $struct {
            $(pub(crate) $name: BufferId,)*
        }

        impl $struct {
            /// Appends these buffers to a store's list.
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

buffers! {
    /// Buffers of one tree set, in the layouts that the kernels' headers say.
    SetBuffers {
        topology: Index,
        params: Real,
        lane_params: Tile,
        state: Tile,
        status: Index,
        pose: Tile,
        motion: Tile,
        speed: Tile,
        twist: Tile,
        bias: Tile,
        mass: Tile,
        momentum: Tile,
        factor: Tile,
        b: Tile,
        pull: Tile,
        acting: Index,
        given: Tile,
        reading: Tile,
        acceleration: Tile,
        load: Tile,
        load_items: Index,
        load_places: Real,
        grip_items: Index,
        adhere_items: Index,
        adhere_places: Real,
        adhesion: Tile,
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
        columns: Index,
        stage: Tile,
        stage_pose: Tile,
        stage_motion: Tile,
        stage_twist: Tile,
        before: Tile,
        before_pose: Tile,
        before_motion: Tile,
        places: Index,
        touch: Tile,
        act: Tile,
        slope_work: Tile,
        side: Tile,
        shift: Tile,
        slope: Tile,
        system: Tile,
        mobility: Tile,
        answer: Tile,
        adjoint: Tile,
        soft_topology: Index,
        soft_rest: Real,
        soft_params: Tile,
        soft_begin: Tile,
        soft_matrix: Tile,
        soft_b: Tile,
        soft_factor: Tile,
        touch_words: Index,
        touches: Real,
        beside: Tile,
    }
}

buffers! {
    /// Rows of numbers by world on a device, on their way from the host and to it.
    RowBuffers {
        each: Index,
        all: Real,
        some: Index,
        new: Real,
        read: Real,
    }
}

buffers! {
    /// Which worlds are left to the host, and their numbers on a device: see `left`.
    LeftBuffers {
        worlds: Index,
        numbers: Real,
    }
}

buffers! {
    /// Buffers of the islands of several trees, as `contact/island` says.
    IslandBuffers {
        index: Index,
        contact: Real,
        jac: Real,
        con: Real,
        impulse_a: Real,
        impulse_b: Real,
        velocity: Real,
        info: Real,
        status: Index,
        unsolved: Index,
        grip: Real,
        moves: Index,
        work: Real,
        solver_words: Index,
        solver_reals: Real,
    }
}

/// Two buffers that change places as a step begins: what the step before left, and what the last one writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) before: BufferId,
    pub(crate) now: BufferId,
}

impl Turns {
    /// A step begins.
    pub(super) fn advance(&mut self) {
        std::mem::swap(&mut self.before, &mut self.now);
    }
}

impl IslandBuffers {
    /// Impulses.
    pub(super) fn impulses(&self) -> Turns {
        Turns { before: self.impulse_b, now: self.impulse_a }
    }
}

impl SetBuffers {
    /// Impulses.
    pub(super) fn impulses(&self) -> Turns {
        Turns { before: self.impulse_b, now: self.impulse_a }
    }
}
