//! Worlds of soft bodies that nothing touches, side by side.

use std::cell::Cell;

use manyworlds_shaders::Scalar;
use manyworlds_soft::{FreeWork, SoftLayout};

use super::super::problem::Worlds;
use super::super::shared::Shared;
use super::super::soft::step::SoftStep;
use super::answer::Solved;
use crate::host::Packed;

thread_local! {
    /// What a thread solves one pack after the other in.
    static FREE: Cell<FreeWork> = Cell::default();
}

/// `None`: a world wants more care.
pub(super) fn solve_free<T: Scalar>(
    shared: &Shared<T>,
    layouts: &[&SoftLayout],
    host: &Packed<'_, T>,
    worlds: &Worlds<'_, T>,
    pack: &[usize],
) -> Vec<Option<Solved>> {
    let steps: Vec<Vec<SoftStep>> = pack.iter().map(|&world| worlds.soft(shared, host, world)).collect();
    let mut work = FREE.take();
    let mut out: Vec<Option<Solved>> = pack.iter().map(|&world| Some(Solved::free(shared, world))).collect();
    for (index, (soft, layout)) in shared.soft.iter().zip(layouts).enumerate() {
        let starts: Vec<_> = steps.iter().map(|own| own[index].free()).collect();
        let ends = layout.free_steps(&starts, shared.tolerance / (shared.soft.len() as f64).sqrt(), &mut work);
        let span = shared.model.trees[soft.tree].v.clone();
        for (solved, end) in out.iter_mut().zip(ends) {
            *solved = solved.take().zip(end).map(|(mut solved, end)| {
                solved.outcome.v[span.clone()].copy_from_slice(&end.v);
                if let Some(left) = &mut solved.left {
                    left.square += end.momentum.powi(2);
                    left.momentum = left.momentum.hypot(end.momentum);
                }
                solved
            });
        }
    }
    FREE.set(work);
    out
}
