//! Dense Jacobians.

use manyworlds_gradients::{Certificate, integrate_rows};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::{answer_reals, answer_width, mobility_reals};

use super::{LanesBefore, Results, judged};
use crate::group::chunk::Chunk;

impl<T: Scalar> Chunk<T> {
    /// Writes the blocks of a world; false where its derivative is in doubt: what is left of its equations is too much, or it is not
    /// finite.
    pub(super) fn write_blocks(
        &self,
        before: &[LanesBefore<T>],
        results: &[Results<T>],
        world: usize,
        to: &mut [&mut [f64]; 12],
        certificate: &mut Certificate,
    ) -> bool {
        let shared = &self.shared;
        let (n_v, n_u, n_act) = (shared.model.n_v, shared.model.actuators.len(), shared.model.n_act());
        to[10..].iter_mut().for_each(|block| block.fill(0.0));
        let mut own_dv = Vec::new();
        for (tree, place) in shared.host.lanes.trees.iter().enumerate() {
            let (set, results, trees) = (&self.sets[place.set], &results[place.set], &shared.sets[place.set]);
            let (dims, lane) = (set.dims(), set.lane(world, place.index));
            let (n, width) = (dims.n_v as usize, answer_width(dims));
            let Some(mobility) = &results.mobility else { return false };
            let [mobility, answer, velocity] = [
                (mobility, mobility_reals(dims)),
                (&results.result, answer_reals(dims)),
                (&before[place.set].velocity, n),
            ]
            .map(|(from, reals)| self.lane_of(from, lane, reals));
            if !judged::<T>(std::array::from_fn(|k| mobility.at(n * n + k)), certificate) {
                return false;
            }
            let h = self.time_step(before, place, world);
            let after: Vec<f64> = velocity.some(0, n).collect();
            let (first, actuators) = (shared.model.trees[tree].v.start, &trees.actuators[place.index]);
            let activations = &trees.activations[place.index];
            let joints = trees.layout.tree().joints;
            let [dq_dq, dq_dv, dq_dtau, dq_dctrl, dv_dq, dv_dv, dv_dtau, dv_dctrl, dq_dact, dv_dact, ..] = to;
            let of_motion = [
                (dq_dq, dv_dq, n_v),
                (dq_dv, dv_dv, n_v),
                (dq_dtau, dv_dtau, n_v),
                (dq_dctrl, dv_dctrl, n_u),
                (dq_dact, dv_dact, n_act),
            ];
            for (block, (dq, dv, wide)) in of_motion.into_iter().enumerate() {
                if dq.is_empty() && dv.is_empty() {
                    continue;
                }
                let rows = first * wide..(first + n) * wide;
                let dv = if dv.is_empty() {
                    own_dv.resize(n * wide, 0.0);
                    &mut own_dv[..n * wide]
                } else {
                    &mut dv[rows.clone()]
                };
                if n < n_v {
                    dv.fill(0.0);
                }
                for (i, row) in dv.chunks_exact_mut(wide.max(1)).enumerate() {
                    let at = i * width;
                    match block {
                        0 => row[first..first + n].iter_mut().enumerate().for_each(|(j, x)| *x = answer.at(at + j)),
                        1 => row[first..first + n].iter_mut().enumerate().for_each(|(j, x)| *x = answer.at(at + n + j)),
                        2 => {
                            row[first..first + n]
                                .iter_mut()
                                .enumerate()
                                .for_each(|(j, x)| *x = h * mobility.at(i * n + j));
                        }
                        3 => actuators.iter().enumerate().for_each(|(a, &own)| row[own] = answer.at(at + 2 * n + a)),
                        _ => {
                            let at = at + 2 * n + actuators.len();
                            activations.iter().enumerate().for_each(|(a, &own)| row[own] = answer.at(at + a));
                        }
                    }
                }
                if !dq.is_empty() {
                    let own = (block == 0).then_some(first);
                    integrate_rows(joints, h, &after, own, wide, dv, &mut dq[rows]);
                }
            }
            let [.., dact_dctrl, dact_dact] = to;
            for slopes in self.activations(before, world, place) {
                slopes.write([n_u, n_act], [dact_dctrl, dact_dact]);
            }
        }
        to.iter().all(|block| block.iter().all(|x| x.is_finite()))
    }
}
