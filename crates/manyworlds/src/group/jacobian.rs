//! Jacobians of the last steps of many worlds at once, by kernels: of worlds whose trees are islands by themselves, in double
//! precision. Others, and those about which the kernels are in doubt, are left to `manyworlds_gradients`.

use manyworlds_collide::Precision as CollidePrecision;
use manyworlds_contact::solve::ContactModel;
use manyworlds_gpu::{BufferId, Store};
use manyworlds_gradients::{Bounces, CLOSED, Certificate, GradientRules, LARGEST_RESIDUAL, SMALLEST_PIVOT, integrate_rows};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::{
    System, answer_reals, answer_width, mobility_reals, place, shift_reals, side, sizes, touch, verdict,
};
use manyworlds_shaders::contact::tree_layout::SLOTS;
use manyworlds_shaders::dynamics::derivatives::layout::{Act, slope_reals, work_reals};
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, param};
use manyworlds_shaders::index::{slot_at, tile_at, tile_len};

use super::certify::LOOSE;
use super::chunk::Chunk;
use super::gradient::{Geometry, double};
use super::shared::Shared;
use crate::Error;
use crate::host::Place;

/// Unknown impulses of a lane at most that kernels have room for: their memory grows with the square.
const MOST_UNKNOWNS: usize = 192;
/// Kernels run over all worlds of a chunk: with fewer than this part of them asked for, each by itself is faster.
const LEAST_SHARE: usize = 4;
/// Margins from here on stand for none.
const NO_MARGIN: f64 = 1e29;

/// A world whose Jacobian is asked for, and where the blocks go: dq by q, v, tau, ctrl, then dv; empty ones are not wanted.
pub(crate) struct Wanted<'a> {
    /// Its number in the order that was asked for.
    pub(crate) order: usize,
    /// World of the group.
    pub(crate) world: usize,
    pub(crate) to: [&'a mut [f64]; 8],
}

/// What kernels said of a world.
type Found = (usize, Certificate);

impl<T: Scalar + CollidePrecision> Shared<T> {
    /// Whether kernels differentiate steps of this model by these rules.
    pub(super) fn by_kernels(&self, rules: GradientRules) -> bool {
        T::NAME == f64::NAME
            && self.solver.model() == ContactModel::Exact
            && rules.bounces == Bounces::AsStepped
            && self.sets.iter().all(|set| set.layout.dims.n_block == 0)
    }
}

/// What the host knows of a chunk's lanes before the kernels run.
struct Lanes<T> {
    /// By set.
    poses: Vec<Vec<T>>,
    impulses: Vec<Vec<T>>,
}

impl<T: Scalar + CollidePrecision, S: Store<T>> Chunk<T, S> {
    /// Jacobians of some of its worlds, of which `first` is the first in the group; the others are left in `wanted`.
    pub(super) fn jacobians(
        &mut self,
        geometry: &Geometry,
        rules: GradientRules,
        first: usize,
        wanted: &mut Vec<Wanted>,
    ) -> Result<Vec<Found>, Error> {
        if wanted.len() * LEAST_SHARE < self.n_world || !self.shared.by_kernels(rules) || self.before.is_none() {
            return Ok(Vec::new());
        }
        let (mut taken, rest): (Vec<_>, Vec<_>) =
            std::mem::take(wanted).into_iter().partition(|wanted| self.is_alone(wanted.world - first));
        *wanted = rest;
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let mut summaries = Vec::new();
        self.summarise(&mut summaries)?;
        let tolerance = LOOSE * self.shared.tolerance;
        let lanes = self.look_back()?;
        if !self.lay_out()? {
            wanted.append(&mut taken);
            return Ok(Vec::new());
        }
        let mut touches: Vec<Vec<T>> = self.sets.iter().map(|set| self.no_touch(set)).collect();
        let mut certificates = Vec::with_capacity(taken.len());
        for wanted in &taken {
            let world = wanted.world - first;
            let mut certificate = Certificate::new();
            self.touch_world(geometry, &lanes, world, &mut touches, &mut certificate);
            if let Some(problem) = self.shared.problem(&summaries[world], tolerance) {
                certificate.add_problem(&problem);
            }
            certificates.push(certificate);
        }
        for (set, touch) in self.sets.iter().zip(&touches) {
            self.store.resize(set.step.buffers.touch, touch.len())?;
            self.store.write(set.step.buffers.touch, 0, touch)?;
        }
        self.recording.clear();
        for set in &self.sets {
            set.step.jacobian(CLOSED, SMALLEST_PIVOT, &mut self.recording);
        }
        self.store.run(&self.recording)?;
        let results = Results::new(self)?;
        let mut found = Vec::with_capacity(taken.len());
        for (mut own, mut certificate) in taken.into_iter().zip(certificates) {
            if results.write(&self.shared, own.world - first, &mut own.to, &mut certificate) {
                certificate.judge_margin(false);
                found.push((own.order, certificate));
            } else {
                wanted.push(own);
            }
        }
        Ok(found)
    }

