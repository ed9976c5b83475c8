//! The host's half of a step: collide every world, find islands, look up last step's impulses, pack for upload.

mod adhesion;
mod collide;
mod fixed;
mod islands;
mod lists;
mod loads;
mod nearest;
mod outside;
mod pack;
mod params;
mod picks;
mod ride;
mod soft;
mod surfaces;
mod travel;
mod world;

use std::sync::Arc;
use std::time::Duration;

use manyworlds_gpu::Instant;

use manyworlds_collide::organise::{Links, NONE, Organiser};
use manyworlds_collide::{ABREAST, CollisionModel, Contact, Overrides, Scratch, Side, Travels};
use manyworlds_contact::solve::BatchSolver;
use manyworlds_gpu::Timings;
use manyworlds_model::{Pose, Quat, Vec3};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island_newton::Room;
use manyworlds_shaders::contact::tree_acting;
use manyworlds_shaders::dynamics::tree::{POSE, TreeDims};
use manyworlds_shaders::index::tile_at;
use rayon::prelude::*;

use crate::lanes::LaneMap;
use crate::mocap::{MocapMap, Mocaps};
pub(crate) use adhesion::Adhesion;
use adhesion::AdhesionPack;
use collide::TreeLanes;
pub(crate) use fixed::{Block, Fixed, Frames, Law, fixed};
use islands::Step;
pub(crate) use islands::{IslandPack, IslandParts, SetPart, SideTree};
use loads::LoadPack;
pub(crate) use loads::LoadShape;
pub(crate) use outside::{Outside, Sight};
pub(crate) use pack::{SlotPack, TilePack};
pub(crate) use params::LaneParams;
pub(crate) use ride::Ride;
pub(crate) use soft::{Carrier, SoftShape};
pub(crate) use surfaces::{Surfaces, compliance, give};
pub(crate) use world::{Place, World};

/// Worlds that one task collides in a row with one scratch, unless a tile has more lanes.
const BLOCK: usize = 32;

/// Names of the host's stages.
mod stage {
    /// Contacts from poses.
    pub(super) const COLLIDE: &str = "collide";
    /// Islands, colours, and which contacts were there before.
    pub(super) const ORGANISE: &str = "organise";
    /// Records for upload.
    pub(super) const PACK: &str = "pack";
    /// Worlds that the kernels left unsolved.
    pub(super) const SOLVE: &str = "solve";
}

/// What all chunks of a group share.
#[derive(Debug)]
pub(crate) struct HostModel<T: Scalar> {
    pub(crate) collision: CollisionModel,
    pub(crate) lanes: LaneMap,
    /// What stands on mocap bodies.
    pub(crate) mocaps: MocapMap,
    /// Of each tree set: sizes of a tree, trees of a world.
    pub(crate) sets: Vec<SetShape>,
    /// Constraints that are there in every step; they take part in islands of several trees only.
    pub(crate) fixed: Vec<Fixed<T>>,
    /// Largest distance of a geom's surface from the origin of its body, m.
    pub(crate) lever: f64,
    /// Of bodies that come no farther than this within a step, speculative distances allow for all, m.
    pub(crate) still: f64,
    /// Those of them that are bilateral blocks of one tree.
    pub(crate) blocks: Vec<TreeBlock>,
    /// Whether the solver works on islands alone: then every tree with a constraint is in one, alone in it or not.
    pub(crate) all_in_islands: bool,
    /// Bodies that deform.
    pub(crate) soft: Vec<SoftShape>,
    /// Where the solver's contact is compliant.
    pub(crate) surfaces: Option<Surfaces>,
    /// Sensors that the host computes.
    pub(crate) outside: Option<Outside>,
    /// What actuators make adhere.
    pub(crate) adhesion: Option<Adhesion>,
}

/// A bilateral block of one tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeBlock {
    /// Among the constraints of the model.
    pub(crate) fixed: usize,
    pub(crate) tree: usize,
    /// Within the tree.
    pub(crate) number: u32,
}

