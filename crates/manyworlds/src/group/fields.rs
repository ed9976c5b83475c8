//! Numbers of worlds on their way between rows of the user's and the lanes that kernels keep: controls, states, what a
//! trainer looks at.
//!
//! On the CPU a row is written straight into the lanes and read out of them. On a device rows are uploaded as they are and
//! kernels spread them out, or kernels collect rows that are read back: the bytes of the rows and no others cross over.

use std::sync::Arc;

use manyworlds_gpu::{BufferId, Ticket};
use manyworlds_shaders::batch::gather;
use manyworlds_shaders::batch::scatter::{self, KEEP};
use manyworlds_shaders::dynamics::tree::POSE;
use manyworlds_shaders::index::tile_at;
use manyworlds_shaders::{Scalar, kernel};

use super::chunk::{Chunk, ChunkSet};
use super::columns::{Columns, Out, Place, same};
use crate::Error;
use crate::field::id::FieldId;
use crate::field::rows::{Rows, RowsMut};

/// Parts of a state: q, v, controls, forces, activations.
pub(crate) const PARTS: usize = FieldId::STATE.len();

/// New states of some worlds of a group: controls, forces and activations, too.
#[derive(Debug, Default)]
pub(crate) struct NewStates {
    /// Rows of q, v, controls, forces and activations, one behind the other.
    pub(crate) rows: [Vec<f64>; PARTS],
    /// Worlds and which row each part of them gets, [`KEEP`] for one that stays; what comes later counts.
    pub(crate) worlds: Vec<(usize, [u32; PARTS])>,
    /// Whether they are the model's initial state: then mocap bodies go back, too.
    pub(crate) initial: bool,
}

/// Puts the row of each world into the lanes of its trees, in tiles of so many.
fn put<T: Scalar>(
    columns: &Columns,
    (index, set): (usize, &ChunkSet<T>),
    place: &Place,
    worlds: impl Iterator<Item = (usize, usize)>,
    value: impl Fn(usize) -> T,
    (tile, numbers): (usize, &mut [T]),
) {
    for (world, row) in worlds {
        for tree in 0..set.k {
            let begin = tile_at(tile, set.lane(world, tree), place.elements, place.first);
            let to = numbers.get_mut(begin..).unwrap_or_default().iter_mut().step_by(tile);
            to.zip(columns.of(index, place, tree)).for_each(|(to, &column)| *to = value(row + column as usize));
        }
    }
}

impl<T: Scalar> Chunk<T> {
    /// Uploads what kernels need to know where numbers of a row go; a host that works in place knows it.
    pub(super) fn upload_columns(&mut self) -> Result<(), Error> {
        if self.in_place() {
            return Ok(());
        }
        for (set, tables) in self.sets.iter().zip(&self.columns.sets) {
            let all = tables.concat();
            self.store.resize(set.step.buffers.columns, all.len())?;
            self.store.write_index(set.step.buffers.columns, 0, &all)?;
        }
        // Every world its own row.
        let each: Vec<u32> = (0..self.n_world as u32).collect();
        self.store.resize(self.rows.each, each.len())?;
        self.store.write_index(self.rows.each, 0, &each)?;
        Ok(())
    }

    /// Whether the host sees the numbers where they lie.
    pub(super) fn in_place(&self) -> bool {
        self.sets.first().is_none_or(|set| self.store.numbers(set.step.buffers.state).is_some())
    }

    /// Controls of all worlds for the step that is about to begin.
    pub(super) fn set_controls(&mut self, rows: Rows<'_>) -> Result<(), Error> {
        if self.in_place() {
            self.put_rows(FieldId::Control, rows);
            return Ok(());
        }
        // A step that is still under way reads its poses back: no other submission may come between.
        self.finish()?;
        self.upload_rows(rows)?;
        self.controls_wait = true;
        Ok(())
    }

    /// Spreads out the controls that were uploaded for the step that is being recorded.
    pub(super) fn record_controls(&mut self) {
        if std::mem::take(&mut self.controls_wait) {
            self.recording.stage("controls");
            self.record_rows(FieldId::Control);
        }
    }

