//! The contacts of one world.

mod again;
mod analytic;
mod best;
mod bounds;
mod boxes;
mod broad;
mod clip;
mod convex;
mod core_shape;
mod couple;
mod expand;
mod extremes;
mod facet;
mod facing;
mod feature;
mod frames;
mod grid;
mod hints;
mod kept;
mod list;
mod narrow;
mod pair;
mod place;
mod placed;
mod polish;
mod polyhedron;
mod rim;
mod rounding;
mod sdf;
mod sink;
mod soft;
mod terrain;
mod triangle_box;
mod vectors;

use std::sync::atomic::{AtomicU64, Ordering};

use manyworlds_model::{HeightField, Mesh, Model, Sdf};

use crate::hull::Hull;
use crate::pairs::{Filter, Kind};
use crate::{ABREAST, CollideError, CollisionSettings, Contact, NonFinite, Overrides, Travel, Travels, World};
use broad::{Broad, Near};
use convex::Workspace;
use frames::Frames;
pub use hints::Hints;
use parry3d_f64::math::{Matrix, Vector};
use place::Geom;
use placed::{Placed, Places};
use polyhedron::Polyhedron;
use rayon::prelude::*;
use sink::Sink;
pub use soft::SoftPlace;
use terrain::Terrain;

/// A model, prepared.
#[derive(Debug)]
pub(crate) struct Engine {
    /// Tells it from all others of the process.
    number: u64,
    geoms: Vec<Geom>,
    /// Static geoms where they stand; movable ones with the model's sizes at the origin.
    rest: Vec<Placed>,
    /// Movable geoms that some pair may concern, in order, and the places of their bodies in `bodies`.
    moving: Vec<(u32, u32)>,
    /// All other geoms.
    standing: Vec<u32>,
    /// Bodies of the moving ones.
    bodies: Vec<u32>,
    broad: Broad,
    meshes: Vec<Polyhedron>,
    fields: Vec<Terrain>,
    sdfs: Vec<Sdf>,
    surfaces: soft::Surfaces,
    /// Relative, of the poses.
    pose_rounding: f64,
    /// Whether a patch has four contacts at most.
    reduce: bool,
}

/// What some worlds after others are computed in.
#[derive(Default)]
pub(crate) struct Memory {
    /// Whose geoms are in `places` and `placed`.
    engine: Option<u64>,
    /// Whether some of them have a world's own sizes.
    resized: bool,
    /// Whether some of them may move.
    travelled: bool,
    frames: Vec<Frames>,
    /// Of all worlds side by side.
    places: Vec<Places>,
    /// Of each world.
    placed: [Vec<Placed>; ABREAST],
    near: Near,
    workspace: Workspace,
    candidates: sdf::Candidates,
    soft: soft::Scratch,
    /// How the bodies of a world by itself move.
    travel: Vec<Travels>,
}