/// Sizes of a tree set that the host needs.
#[derive(Debug, Clone)]
pub(crate) struct SetShape {
    pub(crate) dims: TreeDims,
    pub(crate) trees: Vec<usize>,
    /// What sensors feel of contacts.
    pub(crate) loads: Option<LoadShape>,
}

/// Scratch of a run of worlds, and what it makes of them.
#[derive(Default)]
struct Bench<T> {
    /// The slots of their tiles, by set.
    tiles: Vec<Vec<TilePack<T>>>,
    scratch: Scratch,
    /// Where the trees of the worlds side by side are.
    lanes: Vec<TreeLanes>,
    /// By body.
    travel: Vec<Travels>,
    /// Spent on contacts, islands and packing in the run at hand, where it is timed.
    spent: [Duration; 3],
    begins: Vec<u32>,
    touched: Vec<u32>,
    /// Where the nodes of each soft body are, and what moves with those of cages.
    nodes: [Vec<Vec<[f64; 3]>>; 2],
}

/// Where the bodies are and how fast they move: of a tree set, in tile layout, and of mocap bodies. Of a soft body the poses
/// are its state.
pub(crate) struct Moving<'m, T, P, V, A> {
    pub(crate) poses: P,
    pub(crate) speeds: V,
    /// Which static rows of a tree set can act, as [`tree_acting`] says it; empty: any of them.
    pub(crate) acting: A,
    pub(crate) mocaps: &'m Mocaps<T>,
}

/// What was packed for one step, and where it stands.
pub(crate) struct Packed<'a, T: Scalar> {
    pub(crate) worlds: &'a [World],
    pub(crate) packs: &'a [SlotPack],
    pub(crate) islands: &'a IslandPack<T>,
    organisers: &'a [Organiser],
    model: &'a HostModel<T>,
    params: &'a [LaneParams<T>],
}

impl<T: Scalar> Packed<'_, T> {
    /// Time step of a tree of a world, s.
    pub(crate) fn timestep(&self, world: usize, tree: usize) -> f64 {
        let (set, lane) = self.model.lane(world, tree);
        self.params[set].timestep(lane).to_f64()
    }

    /// Whether a tree of a world is in an island with others.
    pub(crate) fn is_shared(&self, world: usize, tree: usize) -> bool {
        is_shared(&self.organisers[world], tree)
    }

    /// Whether every tree of a world is an island by itself.
    pub(crate) fn is_apart(&self, world: usize) -> bool {
        (0..self.model.lanes.trees.len()).all(|tree| !self.is_shared(world, tree))
    }

    /// Gravity of a lane of a tree set, m/s^2.
    pub(crate) fn gravity(&self, set: usize, lane: usize) -> [T; 3] {
        self.params[set].gravity(lane)
    }

    /// How contacts of a lane of a tree set are stabilised, as [`LaneParams::settings`].
    pub(crate) fn settings(&self, set: usize, lane: usize) -> [T; 5] {
        self.params[set].settings(lane)
    }

    /// What a soft body has of its own, as [`LaneParams::soft`].
    pub(crate) fn soft_params(&self, set: usize, lane: usize) -> &[T] {
        self.params[set].soft(lane)
    }
}

/// Contacts of the worlds of one chunk.
pub(crate) struct HostStage<T: Scalar> {
    model: Arc<HostModel<T>>,
    width: usize,
    pub(crate) worlds: Vec<World>,
    /// Islands of each world; only models of several trees have any to find.
    pub(crate) organisers: Vec<Organiser>,
    benches: Vec<Bench<T>>,
    /// Worlds of each: their lanes are whole tiles.
    block: usize,
    /// Whether the contacts at hand were solved, so that the next ones are compared with them.
    solved: bool,
    pub(crate) packs: Vec<SlotPack>,
    /// By set.
    pub(crate) params: Vec<LaneParams<T>>,
    /// Of sets whose sensors feel contacts.
    pub(crate) loads: Vec<Option<LoadPack<T>>>,
    /// Contacts that adhere, by set, where any do.
    pub(crate) adhering: Vec<AdhesionPack<T>>,
    pub(crate) islands: IslandPack<T>,
    /// What the solver's kernels need to know of the islands; none: the host solves every world.
    pub(crate) solver: Option<Box<dyn BatchSolver>>,
    /// Times of the stages, if they are taken.
    timings: Option<Timings>,
}