    /// Writes a part of the states of all worlds.
    pub(super) fn write_rows(&mut self, id: FieldId, rows: Rows<'_>) -> Result<(), Error> {
        self.about_to_write(id)?;
        if id == FieldId::Mocap {
            match rows {
                Rows::F32(all) => {
                    self.mocaps.poses.iter_mut().zip(all).for_each(|(to, &x)| *to = T::from_f64(x.into()))
                }
                Rows::F64(all) => self.mocaps.poses.iter_mut().zip(all).for_each(|(to, &x)| *to = T::from_f64(x)),
            }
            self.copied.uploaded += (rows.len() * size_of::<T>()) as u64;
            return Ok(());
        }
        if self.in_place() {
            self.put_rows(id, rows);
            return Ok(());
        }
        self.upload_rows(rows)?;
        self.recording.clear();
        self.record_rows(id);
        self.store.run(&self.recording)?;
        Ok(())
    }

    /// What comes before states are changed without a new start.
    pub(super) fn about_to_write(&mut self, id: FieldId) -> Result<(), Error> {
        self.finish()?;
        if matches!(id, FieldId::Position | FieldId::Velocity) {
            self.forget_kept();
            self.stale = true;
        }
        if id == FieldId::Mocap {
            self.forget_kept();
            self.mocaps.moved = true;
        }
        Ok(())
    }

    /// What stands on mocap bodies follows where these were moved: collision by itself, trees by their parameters.
    pub(super) fn follow_mocaps(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.mocaps.moved) {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let map = &shared.host.mocaps;
        self.mocaps.follow(map);
        let width = self.store.tile();
        for frame in &map.frames {
            self.use_lane_params(frame.set)?;
            let (k, step) = (self.sets[frame.set].k, &self.sets[frame.set].step);
            let (buffer, n_param) = (step.buffers.lane_params, step.dims.n_param as usize);
            for world in 0..self.n_world {
                let lane = world * k + frame.index;
                let pose = self.mocaps.frame(map, world, frame).map(T::from_f64);
                for (at, &x) in (frame.at..).zip(&pose) {
                    let index = tile_at(width, lane, n_param, at);
                    match self.store.numbers_mut(buffer) {
                        Some(numbers) => numbers[index] = x,
                        None => self.store.write(buffer, index, &[x])?,
                    }
                    self.host.params[frame.set].set(lane, at, x);
                }
            }
            self.stale = true;
        }
        Ok(())
    }

    fn put_rows(&mut self, id: FieldId, rows: Rows<'_>) {
        let (tile, width) = (self.store.tile(), self.columns.width(id));
        for at in self.sets.iter().enumerate() {
            let place = Place::new(&at.1.step, id);
            let Some(numbers) = self.store.numbers_mut(place.buffer) else { continue };
            let lanes = (tile, numbers);
            let worlds = (0..self.n_world).map(|world| (world, world * width));
            match (same::<T>(rows), rows) {
                (Some(all), _) => put(&self.columns, at, &place, worlds, |i| all[i], lanes),
                (None, Rows::F32(all)) => put(&self.columns, at, &place, worlds, |i| T::from_f64(all[i].into()), lanes),
                (None, Rows::F64(all)) => put(&self.columns, at, &place, worlds, |i| T::from_f64(all[i]), lanes),
            }
        }
        self.copied.uploaded += (self.n_world * width * size_of::<T>()) as u64;
    }

    /// Brings rows of all worlds to the device as they are.
    fn upload_rows(&mut self, rows: Rows<'_>) -> Result<(), Error> {
        let buffer = self.rows.all;
        // A device binds no empty buffer.
        self.store.resize(buffer, rows.len().max(1))?;
        if let Some(all) = same::<T>(rows) {
            return Ok(self.store.write(buffer, 0, all)?);
        }
        self.staging.clear();
        match rows {
            Rows::F32(all) => self.staging.extend(all.iter().map(|&x| T::from_f64(x.into()))),
            Rows::F64(all) => self.staging.extend(all.iter().map(|&x| T::from_f64(x))),
        }
        Ok(self.store.write(buffer, 0, &self.staging)?)
    }

    /// Spreads out rows of all worlds that were uploaded.
    fn record_rows(&mut self, id: FieldId) {
        let from = Source { rows: self.rows.each, rows_at: 0, numbers: self.rows.all, numbers_at: 0 };
        self.record_scatter(id, from);
    }

