//! Which contacts of soft bodies kernels solve, and what these find.

use std::ops::Range;
use std::sync::Arc;

use manyworlds_dynamics::TreeSet;
use manyworlds_gpu::Part;
use manyworlds_shaders::contact::island::SideItem;
use manyworlds_shaders::dynamics::tree::{NONE, status};
use manyworlds_shaders::index::tile_len;
use manyworlds_shaders::soft::body::SoftDims;
use manyworlds_shaders::soft::touch::{Parts, frame, head, side_stride, tree_side, word_stride, words_of_lanes};
use manyworlds_shaders::soft::trees::{MetItem, beside_reals};
use manyworlds_shaders::{LANES, Scalar};
use rayon::prelude::*;

use super::super::chunk::Chunk;
use super::super::seen::Seen;
use super::pack::{OfBody, Run, Source};
use super::room::TouchRoom;
use crate::Error;
use crate::lanes::LaneMap;

/// Contacts of a soft body of all worlds of a chunk, as far as it needs to find them again.
#[derive(Debug, Clone, Default)]
pub(super) struct Touches {
    /// First of each world, and the end.
    begins: Vec<u32>,
    /// Each one's number among the contacts of soft bodies of its world.
    contacts: Vec<u32>,
    /// The sets that trees which touch it are of.
    pub(super) of_sets: Vec<OfSet>,
    /// Sides of trees, degrees of freedom of the largest tree, and of all trees of a world at most.
    n_side: u32,
    side_dofs: u32,
    n_dof: u32,
    /// Buffer for uploads of what kernels know in words.
    words: Vec<u32>,
}

/// Trees of a set that touch a body: first words of the items that say which, and their number; and those of their sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfSet {
    pub(super) set: usize,
    pub(super) met: [u32; 2],
    pub(super) sides: [u32; 2],
}

impl Touches {
    /// How many.
    pub(super) fn count(&self) -> u32 {
        self.contacts.len() as u32
    }

    /// What kernels know of the body, with these.
    pub(super) fn dims(&self, of_body: SoftDims, room: TouchRoom) -> SoftDims {
        SoftDims {
            n_touch: self.count(),
            n_side: self.n_side,
            side_dofs: self.side_dofs,
            n_dof: self.n_dof,
            n_slide: room.columns(self.n_dof),
            ..of_body
        }
    }

    /// Takes in the contacts of all runs but what is given of each.
    fn take<T: Scalar>(
        &mut self,
        (sets, lanes): (&[TreeSet], &LaneMap),
        (of_body, room): (SoftDims, TouchRoom),
        runs: &[&OfBody<T>],
    ) {
        self.begins.clear();
        self.begins.push(0);
        self.contacts.clear();
        for own in runs {
            let before = self.contacts.len() as u32;
            self.begins.extend(own.ends.iter().map(|end| before + end));
            self.contacts.extend(&own.contacts);
        }
        let size = |tree: usize| sets[lanes.trees[tree].set].layout.dims.n_v;
        self.n_side = runs.iter().map(|own| own.sides.len() as u32).sum();
        self.side_dofs = runs.iter().flat_map(|own| &own.met).map(|met| size(met.tree as usize)).max().unwrap_or(0);
        self.n_dof = runs.iter().flat_map(|own| &own.n_dof).copied().max().unwrap_or(0);
        let dims = self.dims(of_body, room);
        // All that was there before is written over.
        let (n_lane, stride) = (dims.lanes as usize, word_stride(dims.n_term as usize));
        self.words.resize(words_of_lanes(n_lane) + self.contacts.len() * stride, 0);
        let (first, of_contacts) = self.words.split_at_mut(words_of_lanes(n_lane));
        first[..=n_lane].copy_from_slice(&self.begins);
        fill(&mut first[n_lane + 1..], runs.iter().map(|own| &own.n_dof[..]));
        fill(of_contacts, runs.iter().map(|own| &own.words[..]));
        self.list_trees((sets, lanes), dims, runs);
    }

    /// Appends which trees are to be brought to the body, and which sides they have.
    fn list_trees<T: Scalar>(&mut self, (sets, lanes): (&[TreeSet], &LaneMap), dims: SoftDims, runs: &[&OfBody<T>]) {
        self.of_sets.clear();
        if self.n_side == 0 {
            return;
        }
        // Runs have counted their sides from zero.
        let stride = word_stride(dims.n_term as usize);
        let (mut at, mut before) = (words_of_lanes(dims.lanes as usize), 0);
        for own in runs {
            for words in self.words[at..at + own.words.len()].chunks_exact_mut(stride) {
                words[head::SIDE] += before;
            }
            at += own.words.len();
            before += own.sides.len() as u32;
        }
        let parts = Parts::new(&dims);
        let lane = |world: u32, tree: usize| {
            let place = lanes.trees[tree];
            world * sets[place.set].trees.len() as u32 + place.index as u32
        };
        let mut by_set: Vec<(Vec<MetItem>, Vec<SideItem>)> = vec![Default::default(); sets.len()];
        for met in runs.iter().flat_map(|own| &own.met) {
            let tree = met.tree as usize;
            let item = MetItem { soft: met.world, lane: lane(met.world, tree), column: met.column };
            by_set[lanes.trees[tree].set].0.push(item);
        }
        for (number, side) in runs.iter().flat_map(|own| &own.sides).enumerate() {
            by_set[lanes.trees[side.body.tree].set].1.push(SideItem {
                lane: lane(side.world, side.body.tree),
                body_a: side.body.local as u32,
                body_b: NONE,
                angular: 0,
                constraint: (parts.frames + number * frame::SIZE) as u32,
                jac: (parts.sides + number * side_stride(dims.side_dofs as usize) + tree_side::JACOBIAN) as u32,
            });
        }
        for (set, (met, sides)) in by_set.iter().enumerate().filter(|(_, (met, _))| !met.is_empty()) {
            let mut list = |items: &[u32], count: usize| {
                self.words.extend(items);
                [(self.words.len() - items.len()) as u32, count as u32]
            };
            let met = list(bytemuck::cast_slice(met), met.len());
            let sides = list(bytemuck::cast_slice(sides), sides.len());
            self.of_sets.push(OfSet { set, met, sides });
        }
    }
}