/// A block's number, its worlds, their organisers, and what a thread works with.
type Task<'a, T> = (usize, ((&'a mut [World], &'a mut [Organiser]), &'a mut Bench<T>));

impl<T: Scalar> HostStage<T> {
    /// `room`: where the solver has Delassus operators of islands written out.
    pub(crate) fn new(
        model: Arc<HostModel<T>>,
        n_world: usize,
        width: usize,
        solver: Option<Box<dyn BatchSolver>>,
        room: Room,
    ) -> Self {
        let n_tree = model.lanes.trees.len();
        let block = BLOCK.next_multiple_of(width);
        let packs = model
            .sets
            .iter()
            .map(|set| SlotPack::new(set.trees.clone(), set.dims.n_block as usize, width, n_world))
            .collect();
        let loads = |(set, of): (usize, &SetShape)| Some(LoadPack::new(set, of.loads.clone()?, n_world));
        let adhering = |adhesion| (0..model.sets.len()).map(move |set| AdhesionPack::new(adhesion, set, n_world));
        Self {
            adhering: model.adhesion.iter().flat_map(adhering).collect(),
            loads: model.sets.iter().enumerate().map(loads).collect(),
            params: model.sets.iter().map(|set| LaneParams::new(&set.dims)).collect(),
            islands: IslandPack::new(&model, n_world, room),
            solver,
            timings: None,
            width,
            worlds: (0..n_world).map(|_| World::new(n_tree, model.n_ride())).collect(),
            organisers: (0..n_world).map(|_| Organiser::default()).collect(),
            benches: (0..n_world.div_ceil(block)).map(|_| Bench::default()).collect(),
            block,
            solved: false,
            packs,
            model,
        }
    }

