//! Worlds of one model, in one precision, on one executor.

mod backend;
mod buffers;
mod carried;
mod certify;
mod chunk;
mod columns;
mod contacts;
mod derivatives;
mod differentiable;
mod fields;
mod graph;
mod home;
mod inspect;
mod kept;
mod left;
mod maker;
mod params;
mod problem;
mod record;
mod save;
mod seen;
mod shared;
mod sharing;
mod soft;
pub(crate) mod state;
mod step;
mod subsystems;
pub(crate) mod worlds;

use std::sync::Arc;

use manyworlds_contact::tree::device_reals;
use manyworlds_dynamics::Parameter;
use manyworlds_gpu::{RoundTrips, Timings, Traffic};
use manyworlds_model::Model;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::index::{tile_at, tile_len};

use crate::checkpoint::{Reader, Writer};
use crate::field::block::{Block, BlockMut};
use crate::field::id::FieldId;
use crate::field::rows::{Rows, RowsMut};
use crate::{BatchOptions, Error, GeomParameter, Precision, Summary};
pub(crate) use backend::Backend;
use chunk::Chunk;
use derivatives::Geometry;
pub(crate) use derivatives::{Lineariser, Request, TakenSteps, WorldProduct, WorldStep};
pub(crate) use fields::{NewStates, PARTS};
use maker::Maker;
use shared::Shared;
use sharing::{READ, RESTART, Work};
use soft::SoftKernels;
pub(crate) use state::State;
use state::read_state;
pub(crate) use worlds::{Numbered, Worlds};

/// Worlds of one model in one precision on one executor.
pub(crate) struct Group<T: Scalar> {
    shared: Arc<Shared<T>>,
    /// What derivatives of contacts rest on, once steps are kept.
    geometry: Option<Arc<Geometry>>,
    chunks: Vec<Chunk<T>>,
    chunk_worlds: usize,
    n_world: usize,
    maker: Arc<Maker<T>>,
    work: Work,
}

impl<T: Scalar> Group<T> {
    /// Compiles the model and makes `n_world` worlds in its initial state.
    pub(crate) fn new(model: &Model, n_world: usize, options: &BatchOptions, backend: &Backend) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new(model, options, backend.most_rounds())?);
        let trees = shared.sets.iter().filter(|set| !set.is_soft());
        let widest = trees.map(|set| set.layout.dims.n_v).max().unwrap_or(0);
        if widest > backend.most_dofs() {
            return Err(Error::Option {
                option: "executor",
                expected: "the CPU or a hardware GPU for a tree of more than 64 degrees of freedom: software adapters \
                           end long loops of a kernel early",
                found: format!("a software adapter and a tree of {widest}"),
            });
        }
        let coupled = shared.host.has_islands();
        let layouts = shared.soft.iter().filter_map(|soft| soft.layout.as_ref());
        let of_soft = layouts.map(SoftKernels::most_reals).max().filter(|_| shared.form.is_some());
        let of_lanes = shared.sets.iter().map(|set| set.trees.len() * device_reals(set.layout.steady_rows())).max();
        let most_reals = of_soft.max(of_lanes).unwrap_or(0).max(left::most_reals(&shared.sets));
        let dofs = shared.sets.iter().map(|set| set.trees.len() * set.layout.dims.n_v as usize).sum();
        let chunk_worlds = backend.chunk_worlds::<T>(n_world, dofs, coupled, most_reals);
        let maker = Arc::new(Maker::new(Arc::clone(&shared), backend.clone()));
        let firsts = (0..n_world).step_by(chunk_worlds);
        let chunks = firsts.map(|first| maker.make(chunk_worlds.min(n_world - first))).collect::<Result<_, Error>>()?;
        let work = Work::new(backend.side_by_side());
        let mut group = Self { shared, geometry: None, chunks, chunk_worlds, n_world, maker, work };
        let q = group.shared.model.initial_q();
        for chunk in &mut group.chunks {
            write_initial(&group.shared, chunk, &q)?;
        }
        Ok(group)
    }

    /// What a checkpoint must agree on.
    fn head(&self) -> [(&'static str, usize); 7] {
        let model = &self.shared.model;
        // Worlds are saved chunk by chunk.
        let chunk = self.chunk_worlds.min(self.n_world);
        [
            ("worlds", self.n_world),
            ("n_q", model.n_q),
            ("n_v", model.n_v),
            ("actuators", model.actuators.len()),
            ("activations", model.n_act()),
            ("mocap bodies", model.mocaps.len()),
            ("worlds of a chunk", chunk),
        ]
    }

    fn place(&self, world: usize) -> (usize, usize) {
        (world / self.chunk_worlds, world % self.chunk_worlds)
    }
}