/// Copies pieces one behind the other, which they fill; threads share out several.
fn fill<'p, A: Copy + Send + Sync + 'p>(mut to: &mut [A], from: impl Iterator<Item = &'p [A]>) {
    let mut pieces = Vec::new();
    for piece in from {
        let (own, rest) = std::mem::take(&mut to).split_at_mut(piece.len());
        pieces.push((own, piece));
        to = rest;
    }
    match &mut pieces[..] {
        [(to, piece)] => to.copy_from_slice(piece),
        pieces => pieces.par_iter_mut().for_each(|(to, piece)| to.copy_from_slice(piece)),
    }
}

impl<T: Scalar> Chunk<T> {
    /// Finds out which worlds' contacts of soft bodies kernels solve, and uploads these.
    pub(in crate::group) fn prepare_touches(&mut self) -> Result<(), Error> {
        let (width, n_world) = (self.store.tile(), self.n_world);
        let shared = Arc::clone(&self.shared);
        let host = self.host.packed();
        let from = Source { shared: &shared, host: &host, sets: &self.sets, width };
        let run = |worlds: Range<usize>| Run::new(from, worlds);
        // Threads share out runs; few worlds are a thread's own.
        let runs: Vec<Run<T>> = if n_world > LANES {
            let begins = (0..n_world.div_ceil(LANES)).into_par_iter().map(|index| index * LANES);
            begins.map(|begin| run(begin..(begin + LANES).min(n_world))).collect()
        } else {
            vec![run(0..n_world)]
        };
        for (world, known) in self.host.worlds.iter_mut().zip(runs.iter().flat_map(|run| &run.known)) {
            world.soft_is_hosts = !known;
        }
        for set in &mut self.sets {
            let Some(soft) = &mut set.step.soft else { continue };
            let index = soft.index;
            let own: Vec<&OfBody<T>> = runs.iter().map(|run| &run.bodies[index]).collect();
            soft.touches.take((&shared.sets, &shared.host.lanes), (soft.dims, soft.room), &own);
            let dims = soft.dims();
            let parts = Parts::new(&dims);
            // Derivatives leave this buffer alone: their kernels know no soft bodies.
            set.touch.resize(parts.work, T::default());
            let (given, rest) = set.touch.split_at_mut(parts.frames);
            let (frames, impulses) = rest.split_at_mut(parts.found - parts.frames);
            fill(given, own.iter().map(|own| &own.given[..]));
            fill(frames, own.iter().map(|own| &own.frames[..]));
            fill(impulses, own.iter().map(|own| &own.impulses[..]));
            let b = set.step.buffers;
            self.store.resize(b.touch_words, soft.touches.words.len())?;
            self.store.write_index(b.touch_words, 0, &soft.touches.words)?;
            // A device binds no empty buffer.
            self.store.resize(b.touches, parts.end.max(1))?;
            self.store.write(b.touches, 0, &set.touch)?;
            if dims.n_touch > 0 {
                self.store.resize(b.beside, tile_len(width, dims.lanes as usize, beside_reals(&dims)))?;
            }
        }
        Ok(())
    }

    /// Asks for the impulses that kernels find.
    pub(in crate::group) fn record_touches(&mut self) {
        for set in &self.sets {
            let Some(soft) = set.step.soft.as_ref().filter(|soft| soft.touches.count() > 0) else { continue };
            self.recording.read_some(set.step.buffers.touches, Part::Elements(vec![soft.impulses()]));
        }
    }

    /// Takes over the impulses that kernels found.
    pub(in crate::group) fn follow_touches(&mut self) -> Result<(), Error> {
        for set in &self.sets {
            let Some(soft) = set.step.soft.as_ref().filter(|soft| soft.touches.count() > 0) else { continue };
            let part = soft.impulses();
            let seen = Seen::some(&mut *self.store, set.step.buffers.touches, std::slice::from_ref(&part))?;
            let (impulses, _) = seen.of(&*self.store)[part].as_chunks::<3>();
            let own = self.host.worlds.iter_mut().zip(soft.touches.begins.windows(2)).zip(&set.status);
            for ((world, own), _) in own.filter(|(_, word)| **word & status::HELD == 0) {
                let own = own[0] as usize..own[1] as usize;
                for (&contact, impulse) in soft.touches.contacts[own.clone()].iter().zip(&impulses[own]) {
                    world.soft_impulses[contact as usize] = impulse.map(Scalar::to_f64);
                }
            }
        }
        Ok(())
    }
}
