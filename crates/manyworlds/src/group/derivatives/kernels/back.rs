//! Products with the transposed Jacobian.

use manyworlds_gradients::{Certificate, integrate_back};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::Adjoint;
use manyworlds_shaders::index::tile_at;

use super::blocks::Stretch;
use super::{LanesBefore, Results, judged};
use crate::group::chunk::Chunk;

impl<T: Scalar> Chunk<T> {
    /// Through the end of the step: what a loss of q+ and v+ says of v+, to the lanes of a world; gives what it says of q.
    pub(super) fn write_gradients(
        &self,
        before: &[LanesBefore<T>],
        world: usize,
        [after_q, after_v, _]: [&[f64]; 3],
        given: &mut [Stretch<T>],
    ) -> Vec<f64> {
        let (shared, width) = (&self.shared, self.store.tile());
        let mut by_q = vec![0.0; shared.model.n_v];
        for (tree, place) in shared.host.lanes.trees.iter().enumerate() {
            let set = &self.sets[place.set];
            let (dims, lane, dofs) = (set.dims(), set.lane(world, place.index), shared.model.trees[tree].v.clone());
            let velocity = self.lane_of(&before[place.set].velocity, lane, dofs.len());
            let after: Vec<f64> = velocity.some(0, dofs.len()).collect();
            let part = |all: &[f64]| if all.is_empty() { vec![0.0; dofs.len()] } else { all[dofs.clone()].to_vec() };
            let mut v = part(after_v);
            let (joints, h) = (shared.sets[place.set].layout.tree().joints, self.time_step(before, place, world));
            integrate_back(joints, h, &after, &part(after_q), &mut v, &mut by_q[dofs.clone()]);
            let to = &mut given[place.set];
            let at = tile_at(width, lane - to.first, Adjoint::new(dims).reals, 0);
            v.iter().enumerate().for_each(|(i, x)| to.reals[at + i * width] = T::from_f64(*x));
        }
        by_q
    }

    /// Writes the product of a world; false where its derivative is in doubt, as for the Jacobian. `by_q`: what the end of the step says
    /// of q; `after_act`: the gradient by the activations after it.
    pub(super) fn write_product(
        &self,
        before: &[LanesBefore<T>],
        results: &[Results<T>],
        world: usize,
        (by_q, after_act): (&[f64], &[f64]),
        to: &mut [&mut [f64]; 5],
        certificate: &mut Certificate,
    ) -> bool {
        let shared = &self.shared;
        let mut finite = true;
        for (tree, place) in shared.host.lanes.trees.iter().enumerate() {
            let (set, results) = (&self.sets[place.set], &results[place.set]);
            let (dims, lane) = (set.dims(), set.lane(world, place.index));
            let (n, part) = (dims.n_v as usize, Adjoint::new(dims));
            let adjoint = self.lane_of(&results.result, lane, part.reals);
            if !judged::<T>(std::array::from_fn(|k| adjoint.at(part.verdict + k)), certificate) {
                return false;
            }
            let h = self.time_step(before, place, world);
            let first = shared.model.trees[tree].v.start;
            for i in 0..n {
                let found = [
                    by_q[first + i] + adjoint.at(part.inputs + i),
                    adjoint.at(part.inputs + n + i),
                    h * adjoint.at(part.impulse + i),
                ];
                for (to, x) in to.iter_mut().zip(found) {
                    finite &= x.is_finite();
                    if let Some(to) = to.get_mut(first + i) {
                        *to = x;
                    }
                }
            }
            let own = &shared.sets[place.set];
            let inputs = [(3, &own.actuators[place.index]), (4, &own.activations[place.index])];
            let inputs = inputs.into_iter().flat_map(|(which, own)| own.iter().map(move |&own| (which, own)));
            for (input, (which, own)) in inputs.enumerate() {
                let x = adjoint.at(part.inputs + 2 * n + input);
                finite &= x.is_finite();
                if let Some(to) = to[which].get_mut(own) {
                    *to = x;
                }
            }
            for slopes in self.activations(before, world, place) {
                let [.., by_ctrl, by_act] = to;
                slopes.add_back(after_act, [by_ctrl, by_act]);
            }
        }
        finite
    }
}
