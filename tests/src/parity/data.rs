//! Buffers of a case, written lane by lane, and their way into and out of the tiles of a store.

use manyworlds_gpu::{BufferId, BufferSpec, GpuError, Store};
use manyworlds_shaders::contact::gradient::layout::{
    System, row_shift, shift_reals, sizes, slot_shift, unknown, verdict,
};
use manyworlds_shaders::dynamics::tree::TreeDims;
use manyworlds_shaders::index::{slot_at, tile_at, tile_len};
use manyworlds_shaders::{Kind, Scalar};

/// What a buffer holds before the run.
#[derive(Debug, Clone)]
pub enum Data {
    /// Tile layout, `[lanes][n]`.
    Lanes(Vec<Vec<f64>>),
    /// Tile layout of integers, `[lanes][n]`.
    LaneWords(Vec<Vec<u32>>),
    /// Plain numbers.
    Shared(Vec<f64>),
    /// Plain numbers of the run, in records of `period`; unlike constants they are perturbed.
    Flat {
        /// The numbers.
        values: Vec<f64>,
        /// Numbers of a record.
        period: usize,
    },
    /// Plain integers.
    Words(Vec<u32>),
    /// Tile-ragged, of each lane its slots: `[lanes][slots * fields]`. Lanes of fewer slots than their tile are padded
    /// with zeros.
    Slots {
        /// Numbers a slot.
        fields: usize,
        /// Slots of each lane.
        lanes: Vec<Vec<f64>>,
    },
    /// Tile-ragged integers.
    SlotWords {
        /// Integers a slot.
        fields: usize,
        /// Slots of each lane.
        lanes: Vec<Vec<u32>>,
    },
    /// First slot and number of slots of each tile, twice (this step's, the step's before): of the slots in the binding
    /// named, counted from 0.
    SlotTable(usize),
    /// Tile-ragged, with parts that grow with the slots of the tile in other ways: `[lanes][n]`, every lane as if its tile
    /// had as many slots as the fullest lane of all. What is not a lane's own is zero.
    Ragged {
        /// Which parts.
        parts: Parts,
        /// Sizes of the tree.
        dims: TreeDims,
        /// Slots of each lane.
        slots: Vec<usize>,
        /// The numbers.
        lanes: Vec<Vec<f64>>,
    },
    /// Where the tiles lie in buffers of a step's Jacobian.
    Places {
        /// The binding whose slots they hold, counted from 0.
        of: usize,
        /// Sizes of the tree.
        dims: TreeDims,
    },
}

/// Buffers of [`Data::Ragged`]: those of [`manyworlds_shaders::contact::gradient::layout`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// `shift`.
    Shift,
    /// `system`, without scratch.
    System,
}

/// A matrix in a lane's part of a buffer.
struct Part {
    begin: usize,
    rows: usize,
    columns: usize,
}

impl Parts {
    /// Reals of a lane.
    fn reals(self, dims: &TreeDims, slots: usize) -> usize {
        match self {
            Self::Shift => shift_reals(dims, slots),
            Self::System => System::new(sizes(dims), slots).reals,
        }
    }

    /// Whether a number of a lane in a tile with so many slots says which or how many.
    fn is_index(self, dims: &TreeDims, slots: usize, at: usize) -> bool {
        let system = System::new(sizes(dims), slots);
        let is_first = at.checked_sub(system.list).is_some_and(|at| at % unknown::SIZE == unknown::FIRST);
        let of_list = at < system.order && (at < system.list || is_first);
        self == Self::System && (of_list || (system.order..system.factor).contains(&at))
    }

    /// The parts of a lane in a tile with so many slots.
    fn parts(self, dims: &TreeDims, slots: usize) -> Vec<Part> {
        let part = |begin, rows, columns| Part { begin, rows, columns };
        let (n, n_row) = (dims.n_v as usize, dims.n_row as usize);
        match self {
            Self::Shift => {
                let size = slot_shift(n);
                vec![part(0, slots, size), part(slots * size, n_row, row_shift::SIZE)]
            }
            Self::System => system_parts(&System::new(sizes(dims), slots), dims, 3 * slots + n_row),
        }
    }

