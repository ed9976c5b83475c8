//! Soft bodies as collision sees them.

use manyworlds_collide::{Overrides, Scratch, Side, SoftContact, SoftPlace};
use manyworlds_dynamics::soft_param;
use manyworlds_model::{Embedding, Model, Pose, SoftBody, Vec3};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::index::tile_at;

use super::travel::AHEAD;
use super::{HostModel, LaneParams, Ride};
use crate::mocap::Mocaps;

/// What is constant of a soft body.
#[derive(Debug, Clone)]
pub(crate) struct SoftShape {
    /// Among the trees of the model.
    pub(crate) tree: usize,
    /// Positions at rest in the frame of the body that carries it, m.
    pub(crate) rest: Vec<Vec3>,
    /// First degree of freedom of each node; `None`: pinned.
    pub(crate) dofs: Vec<Option<u32>>,
    pub(crate) carrier: Carrier,
    /// Of a cage, what moves with its nodes: the vertices of its surface are no nodes then.
    embedding: Option<Embedding>,
    /// How much farther than the nodes a vertex moves at most: the largest sum of weights' sizes.
    lever: f64,
}

/// What carries a soft body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Carrier {
    /// A body that stands, and where.
    Fixed(Pose),
    /// A body of a tree, by its number in the model.
    Moving(usize),
    /// A mocap body, or what is welded to one, by its number in the model.
    Mocap(usize),
}

impl SoftShape {
    /// Those of a model.
    pub(crate) fn all(model: &Model) -> Vec<Self> {
        let frame = |body: usize| {
            let mut frame = Pose::identity();
            let mut at = body;
            while at != 0 {
                frame = model.bodies[at].pose * frame;
                at = model.bodies[at].parent;
            }
            frame
        };
        let of = |(index, tree): (usize, &manyworlds_model::Tree)| {
            let soft: &SoftBody = &model.soft[tree.soft?];
            let body = &model.bodies[soft.body];
            let carrier = match (body.tree, body.mocap) {
                (Some(_), _) => Carrier::Moving(soft.body),
                (None, Some(_)) => Carrier::Mocap(soft.body),
                (None, None) => Carrier::Fixed(frame(soft.body)),
            };
            let embedding = soft.embedding.clone();
            let levers = embedding.iter().flat_map(|own| (0..own.n_vertex()).map(|vertex| lever(own.follows(vertex))));
            let lever = levers.fold(1.0, f64::max);
            Some(Self { tree: index, rest: soft.nodes.clone(), dofs: soft.dofs(), carrier, embedding, lever })
        };
        model.trees.iter().enumerate().filter_map(of).collect()
    }

    /// Where the nodes are in the world, by where the carrier stands and the displacements of the free ones.
    pub(crate) fn nodes(&self, carrier: Pose, q: impl Fn(usize) -> f64, out: &mut Vec<[f64; 3]>) {
        out.clear();
        out.extend(self.rest.iter().zip(&self.dofs).map(|(rest, dof)| {
            let moved = dof.map_or_else(Vec3::zeros, |dof| Vec3::from_fn(|k, _| q(dof as usize + k)));
            <[f64; 3]>::from((carrier * nalgebra::Point3::from(rest + moved)).coords)
        }));
    }

    /// Where the vertices of the surface are, by where the nodes are.
    pub(crate) fn vertices<'n>(&self, nodes: &'n [[f64; 3]], memory: &'n mut Vec<[f64; 3]>) -> &'n [[f64; 3]] {
        let Some(embedding) = &self.embedding else { return nodes };
        memory.clear();
        memory.extend(embedding.positions(|node| nodes[node].into()).map(<[f64; 3]>::from));
        memory
    }

    /// The free nodes that a point of the surface follows, by their first degrees of freedom, and their weights. `vertices`, `weights`:
    /// those of the point.
    pub(crate) fn follows(&self, vertices: [u32; 3], weights: [f64; 3]) -> Vec<(u32, f64)> {
        let used = vertices.into_iter().zip(weights).filter(|(_, weight)| *weight != 0.0);
        let mut all: Vec<(u32, f64)> = Vec::new();
        used.for_each(|(vertex, of)| self.for_nodes(vertex, |dof, weight| all.push((dof, of * weight))));
        if self.embedding.is_none() {
            return all;
        }
        all.sort_by_key(|&(dof, _)| dof);
        // Vertices of a triangle share most of their nodes.
        all.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0.0 };
            same
        });
        all
    }

    /// The free nodes that some vertices follow, and their shares in the motion of each.
    pub(crate) fn shares(&self, vertices: [u32; 3]) -> Vec<(u32, [f64; 3])> {
        let mut all: Vec<(u32, [f64; 3])> = Vec::new();
        for (corner, vertex) in vertices.into_iter().enumerate() {
            self.for_nodes(vertex, |dof, weight| {
                let mut shares = [0.0; 3];
                shares[corner] = weight;
                all.push((dof, shares));
            });
        }
        all.sort_by_key(|&(dof, _)| dof);
        all.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1.iter_mut().zip(next.1).for_each(|(sum, share)| *sum += share);
            }
            same
        });
        all
    }

    /// Does something with the first degree of freedom of each free node that a vertex follows, and its weight.
    fn for_nodes(&self, vertex: u32, mut f: impl FnMut(u32, f64)) {
        let mut with = |node: u32, weight: f64| {
            if let Some(dof) = self.dofs[node as usize] {
                f(dof, weight);
            }
        };
        match &self.embedding {
            None => with(vertex, 1.0),
            Some(embedding) => embedding.follows(vertex as usize).iter().for_each(|&(node, weight)| with(node, weight)),
        }
    }
}

