//! What of a chunk belongs to a checkpoint: states, failures, parameters of lanes, and the impulses that the next step
//! starts from.

use manyworlds_gpu::BufferId;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{row, row_stride};
use manyworlds_shaders::index::{slot_at, tile_at};

use super::chunk::Chunk;
use crate::Error;
use crate::checkpoint::{Reader, Writer};
use crate::host::{IslandPack, Place};

/// Reals of a static row that the next step looks at.
fn kept(width: u32) -> impl Iterator<Item = usize> {
    std::iter::once(row::IMPULSE).chain((0..width as usize).map(|k| row::COEFFICIENT + row::TERM * k))
}

impl<T: Scalar> Chunk<T> {
    fn read_all(&mut self, buffer: BufferId) -> Result<Vec<T>, Error> {
        let mut all = vec![T::default(); self.store.len(buffer)];
        self.store.read(buffer, &mut all)?;
        Ok(all)
    }

    /// Appends the chunk's worlds.
    pub(crate) fn save(&mut self, out: &mut Writer) -> Result<(), Error> {
        self.finish()?;
        self.host.catch_up();
        let width = self.store.tile();
        for index in 0..self.sets.len() {
            let step = &self.sets[index].step;
            let (dims, buffers, impulses) = (step.dims, step.buffers, step.impulses);
            let lanes = dims.lanes as usize;
            let stride = row_stride(dims.n_v as usize, dims.row_width);
            let n_row = dims.n_row as usize * stride;
            let state = self.read_all(buffers.state)?;
            let rows = self.read_all(buffers.row)?;
            out.word(dims.param_lanes);
            let params = if dims.param_lanes == 1 { self.read_all(buffers.lane_params)? } else { Vec::new() };
            let impulses = self.read_all(impulses.now)?;
            for lane in 0..lanes {
                out.word(self.sets[index].status[lane]);
                (0..dims.n_state()).for_each(|e| out.real(state[tile_at(width, lane, dims.n_state(), e)]));
                for r in 0..dims.n_row as usize {
                    // A limit starts from its impulse if it is still on the side that its coefficients say.
                    for part in kept(dims.row_width) {
                        out.real(rows[tile_at(width, lane, n_row, r * stride + part)]);
                    }
                }
                if dims.param_lanes == 1 {
                    let n = dims.n_param as usize;
                    (0..n).for_each(|e| out.real(params[tile_at(width, lane, n, e)]));
                }
                let slots = self.host.packs[index].count(lane);
                let begin = self.host.packs[index].begin(lane);
                out.count(slots);
                for slot in 0..slots {
                    (0..3).for_each(|f| out.real(impulses[slot_at(width, lane, begin, slot, 3, f)]));
                }
            }
        }
        self.save_islands(out)?;
        out.word(u32::from(self.geoms.is_some()));
        if let Some(geoms) = &self.geoms {
            geoms.save(out);
        }
        self.mocaps.poses.iter().chain(&self.mocaps.before).for_each(|&x| out.real(x));
        self.clock.iter().for_each(|time| (0..2).for_each(|half| out.word((time.to_bits() >> (32 * half)) as u32)));
        self.mocaps.stepped.iter().for_each(|&stepped| out.word(u32::from(stepped)));
        for world in &self.host.worlds {
            out.count(world.previous().len());
            for ((geoms, feature), place) in world.previous() {
                geoms.iter().for_each(|&g| out.word(g));
                out.word(*feature as u32);
                out.word((*feature >> 32) as u32);
                match place {
                    Place::Slot(slot) => [0, *slot].iter().for_each(|&w| out.word(w)),
                    Place::Island(at) => [1, *at].iter().for_each(|&w| out.word(w)),
                }
            }
            out.count(world.soft_previous().len());
            for (feature, impulse) in world.soft_previous() {
                feature.iter().for_each(|&f| [f as u32, (f >> 32) as u32].iter().for_each(|&w| out.word(w)));
                // In double precision whatever the batch's.
                impulse.iter().for_each(|&x| out.real(x));
            }
            world.rides.iter().flat_map(|ride| ride.now).for_each(|way| way.iter().for_each(|&x| out.real(x)));
        }
        Ok(())
    }