    /// The same, with rows and columns of what is a lane's own.
    fn own(self, dims: &TreeDims, slots: usize, own_slots: usize, unknowns: usize) -> Vec<Part> {
        let mut parts = self.parts(dims, slots);
        match self {
            Self::Shift => parts[0].rows = own_slots,
            Self::System => {
                let at = System { most: unknowns, ..System::new(sizes(dims), slots) };
                parts = system_parts(&at, dims, 3 * own_slots + dims.n_row as usize);
            }
        }
        parts
    }
}

/// `rows`: of the lane, those of its slots and of the tree.
fn system_parts(at: &System, dims: &TreeDims, rows: usize) -> Vec<Part> {
    let part = |begin, rows, columns| Part { begin, rows, columns };
    let (n, most) = (dims.n_v as usize, at.most);
    vec![
        part(0, 1, verdict::SIZE),
        part(at.list, most, unknown::SIZE),
        part(at.order, 2, most),
        part(at.factor, most, most),
        part(at.push, most, n),
        part(at.response, most, n),
        part(at.shift, most, n + dims.n_input() as usize),
        part(at.reaction, 1, rows),
    ]
}

/// Calls with the places of each number of a lane: in its list, which has room for `widest` slots, and in its tile.
fn for_each_own(
    (kind, dims): (Parts, &TreeDims),
    [widest, tile_slots, own_slots]: [usize; 3],
    unknowns: usize,
    mut f: impl FnMut(usize, usize),
) {
    let (wide, there) = (kind.parts(dims, widest), kind.parts(dims, tile_slots));
    for ((wide, there), own) in wide.iter().zip(&there).zip(kind.own(dims, tile_slots, own_slots, unknowns)) {
        for (r, c) in (0..own.rows).flat_map(|r| (0..own.columns).map(move |c| (r, c))) {
            f(wide.begin + r * wide.columns + c, there.begin + r * there.columns + c);
        }
    }
}

/// First real of each tile, over its width, and their number.
fn ragged_begins(kind: Parts, dims: &TreeDims, slots: &[usize], tile: usize) -> Vec<usize> {
    let mut begins = vec![0];
    for (_, count) in slot_table(slots, tile) {
        begins.push(begins[begins.len() - 1] + kind.reals(dims, count));
    }
    begins
}

/// Unknowns that a lane says it has.
fn unknowns_of(kind: Parts, head: f64) -> usize {
    if kind == Parts::System { head as usize } else { 0 }
}

fn pack_ragged(of: (Parts, &TreeDims), slots: &[usize], lanes: &[Vec<f64>], tile: usize) -> Vec<f64> {
    let widest = slots.iter().copied().max().unwrap_or_default();
    let (table, begins) = (slot_table(slots, tile), ragged_begins(of.0, of.1, slots, tile));
    let mut out = vec![0.0; begins[table.len()] * tile];
    for (lane, values) in lanes.iter().enumerate() {
        let t = lane / tile;
        let unknowns = unknowns_of(of.0, values.first().copied().unwrap_or_default());
        for_each_own(of, [widest, table[t].1, slots[lane]], unknowns, |from, to| {
            out[(begins[t] + to) * tile + lane % tile] = values[from];
        });
    }
    out
}

fn unpack_ragged(of: (Parts, &TreeDims), slots: &[usize], packed: &[f64], tile: usize) -> Vec<f64> {
    let widest = slots.iter().copied().max().unwrap_or_default();
    let (table, begins) = (slot_table(slots, tile), ragged_begins(of.0, of.1, slots, tile));
    let reals = of.0.reals(of.1, widest);
    let mut out = vec![0.0; slots.len() * reals];
    for (lane, values) in out.chunks_mut(reals.max(1)).enumerate().take(slots.len()) {
        let t = lane / tile;
        let at = |e: usize| (begins[t] + e) * tile + lane % tile;
        let unknowns = unknowns_of(of.0, packed.get(at(0)).copied().unwrap_or_default());
        for_each_own(of, [widest, table[t].1, slots[lane]], unknowns, |to, from| values[to] = packed[at(from)]);
    }
    out
}

/// Slots of each lane.
fn slot_counts(data: &Data) -> Vec<usize> {
    match data {
        Data::Slots { fields, lanes } => lanes.iter().map(|lane| lane.len() / fields).collect(),
        Data::SlotWords { fields, lanes } => lanes.iter().map(|lane| lane.len() / fields).collect(),
        Data::Ragged { slots, .. } => slots.clone(),
        _ => Vec::new(),
    }
}

