//! The contacts of one world.

mod analytic;
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
mod frames;
mod grid;
mod hints;
mod kept;
mod list;
mod narrow;
mod place;
mod polish;
mod rim;
mod sdf;
mod sink;
mod soft;
mod terrain;
mod triangle_box;

use manyworlds_model::{HeightField, Mesh, Model, Sdf};

use crate::hull::Hull;
use crate::pairs::{Filter, Kind};
use crate::{CollideError, CollisionSettings, Contact, NonFinite, Overrides};
use broad::{Broad, Near};
use convex::Workspace;
use core_shape::Polyhedron;
use frames::Frame;
pub use hints::Hints;
use parry3d_f64::math::{Matrix, Vector};
use place::{Geom, Placed};
use rayon::prelude::*;
use sink::Sink;
pub use soft::SoftPlace;
use terrain::Terrain;

/// A model, prepared.
#[derive(Debug)]
pub(crate) struct Engine {
    geoms: Vec<Geom>,
    /// Static geoms where they stand; movable ones with the model's sizes at the origin.
    rest: Vec<Placed>,
    /// Movable geoms that some pair may concern, in order, and the places of their bodies in `bodies`.
    moving: Vec<(u32, u32)>,
    /// Bodies of those geoms.
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

/// What one world after another is computed in.
#[derive(Default)]
pub(crate) struct Memory {
    frames: Vec<Frame>,
    placed: Vec<Placed>,
    near: Near,
    workspace: Workspace,
    candidates: sdf::Candidates,
    soft: soft::Scratch,
}

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
        let moving = placed.collect();
        Ok(Self {
            geoms,
            rest,
            moving,
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

    #[inline]
    pub(crate) fn collide(
        &self,
        poses: impl Fn(usize) -> [f64; 7],
        overrides: &Overrides<'_>,
        hints: &mut Hints,
        memory: &mut Memory,
        out: &mut Vec<Contact>,
    ) -> Result<(), NonFinite> {
        out.clear();
        hints.begin();
        self.place(poses, memory)?;
        self.collide_placed(overrides, hints, memory, out);
        Ok(())
    }

    /// Contacts of geoms that are placed. By itself, so that it is not compiled again for each kind of poses.
    fn collide_placed(
        &self,
        overrides: &Overrides<'_>,
        hints: &mut Hints,
        memory: &mut Memory,
        out: &mut Vec<Contact>,
    ) {
        let Memory { frames, placed, near, workspace, candidates, .. } = memory;
        self.resize(overrides, frames, placed);
        workspace.points.rounding.relative = self.pose_rounding;
        let mut sink = Sink::new(out, self.pose_rounding);
        self.broad.visit(placed, near, |number, pair, reach| {
            let first = sink.begin(number, pair, &self.geoms, reach, overrides);
            let found = self.narrow(pair, placed, hints.of(number), workspace, candidates, &mut sink);
            hints.leave(number, found, &mut workspace.polytope);
            if self.reduce {
                sink.thin(first);
            }
            sink.end(first);
        });
    }
}

fn hull(index: usize, mesh: &Mesh) -> Result<Hull, CollideError> {
    Hull::new(mesh).map_err(|message| CollideError::Mesh { index, name: mesh.name.clone(), message })
}

fn terrain(index: usize, field: &HeightField) -> Result<Terrain, CollideError> {
    Terrain::new(field).map_err(|message| CollideError::HeightField { index, name: field.name.clone(), message })
}
