//! Contacts of soft bodies with what is in no tree: their kernels solve them. A world that has others is the host's.

use std::ops::Range;

use manyworlds_collide::{Side, SoftContact};
use manyworlds_contact::solve::Before;
use manyworlds_dynamics::soft_param;
use manyworlds_gpu::Part;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::index::{tile_at, tile_len};
use manyworlds_shaders::soft::slide::beside_reals;
use manyworlds_shaders::soft::touch::{given, given_stride, parts, word_stride};
use manyworlds_shaders::{LANES, Scalar};
use rayon::prelude::*;

use super::super::chunk::Chunk;
use super::super::seen::Seen;
use super::super::shared::Shared;
use super::contacts::{along, normal_bias};
use crate::Error;
use crate::host::{Carrier, Packed, SoftShape};

/// Contacts of a soft body of all worlds of a chunk, as far as it needs to find them again.
#[derive(Debug, Clone, Default)]
pub(super) struct Touches {
    /// First of each world, and the end.
    begins: Vec<u32>,
    /// Each one's number among the contacts of soft bodies of its world.
    contacts: Vec<u32>,
    /// Buffer for uploads of `begins`, and of what kernels know of each contact in words.
    words: Vec<u32>,
}

impl Touches {
    /// How many.
    pub(super) fn count(&self) -> u32 {
        self.contacts.len() as u32
    }

    /// Where impulses lie in the buffer of contacts, which have so many nodes at most.
    fn impulses(&self, n_term: u32) -> Range<usize> {
        let [begin, end, _] = parts(self.contacts.len(), n_term as usize);
        begin..end
    }
}

/// Those of a body in some worlds, as kernels read them.
struct OfBody<T> {
    /// First of the world at hand.
    begin: usize,
    /// End of each world.
    ends: Vec<u32>,
    contacts: Vec<u32>,
    words: Vec<u32>,
    given: Vec<T>,
    impulses: Vec<T>,
    /// Nodes of the contact at hand, by their place in the order of elimination, and their weights.
    terms: Vec<(u32, usize, f64)>,
}

impl<T: Scalar> OfBody<T> {
    fn new() -> Self {
        Self {
            begin: 0,
            ends: Vec::new(),
            contacts: Vec::new(),
            words: Vec::new(),
            given: Vec::new(),
            impulses: Vec::new(),
            terms: Vec::new(),
        }
    }

    /// Ends the world at hand; without its contacts, where there are some that kernels do not know.
    fn close(&mut self, known: bool, n_term: usize) {
        if !known {
            let n = self.begin;
            self.contacts.truncate(n);
            self.words.truncate(n * word_stride(n_term));
            self.given.truncate(n * given_stride(n_term));
            self.impulses.truncate(3 * n);
        }
        self.begin = self.contacts.len();
        self.ends.push(self.begin as u32);
    }

    /// Appends a contact of a body, by its number among those of its world. `None`: its kernels do not know such.
    fn add(&mut self, shared: &Shared<T>, host: &Packed<'_, T>, at: At<'_, T>, contact: &SoftContact) -> Option<()> {
        let [Side::Rigid { body, .. }, Side::Soft { soft, vertices, weights }] = contact.sides else { return None };
        if shared.host.lanes.bodies[body as usize].is_some() {
            return None;
        }
        let (own, shape) = (&shared.soft[soft as usize], &shared.host.soft[soft as usize]);
        let (layout, room, world) = (own.layout.as_ref()?, own.room?, &host.worlds[at.world]);
        let carrier = match shape.carrier {
            Carrier::Fixed(pose) => pose.rotation,
            Carrier::Mocap(_) => world.rides[soft as usize].pose.rotation,
            Carrier::Moving(_) => return None,
        };
        let [t1, t2] = tangents(contact.normal);
        let frame = [t1, t2, contact.normal];
        let axes = along(carrier, frame);
        let follows = shape.follows(vertices, weights).into_iter();
        let terms = &mut self.terms;
        terms.clear();
        terms.extend(follows.map(|(dof, weight)| (layout.blocks.place(dof as usize / 3), dof as usize / 3, weight)));
        let n_term = room.n_term as usize;
        if terms.is_empty() || terms.len() > n_term || (self.contacts.len() - self.begin) as u64 >= room.most {
            return None;
        }
        terms.sort_unstable_by_key(|&(place, ..)| place);
        let begin = self.words.len();
        self.words.push(terms.len() as u32);
        self.words.extend(terms.iter().map(|&(_, node, _)| node as u32));
        self.words.resize(begin + 1 + n_term, 0);
        for (i, a) in terms.iter().enumerate() {
            for b in &terms[..=i] {
                self.words.push(layout.blocks.between(a.0, b.0)?);
            }
        }
        self.words.resize(begin + word_stride(n_term), 0);
        let speed = |&(_, node, weight): &(u32, usize, f64)| -> f64 {
            (0..3).map(|k| weight * axes[2][k] * at.speed(shared, shape, 3 * node + k)).sum()
        };
        let drift = world.soft_drift(at.contact);
        let drift = frame.map(|axis| drift.along(axis));
        let approach = terms.iter().map(speed).sum::<f64>() + drift[2];
        let bias = [drift[0], drift[1], drift[2] + normal_bias(shared, host, at.world, contact, approach)];
        let set = shared.host.lanes.trees[shape.tree].set;
        let density = host.soft_params(set, at.world)[soft_param::DENSITY].to_f64();
        let mobility = terms.iter().map(|&(_, node, weight)| weight.powi(2) / (density * layout.rest[node]));
        let begin = self.given.len();
        self.given.resize(begin + given_stride(n_term), T::default());
        let mut put = |at: usize, x: f64| self.given[begin + at] = T::from_f64(x);
        axes.as_flattened().iter().enumerate().for_each(|(i, &x)| put(given::AXES + i, x));
        bias.into_iter().enumerate().for_each(|(i, x)| put(given::BIAS + i, x));
        put(given::FRICTION, contact.friction);
        put(given::MASS, mobility.sum::<f64>().recip());
        terms.iter().enumerate().for_each(|(i, term)| put(given::WEIGHTS + i, term.2));
        self.impulses.extend(world.soft_impulses[at.contact].map(T::from_f64));
        self.contacts.push(at.contact as u32);
        Some(())
    }
}