    /// Collides and organises every world from the body poses of a tree set (tile layout), and packs what the tree
    /// kernels read. `look_back`: what the host knows of a world's last step. Worlds of `stopped` trees have no contacts.
    pub(crate) fn run<'o, 'p, P, V, A>(
        &mut self,
        moving: &Moving<'_, T, P, V, A>,
        look_back: impl Fn(usize, &mut World) + Sync,
        overrides: impl Fn(usize) -> Overrides<'o> + Sync,
        stopped: impl Fn(usize) -> bool + Sync,
    ) where
        P: Fn(usize) -> &'p [T] + Sync,
        V: Fn(usize) -> &'p [T] + Sync,
        A: Fn(usize) -> &'p [u32] + Sync,
        T: 'p,
    {
        let (model, width, block, poses) = (&*self.model, self.width, self.block, &moving.poses);
        let (params, packs, islands) = (&self.params, &self.packs, &self.islands);
        let solved = std::mem::take(&mut self.solved);
        let timed = self.timings.is_some();
        let now = || timed.then(Instant::now);
        let passed = |since: Option<Instant>| since.map_or(Duration::ZERO, |since| since.elapsed());
        // All that is done with a world while it is at hand: from one pass to the next it is out of every cache.
        let work = |(number, ((worlds, organisers), bench)): Task<'_, T>| {
            let first = number * block;
            let clock = now();
            for (i, world) in worlds.iter_mut().enumerate() {
                world.remember(solved);
                look_back(first + i, world);
            }
            for (i, worlds) in worlds.chunks_mut(ABREAST).enumerate() {
                model.collide(moving, params, (width, first + ABREAST * i), &overrides, &stopped, worlds, bench);
            }
            bench.spent[0] += passed(clock);
            let clock = now();
            for (i, (world, organiser)) in worlds.iter_mut().zip(&mut *organisers).enumerate() {
                model.organise((width, first + i), world, &moving.acting, organiser, bench);
            }
            bench.spent[1] += passed(clock);
            let clock = now();
            let shared = |world: usize, tree: usize| is_shared(&organisers[world], tree);
            let was_here = |world: usize, tree: usize, block: usize| {
                islands.was_in_tree(first + world, model.block(tree, block), model)
            };
            bench.tiles.resize_with(packs.len(), Vec::new);
            for (pack, tiles) in packs.iter().zip(&mut bench.tiles) {
                pack.pack(worlds, &model.lanes, shared, was_here, tiles);
            }
            bench.spent[2] += passed(clock);
        };
        let (worlds, organisers, benches) = (&mut self.worlds, &mut self.organisers, &mut self.benches);
        if worlds.len() > block {
            let blocks = worlds.par_chunks_mut(block).zip(organisers.par_chunks_mut(block)).zip(benches);
            blocks.enumerate().for_each(work);
        } else {
            let blocks = worlds.chunks_mut(block).zip(organisers.chunks_mut(block)).zip(benches);
            blocks.enumerate().for_each(work);
        }
        let clock = now();
        let organisers = &self.organisers;
        for (set, pack) in self.packs.iter_mut().enumerate() {
            pack.set_slots(self.benches.iter().flat_map(|bench| &bench.tiles[set]).map(|tile| tile.slots));
        }
        let pose = |world: usize, body: usize| model.pose(poses, width, world, body);
        let step = Step { model, packs: &self.packs, params: &self.params, pose };
        self.islands.pack(&step, &mut self.worlds, |world| organisers[world].plan());
        for loads in self.loads.iter_mut().flatten() {
            let pose = |world: usize, body: usize| match model.lanes.bodies[body] {
                Some(_) => model.pose(poses, width, world, body).map(Scalar::to_f64),
                None => moving.mocaps.of(&model.mocaps, world, body).unwrap_or_default(),
            };
            loads.pack(&self.worlds, &model.lanes, &self.packs, pose);
        }
        if let Some(adhesion) = &model.adhesion {
            let origin = |world: usize, tree: usize| model.origin(poses, width, world, tree);
            self.adhering.iter_mut().for_each(|pack| pack.pack(adhesion, &self.worlds, &model.lanes, origin));
        }
        if let Some(solver) = &mut self.solver {
            self.islands.pack_for(&mut **solver);
        }
        let packing = passed(clock);
        if let Some(timings) = &mut self.timings {
            let mut add = |name, spent: Duration| timings.add(name, spent.as_secs_f64() * 1e3);
            for bench in &mut self.benches {
                let [collide, organise, pack] = std::mem::take(&mut bench.spent);
                add(stage::COLLIDE, collide);
                add(stage::ORGANISE, organise);
                add(stage::PACK, pack);
            }
            add(stage::PACK, packing);
        }
    }

    /// Turns the timing of the stages on or off, and forgets what was timed.
    pub(crate) fn time(&mut self, on: bool) {
        self.timings = on.then(Timings::default);
    }

    /// Takes in the time that the host spent on solving, if times are taken.
    pub(crate) fn spent_solving(&mut self, spent: Duration) {
        if let Some(timings) = &mut self.timings {
            timings.add(stage::SOLVE, spent.as_secs_f64() * 1e3);
        }
    }

    /// What the stages took so far; nothing when they are not timed.
    pub(crate) fn timings(&self) -> &[(&'static str, f64)] {
        self.timings.as_ref().map_or(&[], |timings| &timings.stages)
    }

    /// The step at hand.
    pub(crate) fn packed(&self) -> Packed<'_, T> {
        Packed {
            worlds: &self.worlds,
            packs: &self.packs,
            islands: &self.islands,
            organisers: &self.organisers,
            model: &self.model,
            params: &self.params,
        }
    }

    /// Whether a tree of a world was in an island with others in the step at hand.
    pub(crate) fn is_shared(&self, world: usize, tree: usize) -> bool {
        is_shared(&self.organisers[world], tree)
    }

    /// Makes the present contacts those of the step before. Call when they have been solved.
    pub(crate) fn remember(&mut self) {
        // Of each world when it is looked at next.
        self.solved = true;
        self.islands.remember();
    }

    /// Does now what [`Self::remember`] leaves to the next step.
    pub(crate) fn catch_up(&mut self) {
        let solved = std::mem::take(&mut self.solved);
        self.worlds.iter_mut().for_each(|world| world.remember(solved));
    }

    /// The slots of a set's tiles, in their order.
    pub(crate) fn tiles(&self, set: usize) -> impl Iterator<Item = &TilePack<T>> {
        self.benches.iter().flat_map(move |bench| &bench.tiles[set])
    }

    /// Forgets the impulses of a world's last step.
    pub(crate) fn forget(&mut self, world: usize) {
        self.worlds[world].forget();
        self.islands.forget(world, &self.model);
    }
}