/// Every lane of a chunk to the model's initial position at rest.
fn write_initial<T: Scalar>(shared: &Shared<T>, chunk: &mut Chunk<T>, q: &[f64]) -> Result<(), Error> {
    let width = chunk.store.tile();
    for (index, set) in shared.sets.iter().enumerate() {
        let dims = set.layout.dims;
        let (n_state, k) = (dims.n_state(), set.trees.len());
        let lanes = (chunk.n_world * k).next_multiple_of(width);
        let mut state = vec![T::default(); tile_len(width, lanes, n_state)];
        for lane in 0..lanes {
            let tree = &shared.model.trees[set.trees[lane % k]];
            for (e, &x) in q[tree.q.clone()].iter().enumerate() {
                state[tile_at(width, lane, n_state, e)] = T::from_f64(x);
            }
        }
        chunk.store.write(chunk.sets[index].step.buffers.state, 0, &state)?;
    }
    Ok(())
}

impl<T: Scalar> Worlds for Group<T> {
    fn model(&self) -> &Model {
        &self.shared.model
    }

    fn len(&self) -> usize {
        self.n_world
    }

    fn precision(&self) -> Precision {
        if size_of::<T>() == size_of::<f32>() { Precision::F32 } else { Precision::F64 }
    }

    fn step(&mut self, controls: Option<Rows<'_>>) -> Result<(), Error> {
        let n_u = self.shared.model.actuators.len();
        let size = self.chunk_worlds;
        let ready = |c: usize, chunk: &mut Chunk<T>| {
            if let Some(rows) = controls.filter(|_| n_u > 0) {
                let first = c * size;
                chunk.set_controls(rows.part(first * n_u..(first + chunk.n_world) * n_u))?;
            }
            chunk.ready()
        };
        if self.work.side_by_side {
            return self.work.step(&mut self.chunks, |c, chunk| {
                ready(c, &mut *chunk)?;
                chunk.launch()?;
                chunk.complete()
            });
        }
        // The device works on one chunk while the host makes the next one ready: also on the last one, while the host makes the
        // first one ready for the next step. What the host solves comes before the next kernels: its motion would wait for these.
        let count = self.chunks.len();
        for c in 0..count {
            ready(c, &mut self.chunks[c])?;
            self.chunks[(c + count - 1) % count].complete()?;
            self.chunks[c].launch()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.chunks.iter_mut().try_for_each(Chunk::finish)
    }

    fn complete(&mut self) -> Result<(), Error> {
        self.chunks.iter_mut().try_for_each(Chunk::complete)
    }

    fn refresh(&mut self) -> Result<(), Error> {
        self.chunks.iter_mut().try_for_each(Chunk::refresh)
    }

    fn restart(&mut self, mut new: NewStates) -> Result<(), Error> {
        // What comes later counts, so worlds of a chunk keep their order.
        let mut worlds = std::mem::take(&mut new.worlds);
        worlds.sort_by_key(|&(world, _)| world);
        let size = self.chunk_worlds;
        let mut rest = &mut worlds[..];
        let mut restarts = Vec::new();
        for (c, chunk) in self.chunks.iter_mut().enumerate() {
            let count = rest.partition_point(|&(world, _)| world < (c + 1) * size);
            let (own, others) = std::mem::take(&mut rest).split_at_mut(count);
            rest = others;
            if !own.is_empty() {
                own.iter_mut().for_each(|(world, _)| *world -= c * size);
                restarts.push((chunk, &*own));
            }
        }
        let restart = |(chunk, worlds): (&mut Chunk<T>, &[(usize, [u32; PARTS])])| chunk.restart(&new, worlds);
        self.work.map(RESTART, restarts, restart).map(drop)
    }

    fn state(&mut self, world: usize) -> Result<State, Error> {
        let (c, w) = self.place(world);
        let found = self.chunks[c].states([w], read_state)?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn set_parameter(&mut self, world: usize, tree: usize, parameter: Parameter, values: &[f64]) -> Result<(), Error> {
        let (c, w) = self.place(world);
        let place = self.shared.host.lanes.trees[tree];
        let layout = &self.shared.sets[place.set].layout;
        let range = layout.locate(parameter).ok_or_else(|| Error::Parameter {
            parameter: format!("{parameter:?}"),
            message: format!("tree {tree} has no such part"),
        })?;
        if range.len() != values.len() {
            return Err(Error::Parameter {
                parameter: format!("{parameter:?}"),
                message: format!("expected {} numbers, found {}", range.len(), values.len()),
            });
        }
        let wrong = |message| Error::Parameter { parameter: format!("{parameter:?} of tree {tree}"), message };
        parameter.check(values).map_err(wrong)?;
        let chunk = &mut self.chunks[c];
        let lane = chunk.sets[place.set].lane(w, place.index);
        for (at, &value) in range.zip(values) {
            chunk.set_param(place.set, lane, at, value)?;
        }
        Ok(())
    }

    fn parameter(&mut self, world: usize, tree: usize, parameter: Parameter) -> Result<Option<Numbered>, Error> {
        let (c, w) = self.place(world);
        let place = self.shared.host.lanes.trees[tree];
        let set = &self.shared.sets[place.set];
        let Some(range) = set.layout.locate(parameter) else { return Ok(None) };
        let chunk = &mut self.chunks[c];
        let step = &chunk.sets[place.set].step;
        if step.dims.param_lanes == 0 {
            return Ok(Some((range.clone(), set.params[place.index][range].to_vec())));
        }
        let (buffer, n) = (step.buffers.lane_params, step.dims.n_param as usize);
        let lane = chunk.sets[place.set].lane(w, place.index);
        let all = chunk.read_lane(buffer, lane, n)?;
        Ok(Some((range.clone(), all[range].to_vec())))
    }

    fn set_geom(&mut self, world: usize, geom: usize, parameter: GeomParameter, values: &[f64]) -> Result<(), Error> {
        let (c, w) = self.place(world);
        self.chunks[c].set_geom(w, geom, parameter, values)
    }

    fn summaries(&mut self, out: &mut Vec<Summary>) -> Result<(), Error> {
        for chunk in &mut self.chunks {
            chunk.summarise(out)?;
        }
        Ok(())
    }

    fn inspect(&mut self, world: usize) -> Result<crate::Inspection, Error> {
        let (c, w) = self.place(world);
        inspect::inspect(&self.shared, &mut self.chunks[c], w)
    }

    fn stages(&mut self, world: usize) -> Result<Vec<crate::StageReport>, Error> {
        let (c, _) = self.place(world);
        self.chunks[c].stages(&self.maker.specs)
    }

    fn contact_impulses(&mut self, first: usize, out: &mut Vec<crate::ContactImpulse>) -> Result<(), Error> {
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            contacts::impulses(&self.shared, chunk, first + number * self.chunk_worlds, out)?;
        }
        Ok(())
    }

    fn solved_contacts(&mut self, first: usize, out: &mut Vec<crate::SolvedContact>) -> Result<(), Error> {
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            contacts::solved(&self.shared, chunk, first + number * self.chunk_worlds, out)?;
        }
        Ok(())
    }

