//! The elements of a body by eights, one a lane of a vector register; of few elements their points of integration.

use std::ops::Range;

use manyworlds_shaders::{F64x8, LANES, Real};
use nalgebra::Vector3;

use crate::element::{Elements, PINNED};

/// A vector of eight elements or points.
pub(crate) type Vec8 = [F64x8; 3];

/// A matrix of eight elements or points, row-major.
pub(crate) type Mat8 = [F64x8; 9];

/// What elements are at rest: eight side by side, or one of which eight points are side by side, whichever leaves fewer lanes idle. Those
/// behind the last element or point have no gradients, and so no part in anything.
#[derive(Debug, Clone)]
pub(crate) struct Packs {
    /// Nodes of an element.
    pub(crate) each: usize,
    /// Points of integration that a pack has one after the other.
    pub(crate) points: usize,
    /// Whether lanes are points.
    by_points: bool,
    /// First degree of freedom, `[pack, node]`; of nodes that do not move the number of degrees of freedom.
    dofs: Vec<[u32; LANES]>,
    /// Gradients of shape functions, `[pack, point, node]`, 1/m.
    gradients: Vec<Vec8>,
    /// `[pack, point]`, m^3.
    volumes: Vec<F64x8>,
    n_v: usize,
}

impl Packs {
    /// Of the elements of a body with so many degrees of freedom.
    pub(crate) fn new(elements: &Elements, n_v: usize) -> Self {
        let (n, each, all) = (elements.count(), elements.each, elements.points);
        let by_points = n * all.div_ceil(LANES) < n.div_ceil(LANES) * all;
        let (count, points) = if by_points { (n, all.div_ceil(LANES)) } else { (n.div_ceil(LANES), all) };
        let zero = F64x8::lit(0.0);
        let mut dofs = vec![[n_v as u32; LANES]; count * each];
        let mut gradients = vec![[zero; 3]; count * points * each];
        let mut volumes = vec![zero; count * points];
        for (element, point) in (0..n).flat_map(|element| (0..all).map(move |point| (element, point))) {
            let [pack, at, lane] = if by_points {
                [element, point / LANES, point % LANES]
            } else {
                [element / LANES, point, element % LANES]
            };
            let at = pack * points + at;
            for (node, &dof) in elements.dofs_of(element).iter().enumerate().filter(|(_, dof)| **dof != PINNED) {
                let own = &mut dofs[pack * each + node];
                if by_points {
                    own.fill(dof);
                } else {
                    own[lane] = dof;
                }
                let gradient: &Vector3<f64> = &elements.gradients_at(element, point)[node];
                (0..3).for_each(|k| gradients[at * each + node][k].set_lane(lane, gradient[k]));
            }
            volumes[at].set_lane(lane, elements.volume_at(element, point));
        }
        Self { each, points, by_points, dofs, gradients, volumes, n_v }
    }

    pub(crate) fn count(&self) -> usize {
        self.dofs.len() / self.each.max(1)
    }

    /// A vector over degrees of freedom with a place for nodes that do not move: zero.
    pub(crate) fn extended(&self, x: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.n_v + 3);
        out.extend_from_slice(x);
        out.resize(self.n_v + 3, 0.0);
        out
    }

    /// What [`Self::extended`] vectors say of the nodes of a pack.
    #[inline(always)]
    pub(crate) fn gather<const N: usize>(&self, pack: usize, x: &[f64]) -> [Vec8; N] {
        let mut out = [[F64x8::lit(0.0); 3]; N];
        for (dofs, out) in self.dofs_of(pack).iter().zip(&mut out) {
            let from = dofs.map(|dof| x[dof as usize..].first_chunk::<3>().copied().unwrap_or_default());
            (0..3).for_each(|k| out[k] = F64x8::from_lanes(std::array::from_fn(|lane| from[lane][k])));
        }
        out
    }

    /// Adds what the nodes of a pack have to an extended vector.
    #[inline(always)]
    pub(crate) fn scatter(&self, pack: usize, from: &[Vec8], to: &mut [f64]) {
        let lanes = if self.by_points { 1 } else { LANES };
        for (dofs, from) in self.dofs_of(pack).iter().zip(from) {
            for (lane, &dof) in dofs[..lanes].iter().enumerate() {
                let Some(to) = to[dof as usize..].first_chunk_mut::<3>() else { continue };
                (0..3).for_each(|k| to[k] += self.of_element(&from[k], lane));
            }
        }
    }

    /// The elements of a pack among so many.
    pub(crate) fn elements_of(&self, pack: usize, count: usize) -> Range<usize> {
        if self.by_points { pack..pack + 1 } else { pack * LANES..count.min((pack + 1) * LANES) }
    }

    /// The lanes of a pack that are of an element, of so many, and which.
    pub(crate) fn lanes_of(&self, pack: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
        let own = self.elements_of(pack, count);
        (0..LANES)
            .map(move |lane| (lane, own.start + if self.by_points { 0 } else { lane }))
            .take_while(move |at| at.1 < own.end)
    }

    /// What an element of a pack has of a sum over its points.
    #[inline(always)]
    pub(crate) fn of_element(&self, sums: &F64x8, which: usize) -> f64 {
        if self.by_points { sums.to_lanes().iter().sum() } else { sums.lane(which) }
    }

    pub(crate) fn dofs_of(&self, pack: usize) -> &[[u32; LANES]] {
        &self.dofs[pack * self.each..(pack + 1) * self.each]
    }

    /// Those of a point; N is the number of nodes.
    #[inline(always)]
    pub(crate) fn gradients_at<const N: usize>(&self, pack: usize, point: usize) -> &[Vec8; N] {
        &self.gradients.as_chunks().0[pack * self.points + point]
    }

    pub(crate) fn volume_at(&self, pack: usize, point: usize) -> F64x8 {
        self.volumes[pack * self.points + point]
    }
}

/// Calls a function that has the number of an element's nodes as a constant.
macro_rules! by_nodes {
    ($each:expr, $object:ident.$f:ident($($argument:expr),*)) => {
        match $each {
            4 => $object.$f::<4>($($argument),*),
            8 => $object.$f::<8>($($argument),*),
            10 => $object.$f::<10>($($argument),*),
            _ => $object.$f::<27>($($argument),*),
        }
    };
}
pub(crate) use by_nodes;

/// `f + sum u_a g_a^T`
#[inline(always)]
pub(crate) fn add_change(gradients: &[Vec8], u: &[Vec8], f: &mut Mat8) {
    for (g, u) in gradients.iter().zip(u) {
        for at in 0..9 {
            f[at] = u[at / 3].mul_add(g[at % 3], f[at]);
        }
    }
}

/// `f_a += p g_a`
#[inline(always)]
pub(crate) fn add_pushes(gradients: &[Vec8], p: &Mat8, f: &mut [Vec8]) {
    for (g, f) in gradients.iter().zip(f) {
        for row in 0..3 {
            let last = p[3 * row].mul_add(g[0], f[row]);
            f[row] = p[3 * row + 2].mul_add(g[2], p[3 * row + 1].mul_add(g[1], last));
        }
    }
}

#[inline(always)]
pub(crate) fn identity() -> Mat8 {
    let (zero, one) = (F64x8::lit(0.0), F64x8::lit(1.0));
    [one, zero, zero, zero, one, zero, zero, zero, one]
}
