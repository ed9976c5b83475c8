//! Which contacts of soft bodies kernels solve, and what these find.

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
use super::pack::{Run, Source};
use super::room::TouchRoom;
use crate::Error;
use crate::host::World;
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
    /// What kernels know in words: what comes before those of contacts, and what comes behind.
    first_words: Vec<u32>,
    last_words: Vec<u32>,
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

    /// Takes in the contacts of a body in all runs but what is given of each.
    fn take<T: Scalar>(
        &mut self,
        (sets, lanes): (&[TreeSet], &LaneMap),
        (of_body, room): (SoftDims, TouchRoom),
        (runs, body): (&mut [Run<T>], usize),
    ) {
        self.begins.clear();
        self.begins.push(0);
        self.contacts.clear();
        (self.n_side, self.side_dofs, self.n_dof) = (0, 0, 0);
        let size = |tree: usize| sets[lanes.trees[tree].set].layout.dims.n_v;
        for own in runs.iter().map(|run| &run.bodies[body]) {
            let before = self.contacts.len() as u32;
            self.begins.extend(own.ends.iter().map(|end| before + end));
            self.contacts.extend(&own.contacts);
            self.n_side += own.sides.len() as u32;
            self.side_dofs = own.met.iter().fold(self.side_dofs, |most, met| most.max(size(met.tree as usize)));
            self.n_dof = own.n_dof.iter().fold(self.n_dof, |most, &n| most.max(n));
        }
        self.first_words.clear();
        self.first_words.extend(&self.begins);
        runs.iter().for_each(|run| self.first_words.extend(&run.bodies[body].n_dof));
        let dims = self.dims(of_body, room);
        self.list_trees((sets, lanes), dims, (runs, body));
    }

    /// Appends which trees are to be brought to the body, and which sides they have.
    fn list_trees<T: Scalar>(
        &mut self,
        (sets, lanes): (&[TreeSet], &LaneMap),
        dims: SoftDims,
        (runs, body): (&mut [Run<T>], usize),
    ) {
        self.of_sets.clear();
        self.last_words.clear();
        if self.n_side == 0 {
            return;
        }
        // Runs have counted their sides from zero.
        let stride = word_stride(dims.n_term as usize);
        let mut before = 0;
        for own in runs.iter_mut().map(|run| &mut run.bodies[body]) {
            own.words.chunks_exact_mut(stride).for_each(|words| words[head::SIDE] += before);
            before += own.sides.len() as u32;
        }
        let parts = Parts::new(&dims);
        let lane = |world: u32, tree: usize| {
            let place = lanes.trees[tree];
            world * sets[place.set].trees.len() as u32 + place.index as u32
        };
        let mut by_set: Vec<(Vec<MetItem>, Vec<SideItem>)> = vec![Default::default(); sets.len()];
        for met in runs.iter().flat_map(|run| &run.bodies[body].met) {
            let tree = met.tree as usize;
            let item = MetItem { soft: met.world, lane: lane(met.world, tree), column: met.column };
            by_set[lanes.trees[tree].set].0.push(item);
        }
        for (number, side) in runs.iter().flat_map(|run| &run.bodies[body].sides).enumerate() {
            by_set[lanes.trees[side.body.tree].set].1.push(SideItem {
                lane: lane(side.world, side.body.tree),
                body_a: side.body.local as u32,
                body_b: NONE,
                angular: 0,
                constraint: (parts.frames + number * frame::SIZE) as u32,
                jac: (parts.sides + number * side_stride(dims.side_dofs as usize) + tree_side::JACOBIAN) as u32,
            });
        }
        let behind = words_of_lanes(dims.lanes as usize) + self.contacts.len() * stride;
        for (set, (met, sides)) in by_set.iter().enumerate().filter(|(_, (met, _))| !met.is_empty()) {
            let mut list = |items: &[u32], count: usize| {
                let begin = behind + self.last_words.len();
                self.last_words.extend(items);
                [begin as u32, count as u32]
            };
            let met = list(bytemuck::cast_slice(met), met.len());
            let sides = list(bytemuck::cast_slice(sides), sides.len());
            self.of_sets.push(OfSet { set, met, sides });
        }
    }

    /// What kernels know of the contacts in words.
    fn words<'r, T>(&'r self, (runs, body): (&'r [Run<T>], usize)) -> impl Iterator<Item = &'r [u32]> {
        let of_contacts = runs.iter().map(move |run| &run.bodies[body].words[..]);
        [&self.first_words[..]].into_iter().chain(of_contacts).chain([&self.last_words[..]])
    }
}

impl<T: Scalar> Chunk<T> {
    /// Finds out which worlds' contacts of soft bodies kernels solve, and uploads these.
    pub(in crate::group) fn prepare_touches(&mut self) -> Result<(), Error> {
        let (width, n_world) = (self.store.tile(), self.n_world);
        let shared = Arc::clone(&self.shared);
        let mut runs = std::mem::take(&mut self.touch_runs);
        let host = self.host.packed();
        let from = Source { shared: &shared, host: &host, sets: &self.sets, width };
        runs.resize_with(n_world.div_ceil(LANES), Run::default);
        let fill = |(index, run): (usize, &mut Run<T>)| {
            run.fill(from, index * LANES..((index + 1) * LANES).min(n_world));
        };
        // Threads share out runs; few worlds are a thread's own.
        match &mut runs[..] {
            [run] => fill((0, run)),
            runs => runs.par_iter_mut().enumerate().for_each(fill),
        }
        for (world, known) in self.host.worlds.iter_mut().zip(runs.iter().flat_map(|run| &run.known)) {
            world.soft_is_hosts = !known;
        }
        for set in &mut self.sets {
            let Some(soft) = &mut set.step.soft else { continue };
            let body = soft.index;
            soft.touches.take((&shared.sets, &shared.host.lanes), (soft.dims, soft.room), (&mut runs, body));
            let dims = soft.dims();
            let b = set.step.buffers;
            let words = || soft.touches.words((&runs, body));
            self.store.resize(b.touch_words, words().map(<[u32]>::len).sum())?;
            self.store.write_index_parts(b.touch_words, &mut words())?;
            // A device binds no empty buffer.
            self.store.resize(b.touches, Parts::new(&dims).end.max(1))?;
            let own = || runs.iter().map(|run| &run.bodies[body]);
            let given = own().map(|own| &own.given[..]).chain(own().map(|own| &own.frames[..]));
            self.store.write_parts(b.touches, &mut given.chain(own().map(|own| &own.impulses[..])))?;
            if dims.n_touch > 0 {
                self.store.resize(b.beside, tile_len(width, dims.lanes as usize, beside_reals(&dims)))?;
            }
        }
        self.touch_runs = runs;
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
            let Touches { begins, contacts, .. } = &soft.touches;
            let follow = |(index, worlds): (usize, &mut [World])| {
                let first = index * LANES;
                for (world, at) in worlds.iter_mut().zip(first..).filter(|(_, at)| set.status[*at] & status::HELD == 0)
                {
                    let own = begins[at] as usize..begins[at + 1] as usize;
                    for (&contact, impulse) in contacts[own.clone()].iter().zip(&impulses[own]) {
                        world.soft_impulses[contact as usize] = impulse.map(Scalar::to_f64);
                    }
                }
            };
            // Threads share out what is more than one's own.
            match &mut self.host.worlds[..] {
                worlds if worlds.len() <= LANES => follow((0, worlds)),
                worlds => worlds.par_chunks_mut(LANES).enumerate().for_each(follow),
            }
        }
        Ok(())
    }
}
