//! Soft bodies as collision sees them.

use manyworlds_collide::{Overrides, Scratch, SoftContact, SoftPlace};
use manyworlds_dynamics::soft_param;
use manyworlds_model::{Model, Pose, SoftBody, Vec3};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::index::tile_at;

use super::{AHEAD, HostModel, LaneParams};

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
}

/// What carries a soft body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Carrier {
    /// A body that stands, and where.
    Fixed(Pose),
    /// A body of a tree, by its number in the model.
    Moving(usize),
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
            let carrier = match model.bodies[soft.body].tree {
                Some(_) => Carrier::Moving(soft.body),
                None => Carrier::Fixed(frame(soft.body)),
            };
            Some(Self { tree: index, rest: soft.nodes.clone(), dofs: soft.dofs(), carrier })
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
}

impl<T: Scalar> HostModel<T> {
    /// Contacts of the soft bodies of a world; `states` are those of tree sets, in tile layout. `pose` and `way`: where a body is,
    /// and how far it may move and turn within a step.
    pub(super) fn collide_soft<'p>(
        &self,
        states: &impl Fn(usize) -> &'p [T],
        params: &[LaneParams<T>],
        (width, world): (usize, usize),
        (pose, way): (impl Fn(usize) -> Pose, impl Fn(usize) -> [f64; 2]),
        overrides: &Overrides<'_>,
        (scratch, nodes): (&mut Scratch, &mut Vec<Vec<[f64; 3]>>),
        out: &mut Vec<SoftContact>,
    ) where
        T: 'p,
    {
        nodes.resize_with(self.soft.len(), Vec::new);
        let mut finite = true;
        let mut own = Vec::with_capacity(self.soft.len());
        for (shape, nodes) in self.soft.iter().zip(&mut *nodes) {
            let (set, lane) = self.lane(world, shape.tree);
            let dims = &self.sets[set].dims;
            let state = states(set);
            let at = |e: usize| state[tile_at(width, lane, dims.n_state(), e)].to_f64();
            let (carrier, carried) = match shape.carrier {
                Carrier::Fixed(carrier) => (carrier, [0.0; 2]),
                Carrier::Moving(body) => (pose(body), way(body)),
            };
            shape.nodes(carrier, at, nodes);
            let fastest =
                (0..dims.n_v as usize).map(|e| at(dims.v_at() + e)).fold(0.0, |most: f64, v| most.max(v.abs()));
            finite &= nodes.iter().flatten().all(|x| x.is_finite()) && fastest.is_finite();
            let centre = carrier.translation.vector;
            let reach = nodes.iter().map(|node| (Vec3::from(*node) - centre).norm()).fold(0.0, f64::max);
            let own_way = AHEAD * 3f64.sqrt() * fastest * params[set].timestep(lane).to_f64();
            let way = own_way + carried[0] + reach * carried[1];
            let travel = (way - 0.5 * self.speculative).max(0.0);
            own.push((travel, params[set].soft(lane)[soft_param::FRICTION].to_f64()));
        }
        if !finite {
            // Kernels flag the world.
            return;
        }
        let place = |soft: usize| {
            let (travel, friction) = own[soft];
            SoftPlace { nodes: &nodes[soft], travel, friction }
        };
        self.collision.collide_soft(place, overrides, scratch, out);
    }
}