    /// Whether all trees of a world are islands by themselves, the step before is known, and nothing bounces.
    fn is_alone(&self, world: usize) -> bool {
        let kept = self.before.as_ref().is_some_and(|kept| kept.whole.get(world) == Some(&true));
        let contacts = &self.host.worlds[world];
        kept && (0..self.shared.host.lanes.trees.len()).all(|tree| !self.host.is_shared(world, tree))
            && contacts.places.iter().all(|place| matches!(place, Place::Slot(_)))
            && contacts.contacts.iter().all(|contact| contact.restitution.to_f64() <= 0.0)
    }

    /// Frames and motions before the step, and its impulses.
    fn look_back(&mut self) -> Result<Lanes<T>, Error> {
        let width = self.store.tile();
        self.recording.clear();
        for (index, set) in self.sets.iter().enumerate() {
            let (b, dims) = (set.step.buffers, set.step.dims);
            let lanes = dims.lanes as usize;
            let states = self.before.as_ref().and_then(|kept| kept.states.get(index)).ok_or(Error::NoGradient)?;
            for (buffer, n) in [
                (b.before, dims.n_state()),
                (b.before_pose, POSE * dims.n_body as usize),
                (b.before_motion, SPATIAL * dims.n_v as usize),
            ] {
                self.store.resize(buffer, tile_len(width, lanes, n.max(1)))?;
            }
            self.store.write(b.before, 0, states)?;
            set.step.kinematics_before(&mut self.recording);
            self.recording.read(b.before_pose);
        }
        self.store.run(&self.recording)?;
        let mut out = Lanes { poses: Vec::new(), impulses: Vec::new() };
        for set in &self.sets {
            let b = set.step.buffers;
            out.poses.push(copy(&mut self.store, b.before_pose)?);
            out.impulses.push(copy(&mut self.store, b.impulses(!set.step.odd)[1])?);
        }
        Ok(out)
    }

    /// Where the numbers of each tile lie, and room for them; false where a tile needs too much.
    fn lay_out(&mut self) -> Result<bool, Error> {
        let width = self.store.tile();
        for (set, pack) in self.sets.iter().zip(&self.host.packs) {
            let (b, dims) = (set.step.buffers, set.step.dims);
            let lanes = dims.lanes as usize;
            let (mut words, mut at) = (Vec::new(), [0, 0]);
            for slots in pack.slots.chunks_exact(SLOTS) {
                let count = slots[1] as usize;
                let system = System::new(sizes(&dims), count);
                if system.most > MOST_UNKNOWNS {
                    return Ok(false);
                }
                let mut tile = [0; place::SIZE];
                tile[place::BEGIN] = slots[0];
                tile[place::COUNT] = slots[1];
                [tile[place::SYSTEM], tile[place::SHIFT]] = at.map(|at| at as u32);
                words.extend(tile);
                at = [at[0] + system.reals, at[1] + shift_reals(&dims, count)];
            }
            for (buffer, n) in [
                (b.act, Act::new(&dims).reals),
                (b.slope_work, work_reals(&dims)),
                (b.slope, slope_reals(&dims)),
                (b.mobility, mobility_reals(&dims)),
                (b.answer, answer_reals(&dims)),
            ] {
                self.store.resize(buffer, tile_len(width, lanes, n))?;
            }
            // A device binds no empty buffer.
            self.store.resize(b.side, pack.n_slot.max(1) * side::SIZE * width)?;
            self.store.resize(b.system, at[0].max(1) * width)?;
            self.store.resize(b.shift, at[1].max(1) * width)?;
            self.store.resize(b.places, words.len())?;
            self.store.write_index(b.places, 0, &words)?;
        }
        Ok(true)
    }

    /// `touch` of a set without contacts.
    fn no_touch(&self, set: &super::chunk::ChunkSet<T>) -> Vec<T> {
        let width = self.store.tile();
        let index = self.sets.iter().position(|own| std::ptr::eq(own, set)).unwrap_or(0);
        let slots = self.host.packs[index].n_slot.max(1);
        let mut out = vec![T::default(); slots * touch::SIZE * width];
        for slot in out.chunks_exact_mut(touch::SIZE * width) {
            slot[touch::BODIES * width..(touch::BODIES + 2) * width].fill(T::from_f64(-1.0));
        }
        out
    }

