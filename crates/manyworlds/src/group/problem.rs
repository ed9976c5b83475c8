//! The contact problem of one world's last step, read back from the buffers its solver worked on.

use manyworlds_collide::{Contact, Precision as CollidePrecision};
use manyworlds_contact::problem::{Compliance, ConstraintInput, ProblemInput, SideInput};
use manyworlds_contact::{ContactProblem, Law};
use manyworlds_gpu::{BufferId, Store};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{UNBOUNDED, con};
use manyworlds_shaders::contact::tree_layout::{row, row_stride, slot, slot_reals};
use manyworlds_shaders::dynamics::tree::{NONE, Tree};
use manyworlds_shaders::index::{gather, slot_at, tile_at};

use super::chunk::Chunk;
use super::inspect::fill_dense;
use super::shared::Shared;
use crate::host::{self, Packed, Place, SideTree};
use crate::{Error, StepProblem};

/// A constraint, what it carries, and where that stands.
struct Answered {
    input: ConstraintInput,
    impulse: [f64; 3],
    home: Home,
}

/// Where the impulses of a constraint stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Home {
    /// Three numbers of a slot of a set: the first, and how far the next is.
    Slot { set: usize, at: usize, stride: usize },
    /// One number of a row of a set, and the constraint of an island that it also is.
    Row { set: usize, at: usize, constraint: Option<usize> },
    /// Three numbers of a constraint of an island.
    Island { constraint: usize },
}

impl Home {
    /// The constraint of an island that solves it.
    fn island(self) -> Option<usize> {
        match self {
            Self::Island { constraint } => Some(constraint),
            Self::Slot { .. } | Self::Row { .. } => None,
        }
    }
}

/// The problem of one world with what its constraints carry and where that stands.
pub(super) struct WorldProblem {
    pub(super) problem: ContactProblem,
    /// `[n_rows]`
    pub(super) impulse: Vec<f64>,
    /// By constraint.
    pub(super) homes: Vec<Home>,
    /// `[n_v]`
    velocity: Vec<f64>,
}

/// Reads one world of a chunk, its step done.
pub(super) fn problem<T: Scalar + CollidePrecision, S: Store<T>>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T, S>,
    world: usize,
) -> Result<StepProblem, Error> {
    chunk.finish()?;
    let WorldProblem { problem, impulse, velocity, .. } =
        Reading::new(chunk, When::After)?.world(shared, &chunk.host.packed(), world)?;
    Ok(StepProblem { problem, impulse, velocity })
}

/// Whether a step is over, or its impulses are still being looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Within the step.
    Within,
    /// Since then impulses have changed buffers.
    After,
}

/// The buffers of a chunk that its problems are made of, on the host.
pub(super) struct Reading<T> {
    pub(super) sets: Vec<SetReader<T>>,
    pub(super) islands: IslandReader<T>,
}

impl<T: Scalar + CollidePrecision> Reading<T> {
    pub(super) fn new<S: Store<T>>(chunk: &mut Chunk<T, S>, when: When) -> Result<Self, Error> {
        let sets = (0..chunk.sets.len()).map(|index| SetReader::new(chunk, index, when)).collect::<Result<_, _>>()?;
        Ok(Self { sets, islands: IslandReader::new(chunk, when)? })
    }

