//! Numbers of worlds, read from the buffers that kernels work on.

use manyworlds_dynamics::TreeSet;
use manyworlds_gpu::Store;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::con;
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{NONE, POSE, Params, SPATIAL, Tree};
use manyworlds_shaders::index::{gather, slot_at, tile_at};

use super::super::chunk::Chunk;
use super::super::left::{LeftNumbers, LeftPart};
use super::super::seen::{Seen, times, whole};
use super::super::shared::Shared;
use crate::Error;
use crate::host::{IslandParts, SlotPack};

/// How a problem has the sides of its constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::group) enum Sides {
    /// Of a tree as a whole.
    Whole,
    /// Bodies of a tree told apart: in problems that are written to files.
    ByBody,
}

/// The buffers of a chunk that its problems are made of.
pub(in crate::group) struct Reading<T> {
    width: usize,
    /// None: lanes lie as in the chunk.
    left: Option<Left>,
    sides_as: Sides,
    sets: Vec<SetBuffers<Seen<T>>>,
    islands: Option<IslandBuffers<Seen<T>>>,
}

/// Where lanes lie that were brought together.
struct Left {
    /// Their worlds, in order.
    worlds: Vec<usize>,
    /// Slots of a lane, by set.
    slots: Vec<usize>,
}

/// Those of one set.
pub(in crate::group) struct SetBuffers<N> {
    pub(super) momentum: N,
    pub(super) b: N,
    pub(super) velocity: N,
    pub(in crate::group) motion: N,
    pub(in crate::group) pose: N,
    pub(in crate::group) state: N,
    pub(super) row: N,
    pub(super) constraint: N,
    pub(super) impulse: N,
}

/// Those of islands of several trees, where there are any.
pub(super) struct IslandBuffers<N> {
    pub(super) jac: N,
    pub(super) con: N,
    pub(super) impulse: N,
}

impl<T: Scalar> Reading<T> {
    /// Of a step that is done. Where the state of a world that it began with was kept, with that, and frames and motions of then:
    /// what stands in the buffers is already what it ended with.
    pub(in crate::group) fn of_last_step(
        shared: &Shared<T>,
        chunk: &mut Chunk<T>,
        sides_as: Sides,
        world: usize,
    ) -> Result<Self, Error> {
        let mut reading = Self::new(chunk, sides_as)?;
        let Chunk { before, sets, store, .. } = chunk;
        if !before.as_ref().is_some_and(|kept| kept.has(world)) {
            return Ok(reading);
        }
        for (number, to) in reading.sets.iter_mut().enumerate() {
            let state = whole(&mut **store, sets[number].step.buffers.before)?;
            let (set, b, width) = (&shared.sets[number], sets[number].step.buffers, store.tile());
            if set.is_soft() {
                to.state = Seen::Read(state);
                continue;
            }
            let dims = sets[number].step.dims;
            let own_params = if dims.param_lanes == 1 { Some(whole(&mut **store, b.lane_params)?) } else { None };
            let (mut poses, mut motions) = (whole(&mut **store, b.pose)?, whole(&mut **store, b.motion)?);
            for index in 0..set.trees.len() {
                let lane = world * set.trees.len() + index;
                let read = |numbers: &[T], n: usize| -> Vec<f64> {
                    let mut own = vec![T::default(); n];
                    gather(width, lane, numbers, &mut own);
                    own.into_iter().map(Scalar::to_f64).collect()
                };
                let params = own_params.as_ref().map(|all| read(all, dims.n_param as usize));
                let params = Params::<f64>::Shared(params.as_deref().unwrap_or(&set.params[index]));
                let mut pose = vec![0.0; POSE * dims.n_body as usize];
                let mut motion = vec![0.0; SPATIAL * dims.n_v as usize];
                kinematics(&set.layout.tree(), params, &read(&state, dims.n_state()), &mut pose, &mut motion);
                for (all, own) in [(&mut poses, pose), (&mut motions, motion)] {
                    let n = own.len();
                    own.iter().enumerate().for_each(|(e, &x)| all[tile_at(width, lane, n, e)] = T::from_f64(x));
                }
            }
            (to.state, to.pose, to.motion) = (Seen::Read(state), Seen::Read(poses), Seen::Read(motions));
        }
        Ok(reading)
    }

    /// Of all worlds.
    pub(in crate::group) fn new(chunk: &mut Chunk<T>, sides_as: Sides) -> Result<Self, Error> {
        let mut sets = Vec::with_capacity(chunk.sets.len());
        for set in &chunk.sets {
            let (b, impulses) = (set.step.buffers, set.step.impulses);
            let mut read = |buffer| Seen::new(&mut *chunk.store, buffer);
            sets.push(SetBuffers {
                momentum: read(b.momentum)?,
                b: read(b.b)?,
                velocity: read(b.velocity)?,
                motion: read(b.motion)?,
                pose: read(b.pose)?,
                state: read(b.state)?,
                row: read(b.row)?,
                constraint: read(b.constraint)?,
                impulse: read(impulses.now)?,
            });
        }
        let (b, impulses) = (chunk.islands.buffers, chunk.islands.impulses);
        let islands = if chunk.host.islands.is_empty() {
            None
        } else {
            let mut read = |buffer| Seen::new(&mut *chunk.store, buffer);
            let impulse = read(impulses.now)?;
            Some(IslandBuffers { jac: read(b.jac)?, con: read(b.con)?, impulse })
        };
        Ok(Self { width: chunk.store.tile(), left: None, sides_as, sets, islands })
    }

