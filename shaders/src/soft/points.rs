//! Elements of one world, points of integration side by side: what [`super::elements`] does for a tile of worlds, to the bit.
//!
//! What points add to the matrix is kept until all of a pack are computed, and added point after point.

use crate::math::{Vec3, mat_vec};
use crate::real::{Real, Scalar};
use crate::soft::body::{BLOCK, SoftDims, soft};
use crate::soft::elements::{Element, MOST_NODES, Moduli, nodes, pressure, respond_at, stiffness};

/// What is added to a sum and leaves it as it is, were it a negative zero.
const NOTHING: f64 = -0.0;

/// A number of each of an element's nodes and axes, at the points of a pack.
type OfNodes<P> = [Vec3<P>; MOST_NODES];

/// The points of a pack.
struct Points<P> {
    /// Gradients of shape functions.
    gradients: OfNodes<P>,
    /// Displacements at the start, and by how much they grow.
    start: OfNodes<P>,
    by: OfNodes<P>,
    /// Memory of [`stiffness`].
    pushed: [OfNodes<P>; 2],
    /// What they add by volume: forces, and stiffness block by block.
    forces: OfNodes<P>,
    blocks: Vec<[P; BLOCK]>,
}

/// `begin` and `velocity` v_k to `matrix` `[n_block, 9]` and `b` `[n_v]`.
pub(super) fn points<S: Scalar>(
    dims: &SoftDims,
    topology: &[u32],
    rest: &[S],
    params: &[S],
    begin: &[S],
    velocity: &[S],
    matrix: &mut [S],
    b: &mut [S],
) {
    let n_v = dims.n_v() as usize;
    let (q, begin) = begin.split_at(n_v);
    let (u, pressures) = begin.split_at(n_v);
    let h = params[soft::TIMESTEP];
    let (square, n_node) = (h * h, dims.n_node as usize);
    nodes(dims, params, &topology[..n_node], &rest[..n_node], u, velocity, matrix, b);
    let material: [S::Pack; soft::HEADER] = std::array::from_fn(|at| S::Pack::splat(params[at]));
    let mut moduli = Moduli::new(&material);
    let (mut words, mut rest) = (&topology[n_node..], &rest[4 * n_node..]);
    let none = [[S::Pack::lit(0.0); 3]; MOST_NODES];
    let mut all =
        Points { gradients: none, start: none, by: none, pushed: [none; 2], forces: none, blocks: Vec::new() };
    let (n_point, lanes) = (dims.n_point as usize, S::Pack::N);
    let at_once = (lanes / n_point).max(1);
    let mut elements = Vec::with_capacity(at_once);
    let mut left = dims.n_element as usize;
    while left > 0 {
        elements.clear();
        elements.extend((0..at_once.min(left)).map(|_| Element::take(dims, &mut words, &mut rest)));
        left -= elements.len();
        let most = elements.iter().map(|element| element.nodes.len()).max().unwrap_or_default();
        for first in (0..elements.len() * n_point).step_by(lanes) {
            let count = lanes.min(elements.len() * n_point - first);
            let own = |lane: usize| {
                let element: &Element<S> = &elements[(first + lane) / n_point];
                let size = 1 + 3 * element.nodes.len();
                (element, &element.rest[(first + lane) % n_point * size..][..size])
            };
            all.clear(most);
            for lane in 0..count {
                let (element, point) = own(lane);
                moduli.pressure.set_lane(lane, pressure(pressures, element.regions));
                for (i, &node) in element.nodes.iter().enumerate() {
                    for k in 0..3 {
                        let dof = 3 * node as usize + k;
                        all.start[i][k].set_lane(lane, q[dof]);
                        all.by[i][k].set_lane(lane, h * velocity[dof]);
                        all.gradients[i][k].set_lane(lane, point[1 + 3 * i + k]);
                    }
                }
            }
            all.compute(dims, &moduli, most);
            for lane in 0..count {
                let (element, point) = own(lane);
                let force = h * point[0];
                for (&node, own) in element.nodes.iter().zip(&all.forces) {
                    for (k, own) in own.iter().enumerate() {
                        let to = &mut b[3 * node as usize + k];
                        *to = (-force).mul_add(own.lane(lane), *to);
                    }
                }
                let scale = square * point[0];
                for (&place, own) in element.places.iter().zip(&all.blocks) {
                    let at = place as usize * BLOCK;
                    for (to, own) in matrix[at..at + BLOCK].iter_mut().zip(own) {
                        *to = scale.mul_add(own.lane(lane), *to);
                    }
                }
            }
        }
    }
}

impl<P: Real> Points<P> {
    /// Without any point, for elements of up to so many nodes.
    fn clear(&mut self, most: usize) {
        self.gradients[..most].fill([P::lit(NOTHING); 3]);
        self.start[..most].fill([P::lit(0.0); 3]);
        self.by[..most].fill([P::lit(0.0); 3]);
    }

    /// Forces and stiffness.
    fn compute(&mut self, dims: &SoftDims, moduli: &Moduli<P>, most: usize) {
        let Self { gradients, start, by, pushed, forces, blocks } = self;
        let gradients = &gradients[..most];
        let (f, response) = respond_at(dims, moduli, gradients, [&start[..most], &by[..most]]);
        for (force, &g) in forces.iter_mut().zip(gradients) {
            *force = mat_vec(&response.stress, g);
        }
        blocks.clear();
        if dims.check == 0 {
            stiffness(dims, &response, &f, gradients, pushed, |_, own| blocks.push(own));
        }
    }
}