    /// The problem of one world.
    pub(super) fn world(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> Result<WorldProblem, Error> {
        let n_v = shared.model.n_v;
        let (mut input, mut velocity) = (subsystems(shared), vec![0.0; n_v]);
        let (mut blocks, mut rows) = (Vec::new(), Vec::new());
        // Of trees that are islands by themselves: lane and first slot of its tile.
        let mut alone = vec![None; shared.model.trees.len()];
        for (index, (set, reader)) in shared.sets.iter().zip(&self.sets).enumerate() {
            let (tree, n) = (set.layout.tree(), set.layout.dims.n_v as usize);
            for (j, &model_tree) in set.trees.iter().enumerate() {
                let lane = world * set.trees.len() + j;
                let begin = shared.model.trees[model_tree].v.start;
                let entries = reader.lane(&reader.momentum, lane, set.layout.dims.n_m as usize);
                fill_dense(&tree, &entries, 0, n, &mut input.a[model_tree]);
                input.b[begin..begin + n].copy_from_slice(&reader.lane(&reader.b, lane, n));
                velocity[begin..begin + n].copy_from_slice(&reader.lane(&reader.velocity, lane, n));
                let is_shared = host.is_shared(world, model_tree);
                let k = set.trees.len();
                let constraint = |row| if is_shared { host.islands.row_of(index, k, lane, row) } else { None };
                rows.extend(reader.rows(&tree, lane, model_tree, constraint));
                if !is_shared {
                    let begin = host.packs[index].begin(lane);
                    alone[model_tree] = Some((lane, begin));
                    for (s, block) in tree.blocks.iter().enumerate() {
                        blocks.push(reader.slot(&tree, lane, begin, s, model_tree, [block.body_a, block.body_b]));
                    }
                }
            }
            // Contacts that this set's trees solve by themselves.
            let own = &host.worlds[world];
            for (contact, &place) in own.contacts.iter().zip(&own.places) {
                let bodies = contact.bodies.map(|b| shared.host.lanes.bodies[b as usize]);
                let Some(tree_of) = bodies.iter().flatten().next().map(|b| b.tree) else { continue };
                if let (Place::Slot(s), Some((lane, begin))) = (place, alone[tree_of])
                    && shared.host.lanes.trees[tree_of].set == index
                {
                    let local = bodies.map(|b| b.map_or(NONE, |b| b.local as u32));
                    let mut slot = reader.slot(&tree, lane, begin, s as usize, tree_of, local);
                    slot.input.compliance = compliance(shared, host, world, contact);
                    blocks.push(slot);
                }
            }
        }
        let first = blocks.len();
        blocks.extend(self.islands.world(shared, host, world));
        let (of_islands, own) = (&mut blocks[first..], &host.worlds[world]);
        for (contact, &place) in own.contacts.iter().zip(&own.places) {
            // They are in the order of their numbers.
            if let Place::Island(at) = place
                && let Ok(found) = of_islands.binary_search_by_key(&Some(at as usize), |block| block.home.island())
            {
                of_islands[found].input.compliance = compliance(shared, host, world, contact);
            }
        }
        // Contacts first, then what holds.
        blocks.sort_by_key(|block| !matches!(block.input.law, Law::Contact { .. }));
        let impulse =
            blocks.iter().flat_map(|block| block.impulse).chain(rows.iter().map(|row| row.impulse[0])).collect();
        let homes = blocks.iter().chain(&rows).map(|answered| answered.home).collect();
        input.constraints = blocks.into_iter().chain(rows).map(|answered| answered.input).collect();
        let problem = ContactProblem::new(input).map_err(|error| Error::NoProblem { world, why: error.to_string() })?;
        Ok(WorldProblem { problem, impulse, homes, velocity })
    }
}

/// How a contact of a world gives way over a step.
fn compliance<T: Scalar + CollidePrecision>(
    shared: &Shared<T>,
    host: &Packed<'_, T>,
    world: usize,
    contact: &Contact<T>,
) -> Option<Compliance> {
    let tree = contact.bodies.iter().find_map(|&b| shared.host.lanes.bodies[b as usize])?.tree;
    let geoms = contact.geoms.map(|geom| &shared.model.geoms[geom as usize].contact);
    host::compliance(geoms, host.timestep(world, tree), contact)
}

/// One subsystem a tree, without numbers.
fn subsystems<T: Scalar + CollidePrecision>(shared: &Shared<T>) -> ProblemInput {
    let model = &shared.model;
    let mut input = ProblemInput { b: vec![0.0; model.n_v], parent: vec![-1; model.n_v], ..Default::default() };
    for tree in &model.trees {
        input.subsystems.push([tree.v.start, tree.v.len()]);
        input.a.push(vec![0.0; tree.v.len() * tree.v.len()]);
    }
    for set in &shared.sets {
        for &tree in &set.trees {
            let begin = model.trees[tree].v.start;
            for (i, dof) in set.layout.tree().dofs.iter().enumerate() {
                if dof.parent != NONE {
                    input.parent[begin + i] = (begin + dof.parent as usize) as i64;
                }
            }
        }
    }
    input
}

/// The buffers of one set that a problem is made of, on the host.
pub(super) struct SetReader<T> {
    set: usize,
    pub(super) width: usize,
    n_row_real: usize,
    momentum: Vec<T>,
    b: Vec<T>,
    pub(super) velocity: Vec<T>,
    pub(super) row: Vec<T>,
    constraint: Vec<T>,
    pub(super) impulse: Vec<T>,
}

impl<T: Scalar + CollidePrecision> SetReader<T> {
    fn new<S: Store<T>>(chunk: &mut Chunk<T, S>, set: usize, when: When) -> Result<Self, Error> {
        let (b, odd) = (chunk.sets[set].step.buffers, chunk.sets[set].step.odd);
        Ok(Self {
            set,
            width: chunk.store.tile(),
            n_row_real: chunk.sets[set].n_row_real(),
            momentum: whole(chunk, b.momentum)?,
            b: whole(chunk, b.b)?,
            velocity: whole(chunk, b.velocity)?,
            row: whole(chunk, b.row)?,
            constraint: whole(chunk, b.constraint)?,
            impulse: whole(chunk, b.impulses(odd ^ (when == When::After))[1])?,
        })
    }

