//! The worlds that the kernels of a step leave to the host. On a device their numbers lie among those of all others: kernels bring
//! them together, within the step itself where there are no more than there were before, and take the answers back.

use manyworlds_dynamics::TreeSet;
use manyworlds_gpu::BufferId;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::batch::{left_numbers, left_worlds};
use manyworlds_shaders::contact::tree_layout::{info, row_stride, slot_reals};
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, TreeDims};
use manyworlds_shaders::kernel::batch::{LEFT_NUMBERS, LEFT_WORLDS};

use super::chunk::{Chunk, ChunkSet};
use crate::Error;

/// Worlds that there is room for at least, where there is any.
pub(super) const LEAST: usize = 16;

/// Contacts of a tree that chunks are made for.
const CONTACTS: usize = 16;

/// Which numbers of a lane, or of its slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftPart {
    Velocity,
    Row,
    Impulse,
    Info,
    Momentum,
    B,
    Motion,
    Pose,
    State,
    Constraint,
}

impl LeftPart {
    /// What answers are put into.
    const ANSWERS: [Self; 4] = [Self::Velocity, Self::Row, Self::Impulse, Self::Info];
    /// What problems are made of besides.
    const PROBLEMS: [Self; 6] = [Self::Momentum, Self::B, Self::Motion, Self::Pose, Self::State, Self::Constraint];

    /// The buffer they lie in.
    pub(super) fn buffer<T>(self, set: &ChunkSet<T>) -> BufferId {
        let b = &set.step.buffers;
        match self {
            Self::Velocity => b.velocity,
            Self::Row => b.row,
            Self::Impulse => set.step.impulses.now,
            Self::Info => b.info,
            Self::Momentum => b.momentum,
            Self::B => b.b,
            Self::Motion => b.motion,
            Self::Pose => b.pose,
            Self::State => b.state,
            Self::Constraint => b.constraint,
        }
    }

    fn by_slot(self) -> bool {
        matches!(self, Self::Impulse | Self::Constraint)
    }

    /// How many a lane has, or a slot. A soft body has no others than its problem is made of.
    fn count(self, d: &TreeDims) -> usize {
        let (n_v, soft) = (d.n_v as usize, d.is_soft());
        match self {
            Self::Velocity | Self::B => n_v,
            Self::State => d.n_state(),
            Self::Info => info::reals(n_v),
            _ if soft => 0,
            Self::Row => d.n_row as usize * row_stride(n_v, d.row_width),
            Self::Impulse => 3,
            Self::Momentum => d.n_m as usize,
            Self::Motion => SPATIAL * n_v,
            Self::Pose => POSE * d.n_body as usize,
            Self::Constraint => slot_reals(n_v),
        }
    }
}

/// Reals of a world at most, with a usual number of contacts: chunks are to have room for them in a binding.
pub(super) fn most_reals(sets: &[TreeSet]) -> usize {
    let of_set = |set: &TreeSet| {
        let d = &set.layout.dims;
        let slots = |part: LeftPart| if part.by_slot() { d.n_block as usize + CONTACTS } else { 1 };
        let parts = LeftPart::ANSWERS.into_iter().chain(LeftPart::PROBLEMS);
        set.trees.len() * parts.map(|part| part.count(d) * slots(part)).sum::<usize>()
    };
    sets.iter().map(of_set).sum()
}

/// Where a part of a set's numbers lies in the buffer that brings all together.
#[derive(Debug, Clone, Copy)]
struct Section {
    set: usize,
    part: LeftPart,
    /// Numbers of a world.
    world: usize,
    begin: usize,
}

/// The numbers of the worlds that are left, out of a device: lane by lane in the order of these worlds.
pub(super) struct LeftNumbers<T> {
    sections: Vec<(usize, LeftPart, Vec<T>)>,
    /// Slots of a lane, by set.
    pub(super) slots: Vec<usize>,
}

impl<T> LeftNumbers<T> {
    /// A part of a set's numbers.
    pub(super) fn copy(&self, set: usize, part: LeftPart) -> Vec<T>
    where
        T: Clone,
    {
        let found = self.sections.iter().find(|(of, own, _)| (*of, *own) == (set, part));
        found.map(|(.., numbers)| numbers.clone()).unwrap_or_default()
    }

    /// A part of a set's numbers, which is taken out.
    pub(super) fn take(&mut self, set: usize, part: LeftPart) -> Vec<T> {
        let found = self.sections.iter_mut().find(|(of, own, _)| (*of, *own) == (set, part));
        found.map(|(.., numbers)| std::mem::take(numbers)).unwrap_or_default()
    }
}