/// A frame as collision takes it: in f32 a rotation is of unit length to 1e-7 only.
fn unit<T: Scalar>(pose: [T; POSE]) -> [f64; POSE] {
    let mut pose = pose.map(Scalar::to_f64);
    if T::NAME != f64::NAME {
        let square = pose[3..].iter().map(|x| x * x).sum::<f64>();
        // 1 / sqrt(square) to the second order, as near one as kernels leave it; that is exact, and costs no root.
        let scale = if (square - 1.0).abs() < 1e-5 { 1.5 - 0.5 * square } else { square.sqrt().recip() };
        pose[3..].iter_mut().for_each(|x| *x *= scale);
    }
    pose
}

/// A frame as geometry takes it: a position, then a quaternion, w first.
pub(crate) fn frame<T: Scalar>(pose: [T; POSE]) -> Pose {
    let [x, y, z, w, i, j, k] = pose.map(Scalar::to_f64);
    Pose::from_parts(Vec3::new(x, y, z).into(), Quat::from_quaternion(nalgebra::Quaternion::new(w, i, j, k)))
}

/// Whether a tree is part of an island with other trees.
fn is_shared(organiser: &Organiser, tree: usize) -> bool {
    organiser.plan().island_of.get(tree).is_some_and(|&island| island != NONE)
}