    /// `n` numbers of a lane.
    fn lane(&self, buffer: &[T], lane: usize, n: usize) -> Vec<f64> {
        let mut values = vec![T::default(); n];
        gather(self.width, lane, buffer, &mut values);
        values.into_iter().map(Scalar::to_f64).collect()
    }

    /// The rows of a tree that could act, solved by it or by its island, as which `constraint` of a row's number.
    fn rows(
        &self,
        tree: &Tree,
        lane: usize,
        subsystem: usize,
        constraint: impl Fn(usize) -> Option<usize>,
    ) -> Vec<Answered> {
        let n_v = tree.dofs.len();
        let all = self.lane(&self.row, lane, self.n_row_real);
        let own = all.chunks_exact(row_stride(n_v)).zip(tree.rows).enumerate();
        own.filter(|(_, (r, _))| r[row::ACTIVE] != 0.0)
            .map(|(i, (r, record))| {
                let mut jacobian = vec![0.0; n_v];
                for k in 0..record.count as usize {
                    jacobian[record.dofs[k] as usize] = r[row::COEFFICIENT + k];
                }
                let side = SideInput { subsystem, body: None, jacobian };
                let law = row_law(r[row::COMPLIANCE], r[row::LOWER], r[row::UPPER]);
                let at = tile_at(self.width, lane, self.n_row_real, i * row_stride(n_v) + row::IMPULSE);
                Answered {
                    input: ConstraintInput { law, e: [r[row::BIAS], 0.0, 0.0], sides: vec![side], compliance: None },
                    impulse: [r[row::IMPULSE], 0.0, 0.0],
                    home: Home::Row { set: self.set, at, constraint: constraint(i) },
                }
            })
            .collect()
    }

    /// A block or contact that a tree solves by itself; `bodies` within the tree.
    fn slot(&self, tree: &Tree, lane: usize, begin: usize, s: usize, subsystem: usize, bodies: [u32; 2]) -> Answered {
        let n_v = tree.dofs.len();
        let read = |from: &[T], n: usize, f: usize| from[slot_at(self.width, lane, begin, s, n, f)].to_f64();
        let numbers: Vec<f64> = (0..slot::J + 3 * n_v).map(|f| read(&self.constraint, slot_reals(n_v), f)).collect();
        let sides = parts(tree, subsystem, bodies, &numbers[slot::J..]);
        let e = std::array::from_fn(|k| numbers[slot::BIAS + k]);
        let law = block_law(numbers[slot::MU]);
        let at = slot_at(self.width, lane, begin, s, 3, 0);
        Answered {
            input: ConstraintInput { law, e, sides, compliance: None },
            impulse: std::array::from_fn(|k| read(&self.impulse, 3, k)),
            home: Home::Slot { set: self.set, at, stride: self.width },
        }
    }
}

/// The buffers of islands of several trees that a problem is made of, on the host.
pub(super) struct IslandReader<T> {
    jac: Vec<T>,
    con: Vec<T>,
    pub(super) impulse: Vec<T>,
}

impl<T: Scalar + CollidePrecision> IslandReader<T> {
    fn new<S: Store<T>>(chunk: &mut Chunk<T, S>, when: When) -> Result<Self, Error> {
        if chunk.host.islands.is_empty() {
            return Ok(Self { jac: Vec::new(), con: Vec::new(), impulse: Vec::new() });
        }
        let (b, odd) = (chunk.islands.buffers, chunk.islands.odd);
        let impulse = whole(chunk, b.impulses(odd ^ (when == When::After))[1])?;
        Ok(Self { jac: whole(chunk, b.jac)?, con: whole(chunk, b.con)?, impulse })
    }

