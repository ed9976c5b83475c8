//! The free part of the derivatives of steps, all worlds of a chunk at once: by packs of lanes or on the device.

use manyworlds_collide::Precision as CollidePrecision;
use manyworlds_gpu::{BufferId, Store};
use manyworlds_gradients::{FreePart, add_impulses};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::derivatives::layout::{act_reals, slope_reals, work_reals};
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL};
use manyworlds_shaders::index::{tile_at, tile_len};

use super::chunk::Chunk;
use super::gradient::WorldStep;
use crate::Error;

/// What the kernels left of one tree, as [`FreePart`] has it: pose, motion, factor, v+ and response, one behind the other.
#[derive(Debug)]
pub(super) struct FreeNumbers {
    numbers: Vec<f64>,
    /// Where each but the first begins.
    begins: [usize; 4],
}

impl FreeNumbers {
    pub(super) fn part(&self) -> FreePart<'_> {
        let [motion, factor, after, response] = self.begins;
        FreePart {
            pose: &self.numbers[..motion],
            motion: &self.numbers[motion..factor],
            factor: &self.numbers[factor..after],
            after: &self.numbers[after..response],
            response: &self.numbers[response..],
        }
    }
}

impl<T: Scalar + CollidePrecision, S: Store<T>> Chunk<T, S> {
    /// Gives steps of worlds of the chunk, its last, the free part of their derivatives; `steps`: world of the chunk, step.
    pub(super) fn add_free(&mut self, steps: &mut [(usize, WorldStep)]) -> Result<(), Error> {
        self.finish()?;
        let Some(before) = &self.before else { return Err(Error::NoGradient) };
        let width = self.store.tile();
        let mut acts = Vec::with_capacity(self.sets.len());
        for ((set, states), _) in self.sets.iter().zip(&before.states).zip(&before.poses) {
            let (d, b) = (set.step.dims, set.step.buffers);
            let [lanes, n_body, n_v] = [d.lanes, d.n_body, d.n_v].map(|n| n as usize);
            for (buffer, n) in [
                (b.before, d.n_state()),
                (b.pose_before, POSE * n_body),
                (b.motion_before, SPATIAL * n_v),
                (b.act, act_reals(&d)),
                (b.derivative_work, work_reals(&d)),
                (b.slope, slope_reals(&d)),
            ] {
                self.store.resize(buffer, tile_len(width, lanes, n))?;
            }
            self.store.write(b.before, 0, states)?;
            acts.push(vec![T::default(); tile_len(width, lanes, act_reals(&d))]);
        }
        for (_, step) in steps.iter() {
            let mut put = |tree: usize, at: usize, x: f64| {
                let own = &step.trees[tree];
                let n = act_reals(&self.sets[own.set].step.dims);
                let to = &mut acts[own.set][tile_at(width, own.lane, n, at)];
                *to = T::from_f64(to.to_f64() + x);
            };
            for (tree, own) in self.shared.model.trees.iter().enumerate() {
                own.v.clone().enumerate().for_each(|(i, dof)| put(tree, i, step.after.v[dof]));
            }
            let pose = |(tree, body): (usize, usize)| -> [f64; POSE] {
                let own = &step.trees[tree];
                let n = POSE * self.sets[own.set].step.dims.n_body as usize;
                let from = &before.poses[own.set];
                std::array::from_fn(|k| from[tile_at(width, own.lane, n, POSE * body + k)].to_f64())
            };
            add_impulses(&step.contacts, &step.blocks, pose, |(tree, body), impulse| {
                let n_v = self.sets[step.trees[tree].set].step.dims.n_v as usize;
                impulse.iter().enumerate().for_each(|(k, &x)| put(tree, n_v + SPATIAL * body + k, x));
            });
        }
        self.recording.clear();
        for (set, act) in self.sets.iter().zip(&acts) {
            self.store.write(set.step.buffers.act, 0, act)?;
            set.step.derivatives(&mut self.recording);
        }
        self.store.run(&self.recording)?;
        self.unpack(steps)
    }

    /// What the kernels left, to the steps.
    fn unpack(&mut self, steps: &mut [(usize, WorldStep)]) -> Result<(), Error> {
        let width = self.store.tile();
        for (index, set) in self.sets.iter().enumerate() {
            let (d, b) = (set.step.dims, set.step.buffers);
            let [n_body, n_v, n_m] = [d.n_body, d.n_v, d.n_m].map(|n| n as usize);
            let parts = [
                (b.pose_before, POSE * n_body),
                (b.motion_before, SPATIAL * n_v),
                (b.factor, n_m),
                (b.act, act_reals(&d)),
                (b.slope, slope_reals(&d)),
            ];
            let taken = [POSE * n_body, SPATIAL * n_v, n_m, n_v, slope_reals(&d)];
            let mut copies: [Vec<T>; 5] = Default::default();
            for (copy, (buffer, _)) in copies.iter_mut().zip(parts) {
                if self.store.numbers(buffer).is_none() {
                    copy.resize(self.store.len(buffer), T::default());
                    self.store.read(buffer, copy)?;
                }
            }
            let seen = |part: usize, buffer: BufferId| self.store.numbers(buffer).unwrap_or(&copies[part]);
            let sources: [(&[T], usize, usize); 5] =
                std::array::from_fn(|part| (seen(part, parts[part].0), parts[part].1, taken[part]));
            let mut begins = [0; 4];
            let mut end = 0;
            for (begin, &(_, _, taken)) in begins.iter_mut().zip(&sources) {
                end += taken;
                *begin = end;
            }
            for own in steps.iter_mut().flat_map(|(_, step)| &mut step.trees).filter(|own| own.set == index) {
                let mut numbers = Vec::with_capacity(end + taken[4]);
                for &(from, n, taken) in &sources {
                    let first = tile_at(width, own.lane, n, 0);
                    numbers.extend(from[first..].iter().step_by(width).take(taken).map(|x| x.to_f64()));
                }
                own.free = Some(FreeNumbers { numbers, begins });
            }
        }
        Ok(())
    }
}