    /// Appends the kernels that spread rows out over the lanes of all sets.
    fn record_scatter(&mut self, id: FieldId, from: Source) {
        for set in &self.sets {
            let place = Place::new(&set.step, id);
            if place.n == 0 {
                continue;
            }
            let [trees, elements, first, n] = [set.k, place.elements, place.first, place.n].map(|n| n as u32);
            let dims = scatter::Dims {
                lanes: set.step.dims.lanes,
                trees,
                elements,
                first,
                n,
                width: self.columns.width(id) as u32,
                columns_at: 0,
                rows_at: from.rows_at,
                source_at: from.numbers_at,
            };
            let buffers = [set.step.buffers.columns, from.rows, from.numbers, place.buffer];
            self.recording.dispatch(&kernel::batch::SCATTER, &dims, dims.lanes, &buffers);
        }
    }

    /// Gives worlds new states and makes them start afresh: impulses and status of the step before are forgotten.
    pub(super) fn restart(&mut self, new: &NewStates, worlds: &[(usize, [u32; PARTS])]) -> Result<(), Error> {
        self.finish()?;
        self.recording.clear();
        if self.in_place() {
            self.put_states(new, worlds);
        } else {
            self.upload_states(new, worlds)?;
        }
        if new.initial {
            worlds.iter().for_each(|&(world, _)| self.mocaps.reset(&self.shared.host.mocaps, world));
        }
        let mut marked = vec![false; self.n_world];
        worlds.iter().for_each(|(world, _)| marked[*world] = true);
        for (world, _) in worlds {
            (self.mocaps.stepped[*world], self.clock[*world]) = (false, 0.0);
        }
        self.forget(&marked)?;
        if !self.recording.dispatches().is_empty() {
            self.store.run(&self.recording)?;
        }
        self.stale = true;
        Ok(())
    }

    fn put_states(&mut self, new: &NewStates, worlds: &[(usize, [u32; PARTS])]) {
        let tile = self.store.tile();
        for at in self.sets.iter().enumerate() {
            for (part, id) in FieldId::STATE.into_iter().enumerate() {
                let (place, width) = (Place::new(&at.1.step, id), self.columns.width(id));
                let Some(numbers) = self.store.numbers_mut(place.buffer) else { continue };
                let lanes = (tile, numbers);
                let rows = &new.rows[part];
                let given = worlds.iter().filter(|(_, of)| of[part] != KEEP);
                let given = given.map(|&(world, of)| (world, of[part] as usize * width));
                put(&self.columns, at, &place, given, |i| T::from_f64(rows[i]), lanes);
            }
        }
        let numbers =
            |part: usize, id| worlds.iter().filter(|(_, of)| of[part] != KEEP).count() * self.columns.width(id);
        let numbers: usize = FieldId::STATE.into_iter().enumerate().map(|(part, id)| numbers(part, id)).sum();
        self.copied.uploaded += (numbers * size_of::<T>()) as u64;
    }

    /// Uploads the rows that these worlds get, each once, and records that they are spread out.
    fn upload_states(&mut self, new: &NewStates, worlds: &[(usize, [u32; PARTS])]) -> Result<(), Error> {
        let mut rows = vec![KEEP; FieldId::STATE.len() * self.n_world];
        let mut begins = [0; FieldId::STATE.len()];
        self.staging.clear();
        for (part, id) in FieldId::STATE.into_iter().enumerate() {
            begins[part] = self.staging.len() as u32;
            let (width, mut count, mut last) = (self.columns.width(id), 0, KEEP);
            for &(world, of) in worlds.iter().filter(|(_, of)| of[part] != KEEP) {
                // Worlds that start alike share a row.
                if of[part] != last {
                    last = of[part];
                    count += 1;
                    let row = &new.rows[part][last as usize * width..][..width];
                    self.staging.extend(row.iter().map(|&x| T::from_f64(x)));
                }
                rows[part * self.n_world + world] = count - 1;
            }
        }
        if self.staging.is_empty() {
            return Ok(());
        }
        let buffers = self.rows;
        self.store.resize(buffers.some, rows.len())?;
        self.store.write_index(buffers.some, 0, &rows)?;
        self.store.resize(buffers.new, self.staging.len())?;
        self.store.write(buffers.new, 0, &self.staging)?;
        for (part, id) in FieldId::STATE.into_iter().enumerate() {
            if worlds.iter().any(|(_, of)| of[part] != KEEP) {
                let rows_at = (part * self.n_world) as u32;
                self.record_scatter(
                    id,
                    Source { rows: buffers.some, rows_at, numbers: buffers.new, numbers_at: begins[part] },
                );
            }
        }
        Ok(())
    }

