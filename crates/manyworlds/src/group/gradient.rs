//! Derivatives of one world's last step: gathers what the step was, for `manyworlds_gradients`.

use manyworlds_collide::derivatives::ContactGeometry;
use manyworlds_collide::{Contact, Precision as CollidePrecision};
use manyworlds_gpu::Store;
use manyworlds_gradients::{BlockInput, ContactInput, Jacobian, StepInput, TreeInput, jacobian};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{row as row_part, row_stride};
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL};
use manyworlds_shaders::index::{gather, slot_at};

use super::chunk::Chunk;
use super::shared::Shared;
use crate::host::{Frames, Law, Place};
use crate::{Error, Summary};

/// One tree of the world.
struct OwnTree {
    set: usize,
    lane: usize,
    params: Vec<f64>,
    state: Vec<f64>,
    rows: Vec<f64>,
    pose: Vec<f64>,
    controls: Vec<usize>,
}

/// Derivatives of the last step of a world of a chunk that keeps the states before its steps.
pub(super) fn gradient<T: Scalar + CollidePrecision, S: Store<T>>(
    shared: &Shared<T>,
    geometry: &ContactGeometry,
    chunk: &mut Chunk<T, S>,
    world: usize,
    summary: &Summary,
    tolerance: f64,
) -> Result<Jacobian, Error> {
    chunk.finish()?;
    let trees = (0..shared.model.trees.len())
        .map(|tree| own_tree(shared, chunk, world, tree))
        .collect::<Result<Vec<_>, Error>>()?;
    let place = |body: u32| shared.host.lanes.bodies[body as usize].map(|place| (place.tree, place.local));
    let pose = |body: usize| -> [f64; POSE] {
        let Some(place) = shared.host.lanes.bodies[body] else { return [0.0; POSE] };
        std::array::from_fn(|k| trees[place.tree].pose[POSE * place.local + k])
    };
    let sizes = chunk
        .geoms
        .as_ref()
        .map_or_else(Vec::new, |geoms| geoms.of(world).sizes.iter().map(|size| size.map(Scalar::to_f64)).collect());
    let mut contacts = Vec::new();
    for i in 0..chunk.host.worlds[world].contacts.len() {
        let from = chunk.host.worlds[world].contacts[i];
        let contact = Contact {
            geoms: from.geoms,
            bodies: from.bodies,
            point: from.point.map(Scalar::to_f64),
            normal: from.normal.map(Scalar::to_f64),
            distance: from.distance.to_f64(),
            friction: from.friction.to_f64(),
            restitution: from.restitution.to_f64(),
            feature: from.feature,
        };
        let bodies = contact.bodies.map(place);
        let tree = bodies.iter().flatten().next().map(|body| body.0);
        let impulse = match (chunk.host.worlds[world].places[i], tree) {
            (Place::Slot(slot), Some(tree)) => slot_impulse(chunk, trees[tree].set, trees[tree].lane, slot)?,
            (Place::Island(at), _) => island_impulse(chunk, at)?,
            (Place::Slot(_), None) => [0.0; 3],
        };
        contacts.push(ContactInput {
            bodies,
            point: contact.point,
            normal: contact.normal,
            distance: contact.distance,
            friction: contact.friction,
            restitution: contact.restitution,
            impulse,
            // One that carries nothing has no say, unless it is just about to.
            slope: if impulse == [0.0; 3] {
                Err("a contact that is just about to close".into())
            } else {
                geometry.slope(&contact, pose, &sizes)
            },
        });
    }
    let input = StepInput {
        trees: trees
            .iter()
            .map(|tree| TreeInput {
                layout: &shared.sets[tree.set].layout,
                params: &tree.params,
                state: &tree.state,
                rows: &tree.rows,
            })
            .collect(),
        contacts,
        blocks: blocks(shared, chunk, world, &trees)?,
        controls: trees.iter().map(|tree| &tree.controls[..]).collect(),
    };
    let mut out = jacobian(&input);
    let problems = &mut out.certificate.problems;
    if summary.failed() {
        problems.push(format!("the world failed: {}", summary.status_name()));
    } else if summary.residual > tolerance || summary.residual.is_nan() {
        problems.push(format!("the contact solver stopped at a residual of {:.1e} N s", summary.residual));
    }
    Ok(out)
}

