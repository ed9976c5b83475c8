//! The worlds of a chunk in blocks that the threads share out, each with its own part of what the host writes.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::touch;

use super::Kind;
use super::applied::applied_reals;
use super::through::Asked;
use crate::group::chunk::{Chunk, ChunkSet};
use crate::host::SlotPack;

/// Worlds of a chunk that one thread takes: a chunk of a CPU batch has few, and its neighbours keep the threads busy.
pub(super) const ALONE: usize = 64;

/// Part of the numbers of a set.
pub(super) struct Stretch<'b, T> {
    /// Where it begins: a lane, or a slot.
    pub(super) first: usize,
    pub(super) reals: &'b mut [T],
}

/// Some worlds: of every set whole tiles.
pub(super) struct Block<'a, 'b, T> {
    /// What is asked of them.
    pub(super) asked: &'b mut [Asked<'a>],
    /// What is known of their contacts, by set and from a slot on.
    pub(super) touches: Vec<Stretch<'b, T>>,
    /// What kernels are given, by set and from a lane on.
    pub(super) given: Vec<Stretch<'b, T>>,
    /// What applied forces are by, likewise.
    pub(super) slopes: Vec<Stretch<'b, T>>,
}

/// Takes the first ones of what is left.
fn cut<'b, A>(rest: &mut &'b mut [A], n: usize) -> &'b mut [A] {
    let (own, others) = std::mem::take(rest).split_at_mut(n);
    *rest = others;
    own
}

impl<T: Scalar> Chunk<T> {
    /// Its worlds in blocks; all in one where they are few. `asked` is in the order of the worlds, of which `first` is the first
    /// in the group.
    pub(super) fn blocks<'a, 'b>(
        &self,
        kind: Kind,
        first: usize,
        mut asked: &'b mut [Asked<'a>],
        [touches, given, slopes]: [&'b mut [Vec<T>]; 3],
    ) -> Vec<Block<'a, 'b, T>> {
        let width = self.store.tile();
        let each = if self.n_world > ALONE { width } else { self.n_world };
        let mut touches: Vec<&mut [T]> = touches.iter_mut().map(Vec::as_mut_slice).collect();
        let mut given: Vec<&mut [T]> = given.iter_mut().map(Vec::as_mut_slice).collect();
        let mut slopes: Vec<&mut [T]> = slopes.iter_mut().map(Vec::as_mut_slice).collect();
        let mut blocks = Vec::with_capacity(self.n_world.div_ceil(each));
        for begin in (0..self.n_world).step_by(each) {
            let end = begin + each;
            let is_last = self.n_world <= end;
            let of_touches = |(rest, (set, pack)): (&mut &'b mut [T], (&ChunkSet<T>, &SlotPack))| {
                let first = pack.begin(set.lane(begin, 0));
                let slots = || pack.begin(set.lane(end, 0)) - first;
                let n = if is_last { rest.len() } else { slots() * touch::SIZE * width };
                Stretch { first, reals: cut(rest, n) }
            };
            let of_lanes = |rest: &mut &'b mut [T], set: &ChunkSet<T>, reals: usize| {
                let n = if is_last { rest.len() } else { each * set.k * reals };
                Stretch { first: set.lane(begin, 0), reals: cut(rest, n) }
            };
            let of_given = |(rest, set): (&mut _, &ChunkSet<T>)| of_lanes(rest, set, kind.given_reals(set.dims()));
            let of_slopes = |(rest, set): (&mut _, &ChunkSet<T>)| of_lanes(rest, set, applied_reals(set.dims()));
            let count = asked.partition_point(|asked| asked.request.world - first < end);
            blocks.push(Block {
                asked: cut(&mut asked, count),
                touches: touches.iter_mut().zip(self.sets.iter().zip(&self.host.packs)).map(of_touches).collect(),
                given: given.iter_mut().zip(&self.sets).map(of_given).collect(),
                slopes: slopes.iter_mut().zip(&self.sets).map(of_slopes).collect(),
            });
        }
        blocks
    }
}