    /// Reads rows of all worlds, `[worlds][width]`, where the host sees them; else begins to collect them.
    pub(super) fn begin_read(&mut self, id: FieldId, out: RowsMut<'_>) -> Result<Option<Ticket>, Error> {
        if id == FieldId::Pose {
            self.refresh()?;
        }
        self.finish()?;
        if id == FieldId::Mocap {
            let mut out = Out::new(out);
            self.mocaps.poses.iter().enumerate().for_each(|(at, &x)| out.set(at, x));
            self.copied.downloaded += (self.mocaps.poses.len() * size_of::<T>()) as u64;
            return Ok(None);
        }
        let (tile, width) = (self.store.tile(), self.columns.width(id));
        if self.in_place() {
            let mut out = Out::new(out);
            for (index, set) in self.sets.iter().enumerate() {
                let place = Place::new(&set.step, id);
                let Some(numbers) = self.store.numbers(place.buffer) else { continue };
                for world in 0..self.n_world {
                    for tree in 0..set.k {
                        let (lane, columns) = (set.lane(world, tree), self.columns.of(index, &place, tree));
                        let begin = tile_at(tile, lane, place.elements, place.first);
                        let from = numbers.get(begin..).unwrap_or_default().iter().step_by(tile);
                        from.zip(columns).for_each(|(x, &column)| out.set(world * width + column as usize, *x));
                    }
                }
            }
            self.columns.fill_fixed(id, &mut out, self.n_world);
            self.fill_mocaps(id, &mut out);
            self.copied.downloaded += (self.n_world * width * size_of::<T>()) as u64;
            return Ok(None);
        }
        let buffer = self.rows.read;
        self.store.resize(buffer, (self.n_world * width).max(1))?;
        self.recording.clear();
        for (index, set) in self.sets.iter().enumerate() {
            let place = Place::new(&set.step, id);
            if place.n == 0 {
                continue;
            }
            let [trees, elements, first, n] = [set.k, place.elements, place.first, place.n].map(|n| n as u32);
            let columns_at = self.columns.table_at(index, place.table);
            let dims =
                gather::Dims { lanes: set.step.dims.lanes, trees, elements, first, n, width: width as u32, columns_at };
            let buffers = [set.step.buffers.columns, place.buffer, buffer];
            self.recording.dispatch(&kernel::batch::GATHER, &dims, dims.lanes, &buffers);
        }
        self.recording.read(buffer);
        Ok(Some(self.store.submit(&self.recording)?))
    }

    /// The rows that [`Self::begin_read`] began to collect.
    pub(super) fn end_read(&mut self, id: FieldId, ticket: Ticket, out: RowsMut<'_>) -> Result<(), Error> {
        self.store.wait(ticket)?;
        let mut out = Out::new(out);
        if let Out::Same(all) = &mut out {
            self.store.read(self.rows.read, all)?;
        } else {
            self.staging.resize(self.n_world * self.columns.width(id), T::default());
            self.store.read(self.rows.read, &mut self.staging)?;
            self.staging.iter().enumerate().for_each(|(at, &x)| out.set(at, x));
        }
        self.columns.fill_fixed(id, &mut out, self.n_world);
        self.fill_mocaps(id, &mut out);
        Ok(())
    }

    /// Of rows of poses, those of what stands on mocap bodies.
    fn fill_mocaps(&self, id: FieldId, rows: &mut Out<'_, T>) {
        if id != FieldId::Pose {
            return;
        }
        let width = self.columns.width(id);
        for world in 0..self.n_world {
            for (body, pose) in self.mocaps.all(&self.shared.host.mocaps, world) {
                let at = world * width + body * POSE;
                pose.iter().enumerate().for_each(|(i, &x)| rows.set(at + i, T::from_f64(x)));
            }
        }
    }
}

/// Rows on a device: which row each world takes, and the rows.
#[derive(Clone, Copy)]
struct Source {
    rows: BufferId,
    rows_at: u32,
    numbers: BufferId,
    numbers_at: u32,
}