    /// Contacts and blocks of a world that islands of several trees solve.
    fn world(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> Vec<Answered> {
        let answered = |(at, trees): (usize, Vec<SideTree>)| {
            let c = &self.con[con::SIZE * at..][..con::SIZE];
            let mut sides = Vec::new();
            for SideTree { set, lane, jac: from, bodies } in trees {
                let own = &shared.sets[set];
                let n_v = own.layout.dims.n_v as usize;
                let j: Vec<f64> = self.jac[from..from + 3 * n_v].iter().map(|x| x.to_f64()).collect();
                sides.extend(parts(&own.layout.tree(), own.trees[lane % own.trees.len()], bodies, &j));
            }
            let e = std::array::from_fn(|k| c[con::BIAS + k].to_f64());
            let law = block_law(c[con::FRICTION].to_f64());
            Answered {
                input: ConstraintInput { law, e, sides, compliance: None },
                impulse: std::array::from_fn(|k| self.impulse[3 * at + k].to_f64()),
                home: Home::Island { constraint: at },
            }
        };
        host.islands.blocks_of(world).into_iter().map(answered).collect()
    }
}

/// A whole buffer.
pub(super) fn whole<T: Scalar + CollidePrecision, S: Store<T>>(
    chunk: &mut Chunk<T, S>,
    buffer: BufferId,
) -> Result<Vec<T>, Error> {
    let mut all = vec![T::default(); chunk.store.len(buffer)];
    chunk.store.read(buffer, &mut all)?;
    Ok(all)
}

/// `J`, `[3, n_v]`, of one tree by the bodies that it is about. Dofs that move both bodies move neither relative to the
/// other and are zero in `J`; so each part is that of its body relative to where the two chains meet.
fn parts(tree: &Tree, subsystem: usize, bodies: [u32; 2], j: &[f64]) -> Vec<SideInput> {
    let n_v = tree.dofs.len();
    let moved = |body: u32, i: usize| {
        let dof = &tree.dofs[i];
        body != NONE && dof.body <= body && body < dof.subtree_end
    };
    let part = |body: u32| {
        let jacobian = (0..3 * n_v).map(|at| if moved(body, at % n_v) { j[at] } else { 0.0 }).collect();
        SideInput { subsystem, body: Some(body as usize), jacobian }
    };
    bodies.into_iter().filter(|&body| body != NONE).map(part).collect()
}

/// The law of three rows by what their friction says.
fn block_law(friction: f64) -> Law {
    if friction < 0.0 { Law::Block } else { Law::Contact { mu: friction } }
}

/// The law of a row `J v + e + c lambda = 0` between bounds.
fn row_law(compliance: f64, lower: f64, upper: f64) -> Law {
    let open = |x: f64| if x.abs() >= UNBOUNDED { f64::INFINITY.copysign(x) } else { x };
    let (lo, hi) = (open(lower), open(upper));
    if compliance > 0.0 {
        let b = compliance.recip();
        return Law::Soft { k: b, b, lo, hi };
    }
    match (lo, hi) {
        (f64::NEG_INFINITY, f64::INFINITY) => Law::Bilateral,
        (0.0, f64::INFINITY) => Law::Unilateral,
        _ => Law::Box { lo, hi },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_the_law_of_their_bounds() {
        assert_eq!(row_law(0.0, -1e30, 1e30), Law::Bilateral);
        // As f32 has it.
        assert_eq!(row_law(0.0, 0.0, f64::from(1e30_f32)), Law::Unilateral);
        assert_eq!(row_law(0.0, -0.5, 0.5), Law::Box { lo: -0.5, hi: 0.5 });
        let soft = Law::Soft { k: 4.0, b: 4.0, lo: -2.0, hi: f64::INFINITY };
        assert_eq!(row_law(0.25, -2.0, 1e30), soft);
        assert_eq!(block_law(-1.0), Law::Block);
        assert_eq!(block_law(0.0), Law::Contact { mu: 0.0 });
    }
}