/// How far a vertex may move where the nodes that it follows move by one.
fn lever(follows: &[(u32, f64)]) -> f64 {
    follows.iter().map(|(_, weight)| weight.abs()).sum()
}

impl<T: Scalar> HostModel<T> {
    /// Contacts of the soft bodies of a world; `states` are those of tree sets, in tile layout. `pose` and `way`: where a body is,
    /// and how far it may move and turn within a step. `placed`: the lane that the world's geoms were placed in last.
    pub(super) fn collide_soft<'p>(
        &self,
        states: &impl Fn(usize) -> &'p [T],
        params: &[LaneParams<T>],
        (width, world): (usize, usize),
        (pose, way): (impl Fn(usize) -> Pose, impl Fn(usize) -> [f64; 2]),
        (overrides, placed): (&Overrides<'_>, usize),
        (scratch, [nodes, skins]): (&mut Scratch, &mut [Vec<Vec<[f64; 3]>>; 2]),
        out: &mut Vec<SoftContact>,
    ) where
        T: 'p,
    {
        nodes.resize_with(self.soft.len(), Vec::new);
        skins.resize_with(self.soft.len(), Vec::new);
        let mut finite = true;
        let mut own = Vec::with_capacity(self.soft.len());
        for ((shape, nodes), skin) in self.soft.iter().zip(&mut *nodes).zip(&mut *skins) {
            let (set, lane) = self.lane(world, shape.tree);
            let dims = &self.sets[set].dims;
            let state = states(set);
            let at = |e: usize| state[tile_at(width, lane, dims.n_state(), e)].to_f64();
            let (carrier, carried) = match shape.carrier {
                Carrier::Fixed(carrier) => (carrier, [0.0; 2]),
                Carrier::Moving(body) | Carrier::Mocap(body) => (pose(body), way(body)),
            };
            shape.nodes(carrier, at, nodes);
            let fastest =
                (0..dims.n_v as usize).map(|e| at(dims.v_at() + e)).fold(0.0, |most: f64, v| most.max(v.abs()));
            finite &= nodes.iter().flatten().all(|x| x.is_finite()) && fastest.is_finite();
            let centre = carrier.translation.vector;
            let vertices = shape.vertices(nodes, skin);
            let reach = vertices.iter().map(|vertex| (Vec3::from(*vertex) - centre).norm()).fold(0.0, f64::max);
            let own_way = AHEAD * 3f64.sqrt() * shape.lever * fastest * params[set].timestep(lane).to_f64();
            let travel = own_way + carried[0] + reach * carried[1];
            own.push((vertices, travel, params[set].soft(lane)[soft_param::FRICTION].to_f64()));
        }
        if !finite {
            // Kernels flag the world.
            return;
        }
        let place = |soft: usize| {
            let (vertices, travel, friction) = own[soft];
            SoftPlace { vertices, travel, friction }
        };
        self.collision.collide_soft(place, overrides, placed, scratch, out);
        out.retain(|contact| contact.sides.iter().any(|side| self.moves(side)));
    }

    /// Whether a side of a contact has degrees of freedom.
    fn moves(&self, side: &Side) -> bool {
        match side {
            Side::Rigid { body, .. } => self.lanes.bodies[*body as usize].is_some(),
            Side::Soft { soft, vertices, weights } => {
                let shape = &self.soft[*soft as usize];
                matches!(shape.carrier, Carrier::Moving(_)) || !shape.follows(*vertices, *weights).is_empty()
            }
        }
    }

    /// Soft bodies of a model that keep how their carriers move: all, or none.
    pub(super) fn n_ride(&self) -> usize {
        let rides = self.soft.iter().any(|shape| matches!(shape.carrier, Carrier::Mocap(_)));
        if rides { self.soft.len() } else { 0 }
    }

    /// A step of a world begins: how the carriers of soft bodies that are mocap bodies move in it.
    pub(super) fn ride(&self, mocaps: &Mocaps<T>, params: &[LaneParams<T>], world: usize, rides: &mut [Ride]) {
        for (shape, ride) in self.soft.iter().zip(rides) {
            let Carrier::Mocap(body) = shape.carrier else { continue };
            let (set, lane) = self.lane(world, shape.tree);
            if let Some((pose, way)) = mocaps.motion(&self.mocaps, world, body) {
                ride.advance(pose, way, params[set].timestep(lane).to_f64());
            }
        }
    }
}
