//! Products with the transposed Jacobian.

use manyworlds_gpu::Store;
use manyworlds_gradients::{Certificate, GradientRules, integrate_back};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::{Adjoint, mobility_reals};
use manyworlds_shaders::index::{tile_at, tile_len};

use super::judged;
use crate::Error;
use crate::group::buffers::SetBuffers;
use crate::group::chunk::{Chunk, ChunkSet};
use crate::group::derivatives::Certificates;
use crate::group::derivatives::geometry::Geometry;
use crate::group::derivatives::request::{Request, WorldProduct};
use crate::group::seen::Seen;

/// What the step left of a set.
struct StepBuffers<T> {
    velocity: Seen<T>,
    params: Seen<T>,
}

/// What the kernels left of it.
struct Results<T> {
    mobility: Seen<T>,
    adjoint: Seen<T>,
}

impl<T: Scalar> StepBuffers<T> {
    fn new(store: &mut dyn Store<T>, b: &SetBuffers) -> Result<Self, Error> {
        Ok(Self { velocity: Seen::new(store, b.velocity)?, params: Seen::new(store, b.lane_params)? })
    }
}

impl<T: Scalar> Results<T> {
    fn new(store: &mut dyn Store<T>, b: &SetBuffers) -> Result<Self, Error> {
        Ok(Self { mobility: Seen::new(store, b.mobility)?, adjoint: Seen::new(store, b.adjoint)? })
    }
}

impl<T: Scalar> Chunk<T> {
    /// Products for some of its worlds, of which `first` is the first in the group; the others are left in `requests`.
    pub(super) fn back(
        &mut self,
        geometry: &Geometry,
        rules: GradientRules,
        first: usize,
        requests: &mut Vec<Request>,
    ) -> Result<Certificates, Error> {
        // An escape compares two adjoints.
        if rules.escape {
            return Ok(Vec::new());
        }
        // A lane has room for one product; of a world that is asked for again the others are the host's.
        let mut taken = vec![false; self.n_world];
        let mut again = |request: &Request| std::mem::replace(&mut taken[request.world - first], true);
        let (mut others, mut own): (Vec<_>, Vec<_>) = std::mem::take(requests).into_iter().partition(|own| again(own));
        let taken =
            self.linearised(geometry, rules, first, &mut own, (|b| b.adjoint, |dims| Adjoint::new(dims).reals))?;
        requests.append(&mut own);
        requests.append(&mut others);
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let sets: Vec<SetBuffers> = self.sets.iter().map(|set| set.step.buffers).collect();
        let known: Vec<_> = sets.iter().map(|b| StepBuffers::new(&mut *self.store, b)).collect::<Result<_, Error>>()?;
        let width = self.store.tile();
        let zeros = |set: &ChunkSet<T>| {
            vec![T::default(); tile_len(width, set.dims().lanes as usize, Adjoint::new(set.dims()).reals)]
        };
        let mut given: Vec<Vec<T>> = self.sets.iter().map(zeros).collect();
        // Gradients by q with v+ held, by world.
        let mut by_q = Vec::with_capacity(taken.len());
        for (request, _) in &taken {
            let WorldProduct::Back { from, .. } = &request.product else { continue };
            by_q.push(self.write_gradients(&known, request.world - first, *from, &mut given));
        }
        for (set, given) in self.sets.iter().zip(&given) {
            let b = set.step.buffers;
            self.store.write(b.adjoint, 0, given)?;
            set.step.back(&mut self.recording);
        }
        self.store.run(&self.recording)?;
        let results: Vec<_> = sets.iter().map(|b| Results::new(&mut *self.store, b)).collect::<Result<_, Error>>()?;
        let mut found = Vec::with_capacity(taken.len());
        for ((mut request, mut certificate), by_q) in taken.into_iter().zip(by_q) {
            let world = request.world - first;
            let WorldProduct::Back { to, .. } = &mut request.product else { continue };
            if self.write_product(&known, &results, world, &by_q, to, &mut certificate) {
                certificate.judge_margin(T::NAME != f64::NAME);
                found.push((request.order, certificate));
            } else {
                requests.push(request);
            }
        }
        Ok(found)
    }

    /// Through the end of the step: what a loss of q+ and v+ says of v+, to the lanes of a world; gives what it says of q.
    fn write_gradients(
        &self,
        known: &[StepBuffers<T>],
        world: usize,
        [after_q, after_v]: [&[f64]; 2],
        given: &mut [Vec<T>],
    ) -> Vec<f64> {
        let (shared, width) = (&self.shared, self.store.tile());
        let mut by_q = vec![0.0; shared.model.n_v];
        for (tree, place) in shared.host.lanes.trees.iter().enumerate() {
            let (set, known) = (&self.sets[place.set], &known[place.set]);
            let (dims, lane, dofs) = (set.dims(), set.lane(world, place.index), shared.model.trees[tree].v.clone());
            let velocity = self.lane_of(&known.velocity, lane, dofs.len());
            let params = self.lane_of(&known.params, lane, dims.n_param as usize);
            let after: Vec<f64> = velocity.some(0, dofs.len()).collect();
            let part = |all: &[f64]| if all.is_empty() { vec![0.0; dofs.len()] } else { all[dofs.clone()].to_vec() };
            let mut v = part(after_v);
            let (joints, h) =
                (shared.sets[place.set].layout.tree().joints, self.time_step(place.set, place.index, &params));
            integrate_back(joints, h, &after, &part(after_q), &mut v, &mut by_q[dofs.clone()]);
            let at = tile_at(width, lane, Adjoint::new(dims).reals, 0);
            v.iter().enumerate().for_each(|(i, x)| given[place.set][at + i * width] = T::from_f64(*x));
        }
        by_q
    }

    /// Writes the product of a world; false where its derivative is in doubt, as for the Jacobian.
    fn write_product(
        &self,
        known: &[StepBuffers<T>],
        results: &[Results<T>],
        world: usize,
        by_q: &[f64],
        to: &mut [&mut [f64]; 4],
        certificate: &mut Certificate,
    ) -> bool {
        let shared = &self.shared;
        let mut finite = true;
        for (tree, place) in shared.host.lanes.trees.iter().enumerate() {
            let (set, results) = (&self.sets[place.set], &results[place.set]);
            let (dims, lane) = (set.dims(), set.lane(world, place.index));
            let (n, part) = (dims.n_v as usize, Adjoint::new(dims));
            let mobility = self.lane_of(&results.mobility, lane, mobility_reals(dims));
            let adjoint = self.lane_of(&results.adjoint, lane, part.reals);
            let params = self.lane_of(&known[place.set].params, lane, dims.n_param as usize);
            let left: Vec<f64> = mobility.some(n * n, mobility_reals(dims) - n * n).collect();
            if !judged::<T>(&left, adjoint.some(part.left, part.reals - part.left), n, certificate) {
                return false;
            }
            let h = self.time_step(place.set, place.index, &params);
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
            for (a, &own) in shared.sets[place.set].actuators[place.index].iter().enumerate() {
                let x = adjoint.at(part.inputs + 2 * n + a);
                finite &= x.is_finite();
                if let Some(to) = to[3].get_mut(own) {
                    *to = x;
                }
            }
        }
        finite
    }
}