    /// Reads what [`Chunk::save`] wrote for as many worlds.
    pub(crate) fn restore(&mut self, input: &mut Reader) -> Result<(), Error> {
        self.finish()?;
        self.host.catch_up();
        let width = self.store.tile();
        for index in 0..self.sets.len() {
            if input.word()? == 1 {
                self.use_lane_params(index)?;
            } else {
                self.share_params(index)?;
            }
            let step = &self.sets[index].step;
            let (dims, buffers, last) = (step.dims, step.buffers, step.impulses);
            let lanes = dims.lanes as usize;
            let stride = row_stride(dims.n_v as usize, dims.row_width);
            let n_row = dims.n_row as usize * stride;
            let mut state = self.read_all(buffers.state)?;
            let mut rows = self.read_all(buffers.row)?;
            let mut params = if dims.param_lanes == 1 { self.read_all(buffers.lane_params)? } else { Vec::new() };
            let mut slots: Vec<Vec<[T; 3]>> = Vec::with_capacity(lanes);
            for lane in 0..lanes {
                self.sets[index].status[lane] = input.word()?;
                for e in 0..dims.n_state() {
                    state[tile_at(width, lane, dims.n_state(), e)] = input.real()?;
                }
                for r in 0..dims.n_row as usize {
                    for part in kept(dims.row_width) {
                        rows[tile_at(width, lane, n_row, r * stride + part)] = input.real()?;
                    }
                }
                if dims.param_lanes == 1 {
                    let n = dims.n_param as usize;
                    for e in 0..n {
                        params[tile_at(width, lane, n, e)] = input.real()?;
                    }
                }
                let count = input.count()?;
                let mut impulses = Vec::with_capacity(count);
                for _ in 0..count {
                    impulses.push([input.real()?, input.real()?, input.real()?]);
                }
                slots.push(impulses);
            }
            self.store.write(buffers.state, 0, &state)?;
            self.store.write(buffers.row, 0, &rows)?;
            if dims.param_lanes == 1 {
                self.store.write(buffers.lane_params, 0, &params)?;
                let n = dims.n_param as usize;
                self.host.params[index].fill(lanes, |lane, at| params[tile_at(width, lane, n, at)]);
                self.params_changed(index);
            }
            let status = std::mem::take(&mut self.sets[index].status);
            self.store.write_index(buffers.status, 0, &status)?;
            self.sets[index].status = status;
            let pack = &mut self.host.packs[index];
            pack.set_counts(|lane| slots[lane].len(), lanes);
            let mut impulses = vec![T::default(); 3 * pack.n_slot.max(1) * width];
            for (lane, values) in slots.iter().enumerate() {
                for (slot, impulse) in values.iter().enumerate() {
                    for (f, &x) in impulse.iter().enumerate() {
                        impulses[slot_at(width, lane, pack.begin(lane), slot, 3, f)] = x;
                    }
                }
            }
            self.store.resize(last.now, impulses.len())?;
            self.store.write(last.now, 0, &impulses)?;
        }
        let n_constraint = self.restore_islands(input)?;
        if input.word()? == 1 {
            self.own_geoms().restore(input)?;
        } else {
            self.geoms = None;
        }
        for x in self.mocaps.poses.iter_mut().chain(&mut self.mocaps.before) {
            *x = input.real()?;
        }
        for time in &mut self.clock {
            *time = f64::from_bits(u64::from(input.word()?) | u64::from(input.word()?) << 32);
        }
        for stepped in &mut self.mocaps.stepped {
            *stepped = input.word()? == 1;
        }
        self.mocaps.moved = !self.mocaps.poses.is_empty();
        for world in &mut self.host.worlds {
            let count = input.count()?;
            let mut previous = Vec::with_capacity(count);
            for _ in 0..count {
                let geoms = [input.word()?, input.word()?];
                let feature = u64::from(input.word()?) | u64::from(input.word()?) << 32;
                let place = match (input.word()?, input.word()?) {
                    (0, slot) => Place::Slot(slot),
                    (_, at) if (at as usize) < n_constraint => Place::Island(at),
                    (_, at) => return Err(Error::Checkpoint(format!("contact {at} of {n_constraint}"))),
                };
                previous.push(((geoms, feature), place));
            }
            world.set_previous(previous);
            let count = input.count()?;
            let mut soft = Vec::with_capacity(count.min(1 << 16));
            for _ in 0..count {
                let mut feature = [0; 3];
                for f in &mut feature {
                    *f = u64::from(input.word()?) | u64::from(input.word()?) << 32;
                }
                let mut impulse = [0.0; 3];
                for x in &mut impulse {
                    *x = input.real::<f64>()?;
                }
                soft.push((feature, impulse));
            }
            world.set_soft_previous(soft);
            for x in world.rides.iter_mut().flat_map(|ride| &mut ride.now).flat_map(|way| way.iter_mut()) {
                *x = input.real::<f64>()?;
            }
        }
        self.mark_stale();
        self.forget_kept();
        self.answers.clear();
        Ok(())
    }

    /// Impulses of the islands of several trees, and where the model's own constraints stand among them.
    fn save_islands(&mut self, out: &mut Writer) -> Result<(), Error> {
        let impulses = self.islands.impulses.now;
        let n = self.store.len(impulses);
        let mut all = vec![T::default(); n];
        self.store.read(impulses, &mut all)?;
        out.count(n);
        all.into_iter().for_each(|x| out.real(x));
        self.host.islands.before().iter().for_each(|&at| out.word(at));
        Ok(())
    }

    /// Returns how many constraints the islands have.
    fn restore_islands(&mut self, input: &mut Reader) -> Result<usize, Error> {
        let n = input.count()?;
        let all = (0..n).map(|_| input.real()).collect::<Result<Vec<T>, _>>()?;
        for at in self.host.islands.before() {
            *at = input.word()?;
            if !IslandPack::<T>::is_place(*at, n / 3) {
                return Err(Error::Checkpoint(format!("constraint {at} of {}", n / 3)));
            }
        }
        self.host.islands.clear();
        let impulses = self.islands.impulses.now;
        if n > 0 {
            self.store.resize(impulses, n)?;
            self.store.write(impulses, 0, &all)?;
        }
        Ok(n / 3)
    }
}