    /// Of worlds that are left, whose numbers were brought together, and those of their islands.
    pub(in crate::group) fn of_left(
        chunk: &mut Chunk<T>,
        worlds: &[usize],
        mut numbers: LeftNumbers<T>,
        islands: &IslandParts,
    ) -> Result<Self, Error> {
        let mut set = |set: usize| {
            let mut take = |part| Seen::Read(numbers.take(set, part));
            SetBuffers {
                momentum: take(LeftPart::Momentum),
                b: take(LeftPart::B),
                velocity: take(LeftPart::Velocity),
                motion: take(LeftPart::Motion),
                pose: take(LeftPart::Pose),
                state: take(LeftPart::State),
                row: take(LeftPart::Row),
                constraint: take(LeftPart::Constraint),
                impulse: take(LeftPart::Impulse),
            }
        };
        let sets = (0..chunk.sets.len()).map(&mut set).collect();
        let islands = if chunk.host.islands.is_empty() {
            None
        } else {
            let (b, impulses) = (chunk.islands.buffers, chunk.islands.impulses);
            let mut read = |buffer, parts: &[_]| Seen::some(&mut *chunk.store, buffer, parts);
            Some(IslandBuffers {
                jac: read(b.jac, &islands.jac)?,
                con: read(b.con, &times(&islands.constraints, con::SIZE))?,
                impulse: read(impulses.now, &times(&islands.constraints, 3))?,
            })
        };
        let left = Some(Left { worlds: worlds.to_vec(), slots: numbers.slots });
        Ok(Self { width: 1, left, sides_as: Sides::Whole, sets, islands })
    }

    /// Where the lanes of a chunk lie in it.
    pub(in crate::group) fn lanes(&self) -> Lanes<'_> {
        Lanes { width: self.width, left: self.left.as_ref() }
    }

    /// Where the numbers are now.
    pub(in crate::group) fn of<'a>(&'a self, store: &'a dyn Store<T>) -> Worlds<'a, T> {
        let set = |set: &'a SetBuffers<Seen<T>>| SetBuffers {
            momentum: set.momentum.of(store),
            b: set.b.of(store),
            velocity: set.velocity.of(store),
            motion: set.motion.of(store),
            pose: set.pose.of(store),
            state: set.state.of(store),
            row: set.row.of(store),
            constraint: set.constraint.of(store),
            impulse: set.impulse.of(store),
        };
        let islands = |b: &'a IslandBuffers<Seen<T>>| IslandBuffers {
            jac: b.jac.of(store),
            con: b.con.of(store),
            impulse: b.impulse.of(store),
        };
        Worlds {
            lanes: self.lanes(),
            sides_as: self.sides_as,
            sets: self.sets.iter().map(set).collect(),
            islands: self.islands.as_ref().map_or(IslandBuffers { jac: &[], con: &[], impulse: &[] }, islands),
        }
    }
}

/// Where the lanes of a chunk lie in numbers that were read of it.
#[derive(Clone, Copy)]
pub(in crate::group) struct Lanes<'a> {
    width: usize,
    left: Option<&'a Left>,
}

impl Lanes<'_> {
    /// Which lane of the numbers a lane of a set is that has `k` a world.
    fn of(&self, k: usize, lane: usize) -> usize {
        let place = |left: &Left| left.worlds.partition_point(|&world| world < lane / k);
        self.left.map_or(lane, |left| place(left) * k + lane % k)
    }

    /// Element `e` of a lane, `n` elements a lane; the next one is [`Self::stride`] further.
    pub(in crate::group) fn element(&self, k: usize, lane: usize, n: usize, e: usize) -> usize {
        tile_at(self.width, self.of(k, lane), n, e)
    }

    /// The first slot of a lane of a set; `pack`: how the chunk's lie.
    pub(in crate::group) fn first_slot(&self, pack: &SlotPack, set: usize, k: usize, lane: usize) -> usize {
        self.left.map_or_else(|| pack.begin(lane), |left| self.of(k, lane) * left.slots[set])
    }

    /// The first of the `n` numbers of a slot of a lane, whose slots begin there.
    pub(in crate::group) fn slot(&self, k: usize, lane: usize, begin: usize, slot: usize, n: usize) -> usize {
        slot_at(self.width, self.of(k, lane), begin, slot, n, 0)
    }

    /// From one element of a lane to the next.
    pub(in crate::group) fn stride(&self) -> usize {
        self.width
    }

    /// The first elements of a lane.
    pub(in crate::group) fn gather<T: Copy>(&self, k: usize, lane: usize, numbers: &[T], values: &mut [T]) {
        gather(self.width, self.of(k, lane), numbers, values);
    }
}

