//! What is asked of the worlds of a chunk, on its way through the kernels, in three stages: in between a device works, and the host has
//! time for other chunks.

use std::borrow::{BorrowMut, Cow};

use manyworlds_gpu::Ticket;
use manyworlds_gradients::{Certificate, GradientRules};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::touch;
use manyworlds_shaders::dynamics::tree::TreeDims;
use manyworlds_shaders::index::tile_len;
use rayon::prelude::*;

use super::applied::applied_reals;
use super::blocks::{ALONE, Block};
use super::{Kind, LanesBefore, Limits, Results};
use crate::group::chunk::{Chunk, ChunkSet};
use crate::group::derivatives::Certificates;
use crate::group::derivatives::geometry::Geometry;
use crate::group::derivatives::request::{Request, WorldProduct};
use crate::{Error, Summary};

/// What is asked of a world.
pub(super) struct Asked<'a> {
    pub(super) request: Request<'a>,
    certificate: Certificate,
    /// See [`Chunk::doubt`].
    doubt: f64,
    /// Of a product with the transpose: the gradient by q with v+ held.
    by_q: Vec<f64>,
}

/// What is asked of the worlds of a chunk, the first of which has a number in the group.
pub(in crate::group) struct ChunkRequests<'a, C> {
    pub(in crate::group) chunk: C,
    pub(in crate::group) first: usize,
    pub(in crate::group) asked: Vec<Request<'a>>,
    /// How the step of each world ended, where it was loaded into the chunk.
    pub(in crate::group) summaries: Option<&'a [Summary]>,
}

/// Takes some chunks through their kernels at once: a device works on one while the host has its part in another. Gives of each
/// the certificates of what was written, and what is left.
pub(in crate::group) fn through<'a, T: Scalar, C: BorrowMut<Chunk<T>>>(
    parts: impl IntoIterator<Item = Result<ChunkRequests<'a, C>, Error>>,
    rules: GradientRules,
    geometry: &Geometry,
) -> Result<Vec<(C, Certificates, Vec<Request<'a>>)>, Error> {
    let mut under_way = Vec::new();
    for part in parts {
        let ChunkRequests { mut chunk, first, asked, summaries } = part?;
        let own = chunk.borrow_mut().begin(rules, first, asked, summaries)?;
        under_way.push((chunk, own));
    }
    for (chunk, own) in &mut under_way {
        chunk.borrow_mut().go_on(geometry, own)?;
    }
    let ended = under_way.into_iter().map(|(mut chunk, own)| {
        let (found, left) = chunk.borrow_mut().end(own)?;
        Ok((chunk, found, left))
    });
    ended.collect()
}

/// What is asked of the worlds of a chunk, between [`Chunk::begin`], [`Chunk::go_on`] and [`Chunk::end`].
struct UnderWay<'a, T> {
    kind: Kind,
    /// First world of the chunk in the group.
    first: usize,
    /// What kernels answer, in the order of the worlds.
    taken: Vec<Asked<'a>>,
    /// What they leave.
    left: Vec<Request<'a>>,
    /// What the step left of each set, once that is read.
    before: Vec<LanesBefore<T>>,
    /// How the step ended, where that is not in the chunk.
    summaries: Option<&'a [Summary]>,
    /// What the device is at.
    ticket: Option<Ticket>,
}