fn own_tree<T: Scalar + CollidePrecision, S: Store<T>>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T, S>,
    world: usize,
    tree: usize,
) -> Result<OwnTree, Error> {
    let place = shared.host.lanes.trees[tree];
    let set = &shared.sets[place.set];
    let (dims, b) = (set.layout.dims, chunk.sets[place.set].step.buffers);
    let lane = chunk.sets[place.set].lane(world, place.index);
    let kept = chunk.before.as_ref().filter(|kept| kept.whole.get(world) == Some(&true));
    let before = kept.and_then(|kept| kept.states.get(place.set)).ok_or(Error::NoGradient)?;
    let mut state = vec![T::default(); dims.n_state()];
    gather(chunk.store.tile(), lane, before, &mut state);
    let state: Vec<f64> = state.into_iter().map(Scalar::to_f64).collect();
    let params = if chunk.sets[place.set].step.dims.param_lanes == 1 {
        chunk.read_lane(b.lane_params, lane, dims.n_param as usize)?
    } else {
        set.params[place.index].clone()
    };
    let structure = set.layout.tree();
    let stride = row_stride(dims.n_v as usize);
    let numbers = chunk.read_lane(b.row, lane, chunk.sets[place.set].n_row_real())?;
    let rows = (0..structure.rows.len()).map(|i| numbers[i * stride + row_part::IMPULSE]).collect();
    let mut pose = vec![0.0; POSE * dims.n_body as usize];
    let mut motion = vec![0.0; SPATIAL * dims.n_v as usize];
    kinematics(&structure, Params::<f64>::Shared(&params), &state, &mut pose, &mut motion);
    let controls = set.actuators[place.index].clone();
    Ok(OwnTree { set: place.set, lane, params, state, rows, pose, controls })
}

/// Impulse of a slot of a lane.
fn slot_impulse<T: Scalar + CollidePrecision, S: Store<T>>(
    chunk: &mut Chunk<T, S>,
    set: usize,
    lane: usize,
    slot: u32,
) -> Result<[f64; 3], Error> {
    let buffer = chunk.sets[set].step.buffers.impulses(!chunk.sets[set].step.odd)[1];
    let (width, begin) = (chunk.store.tile(), chunk.host.packs[set].begin(lane));
    let mut all = vec![T::default(); chunk.store.len(buffer)];
    chunk.store.read(buffer, &mut all)?;
    Ok(std::array::from_fn(|k| all[slot_at(width, lane, begin, slot as usize, 3, k)].to_f64()))
}

/// Impulse of a constraint of an island of several trees.
fn island_impulse<T: Scalar + CollidePrecision, S: Store<T>>(
    chunk: &mut Chunk<T, S>,
    at: u32,
) -> Result<[f64; 3], Error> {
    let buffer = chunk.islands.buffers.impulses(!chunk.islands.odd)[1];
    let mut all = vec![T::default(); chunk.store.len(buffer)];
    chunk.store.read(buffer, &mut all)?;
    Ok(std::array::from_fn(|k| all.get(3 * at as usize + k).map_or(0.0, |x| x.to_f64())))
}

/// The bilateral blocks of the world.
fn blocks<T: Scalar + CollidePrecision, S: Store<T>>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T, S>,
    world: usize,
    trees: &[OwnTree],
) -> Result<Vec<BlockInput>, Error> {
    let mut out = Vec::new();
    for (id, fixed) in shared.host.fixed.iter().enumerate() {
        let Law::Block(block) = &fixed.law else { continue };
        let own = &trees[fixed.trees[0] as usize];
        let frames = match &block.frames {
            &Frames::OfTree(number) => {
                // Parameters of a lane in the type they were computed in.
                let lane = if chunk.sets[own.set].step.dims.param_lanes == 1 {
                    own.lane
                } else {
                    own.lane % chunk.sets[own.set].k
                };
                chunk.host.params[own.set].frames(lane, number).map(|f| f.map(Scalar::to_f64))
            }
            Frames::Fixed(frames) => frames.map(|f| f.map(Scalar::to_f64)),
        };
        let impulse = match (chunk.host.islands.solved_at(world, id, &shared.host), &block.frames) {
            (Some(at), _) => island_impulse(chunk, at)?,
            (None, &Frames::OfTree(number)) => slot_impulse(chunk, own.set, own.lane, number as u32)?,
            // In no island at all.
            (None, Frames::Fixed(_)) => [0.0; 3],
        };
        out.push(BlockInput {
            bodies: block.bodies.map(|body| body.map(|(_, place)| (place.tree, place.local))),
            angular: block.angular,
            frames,
            impulse,
        });
    }
    Ok(out)
}