impl<T: Scalar> HostModel<T> {
    /// World frame of a body of a model.
    #[inline(always)]
    fn pose<'p>(&self, poses: &impl Fn(usize) -> &'p [T], width: usize, world: usize, body: usize) -> [T; POSE]
    where
        T: 'p,
    {
        let Some(place) = self.lanes.bodies[body] else {
            // Islands ask for bodies of trees only.
            return [T::default(); POSE];
        };
        let tree = self.lanes.trees[place.tree];
        let set = &self.sets[tree.set];
        let lane = world * set.trees.len() + tree.index;
        let first = tile_at(width, lane, POSE * set.dims.n_body as usize, POSE * place.local);
        let poses = poses(tree.set);
        std::array::from_fn(|k| poses[first + k * width])
    }

    /// World frame of the first body of a tree.
    fn origin<'p>(&self, poses: &impl Fn(usize) -> &'p [T], width: usize, world: usize, tree: usize) -> [T; POSE]
    where
        T: 'p,
    {
        let (set, lane) = self.lane(world, tree);
        let first = tile_at(width, lane, POSE * self.sets[set].dims.n_body as usize, 0);
        std::array::from_fn(|k| poses(set)[first + k * width])
    }

    /// Tree set and lane of a tree of a world.
    #[inline]
    pub(crate) fn lane(&self, world: usize, tree: usize) -> (usize, usize) {
        let place = self.lanes.trees[tree];
        (place.set, world * self.sets[place.set].trees.len() + place.index)
    }

    /// The constraint of the model that a tree's bilateral block is.
    fn block(&self, tree: usize, number: usize) -> usize {
        let first = self.blocks.partition_point(|block| block.tree < tree);
        self.blocks[first + number].fixed
    }

    /// What mocap bodies do at the contacts of a world.
    fn drift(&self, mocaps: &Mocaps<T>, params: &[LaneParams<T>], index: usize, world: &mut World) {
        let timestep = |tree: usize| {
            let (set, lane) = self.lane(index, tree);
            params[set].timestep(lane).to_f64()
        };
        let first = |bodies: [Option<u32>; 2]| {
            bodies.into_iter().flatten().find_map(|body| Some(self.lanes.bodies[body as usize]?.tree))
        };
        world.drifts.extend(world.contacts.iter().map(|contact| {
            let bodies = contact.bodies.map(Some);
            let h = first(bodies).map_or(1.0, timestep);
            mocaps.drift(&self.mocaps, index, bodies, contact.point.into(), h)
        }));
        world.soft_drifts.extend(world.soft.iter().map(|contact| {
            let body = |side: &Side| match *side {
                Side::Rigid { body, .. } => Some(body),
                Side::Soft { soft, .. } => match self.soft[soft as usize].carrier {
                    Carrier::Mocap(body) => Some(body as u32),
                    Carrier::Fixed(_) | Carrier::Moving(_) => None,
                },
            };
            let soft = contact.sides.iter().find_map(|side| match side {
                Side::Soft { soft, .. } => Some(self.soft[*soft as usize].tree),
                Side::Rigid { .. } => None,
            });
            let h = soft.map_or(1.0, timestep);
            mocaps.drift(&self.mocaps, index, contact.sides.each_ref().map(body), contact.point.into(), h)
        }));
    }

    /// Whether there may be islands: of several trees, or of all that has a constraint.
    pub(crate) fn has_islands(&self) -> bool {
        self.lanes.trees.len() > 1 || self.all_in_islands
    }

    /// Whether a constraint of the model can act in a world.
    fn acts<'p>(&self, fixed: &Fixed<T>, (width, world): (usize, usize), acting: &impl Fn(usize) -> &'p [u32]) -> bool {
        let Law::Row(row) = fixed.law else { return true };
        let (set, lane) = self.lane(world, fixed.trees[0] as usize);
        let acting = acting(set);
        acting.is_empty() || tree_acting::acts(acting, width, self.sets[set].dims.n_row as usize, lane, row as usize)
    }

    /// Islands of a world, the place of every contact, and where it was solved in the step before. `lanes`: how many a tile has, and the
    /// world's number.
    fn organise<'p>(
        &self,
        lanes: (usize, usize),
        world: &mut World,
        acting: &impl Fn(usize) -> &'p [u32],
        organiser: &mut Organiser,
        bench: &mut Bench<T>,
    ) {
        let n_tree = self.lanes.trees.len();
        world.fixed.clear();
        if self.has_islands() {
            bench.begins.clear();
            bench.begins.push(0);
            bench.touched.clear();
            for contact in &world.contacts {
                bench.touched.extend(self.trees_of(contact).into_iter().flatten());
                bench.begins.push(bench.touched.len() as u32);
            }
            for (id, fixed) in self.fixed.iter().enumerate() {
                if self.acts(fixed, lanes, acting) {
                    world.fixed.push(id as u32);
                    bench.touched.extend(fixed.trees);
                    bench.begins.push(bench.touched.len() as u32);
                }
            }
            let links = Links { n_subsystems: n_tree, begins: &bench.begins, touched: &bench.touched };
            organiser.organise(links, if self.all_in_islands { 1 } else { 2 });
        }
        world.places.clear();
        world.places.resize(world.contacts.len(), Place::Island(u32::MAX));
        let alone = |contact: &Contact| {
            let tree = self.trees_of(contact).into_iter().flatten().next()? as usize;
            (!is_shared(organiser, tree)).then_some(tree)
        };
        let first = |tree: usize| self.sets[self.lanes.trees[tree].set].dims.n_block;
        world.assign_slots(alone, first);
        world.match_previous();
    }

    /// The trees that a contact touches.
    pub(crate) fn trees_of(&self, contact: &Contact) -> [Option<u32>; 2] {
        contact.bodies.map(|body| self.lanes.bodies[body as usize].map(|place| place.tree as u32))
    }
}