/// Engines that were made.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Engine {
    pub(crate) fn new(model: &Model, settings: &CollisionSettings) -> Result<Self, CollideError> {
        let filter = Filter::new(model);
        filter.refuse_unsupported(model)?;
        let hulls =
            model.meshes.par_iter().enumerate().map(|(i, mesh)| hull(i, mesh)).collect::<Result<Vec<_>, _>>()?;
        let fields = model.heightfields.iter().enumerate().map(|(i, field)| terrain(i, field));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let meshes: Vec<_> = hulls.par_iter().map(Polyhedron::new).collect();
        let (geoms, rest) = place::prepare(model, &filter, &hulls, &meshes, &fields);
        let broad = Broad::new(&geoms, filter, settings.speculative_distance)?;
        let surfaces = soft::Surfaces::new(model, settings.speculative_distance);
        let mut moving: Vec<u32> = (0..geoms.len() as u32).filter(|&g| geoms[g as usize].body.is_some()).collect();
        if let Broad::List(list) = &broad
            && surfaces.is_empty()
        {
            let mut used = vec![false; geoms.len()];
            list.pairs().iter().for_each(|p| (used[p.a as usize], used[p.b as usize]) = (true, true));
            moving.retain(|&g| used[g as usize]);
        }
        let mut bodies: Vec<u32> = moving.iter().map(|&g| geoms[g as usize].owner).collect();
        bodies.dedup();
        let mut at = 0;
        let placed = moving.into_iter().map(|g| {
            at += usize::from(bodies[at] != geoms[g as usize].owner);
            (g, at as u32)
        });
        let moving: Vec<(u32, u32)> = placed.collect();
        let stands = |geom: &u32| moving.binary_search_by_key(geom, |&(moving, _)| moving).is_err();
        let standing = (0..geoms.len() as u32).filter(stands).collect();
        Ok(Self {
            number: MADE.fetch_add(1, Ordering::Relaxed),
            geoms,
            rest,
            moving,
            standing,
            bodies,
            broad,
            meshes,
            fields,
            sdfs: model.sdfs.clone(),
            surfaces,
            pose_rounding: settings.pose_rounding.max(f64::EPSILON),
            reduce: settings.reduce,
        })
    }

    /// Contacts of a world by itself.
    #[inline]
    pub(crate) fn collide_alone(
        &self,
        poses: impl Fn(usize) -> [f64; 7],
        travel: &[Travel],
        world: World<'_>,
        memory: &mut Memory,
    ) -> Result<(), NonFinite> {
        let mut travels = std::mem::take(&mut memory.travel);
        travels.clear();
        travels.extend(travel.iter().map(|&own| Travels::from([own; ABREAST])));
        let poses = |body| poses(body).map(|x| [x; ABREAST]);
        let [found, ..] = self.collide(poses, &travels, [Some(world), None, None, None], memory);
        memory.travel = travels;
        found
    }

    /// Contacts of the worlds of some lanes.
    #[inline]
    pub(crate) fn collide(
        &self,
        poses: impl Fn(usize) -> [[f64; ABREAST]; 7],
        travel: &[Travels],
        mut worlds: [Option<World<'_>>; ABREAST],
        memory: &mut Memory,
    ) -> [Result<(), NonFinite>; ABREAST] {
        for world in worlds.iter_mut().flatten() {
            world.out.clear();
            world.hints.begin();
        }
        let finite = self.place(poses, &worlds, memory);
        self.travel(travel, memory);
        for (world, _) in worlds.iter_mut().zip(&finite).filter(|(_, finite)| finite.is_err()) {
            *world = None;
        }
        self.collide_placed(worlds, memory);
        finite
    }

    /// Contacts of geoms that are placed. By itself, so that it is not compiled again for each kind of poses.
    fn collide_placed(&self, worlds: [Option<World<'_>>; ABREAST], memory: &mut Memory) {
        let Memory { places, placed, near, workspace, candidates, .. } = memory;
        workspace.points.rounding.relative = self.pose_rounding;
        let wanted = (0..ABREAST).fold(0, |wanted, lane| wanted | u32::from(worlds[lane].is_some()) << lane);
        let mut lanes = worlds.map(|world| {
            world.map(|World { overrides, hints, out }| (Sink::new(out, self.pose_rounding), overrides, hints))
        });
        self.broad.visit(places, placed, wanted, near, |number, pair, mut near, reach| {
            if pair.solid {
                let (a, b) = (&places[pair.a as usize], &places[pair.b as usize]);
                near &= !bounds::are_apart_in(a, b, reach + a.rounding + b.rounding);
            }
            for (lane, reach) in reach.to_array().into_iter().enumerate() {
                let Some((sink, overrides, hints)) = lanes[lane].as_mut().filter(|_| near >> lane & 1 != 0) else {
                    continue;
                };
                let first = sink.begin(number, pair, &self.geoms, reach, overrides);
                let found = self.narrow(pair, &placed[lane], hints.of(number), workspace, candidates, sink);
                hints.leave(number, found, &mut workspace.polytope);
                sink.end(first, self.reduce);
            }
        });
    }
}

fn hull(index: usize, mesh: &Mesh) -> Result<Hull, CollideError> {
    Hull::new(mesh).map_err(|message| CollideError::Mesh { index, name: mesh.name.clone(), message })
}

fn terrain(index: usize, field: &HeightField) -> Result<Terrain, CollideError> {
    Terrain::new(field).map_err(|message| CollideError::HeightField { index, name: field.name.clone(), message })
}