    fn soft(&mut self, world: usize) -> Result<Vec<crate::SoftReport>, Error> {
        let (c, w) = self.place(world);
        soft::report(&self.shared, &mut self.chunks[c], w)
    }

    fn contact_problem(&mut self, world: usize) -> Result<crate::StepProblem, Error> {
        let (c, w) = self.place(world);
        problem::problem(&self.shared, &mut self.chunks[c], w)
    }

    fn row_shape(&self, id: FieldId) -> Vec<usize> {
        self.maker.columns.row_shape(id)
    }

    fn n_blocks(&self, id: FieldId) -> usize {
        match id {
            FieldId::Mocap => self.chunks.len(),
            _ => self.chunks.len() * self.shared.sets.len(),
        }
    }

    fn block(&self, id: FieldId, first: usize, at: usize) -> Block<'_> {
        if id == FieldId::Mocap {
            let (chunk, begin) = (&self.chunks[at], first + at * self.chunk_worlds);
            let layout = columns::mocap_layout(&self.maker.columns, begin..begin + chunk.n_world);
            return Block { layout, numbers: backend::in_memory(&chunk.mocaps.poses) };
        }
        let (c, index) = (at / self.shared.sets.len(), at % self.shared.sets.len());
        let chunk = &self.chunks[c];
        let begin = first + c * self.chunk_worlds;
        let (worlds, tile) = (begin..begin + chunk.n_world, chunk.store.tile());
        let (buffer, layout) = columns::layout(
            &self.maker.columns,
            (index, &chunk.sets[index].step, chunk.sets[index].k),
            id,
            worlds,
            tile,
        );
        Block { layout, numbers: backend::numbers(&*chunk.store, buffer) }
    }

    fn about_to_write(&mut self, id: FieldId) -> Result<(), Error> {
        self.chunks.iter_mut().try_for_each(|chunk| chunk.about_to_write(id))
    }

    fn for_each_block_mut(&mut self, id: FieldId, first: usize, f: &mut dyn FnMut(BlockMut<'_>)) {
        for (c, chunk) in self.chunks.iter_mut().enumerate() {
            let begin = first + c * self.chunk_worlds;
            let (worlds, tile) = (begin..begin + chunk.n_world, chunk.store.tile());
            if id == FieldId::Mocap {
                let layout = columns::mocap_layout(&self.maker.columns, worlds);
                f(BlockMut { layout, numbers: backend::in_memory_mut(&mut chunk.mocaps.poses) });
                continue;
            }
            for (index, set) in chunk.sets.iter().enumerate() {
                let set = (index, &set.step, set.k);
                let (buffer, layout) = columns::layout(&self.maker.columns, set, id, worlds.clone(), tile);
                f(BlockMut { layout, numbers: backend::numbers_mut(&mut *chunk.store, buffer) });
            }
        }
    }

    fn read_rows(&mut self, id: FieldId, out: RowsMut<'_>) -> Result<(), Error> {
        let parts = out.chunks((self.chunk_worlds * self.maker.columns.width(id)).max(1));
        if self.work.side_by_side {
            let parts = self.chunks.iter_mut().zip(parts).collect();
            let read = |(chunk, mut rows): (&mut Chunk<T>, RowsMut<'_>)| chunk.begin_read(id, rows.again()).map(drop);
            return self.work.map(READ, parts, read).map(drop);
        }
        // All chunks collect before the first is waited for.
        let mut waiting = Vec::with_capacity(self.chunks.len());
        for (chunk, mut rows) in self.chunks.iter_mut().zip(parts) {
            if let Some(ticket) = chunk.begin_read(id, rows.again())? {
                waiting.push((chunk, ticket, rows));
            }
        }
        waiting.into_iter().try_for_each(|(chunk, ticket, rows)| chunk.end_read(id, ticket, rows))
    }

    fn write_rows(&mut self, id: FieldId, rows: Rows<'_>) -> Result<(), Error> {
        let (size, width) = (self.chunk_worlds, self.maker.columns.width(id));
        for (c, chunk) in self.chunks.iter_mut().enumerate() {
            let first = c * size;
            chunk.write_rows(id, rows.part(first * width..(first + chunk.n_world) * width))?;
        }
        Ok(())
    }

    fn round_trips(&self) -> RoundTrips {
        let mut sum = RoundTrips::default();
        self.chunks.iter().for_each(|chunk| sum += chunk.store.round_trips());
        sum
    }

    fn traffic(&self) -> Traffic {
        let mut sum = Traffic::default();
        for chunk in &self.chunks {
            sum += chunk.store.traffic();
            sum += chunk.copied;
        }
        sum
    }

    fn save(&mut self, out: &mut Writer) -> Result<(), Error> {
        self.head().into_iter().for_each(|(_, n)| out.count(n));
        self.chunks.iter_mut().try_for_each(|chunk| chunk.save(out))
    }

    fn restore(&mut self, input: &mut Reader) -> Result<(), Error> {
        for (what, n) in self.head() {
            input.expect(what, n)?;
        }
        self.chunks.iter_mut().try_for_each(|chunk| chunk.restore(input))
    }

    fn time(&mut self, on: bool) {
        for chunk in &mut self.chunks {
            chunk.store.time(on);
            chunk.store.clear_timings();
            chunk.host.time(on);
        }
    }

    fn timings(&self) -> Timings {
        let mut sum = Timings::default();
        for chunk in &self.chunks {
            for &(name, milliseconds) in chunk.host.timings().iter().chain(&chunk.store.timings().stages) {
                sum.add(name, milliseconds);
            }
        }
        sum
    }

    fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.store.bytes()).sum::<u64>() + self.maker.bytes()
    }
}