/// `(begin, count)` of each tile.
fn slot_table(counts: &[usize], tile: usize) -> Vec<(usize, usize)> {
    let mut begin = 0;
    let of_tile = |lanes: &[usize]| {
        let count = lanes.iter().copied().max().unwrap_or_default();
        begin += count;
        (begin - count, count)
    };
    counts.chunks(tile).map(of_tile).collect()
}

/// Lanes into tiles; lanes that pad the last tile repeat the last one, so that they compute something sane.
fn pack<A: Copy, B: Clone + Default>(lanes: &[Vec<A>], tile: usize, converted: fn(A) -> B) -> Vec<B> {
    let n = lanes.first().map_or(0, Vec::len);
    let mut out = vec![B::default(); tile_len(tile, lanes.len(), n)];
    for lane in 0..lanes.len().next_multiple_of(tile) {
        let mut at = tile_at(tile, lane, n, 0);
        for value in &lanes[lane.min(lanes.len() - 1)] {
            out[at] = converted(*value);
            at += tile;
        }
    }
    out
}

fn unpack<A: Copy, B>(packed: &[A], lanes: usize, n: usize, tile: usize, converted: fn(A) -> B) -> Vec<B> {
    let mut out = Vec::with_capacity(lanes * n);
    for lane in 0..lanes {
        let mut at = tile_at(tile, lane, n, 0);
        for _ in 0..n {
            out.push(converted(packed[at]));
            at += tile;
        }
    }
    out
}

fn pack_slots<A: Copy + Default>(lanes: &[Vec<A>], fields: usize, tile: usize) -> Vec<A> {
    let counts: Vec<_> = lanes.iter().map(|lane| lane.len() / fields).collect();
    let table = slot_table(&counts, tile);
    let slots = table.last().map_or(0, |(begin, count)| begin + count);
    let mut out = vec![A::default(); slots * fields * tile];
    for (lane, values) in lanes.iter().enumerate() {
        for (i, value) in values.iter().enumerate() {
            out[slot_at(tile, lane, table[lane / tile].0, i / fields, fields, i % fields)] = *value;
        }
    }
    out
}

fn unpack_slots<A: Copy>(packed: &[A], lanes: &[usize], fields: usize, tile: usize) -> Vec<A> {
    let table = slot_table(lanes, tile);
    let of_lane = |(lane, count): (usize, &usize)| {
        let begin = table[lane / tile].0;
        (0..count * fields)
            .map(|i| packed[slot_at(tile, lane, begin, i / fields, fields, i % fields)])
            .collect::<Vec<_>>()
    };
    lanes.iter().enumerate().flat_map(of_lane).collect()
}

impl Data {
    pub(super) fn is_integer(&self) -> bool {
        use Data::{LaneWords, Places, SlotTable, SlotWords, Words};
        matches!(self, LaneWords(_) | Words(_) | SlotWords { .. } | SlotTable(_) | Places { .. })
    }

    pub(super) fn spec(&self, name: &'static str) -> BufferSpec {
        let kind = match self {
            Self::Lanes(_) | Self::Slots { .. } | Self::Ragged { .. } => Kind::Tile,
            Self::Shared(_) | Self::Flat { .. } => Kind::Real,
            _ => Kind::Index,
        };
        BufferSpec { name, kind }
    }

    pub(super) fn reversed(&self) -> Self {
        let mut data = self.clone();
        match &mut data {
            Self::Lanes(lanes) | Self::Slots { lanes, .. } => lanes.reverse(),
            Self::LaneWords(lanes) | Self::SlotWords { lanes, .. } => lanes.reverse(),
            Self::Ragged { slots, lanes, .. } => {
                slots.reverse();
                lanes.reverse();
            }
            _ => {}
        }
        data
    }

    /// Numbers of each lane in a result.
    fn lane_lengths(&self, lanes: usize, len: usize) -> Vec<usize> {
        match self {
            Self::Slots { lanes, .. } => lanes.iter().map(Vec::len).collect(),
            Self::SlotWords { lanes, .. } => lanes.iter().map(Vec::len).collect(),
            _ => vec![len / lanes.max(1); lanes],
        }
    }

