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
use manyworlds_soft::SoftLayout;
use rayon::prelude::*;

use super::super::chunk::Chunk;
use super::super::seen::Seen;
use super::super::shared::Shared;
use super::contacts::{along, normal_bias};
use crate::Error;
use crate::host::{Carrier, Packed, SoftShape};

/// Contacts that may slide at most, each of which costs a solve.
const SLIDING: u32 = 24;
/// Nodes that a contact may have where vertices of the surface are nodes, and where they move with those of a cage.
const TERMS: [u32; 2] = [3, 8];
/// Rounds of loops that a contact of these costs an invocation.
const ROUNDS: [u64; 2] = [250, 750];

/// What kernels of a body have room for.
#[derive(Debug, Clone, Copy)]
pub(in crate::group) struct TouchRoom {
    /// Nodes of a contact.
    pub(super) n_term: u32,
    /// Contacts of a world that slide.
    pub(super) n_slide: u32,
    /// Contacts of a world.
    most: u64,
}

impl TouchRoom {
    /// Of a body, where an invocation may take so many rounds of loops.
    pub(super) fn new(layout: &SoftLayout, caged: bool, rounds: u64) -> Self {
        let kind = usize::from(caged);
        Self { n_term: TERMS[kind], n_slide: layout.slides(rounds, SLIDING), most: rounds / ROUNDS[kind] }
    }
}

/// Contacts of a soft body of all worlds of a chunk, as far as it needs to find them again.
#[derive(Debug, Clone, Default)]
pub(super) struct Touches {
    /// First of each world, and the end.
    begins: Vec<u32>,
    /// Each one's number among the contacts of soft bodies of its world.
    contacts: Vec<u32>,
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

/// Those of a body in one world, as kernels read them.
struct OfWorld<T> {
    contacts: Vec<u32>,
    words: Vec<u32>,
    given: Vec<T>,
    impulses: Vec<T>,
}

impl<T: Scalar> OfWorld<T> {
    fn new() -> Self {
        Self { contacts: Vec::new(), words: Vec::new(), given: Vec::new(), impulses: Vec::new() }
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
        let mut terms: Vec<(u32, usize, f64)> = shape
            .follows(vertices, weights)
            .into_iter()
            .map(|(dof, weight)| (layout.blocks.place(dof as usize / 3), dof as usize / 3, weight))
            .collect();
        let n_term = room.n_term as usize;
        if terms.is_empty() || terms.len() > n_term || self.contacts.len() as u64 >= room.most {
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
        let mut given = vec![0.0; given_stride(n_term)];
        for (row, axis) in axes.iter().enumerate() {
            given[given::AXES + 3 * row..given::AXES + 3 * (row + 1)].copy_from_slice(axis);
        }
        given[given::BIAS..given::FRICTION].copy_from_slice(&bias);
        given[given::FRICTION] = contact.friction;
        given[given::MASS] = mobility.sum::<f64>().recip();
        given[given::WEIGHTS..].iter_mut().zip(&terms).for_each(|(to, term)| *to = term.2);
        self.given.extend(given.into_iter().map(T::from_f64));
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

/// The contacts of a world by soft body. `None`: there are some that kernels do not know.
fn of_world<T: Scalar>(
    shared: &Shared<T>,
    host: &Packed<'_, T>,
    (world, states, width): (usize, &[&[T]], usize),
) -> Option<Vec<OfWorld<T>>> {
    let own = &host.worlds[world];
    let mut out: Vec<OfWorld<T>> = shared.soft.iter().map(|_| OfWorld::new()).collect();
    // What gave way is the host's: it knows what to ask next.
    if !own.soft.is_empty() && (shared.whole.is_none() || own.before != Before::Solved) {
        return None;
    }
    for (index, contact) in own.soft.iter().enumerate() {
        let Side::Soft { soft, .. } = contact.sides[1] else { return None };
        out[soft as usize].add(shared, host, At { world, contact: index, states, width }, contact)?;
    }
    Some(out)
}

impl<T: Scalar> Chunk<T> {
    /// Finds out which worlds' contacts of soft bodies kernels solve, and uploads these.
    pub(in crate::group) fn prepare_touches(&mut self) -> Result<(), Error> {
        let (shared, width) = (&self.shared, self.store.tile());
        let states: Vec<&[T]> = self.sets.iter().map(|set| &set.poses[..]).collect();
        let host = self.host.packed();
        let one = |world: usize| of_world(shared, &host, (world, &states, width));
        // Few worlds are a thread's own.
        let all: Vec<_> = if self.n_world > LANES {
            (0..self.n_world).into_par_iter().with_min_len(LANES).map(one).collect()
        } else {
            (0..self.n_world).map(one).collect()
        };
        for (world, own) in self.host.worlds.iter_mut().zip(&all) {
            world.soft_is_hosts = own.is_none();
        }
        for set in &mut self.sets {
            let Some(soft) = &mut set.step.soft else { continue };
            let (index, dims, touches) = (soft.index, soft.dims, &mut soft.touches);
            touches.begins.clear();
            touches.begins.push(0);
            touches.contacts.clear();
            for own in &all {
                touches.contacts.extend(own.iter().flat_map(|own| &own[index].contacts));
                touches.begins.push(touches.contacts.len() as u32);
            }
            let each = || all.iter().flatten().map(|own| &own[index]);
            let words: Vec<u32> = touches.begins.iter().chain(each().flat_map(|own| &own.words)).copied().collect();
            let given = each().flat_map(|own| &own.given);
            let reals: Vec<T> = given.chain(each().flat_map(|own| &own.impulses)).copied().collect();
            let [_, _, n] = parts(touches.contacts.len(), dims.n_term as usize);
            let b = set.step.buffers;
            self.store.resize(b.touch_words, words.len())?;
            self.store.write_index(b.touch_words, 0, &words)?;
            // A device binds no empty buffer.
            self.store.resize(b.touches, n.max(1))?;
            self.store.write(b.touches, 0, &reals)?;
            if !touches.contacts.is_empty() {
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