/// A contact by its number, of a world; the states of tree sets.
#[derive(Clone, Copy)]
struct At<'a, T> {
    world: usize,
    contact: usize,
    states: &'a [&'a [T]],
    width: usize,
}

impl<T: Scalar> At<'_, T> {
    /// Of a degree of freedom of a soft body as the step begins.
    fn speed(self, shared: &Shared<T>, shape: &SoftShape, dof: usize) -> f64 {
        let set = shared.host.lanes.trees[shape.tree].set;
        let dims = &shared.sets[set].layout.dims;
        self.states[set][tile_at(self.width, self.world, dims.n_state(), dims.v_at() + dof)].to_f64()
    }
}

/// The contacts of a run of worlds.
struct Run<T> {
    /// By soft body.
    bodies: Vec<OfBody<T>>,
    /// Whether kernels know all of a world.
    known: Vec<bool>,
}

impl<T: Scalar> Run<T> {
    fn new(shared: &Shared<T>, host: &Packed<'_, T>, worlds: Range<usize>, states: (&[&[T]], usize)) -> Self {
        let mut out = Self { bodies: shared.soft.iter().map(|_| OfBody::new()).collect(), known: Vec::new() };
        for world in worlds {
            let known = out.add(shared, host, world, states).is_some();
            for (body, soft) in out.bodies.iter_mut().zip(&shared.soft) {
                body.close(known, soft.room.map_or(0, |room| room.n_term as usize));
            }
            out.known.push(known);
        }
        out
    }

    /// Appends the contacts of a world. `None`: there are some that kernels do not know.
    fn add(
        &mut self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        (states, width): (&[&[T]], usize),
    ) -> Option<()> {
        let own = &host.worlds[world];
        // What gave way is the host's: it knows what to ask next.
        if !own.soft.is_empty() && (shared.whole.is_none() || own.before != Before::Solved) {
            return None;
        }
        for (index, contact) in own.soft.iter().enumerate() {
            let Side::Soft { soft, .. } = contact.sides[1] else { return None };
            self.bodies[soft as usize].add(shared, host, At { world, contact: index, states, width }, contact)?;
        }
        Some(())
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
        let (shared, width, n_world) = (&self.shared, self.store.tile(), self.n_world);
        let states: Vec<&[T]> = self.sets.iter().map(|set| &set.poses[..]).collect();
        let host = self.host.packed();
        let run = |worlds: Range<usize>| Run::new(shared, &host, worlds, (&states, width));
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
            let (index, dims, Touches { begins, contacts, words }) = (soft.index, soft.dims, &mut soft.touches);
            begins.clear();
            begins.push(0);
            contacts.clear();
            let each = || runs.iter().map(|run| &run.bodies[index]);
            for own in each() {
                let before = contacts.len() as u32;
                begins.extend(own.ends.iter().map(|end| before + end));
                contacts.extend(&own.contacts);
            }
            let n_term = dims.n_term as usize;
            let [_, n_real, n] = parts(contacts.len(), n_term);
            // All that was there before is written over.
            words.resize(begins.len() + contacts.len() * word_stride(n_term), 0);
            let (first, of_contacts) = words.split_at_mut(begins.len());
            first.copy_from_slice(begins);
            fill(of_contacts, each().map(|own| &own.words[..]));
            // Derivatives leave this buffer alone: their kernels know no soft bodies.
            set.touch.resize(n_real, T::default());
            let (given, impulses) = set.touch.split_at_mut(contacts.len() * given_stride(n_term));
            fill(given, each().map(|own| &own.given[..]));
            fill(impulses, each().map(|own| &own.impulses[..]));
            let b = set.step.buffers;
            self.store.resize(b.touch_words, words.len())?;
            self.store.write_index(b.touch_words, 0, words)?;
            // A device binds no empty buffer.
            self.store.resize(b.touches, n.max(1))?;
            self.store.write(b.touches, 0, &set.touch)?;
            if !contacts.is_empty() {
                let beside = beside_reals(dims.n_v() as usize, dims.n_slide as usize);
                self.store.resize(b.beside, tile_len(width, dims.lanes as usize, beside))?;
            }
        }
        Ok(())
    }

    /// Asks for the impulses that kernels find.
    pub(in crate::group) fn record_touches(&mut self) {
        for set in &self.sets {
            let Some(soft) = set.step.soft.as_ref().filter(|soft| soft.touches.count() > 0) else { continue };
            self.recording
                .read_some(set.step.buffers.touches, Part::Elements(vec![soft.touches.impulses(soft.dims.n_term)]));
        }
    }

    /// Takes over the impulses that kernels found.
    pub(in crate::group) fn follow_touches(&mut self) -> Result<(), Error> {
        for set in &self.sets {
            let Some(soft) = set.step.soft.as_ref().filter(|soft| soft.touches.count() > 0) else { continue };
            let part = soft.touches.impulses(soft.dims.n_term);
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