/// The worlds of a chunk, by the buffers that their problems are made of.
pub(in crate::group) struct Worlds<'a, T> {
    pub(in crate::group) lanes: Lanes<'a>,
    pub(super) sides_as: Sides,
    pub(in crate::group) sets: Vec<SetBuffers<&'a [T]>>,
    pub(super) islands: IslandBuffers<&'a [T]>,
}

/// What the trees of a world are without constraints.
pub(in crate::group) struct Inertia {
    /// `A` of each, row-major, nothing of soft bodies.
    pub(in crate::group) matrices: Vec<f64>,
    /// Where each tree's begins, and where the last one's ends.
    pub(in crate::group) begins: Vec<usize>,
    /// `[n_v]`
    pub(in crate::group) b: Vec<f64>,
    /// Parent of each degree of freedom, -1 at a root.
    pub(super) parent: Vec<i64>,
}

impl<T: Scalar> Worlds<'_, T> {
    /// The velocity that a world's step ended with, `[n_v]`.
    pub(in crate::group) fn after(&self, shared: &Shared<T>, world: usize) -> Vec<f64> {
        self.by_dof(shared, world, |set, own| (own.velocity, set.layout.dims.n_v as usize, 0))
    }

    /// The velocity of a world before its step, `[n_v]`.
    pub(in crate::group) fn before(&self, shared: &Shared<T>, world: usize) -> Vec<f64> {
        let dims = |set: &TreeSet| set.layout.dims;
        self.by_dof(shared, world, |set, own| (own.state, dims(set).n_state(), dims(set).v_at()))
    }

    /// Positions of a world, `[n_q]`.
    pub(in crate::group) fn q(&self, shared: &Shared<T>, world: usize) -> Vec<f64> {
        let mut all = vec![0.0; shared.model.n_q];
        for (set, own) in shared.sets.iter().zip(&self.sets) {
            for (j, &tree) in set.trees.iter().enumerate() {
                let (k, n) = (set.trees.len(), set.layout.dims.n_state());
                for (i, to) in all[shared.model.trees[tree].q.clone()].iter_mut().enumerate() {
                    *to = own.state[self.lanes.element(k, world * k + j, n, i)].to_f64();
                }
            }
        }
        all
    }

    /// A number a degree of freedom: a buffer, its numbers a lane, and which of them is the first.
    fn by_dof<'b>(
        &'b self,
        shared: &Shared<T>,
        world: usize,
        of: impl Fn(&TreeSet, &'b SetBuffers<&'b [T]>) -> (&'b [T], usize, usize),
    ) -> Vec<f64> {
        let mut all = vec![0.0; shared.model.n_v];
        for (set, own) in shared.sets.iter().zip(&self.sets) {
            let (numbers, n, first) = of(set, own);
            for (j, &tree) in set.trees.iter().enumerate() {
                let k = set.trees.len();
                for (i, to) in all[shared.model.trees[tree].v.clone()].iter_mut().enumerate() {
                    *to = numbers[self.lanes.element(k, world * k + j, n, first + i)].to_f64();
                }
            }
        }
        all
    }

    /// `A` and `b` of the trees of a world.
    pub(in crate::group) fn inertia(&self, shared: &Shared<T>, world: usize) -> Inertia {
        let model = &shared.model;
        let mut parent = vec![-1; model.n_v];
        let ends = model.trees.iter().scan(0, |end, tree| {
            *end += if tree.soft.is_some() { 0 } else { tree.v.len() * tree.v.len() };
            Some(*end)
        });
        let begins: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let mut matrices = vec![0.0; begins[model.trees.len()]];
        let mut entries = Vec::new();
        for (set, own) in shared.sets.iter().zip(&self.sets).filter(|(set, _)| !set.is_soft()) {
            let (tree, n) = (set.layout.tree(), set.layout.dims.n_v as usize);
            entries.resize(set.layout.dims.n_m as usize, T::default());
            for (j, &of) in set.trees.iter().enumerate() {
                let begin = model.trees[of].v.start;
                for (i, dof) in tree.dofs.iter().enumerate() {
                    if dof.parent != NONE {
                        parent[begin + i] = (begin + dof.parent as usize) as i64;
                    }
                }
                let k = set.trees.len();
                self.lanes.gather(k, world * k + j, own.momentum, &mut entries);
                fill_dense(&tree, &entries, 0, n, &mut matrices[begins[of]..begins[of + 1]]);
            }
        }
        let b = self.by_dof(shared, world, |set, own| (own.b, set.layout.dims.n_v as usize, 0));
        Inertia { matrices, begins, b, parent }
    }
}

/// A branch-sparse symmetric matrix into its place of a dense one.
pub(in crate::group) fn fill_dense<T: Scalar>(tree: &Tree, entries: &[T], begin: usize, n_v: usize, to: &mut [f64]) {
    for (i, dof) in tree.dofs.iter().enumerate() {
        let mut j = i;
        for k in 0..dof.chain as usize {
            let x = entries[dof.m_begin as usize + k].to_f64();
            to[(begin + i) * n_v + begin + j] = x;
            to[(begin + j) * n_v + begin + i] = x;
            j = tree.dofs[j].parent as usize;
        }
    }
}