impl<T: Scalar> Chunk<T> {
    /// Takes up what is asked of some of its worlds, of which `first` is the first in the group: starts what is to be read.
    /// `summaries`: how the step of each world ended, where it was loaded into the chunk.
    fn begin<'a>(
        &mut self,
        rules: GradientRules,
        first: usize,
        requests: Vec<Request<'a>>,
        summaries: Option<&'a [Summary]>,
    ) -> Result<UnderWay<'a, T>, Error> {
        let kind = requests.first().and_then(|request| Kind::of(&request.product));
        let mut own = UnderWay {
            kind: kind.unwrap_or(Kind::Jacobian),
            first,
            taken: Vec::new(),
            left: requests,
            before: Vec::new(),
            summaries,
            ticket: None,
        };
        if !kind.is_some_and(|kind| self.takes(kind, rules)) {
            return Ok(own);
        }
        // A lane has room for one product; of a world that is asked for again the others are the host's.
        let mut seen = vec![false; self.n_world];
        let mut again = |world: usize| own.kind == Kind::Back && std::mem::replace(&mut seen[world], true);
        let (taken, left): (Vec<_>, Vec<_>) = own.left.into_iter().partition(|request| {
            let world = request.world - first;
            !again(world) && self.is_alone(world)
        });
        own.left = left;
        self.finish()?;
        // A device may not have the room.
        if taken.is_empty() || self.lay_out(own.kind).is_err() {
            own.left.extend(taken);
            return Ok(own);
        }
        let asked = |request| Asked { request, certificate: Certificate::default(), doubt: 0.0, by_q: Vec::new() };
        own.taken = taken.into_iter().map(asked).collect();
        own.taken.sort_by_key(|asked| asked.request.world);
        own.ticket = Some(self.look_back(own.summaries.is_none())?);
        Ok(own)
    }

    /// Linearises the last step: what the host knows of it, then the kernels, up to what is asked for.
    fn go_on(&mut self, geometry: &Geometry, own: &mut UnderWay<T>) -> Result<(), Error> {
        let Some(ticket) = own.ticket.take() else { return Ok(()) };
        self.store.wait(ticket)?;
        let summaries: Cow<[Summary]> = match own.summaries {
            Some(summaries) => summaries.into(),
            None => self.stored()?.into(),
        };
        own.before = self.lanes_before()?;
        let width = self.store.tile();
        let mut touches: Vec<Vec<T>> = self.sets.iter_mut().map(|set| std::mem::take(&mut set.touch)).collect();
        for (touch, pack) in touches.iter_mut().zip(&self.host.packs) {
            // At least one slot: a device binds no empty buffer.
            touch.resize(pack.n_slot.max(1) * touch::SIZE * width, T::default());
        }
        let of_lanes = |reals: &dyn Fn(&TreeDims) -> usize| -> Vec<Vec<T>> {
            let dims = self.sets.iter().map(ChunkSet::dims);
            dims.map(|dims| vec![T::default(); tile_len(width, dims.lanes as usize, reals(dims))]).collect()
        };
        let (mut given, mut slopes) = (of_lanes(&|dims| own.kind.given_reals(dims)), of_lanes(&applied_reals));
        let (before, first) = (&own.before, own.first);
        let one = |block: &mut Block<T>| {
            // What stands in slots without a body is not looked at.
            for slot in block.touches.iter_mut().flat_map(|own| own.reals.chunks_exact_mut(touch::SIZE * width)) {
                slot[touch::BODIES * width..(touch::BODIES + 2) * width].fill(T::from_f64(-1.0));
            }
            for Asked { request, certificate, doubt, by_q } in block.asked.iter_mut() {
                let world = request.world - first;
                self.write_contacts(geometry, before, world, &mut block.touches, certificate);
                self.write_applied(before, world, &mut block.slopes);
                *doubt = self.doubt(world, &summaries[world]);
                if let Some(problem) = self.shared.problem(&summaries[world]) {
                    certificate.add_problem(&problem);
                }
                if let WorldProduct::Back { from, .. } = &request.product {
                    *by_q = self.write_gradients(before, world, *from, &mut block.given);
                }
            }
        };
        let mut blocks = self.blocks(own.kind, first, &mut own.taken, [&mut touches, &mut given, &mut slopes]);
        match &mut blocks[..] {
            [block] => one(block),
            blocks => blocks.par_iter_mut().for_each(one),
        }
        drop(blocks);
        let limits = Limits::of::<T>();
        self.recording.clear();
        for (((set, touch), given), slopes) in self.sets.iter_mut().zip(touches).zip(given).zip(slopes) {
            let b = set.step.buffers;
            if !slopes.is_empty() {
                self.store.write(b.slope, 0, &slopes)?;
            }
            self.store.write(b.touch, 0, &touch)?;
            set.touch = touch;
            if own.kind == Kind::Back {
                self.store.write(b.adjoint, 0, &given)?;
            }
            set.step.linearise(limits.closed, limits.pivot, own.kind == Kind::Jacobian, &mut self.recording);
            match own.kind {
                Kind::Jacobian => set.step.answer(&mut self.recording),
                Kind::Back => set.step.back(&mut self.recording),
            }
        }
        own.ticket = Some(self.store.submit(&self.recording)?);
        Ok(())
    }

    /// Writes what the kernels found where it is wanted; gives the certificates of that, and what is left.
    fn end<'a>(&mut self, own: UnderWay<'a, T>) -> Result<(Certificates, Vec<Request<'a>>), Error> {
        let UnderWay { kind, first, mut taken, mut left, before, ticket, .. } = own;
        let Some(ticket) = ticket else { return Ok((Vec::new(), left)) };
        self.store.wait(ticket)?;
        let store = &mut *self.store;
        let width = store.tile();
        let results = self.sets.iter().map(|set| Results::new(store, kind, &set.step.buffers, set.dims()));
        let results: Vec<Results<T>> = results.collect::<Result<_, Error>>()?;
        let write = |Asked { request, certificate, doubt, by_q }: &mut Asked<'a>| {
            let world = request.world - first;
            let written = match &mut request.product {
                WorldProduct::Jacobian(to) => self.write_blocks(&before, &results, world, to, certificate),
                WorldProduct::Back { from: [.., act], to } => {
                    self.write_product(&before, &results, world, (by_q, act), to, certificate)
                }
                WorldProduct::Along { .. } => false,
            };
            certificate.judge_margin(*doubt);
            written
        };
        let written: Vec<bool> = if self.n_world > ALONE {
            taken.par_iter_mut().with_min_len(width).map(write).collect()
        } else {
            taken.iter_mut().map(write).collect()
        };
        let mut certificates = Vec::with_capacity(taken.len());
        for (Asked { request, certificate, .. }, written) in taken.into_iter().zip(written) {
            if written {
                certificates.push((request.order, certificate));
            } else {
                left.push(request);
            }
        }
        Ok((certificates, left))
    }
}