    /// What is known of the contacts of a world that carry something.
    fn touch_world(
        &self,
        geometry: &Geometry,
        lanes: &Lanes<T>,
        world: usize,
        touches: &mut [Vec<T>],
        certificate: &mut Certificate,
    ) {
        let (shared, width) = (&self.shared, self.store.tile());
        let own = &self.host.worlds[world];
        let own_sizes: Vec<[f64; 3]> = self.geoms.as_ref().map_or_else(Vec::new, |geoms| {
            geoms.of(world).sizes.iter().map(|size| size.map(Scalar::to_f64)).collect()
        });
        // Zeros for a body that does not move.
        let pose = |body: usize| -> [f64; POSE] {
            let Some(at) = shared.host.lanes.bodies[body] else { return [0.0; POSE] };
            let tree = shared.host.lanes.trees[at.tree];
            let set = &self.sets[tree.set];
            let n = POSE * set.step.dims.n_body as usize;
            let lane = set.lane(world, tree.index);
            std::array::from_fn(|k| lanes.poses[tree.set][tile_at(width, lane, n, POSE * at.local + k)].to_f64())
        };
        for (contact, at) in own.contacts.iter().zip(&own.places) {
            let Place::Slot(slot) = *at else { continue };
            let bodies = contact.bodies.map(|body| shared.host.lanes.bodies[body as usize]);
            let Some(first) = bodies.iter().flatten().next() else { continue };
            let tree = shared.host.lanes.trees[first.tree];
            let lane = self.sets[tree.set].lane(world, tree.index);
            let begin = self.host.packs[tree.set].begin(lane);
            let impulse = |k| lanes.impulses[tree.set][slot_at(width, lane, begin, slot as usize, 3, k)];
            if (0..3).all(|k| impulse(k).to_f64() == 0.0) {
                continue;
            }
            let contact = double(contact);
            let root = shared.model.trees[first.tree].bodies.start;
            let centre = pose(root);
            let mut put = |field: usize, x: f64| {
                let at = slot_at(width, lane, begin, slot as usize, touch::SIZE, field);
                touches[tree.set][at] = T::from_f64(x);
            };
            for (side, body) in bodies.iter().enumerate() {
                put(touch::BODIES + side, body.map_or(-1.0, |body| body.local as f64));
            }
            for k in 0..3 {
                put(touch::ARM + k, contact.point[k] - centre[k]);
                put(touch::NORMAL + k, contact.normal[k]);
            }
            put(touch::DISTANCE, contact.distance);
            match geometry.features.slope(&contact, pose, &own_sizes) {
                Ok(slope) => {
                    for side in 0..2 {
                        for (e, &x) in slope.side(side).as_flattened().iter().enumerate() {
                            put(touch::SLOPES + 42 * side + e, x);
                        }
                    }
                }
                Err(reason) => certificate.add_problem(&reason),
            }
        }
    }
}

fn copy<T: Scalar, S: Store<T>>(store: &mut S, buffer: BufferId) -> Result<Vec<T>, Error> {
    let mut all = vec![T::default(); store.len(buffer)];
    store.read(buffer, &mut all)?;
    Ok(all)
}

/// What the kernels left of a set.
struct SetResults<T> {
    k: usize,
    dims: manyworlds_shaders::dynamics::tree::TreeDims,
    /// Time step of each lane, s.
    steps: Vec<f64>,
    mobility: Vec<T>,
    answer: Vec<T>,
    velocity: Vec<T>,
}

/// What they left of a chunk.
struct Results<T> {
    width: usize,
    sets: Vec<SetResults<T>>,
}

impl<T: Scalar> Results<T> {
    fn new<S: Store<T>>(chunk: &mut Chunk<T, S>) -> Result<Self, Error>
    where
        T: CollidePrecision,
    {
        let width = chunk.store.tile();
        let mut sets = Vec::with_capacity(chunk.sets.len());
        for (set, trees) in chunk.sets.iter().zip(&chunk.shared.sets) {
            let (b, dims) = (set.step.buffers, set.step.dims);
            let lanes = 0..dims.lanes as usize;
            let steps = if dims.param_lanes == 1 {
                let all = copy(&mut chunk.store, b.lane_params)?;
                let n = dims.n_param as usize;
                lanes.map(|lane| all[tile_at(width, lane, n, param::TIMESTEP)].to_f64()).collect()
            } else {
                lanes.map(|lane| T::from_f64(trees.params[lane % set.k][param::TIMESTEP]).to_f64()).collect()
            };
            let [mobility, answer, velocity] = [b.mobility, b.answer, b.velocity];
            sets.push(SetResults {
                k: set.k,
                dims,
                steps,
                mobility: copy(&mut chunk.store, mobility)?,
                answer: copy(&mut chunk.store, answer)?,
                velocity: copy(&mut chunk.store, velocity)?,
            });
        }
        Ok(Self { width, sets })
    }

