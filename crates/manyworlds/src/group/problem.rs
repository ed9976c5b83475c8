//! The contact problem of one world's last step, read back from the buffers its solver worked on.

use manyworlds_collide::Precision as CollidePrecision;
use manyworlds_contact::problem::{ConstraintInput, ProblemInput, SideInput};
use manyworlds_contact::{ContactProblem, Law};
use manyworlds_gpu::{BufferId, Store};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{UNBOUNDED, con};
use manyworlds_shaders::contact::tree_layout::{row, row_stride, slot, slot_reals};
use manyworlds_shaders::dynamics::tree::{NONE, Tree};
use manyworlds_shaders::index::{gather, slot_at};

use super::chunk::Chunk;
use super::inspect::fill_dense;
use super::shared::Shared;
use crate::host::{Place, SideTree};
use crate::{Error, StepProblem};

/// A constraint and what the step's solver answered, `[3]`.
type Answered = (ConstraintInput, [f64; 3]);

/// Reads one world of a chunk.
pub(super) fn problem<T: Scalar + CollidePrecision, S: Store<T>>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T, S>,
    world: usize,
) -> Result<StepProblem, Error> {
    chunk.finish()?;
    let n_v = shared.model.n_v;
    let (mut input, mut velocity) = (subsystems(shared), vec![0.0; n_v]);
    let (mut blocks, mut rows) = (Vec::new(), Vec::new());
    // Of trees that are islands by themselves: lane and first slot of its tile.
    let mut alone = vec![None; shared.model.trees.len()];
    for (index, set) in shared.sets.iter().enumerate() {
        let reader = SetReader::new(chunk, index)?;
        let (tree, n) = (set.layout.tree(), set.layout.dims.n_v as usize);
        for (j, &model_tree) in set.trees.iter().enumerate() {
            let lane = chunk.sets[index].lane(world, j);
            let begin = shared.model.trees[model_tree].v.start;
            let entries = reader.lane(&reader.momentum, lane, set.layout.dims.n_m as usize);
            fill_dense(&tree, &entries, 0, n, &mut input.a[model_tree]);
            input.b[begin..begin + n].copy_from_slice(&reader.lane(&reader.b, lane, n));
            velocity[begin..begin + n].copy_from_slice(&reader.lane(&reader.velocity, lane, n));
            rows.extend(reader.rows(&tree, lane, model_tree));
            if !chunk.host.is_shared(world, model_tree) {
                let begin = chunk.host.packs[index].begin(lane);
                alone[model_tree] = Some((lane, begin));
                for (s, block) in tree.blocks.iter().enumerate() {
                    blocks.push(reader.slot(&tree, lane, begin, s, model_tree, [block.body_a, block.body_b]));
                }
            }
        }
        // Contacts that this set's trees solve by themselves.
        let own = &chunk.host.worlds[world];
        for (contact, &place) in own.contacts.iter().zip(&own.places) {
            let bodies = contact.bodies.map(|b| shared.host.lanes.bodies[b as usize]);
            let Some(tree_of) = bodies.iter().flatten().next().map(|b| b.tree) else { continue };
            if let (Place::Slot(s), Some((lane, begin))) = (place, alone[tree_of])
                && shared.host.lanes.trees[tree_of].set == index
            {
                let local = bodies.map(|b| b.map_or(NONE, |b| b.local as u32));
                blocks.push(reader.slot(&tree, lane, begin, s as usize, tree_of, local));
            }
        }
    }
    blocks.extend(islands(shared, chunk, world)?);
    // Contacts first, then what holds.
    blocks.sort_by_key(|(c, _)| !matches!(c.law, Law::Contact { .. }));
    let impulse = blocks.iter().flat_map(|(_, x)| *x).chain(rows.iter().map(|(_, x)| x[0])).collect();
    input.constraints = blocks.into_iter().chain(rows).map(|(c, _)| c).collect();
    let problem = ContactProblem::new(input).map_err(|error| Error::NoProblem { world, why: error.to_string() })?;
    Ok(StepProblem { problem, impulse, velocity })
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
struct SetReader<T> {
    width: usize,
    n_row_real: usize,
    momentum: Vec<T>,
    b: Vec<T>,
    velocity: Vec<T>,
    row: Vec<T>,
    constraint: Vec<T>,
    impulse: Vec<T>,
}

impl<T: Scalar + CollidePrecision> SetReader<T> {
    fn new<S: Store<T>>(chunk: &mut Chunk<T, S>, index: usize) -> Result<Self, Error> {
        let (b, odd) = (chunk.sets[index].step.buffers, chunk.sets[index].step.odd);
        Ok(Self {
            width: chunk.store.tile(),
            n_row_real: chunk.sets[index].n_row_real(),
            momentum: whole(chunk, b.momentum)?,
            b: whole(chunk, b.b)?,
            velocity: whole(chunk, b.velocity)?,
            row: whole(chunk, b.row)?,
            constraint: whole(chunk, b.constraint)?,
            impulse: whole(chunk, b.impulses(!odd)[1])?,
        })
    }

    /// `n` numbers of a lane.
    fn lane(&self, buffer: &[T], lane: usize, n: usize) -> Vec<f64> {
        let mut values = vec![T::default(); n];
        gather(self.width, lane, buffer, &mut values);
        values.into_iter().map(Scalar::to_f64).collect()
    }

    /// The rows of a tree that could act, solved by it or by its island.
    fn rows(&self, tree: &Tree, lane: usize, subsystem: usize) -> Vec<Answered> {
        let n_v = tree.dofs.len();
        let all = self.lane(&self.row, lane, self.n_row_real);
        let own = all.chunks_exact(row_stride(n_v)).zip(tree.rows).filter(|(r, _)| r[row::ACTIVE] != 0.0);
        own.map(|(r, record)| {
            let mut jacobian = vec![0.0; n_v];
            for k in 0..record.count as usize {
                jacobian[record.dofs[k] as usize] = r[row::COEFFICIENT + k];
            }
            let side = SideInput { subsystem, body: None, jacobian };
            let law = row_law(r[row::COMPLIANCE], r[row::LOWER], r[row::UPPER]);
            (ConstraintInput { law, e: [r[row::BIAS], 0.0, 0.0], sides: vec![side] }, [r[row::IMPULSE], 0.0, 0.0])
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
        (ConstraintInput { law, e, sides }, std::array::from_fn(|k| read(&self.impulse, 3, k)))
    }
}

/// Contacts and blocks of a world that islands of several trees solve.
fn islands<T: Scalar + CollidePrecision, S: Store<T>>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T, S>,
    world: usize,
) -> Result<Vec<Answered>, Error> {
    if chunk.host.islands.is_empty() {
        return Ok(Vec::new());
    }
    let b = chunk.islands.buffers;
    let odd = chunk.islands.odd;
    let (jac, cons) = (whole(chunk, b.jac)?, whole(chunk, b.con)?);
    let impulse = whole(chunk, b.impulses(!odd)[1])?;
    let mut out = Vec::new();
    for (at, trees) in chunk.host.islands.blocks_of(world) {
        let c = &cons[con::SIZE * at..][..con::SIZE];
        let mut sides = Vec::new();
        for SideTree { set, lane, jac: from, bodies } in trees {
            let (own, k) = (&shared.sets[set], chunk.sets[set].k);
            let n_v = own.layout.dims.n_v as usize;
            let j: Vec<f64> = jac[from..from + 3 * n_v].iter().map(|x| x.to_f64()).collect();
            sides.extend(parts(&own.layout.tree(), own.trees[lane % k], bodies, &j));
        }
        let e = std::array::from_fn(|k| c[con::BIAS + k].to_f64());
        let law = block_law(c[con::FRICTION].to_f64());
        out.push((ConstraintInput { law, e, sides }, std::array::from_fn(|k| impulse[3 * at + k].to_f64())));
    }
    Ok(out)
}

/// A whole buffer.
fn whole<T: Scalar + CollidePrecision, S: Store<T>>(
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
