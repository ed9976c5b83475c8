//! Which number of a world's row stands where in the lanes that kernels keep.

use std::ops::Range;

use manyworlds_dynamics::TreeSet;
use manyworlds_gpu::BufferId;
use manyworlds_model::Model;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::info;
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL};

use super::record::SetStep;
use crate::field::block::Layout;
use crate::field::id::FieldId;
use crate::field::rows::{Rows, RowsMut};

/// Tables of columns in a set's buffer, one behind the other.
const TABLES: usize = 5;

/// Which number of a world's row each number of its lanes is.
pub(crate) struct Columns {
    /// Of each tree set the tables of state, pose, twist, certificate and readings, `[trees][elements]` each.
    pub(super) sets: Vec<[Vec<u32>; TABLES]>,
    n_q: usize,
    n_v: usize,
    n_u: usize,
    n_act: usize,
    mocaps: usize,
    /// Columns of a row of poses of mocap bodies: each its own.
    each_mocap: Vec<u32>,
    /// Shape of a row of readings.
    readings: usize,
    bodies: usize,
    trees: usize,
    /// Bodies that never move, and their poses.
    fixed: Vec<(usize, [f64; POSE])>,
}

/// Where a field lies in the lanes of a tree set.
pub(super) struct Place {
    pub(super) buffer: BufferId,
    pub(super) table: usize,
    /// Elements of a lane.
    pub(super) elements: usize,
    /// The field's first, and how many it has.
    pub(super) first: usize,
    pub(super) n: usize,
}

impl Place {
    /// Poses of mocap bodies are in no lane: an empty place.
    pub(super) fn new(step: &SetStep, id: FieldId) -> Self {
        let (dims, b) = (&step.dims, &step.buffers);
        let [n_q, n_v, n_u, n_act, n_body] =
            [dims.n_q, dims.n_v, dims.n_u, dims.n_act, dims.n_body].map(|n| n as usize);
        let state = |first, n| Self { buffer: b.state, table: 0, elements: dims.n_state(), first, n };
        let whole = |buffer, table, elements| Self { buffer, table, elements, first: 0, n: elements };
        match id {
            FieldId::Position => state(0, n_q),
            FieldId::Velocity => state(dims.v_at(), n_v),
            FieldId::Control => state(dims.ctrl_at(), n_u),
            FieldId::Force => state(dims.tau_at(), n_v),
            FieldId::Activation => state(dims.act_at(), n_act),
            FieldId::Mocap => state(0, 0),
            FieldId::Pose => whole(b.pose, 1, POSE * n_body),
            FieldId::Twist => whole(b.twist, 2, SPATIAL * n_body),
            FieldId::Certificate => {
                Self { buffer: b.info, table: 3, elements: info::reals(n_v), first: 0, n: info::SIZE }
            }
            FieldId::Sensor => whole(b.reading, 4, step.sensing.map_or(0, |sensing| sensing.n_reading)),
        }
    }
}

impl Columns {
    pub(crate) fn new(model: &Model, sets: &[TreeSet]) -> Self {
        let mut columns = Vec::with_capacity(sets.len());
        let readings = model.readings();
        for set in sets {
            let mut tables: [Vec<u32>; TABLES] = Default::default();
            for (index, &number) in set.trees.iter().enumerate() {
                let tree = &model.trees[number];
                let numbers = |range: Range<usize>| range.map(|at| at as u32);
                tables[0].extend(numbers(tree.q.clone()).chain(numbers(tree.v.clone())));
                tables[0].extend(set.actuators[index].iter().map(|&at| at as u32).chain(numbers(tree.v.clone())));
                tables[0].extend(set.activations[index].iter().map(|&at| at as u32));
                tables[1].extend(numbers(POSE * tree.bodies.start..POSE * tree.bodies.end));
                tables[2].extend(numbers(SPATIAL * tree.bodies.start..SPATIAL * tree.bodies.end));
                // The certificate's velocity has no place in a row.
                let numbers = numbers(info::SIZE * number..info::SIZE * (number + 1));
                tables[3].extend(numbers.chain(tree.v.clone().map(|_| 0)));
                tables[4].extend(set.sensors[index].iter().flat_map(|&at| readings[at].clone()).map(|at| at as u32));
            }
            columns.push(tables);
        }
        Self {
            sets: columns,
            n_q: model.n_q,
            n_v: model.n_v,
            n_u: model.actuators.len(),
            n_act: model.n_act(),
            mocaps: model.mocaps.len(),
            each_mocap: (0..(POSE * model.mocaps.len()) as u32).collect(),
            readings: readings.last().map_or(0, |last| last.end),
            bodies: model.bodies.len(),
            trees: model.trees.len(),
            fixed: fixed_poses(model),
        }
    }

    /// Shape of a world's row.
    pub(crate) fn row_shape(&self, id: FieldId) -> Vec<usize> {
        match id {
            FieldId::Mocap => vec![self.mocaps, POSE],
            FieldId::Pose => vec![self.bodies, POSE],
            FieldId::Twist => vec![self.bodies, SPATIAL],
            FieldId::Certificate => vec![self.trees, info::SIZE],
            FieldId::Position
            | FieldId::Velocity
            | FieldId::Force
            | FieldId::Control
            | FieldId::Activation
            | FieldId::Sensor => {
                vec![self.width(id)]
            }
        }
    }