    /// A result split by lanes.
    fn split<'a>(&self, values: &'a [f64], lanes: usize) -> Vec<&'a [f64]> {
        let mut rest = values;
        let mut take = |length| {
            let (lane, after) = rest.split_at(length);
            rest = after;
            lane
        };
        self.lane_lengths(lanes, values.len()).into_iter().map(&mut take).collect()
    }

    /// A result of these data with its lanes in reverse.
    pub(super) fn reverse_result(&self, values: &[f64], lanes: usize) -> Vec<f64> {
        self.split(values, lanes).into_iter().rev().flatten().copied().collect()
    }

    /// These data holding a result.
    pub(super) fn with_result(&self, values: &[f64], lanes: usize) -> Self {
        let split = self.split(values, lanes);
        let reals = || split.iter().map(|lane| lane.to_vec()).collect();
        let words = || split.iter().map(|lane| lane.iter().map(|x| *x as u32).collect()).collect();
        match self {
            Self::Lanes(_) => Self::Lanes(reals()),
            Self::LaneWords(_) => Self::LaneWords(words()),
            Self::Slots { fields, .. } => Self::Slots { fields: *fields, lanes: reals() },
            Self::SlotWords { fields, .. } => Self::SlotWords { fields: *fields, lanes: words() },
            Self::Shared(_) => Self::Shared(values.to_vec()),
            Self::Flat { period, .. } => Self::Flat { values: values.to_vec(), period: *period },
            Self::Ragged { parts, dims, slots, .. } => {
                Self::Ragged { parts: *parts, dims: *dims, slots: slots.clone(), lanes: reals() }
            }
            Self::Words(_) | Self::SlotTable(_) | Self::Places { .. } => self.clone(),
        }
    }

    /// Numbers of a record: what lies this far apart is of one kind, and of one scale.
    pub(super) fn period(&self) -> usize {
        match self {
            Self::Lanes(lanes) | Self::Ragged { lanes, .. } => lanes.first().map_or(1, Vec::len).max(1),
            Self::Slots { fields, .. } | Self::SlotWords { fields, .. } => *fields,
            Self::Flat { period, .. } => *period,
            _ => 1,
        }
    }

    /// Makes a NaN of every number of a result that was one before the run, in slots.
    pub(super) fn blank(&self, values: &mut [f64]) {
        if let Self::Slots { lanes, .. } | Self::Ragged { lanes, .. } = self {
            for (value, before) in values.iter_mut().zip(lanes.iter().flatten()) {
                *value = if before.is_nan() { f64::NAN } else { *value };
            }
        }
    }

    pub(super) fn perturbed(&self, by: f64) -> Self {
        let mut data = self.clone();
        match &mut data {
            Self::Lanes(lanes) | Self::Slots { lanes, .. } => {
                lanes.iter_mut().flatten().for_each(|x| *x += by * (1.0 + x.abs()));
            }
            Self::Ragged { parts, dims, slots, lanes } => {
                let widest = slots.iter().copied().max().unwrap_or_default();
                for (at, x) in lanes.iter_mut().flat_map(|lane| lane.iter_mut().enumerate()) {
                    *x += if parts.is_index(dims, widest, at) { 0.0 } else { by * (1.0 + x.abs()) };
                }
            }
            Self::Flat { values, .. } => values.iter_mut().for_each(|x| *x += by * (1.0 + x.abs())),
            _ => {}
        }
        data
    }

    pub(super) fn upload<T: Scalar, S: Store<T>>(
        &self,
        id: BufferId,
        all: &[Self],
        lanes: usize,
        store: &mut S,
    ) -> Result<(), GpuError> {
        let tile = store.tile();
        let converted = |values: &[f64]| values.iter().map(|&x| T::from_f64(x)).collect();
        let reals: Vec<T> = match self {
            Self::Lanes(values) => pack(values, tile, T::from_f64),
            Self::Slots { fields, lanes } => converted(&pack_slots(lanes, *fields, tile)),
            Self::Shared(values) | Self::Flat { values, .. } => converted(values),
            Self::Ragged { parts, dims, slots, lanes } => converted(&pack_ragged((*parts, dims), slots, lanes, tile)),
            _ => Vec::new(),
        };
        let words = match self {
            Self::LaneWords(values) => pack(values, tile, |word| word),
            Self::SlotWords { fields, lanes } => pack_slots(lanes, *fields, tile),
            Self::Words(values) => values.clone(),
            Self::SlotTable(of) => slot_table(&slot_counts(&all[*of]), tile)
                .into_iter()
                .flat_map(|(begin, count)| [begin as u32, count as u32, begin as u32, count as u32])
                .collect(),
            Self::Places { of, dims } => {
                let slots = slot_counts(&all[*of]);
                let [system, shift] = [Parts::System, Parts::Shift].map(|kind| ragged_begins(kind, dims, &slots, tile));
                slot_table(&slots, tile)
                    .into_iter()
                    .zip(system.into_iter().zip(shift))
                    .flat_map(|((begin, count), (system, shift))| [begin, count, system, shift].map(|x| x as u32))
                    .collect()
            }
            _ => Vec::new(),
        };
        if let Self::Lanes(values) = self {
            assert_eq!(values.len(), lanes, "a case has as many lanes as it says");
        }
        if self.is_integer() {
            store.resize(id, words.len())?;
            store.write_index(id, 0, &words)
        } else {
            store.resize(id, reals.len())?;
            store.write(id, 0, &reals)
        }
    }

    pub(super) fn download<T: Scalar, S: Store<T>>(
        &self,
        id: BufferId,
        lanes: usize,
        store: &mut S,
    ) -> Result<Vec<f64>, GpuError> {
        let (tile, len) = (store.tile(), store.len(id));
        if self.is_integer() {
            let mut words = vec![0; len];
            store.read_index(id, &mut words)?;
            Ok(self.unpacked(&words, lanes, tile, f64::from))
        } else {
            let mut reals = vec![T::default(); len];
            store.read(id, &mut reals)?;
            Ok(self.unpacked(&reals, lanes, tile, T::to_f64))
        }
    }

    /// Numbers lane by lane, of a buffer that holds these data.
    fn unpacked<A: Copy>(&self, raw: &[A], lanes: usize, tile: usize, converted: fn(A) -> f64) -> Vec<f64> {
        let all = || raw.iter().map(|&x| converted(x)).collect::<Vec<_>>();
        match self {
            Self::Lanes(values) => unpack(raw, lanes, values[0].len(), tile, converted),
            Self::LaneWords(values) => unpack(raw, lanes, values[0].len(), tile, converted),
            Self::Slots { fields, .. } | Self::SlotWords { fields, .. } => {
                unpack_slots(&all(), &slot_counts(self), *fields, tile)
            }
            Self::Ragged { parts, dims, slots, .. } => unpack_ragged((*parts, dims), slots, &all(), tile),
            _ => all(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_back_in_any_tile() {
        let lanes: Vec<Vec<u32>> = (0..11).map(|lane| (0..(lane % 3) * 2).map(|i| lane * 100 + i).collect()).collect();
        let counts: Vec<_> = lanes.iter().map(|lane| lane.len() / 2).collect();
        let flat: Vec<_> = lanes.iter().flatten().copied().collect();
        for tile in [8, 32] {
            assert_eq!(unpack_slots(&pack_slots(&lanes, 2, tile), &counts, 2, tile), flat);
        }
    }

    #[test]
    fn parts_come_back_in_any_tile() {
        let dims = TreeDims { n_v: 3, n_u: 1, n_row: 2, ..TreeDims::default() };
        let slots: Vec<_> = (0..11).map(|lane| lane % 4).collect();
        for kind in [Parts::Shift, Parts::System] {
            let packed: Vec<f64> = (0..20_000).map(f64::from).collect();
            // What a lane says of its unknowns is its first number.
            let packed: Vec<_> = packed.iter().map(|x| if kind == Parts::System { x % 3.0 } else { *x }).collect();
            let out = unpack_ragged((kind, &dims), &slots, &packed, 8);
            let lanes: Vec<_> = out.chunks(out.len() / slots.len()).map(<[f64]>::to_vec).collect();
            for tile in [8, 32] {
                let packed = pack_ragged((kind, &dims), &slots, &lanes, tile);
                assert_eq!(unpack_ragged((kind, &dims), &slots, &packed, tile), out);
            }
        }
    }

    #[test]
    fn lanes_come_back_in_any_tile() {
        let lanes: Vec<Vec<u32>> = (0..11).map(|lane| vec![lane, lane + 100, lane + 200]).collect();
        let flat: Vec<_> = lanes.iter().flatten().copied().collect();
        for tile in [8, 32] {
            assert_eq!(unpack(&pack(&lanes, tile, |x| x), 11, 3, tile, |x| x), flat);
        }
    }
}
