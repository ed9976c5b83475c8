//! SubADMM on an island that a workgroup solves; on the CPU on islands of any size.
//!
//! A dispatch does the iterations from `done` to `iterations`: on devices a solve is spread over several, as the loops of
//! an invocation are limited ([`crate::contact::LOOPS`]).

use super::layout::{Split, SplitDims, SplitIsland};
use super::{CHECK_EVERY, laws, trees, verdict};
use crate::args::Args;
use crate::dynamics::names::part;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SplitDims;

/// What an island's solve reads and writes.
struct State<'a, T> {
    jac: &'a [T],
    cons: &'a [T],
    impulse: &'a mut [T],
    velocity: &'a mut [T],
    split: &'a mut [T],
    infos: &'a mut [T],
}

impl<T: Scalar> State<'_, T> {
    /// Where the impulses stand, and what follows from it. Whether nothing is left to do.
    fn check(&mut self, all: &Split, number: usize, own: &SplitIsland, done: u32) -> bool {
        let start = done == 0;
        let (own_trees, own_laws) = ranges(own);
        for t in own_trees.clone() {
            trees::velocity(all, t, self.jac, self.impulse, self.velocity, start);
        }
        for i in own_laws {
            laws::measure(all, i, self.jac, self.cons, self.impulse, self.velocity, self.split, done);
        }
        verdict::judge(all, number, self.split, self.infos, done);
        let stopped = all.has_stopped(number, self.split);
        if !stopped {
            own_trees.for_each(|t| trees::factor(all, t, self.impulse, self.split));
        }
        stopped
    }

    /// Iterations of one island.
    fn solve(&mut self, all: &Split, number: usize, own: &SplitIsland) {
        let dims = all.dims;
        if dims.done == 0 && self.check(all, number, own, 0) || own.part != part::SOLVES {
            return;
        }
        for now in dims.done + 1..=dims.iterations {
            let (own_trees, own_laws) = ranges(own);
            own_trees.for_each(|t| trees::solve(all, t, self.velocity, self.split));
            own_laws.for_each(|i| {
                laws::project(all, i, self.cons, self.impulse, self.velocity, self.split);
            });
            let check = now.is_multiple_of(CHECK_EVERY) || now == dims.iterations;
            if check && self.check(all, number, own, now) {
                return;
            }
        }
    }
}

/// Trees and constraints of an island.
fn ranges(own: &SplitIsland) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    (own.tree_begin as usize..own.tree_end as usize, own.constraint_begin as usize..own.constraint_end as usize)
}

/// All islands that a workgroup solves and that do not rest.
pub fn fused<T: Scalar>(
    dims: &SplitDims,
    index: &[u32],
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    velocity: &mut [T],
    split: &mut [T],
    infos: &mut [T],
) {
    let all = Split::new(dims, index);
    let mut state = State { jac, cons, impulse, velocity, split, infos };
    for (number, own) in all.islands.iter().enumerate() {
        if own.wide == 0 && !all.rests(number, state.split) {
            state.solve(&all, number, own);
        }
    }
}

/// Buffers: island_index (unused), split_index, island_jac, island_con -> impulse, velocity, split, island_info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [_, index, jac, cons, impulse, velocity, split, infos] = args.split();
    let (index, jac, cons) = (index.index(), jac.real(), cons.real());
    let (impulse, velocity, infos) = (impulse.real_mut(), velocity.real_mut(), infos.real_mut());
    fused(&dims, index, jac, cons, impulse, velocity, split.real_mut(), infos);
}