    /// Numbers of a world's row.
    pub(crate) fn width(&self, id: FieldId) -> usize {
        match id {
            FieldId::Position => self.n_q,
            FieldId::Velocity | FieldId::Force => self.n_v,
            FieldId::Control => self.n_u,
            FieldId::Activation => self.n_act,
            FieldId::Mocap => self.mocaps * POSE,
            FieldId::Pose => self.bodies * POSE,
            FieldId::Twist => self.bodies * SPATIAL,
            FieldId::Certificate => self.trees * info::SIZE,
            FieldId::Sensor => self.readings,
        }
    }

    /// The columns of a tree's numbers of a field.
    pub(super) fn of(&self, set: usize, place: &Place, tree: usize) -> &[u32] {
        &self.sets[set][place.table][tree * place.elements + place.first..][..place.n]
    }

    /// What no lane holds of a row: bodies that never move.
    pub(super) fn fill_fixed<T: Scalar>(&self, id: FieldId, rows: &mut Out<'_, T>, worlds: usize) {
        let width = self.width(id);
        for world in 0..worlds {
            for (body, pose) in &self.fixed {
                match id {
                    FieldId::Pose => {
                        let at = world * width + body * POSE;
                        pose.iter().enumerate().for_each(|(i, &x)| rows.set(at + i, T::from_f64(x)));
                    }
                    FieldId::Twist => {
                        let at = world * width + body * SPATIAL;
                        (0..SPATIAL).for_each(|i| rows.set(at + i, T::default()));
                    }
                    _ => return,
                }
            }
        }
    }

    /// Where a table begins in the buffer of a set.
    pub(super) fn table_at(&self, set: usize, table: usize) -> u32 {
        self.sets[set][..table].iter().map(|table| table.len() as u32).sum()
    }
}

/// Poses of the ground and of what is welded to it.
fn fixed_poses(model: &Model) -> Vec<(usize, [f64; POSE])> {
    let mut poses = vec![manyworlds_model::Pose::identity(); model.bodies.len()];
    let mut out = Vec::new();
    for (body, record) in model.bodies.iter().enumerate().filter(|(_, body)| body.tree.is_none()) {
        if body != record.parent {
            poses[body] = poses[record.parent] * record.pose;
        }
        let (at, turn) = (poses[body].translation.vector, poses[body].rotation);
        out.push((body, [at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k]));
    }
    out
}

/// Shape and strides of the poses of the mocap bodies of a chunk, which stand row behind row in main memory.
pub(super) fn mocap_layout(columns: &Columns, worlds: Range<usize>) -> Layout<'_> {
    let width = columns.width(FieldId::Mocap);
    Layout {
        shape: [worlds.len(), 1, width],
        strides: [width, 1, 1],
        worlds,
        trees: 1,
        offset: 0,
        columns: &columns.each_mocap,
        pitch: width,
    }
}

/// Shape, strides and place of a field in a set of a chunk that has so many trees of each world.
pub(super) fn layout<'a>(
    columns: &'a Columns,
    (index, step, trees): (usize, &SetStep, usize),
    id: FieldId,
    worlds: Range<usize>,
    tile: usize,
) -> (BufferId, Layout<'a>) {
    let place = Place::new(step, id);
    let layout = Layout {
        worlds,
        trees,
        shape: [(step.dims.lanes as usize).div_ceil(tile), tile, place.n],
        strides: [place.elements * tile, 1, tile],
        offset: place.first * tile,
        columns: &columns.sets[index][place.table][place.first..],
        pitch: place.elements,
    };
    (place.buffer, layout)
}

/// Rows of the user's that are in the batch's own precision.
pub(super) fn same<'a, T: Scalar>(rows: Rows<'a>) -> Option<&'a [T]> {
    match rows {
        Rows::F32(all) if size_of::<T>() == size_of::<f32>() => bytemuck::try_cast_slice(all).ok(),
        Rows::F64(all) if size_of::<T>() == size_of::<f64>() => bytemuck::try_cast_slice(all).ok(),
        _ => None,
    }
}

/// Rows that are written.
pub(super) enum Out<'a, T> {
    Same(&'a mut [T]),
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
}

impl<'a, T: Scalar> Out<'a, T> {
    pub(super) fn new(rows: RowsMut<'a>) -> Self {
        match rows {
            RowsMut::F32(all) if size_of::<T>() == size_of::<f32>() => Self::Same(bytemuck::cast_slice_mut(all)),
            RowsMut::F64(all) if size_of::<T>() == size_of::<f64>() => Self::Same(bytemuck::cast_slice_mut(all)),
            RowsMut::F32(all) => Self::F32(all),
            RowsMut::F64(all) => Self::F64(all),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, x: T) {
        match self {
            Self::Same(all) => all[at] = x,
            Self::F32(all) => all[at] = x.to_f64() as f32,
            Self::F64(all) => all[at] = x.to_f64(),
        }
    }
}