impl<T: Scalar> Chunk<T> {
    /// Slots that there is room for in a lane of a set.
    fn left_slots(&self, set: usize) -> usize {
        self.host.packs[set].most().max(1) as usize
    }

    /// Sections of the buffer and its length, with room for so many worlds; those of answers come first.
    fn sections(&self, room: usize) -> (Vec<Section>, usize) {
        let (mut sections, mut begin) = (Vec::new(), 0);
        for parts in [&LeftPart::ANSWERS[..], &LeftPart::PROBLEMS[..]] {
            for (index, set) in self.sets.iter().enumerate() {
                for &part in parts {
                    let slots = if part.by_slot() { self.left_slots(index) } else { 1 };
                    let world = set.k * slots * part.count(set.dims());
                    if world > 0 {
                        sections.push(Section { set: index, part, world, begin });
                        begin += room * world;
                    }
                }
            }
        }
        (sections, begin)
    }

    /// Records that the worlds which the kernels of this step leave are listed and their numbers brought together.
    pub(super) fn record_left(&mut self) -> Result<(), Error> {
        if self.in_place() || self.left_room == 0 {
            return Ok(());
        }
        let buffers = [self.islands.buffers.unsolved, self.left.worlds];
        self.recording.dispatch(&LEFT_WORLDS, &left_worlds::Dims { worlds: self.n_world as u32 }, 1, &buffers);
        self.record_gathering()
    }

    fn record_gathering(&mut self) -> Result<(), Error> {
        let (sections, len) = self.sections(self.left_room);
        self.store.resize(self.left.numbers, len)?;
        sections.iter().for_each(|section| self.record_section(section, false));
        self.recording.read(self.left.numbers);
        Ok(())
    }

    fn record_section(&mut self, section: &Section, back: bool) {
        let &Section { set: index, part, world, begin } = section;
        let set = &self.sets[index];
        let (k, n) = (set.k, part.count(set.dims()));
        let [room, k, slots, n, at] = [self.left_room, k, world / (k * n), n, begin].map(|n| n as u32);
        let (by_slot, back) = (u32::from(part.by_slot()), u32::from(back));
        let dims = left_numbers::Dims { room, k, slots, n, by_slot, at, back };
        let buffers = [self.left.worlds, set.step.buffers.slots, part.buffer(set), self.left.numbers];
        self.recording.dispatch(&LEFT_NUMBERS, &dims, room * k * slots, &buffers);
    }

    /// The numbers of these worlds, which are all that are left: those that came with the step, where there was room for them.
    pub(super) fn gather_left(&mut self, worlds: &[usize]) -> Result<LeftNumbers<T>, Error> {
        let came = self.shared.form.is_some() && worlds.len() <= self.left_room;
        if !came {
            self.left_room = worlds.len();
            let list: Vec<u32> =
                std::iter::once(worlds.len()).chain(worlds.iter().copied()).map(|n| n as u32).collect();
            self.store.write_index(self.left.worlds, 0, &list)?;
            self.recording.clear();
            self.record_gathering()?;
            self.store.run(&self.recording)?;
        }
        let mut found = Vec::new();
        for Section { set, part, world, begin } in self.sections(self.left_room).0 {
            let mut numbers = vec![T::default(); worlds.len() * world];
            self.store.read_part(self.left.numbers, begin, &mut numbers)?;
            found.push((set, part, numbers));
        }
        Ok(LeftNumbers { sections: found, slots: (0..self.sets.len()).map(|set| self.left_slots(set)).collect() })
    }

    /// Puts parts of a set's numbers back to where [`Self::record_answers`] takes them from.
    pub(super) fn upload_left(&mut self, index: usize, parts: &[(LeftPart, &[T])]) -> Result<(), Error> {
        for section in self.sections(self.left_room).0.iter().filter(|section| section.set == index) {
            if let Some((_, numbers)) = parts.iter().find(|(part, _)| *part == section.part) {
                self.store.write(self.left.numbers, section.begin, numbers)?;
            }
        }
        Ok(())
    }

    /// Records that answers go to where they would be if kernels had found them.
    pub(super) fn record_answers(&mut self) {
        if self.in_place() {
            return;
        }
        let sections = self.sections(self.left_room).0;
        let answers = sections.iter().filter(|section| LeftPart::ANSWERS.contains(&section.part));
        answers.for_each(|section| self.record_section(section, true));
    }

    /// Makes room for as many worlds as the next step may leave, by how many the last ones did.
    pub(super) fn make_room(&mut self) {
        let wanted = match self.left_count {
            0 => 0,
            count => (2 * count).next_power_of_two().clamp(LEAST.min(self.n_world), self.n_world),
        };
        self.left_room = wanted.max(self.left_room / 2);
    }
}