    /// Writes the blocks of a world; false where its derivative is in doubt: what is left of its equations is too much, or it is
    /// not finite.
    fn write(
        &self,
        shared: &Shared<T>,
        world: usize,
        to: &mut [&mut [f64]; 8],
        certificate: &mut Certificate,
    ) -> bool
    where
        T: CollidePrecision,
    {
        let (n_v, n_u) = (shared.model.n_v, shared.model.actuators.len());
        let widths = [n_v, n_v, n_v, n_u];
        for (tree, place) in shared.host.lanes.trees.iter().enumerate() {
            let set = &self.sets[place.set];
            let (dims, lane) = (&set.dims, world * set.k + place.index);
            let (n, width) = (dims.n_v as usize, answer_width(dims));
            let lane_of = |from: &'_ [T], reals: usize| -> Vec<f64> {
                let first = tile_at(self.width, lane, reals, 0);
                (0..reals).map(|e| from[first + e * self.width].to_f64()).collect()
            };
            let mobility = lane_of(&set.mobility, mobility_reals(dims));
            let answer = lane_of(&set.answer, answer_reals(dims));
            let after = lane_of(&set.velocity, n);
            if !judged(&mobility[n * n..], &answer[n * width..], n, certificate) {
                return false;
            }
            let (h, first) = (set.steps[lane], shared.model.trees[tree].v.start);
            let actuators = &shared.sets[place.set].actuators[place.index];
            let joints = shared.sets[place.set].layout.tree().joints;
            for (block, &wide) in widths.iter().enumerate() {
                let (dq, dv) = to.split_at_mut(4);
                let (dq, dv) = (&mut *dq[block], &mut *dv[block]);
                if dq.is_empty() && dv.is_empty() {
                    continue;
                }
                let rows = first * wide..(first + n) * wide;
                let mut own = Vec::new();
                let dv = if dv.is_empty() {
                    own.resize(n * wide, 0.0);
                    &mut own[..]
                } else {
                    &mut dv[rows.clone()]
                };
                dv.fill(0.0);
                for i in 0..n {
                    let row = &mut dv[i * wide..(i + 1) * wide];
                    let from = &answer[i * width..(i + 1) * width];
                    match block {
                        0 => row[first..first + n].copy_from_slice(&from[..n]),
                        1 => row[first..first + n].copy_from_slice(&from[n..2 * n]),
                        2 => row[first..first + n].iter_mut().zip(&mobility[i * n..]).for_each(|(to, x)| *to = h * x),
                        _ => actuators.iter().zip(&from[2 * n..]).for_each(|(&at, x)| row[at] = *x),
                    }
                }
                if !dq.is_empty() {
                    let own = (block == 0).then_some(first);
                    integrate_rows(joints, h, &after, own, wide, dv, &mut dq[rows]);
                }
            }
        }
        to.iter().all(|block| block.iter().all(|x| x.is_finite()))
    }
}

/// Adds what a lane's equations say of the derivative; whether they leave no doubt.
fn judged(left: &[f64], left_shift: &[f64], n: usize, certificate: &mut Certificate) -> bool {
    let largest = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let verdict = &left[n..];
    let relative = |left: f64, of: f64| if left == 0.0 { 0.0 } else { left / of };
    let residual = verdict[verdict::LEFT]
        .max(relative(largest(&left[..n]), verdict[verdict::LARGEST]))
        .max(relative(largest(left_shift), verdict[verdict::LARGEST_SHIFT]));
    if verdict[verdict::MARGIN] < NO_MARGIN {
        certificate.margin = certificate.margin.min(verdict[verdict::MARGIN]);
    }
    certificate.closed += verdict[verdict::CLOSED] as usize;
    certificate.size += verdict[verdict::SIZE_OF] as usize;
    certificate.rank += verdict[verdict::RANK] as usize;
    certificate.residual = certificate.residual.max(residual);
    if std::env::var("DBG").is_ok() { eprintln!("{:?} left {:.1e} {:.1e} residual {residual:.1e}", verdict, largest(&left[..n]), largest(left_shift)); }
    residual <= LARGEST_RESIDUAL
}
