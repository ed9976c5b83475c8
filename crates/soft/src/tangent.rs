//! Stiffness by its products, eight elements or points a vector register: a matrix only for those who ask for one.

use manyworlds_shaders::{F64x8, Real};
use manyworlds_sparse::SparseMatrix;
use nalgebra::Matrix3;

use crate::packs::{Mat8, Packs, Vec8, add_change, add_pushes, by_nodes, identity};
use crate::response::{ENTRIES, Law, Parts, Point8, Slope, entry};
use crate::system::{SoftParams, SoftSystem};

/// The derivative of [`SoftSystem::force`] by `q_next`, as the derivatives of the stresses of all elements.
#[derive(Debug, Clone)]
pub struct Tangent {
    law: Law,
    /// `[pack, point]`
    parts: Vec<Parts>,
    /// The same, of a law that has such.
    slopes: Vec<Slope>,
}

impl SoftSystem {
    /// [`SoftSystem::force`], and its derivative by `q_next`.
    #[must_use]
    pub fn tangent(&self, params: &SoftParams, h: f64, q: &[f64], q_next: &[f64], force: &mut [f64]) -> Tangent {
        let (law, packs) = (Law::new(params, h), self.packs());
        let count = packs.count() * packs.points;
        let mut slopes = vec![[F64x8::lit(0.0); ENTRIES]; if law.has_slope() { count } else { 0 }];
        let (mut parts, mut each) = (Vec::with_capacity(count), slopes.iter_mut());
        let mut stress = |at: &Point8| {
            let (stress, own) = law.stress(at, each.next());
            parts.push(own);
            stress
        };
        by_nodes!(packs.each, self.each_stress(params, law.is_damped(), [q, q_next], force, &mut stress));
        Tangent { law, parts, slopes }
    }

    /// [`SoftSystem::force`].
    pub(crate) fn forces(&self, (params, h): (&SoftParams, f64), ends: [&[f64]; 2], force: &mut [f64]) {
        let law = Law::new(params, h);
        let mut stress = |at: &Point8| law.stress(at, None).0;
        by_nodes!(self.packs().each, self.each_stress(params, law.is_damped(), ends, force, &mut stress));
    }

    /// Forces of the stresses of all points, times volume; `damped`: these ask for F where the step begins.
    fn each_stress<const N: usize>(
        &self,
        params: &SoftParams,
        damped: bool,
        [q, q_next]: [&[f64]; 2],
        force: &mut [f64],
        stress: &mut impl FnMut(&Point8) -> Mat8,
    ) {
        let packs = self.packs();
        let [q, q_next] = [q, q_next].map(|x| packs.extended(x));
        let mut out = vec![0.0; q.len()];
        for pack in 0..packs.count() {
            let [start, end] = [&q, &q_next].map(|x| packs.gather::<N>(pack, x));
            let pressure = self.pressure_of(pack, params);
            let mut pushes = [[F64x8::lit(0.0); 3]; N];
            for point in 0..packs.points {
                let gradients = packs.gradients_at::<N>(pack, point);
                let mut at = Point8::new(packs.volume_at(pack, point), pressure);
                if damped {
                    add_change(gradients, &start, &mut at.before);
                }
                add_change(gradients, &end, &mut at.f);
                add_pushes(gradients, &stress(&at), &mut pushes);
            }
            packs.scatter(pack, &pushes, &mut out);
        }
        force.iter_mut().zip(&out).for_each(|(force, x)| *force = -x);
    }

    /// Pressure in the elements of a pack, Pa.
    fn pressure_of(&self, pack: usize, params: &SoftParams) -> F64x8 {
        let mut out = F64x8::lit(0.0);
        if !params.pressures.is_empty() {
            for (lane, element) in self.packs().lanes_of(pack, self.n_element()) {
                let own = self.regions_of(element).iter();
                out.set_lane(lane, own.map(|&region| params.pressures[region as usize]).sum());
            }
        }
        out
    }
}

impl Tangent {
    /// `out += a K x`, K the negative derivative, N/m.
    pub fn add_times(&self, system: &SoftSystem, a: f64, x: &[f64], out: &mut [f64]) {
        by_nodes!(system.packs().each, self.add_times_of(system.packs(), None, (a, x), out));
    }

    /// `out += a (K - D) x`, D the derivative of [`SoftSystem::force`] by `q`, where the step begins, of which there is nothing without
    /// damping; `transposed`: with that of D.
    pub fn add_times_less_start(
        &self,
        system: &SoftSystem,
        q: &[f64],
        (a, x, transposed): (f64, &[f64], bool),
        out: &mut [f64],
    ) {
        let start = self.law.is_damped().then_some((q, transposed));
        by_nodes!(system.packs().each, self.add_times_of(system.packs(), start, (a, x), out));
    }

    fn add_times_of<const N: usize>(
        &self,
        packs: &Packs,
        start: Option<(&[f64], bool)>,
        (a, x): (f64, &[f64]),
        out: &mut [f64],
    ) {
        let x = packs.extended(x);
        let start = start.map(|(q, transposed)| (packs.extended(q), transposed));
        let mut sum = packs.extended(&[]);
        for (pack, parts) in self.parts.chunks_exact(packs.points).enumerate() {
            let change = packs.gather::<N>(pack, &x);
            let start = start.as_ref().map(|(q, transposed)| (packs.gather::<N>(pack, q), *transposed));
            let mut pushes = [[F64x8::lit(0.0); 3]; N];
            for (point, parts) in parts.iter().enumerate() {
                let (gradients, volume) = (packs.gradients_at::<N>(pack, point), packs.volume_at(pack, point));
                let mut own = [F64x8::lit(0.0); 9];
                add_change(gradients, &change, &mut own);
                let mut stress = self.law.change(volume, parts, &own);
                if let Some(slope) = self.slopes.get(pack * packs.points + point) {
                    add_times(slope, &own, &mut stress);
                }
                if let Some((q, transposed)) = &start {
                    let mut before = identity();
                    add_change(gradients, q, &mut before);
                    self.law.add_change_by_start(volume, &before, parts, (&own, *transposed), &mut stress);
                }
                add_pushes(gradients, &stress, &mut pushes);
            }
            packs.scatter(pack, &pushes, &mut sum);
        }
        out.iter_mut().zip(&sum).for_each(|(out, x)| *out += a * x);
    }

    /// The derivative of the stress of a point by F, times volume.
    #[inline(always)]
    fn slope(&self, packs: &Packs, pack: usize, point: usize) -> Slope {
        let at = pack * packs.points + point;
        let mut out = self.slopes.get(at).copied().unwrap_or([F64x8::lit(0.0); ENTRIES]);
        self.law.add_slope(packs.volume_at(pack, point), &self.parts[at], &mut out);
        out
    }

    /// The diagonal of K, `[n_v]`, N/m.
    #[must_use]
    pub fn diagonal(&self, system: &SoftSystem) -> Vec<f64> {
        by_nodes!(system.packs().each, self.diagonal_of(system.packs(), system.n_v()))
    }

    fn diagonal_of<const N: usize>(&self, packs: &Packs, n: usize) -> Vec<f64> {
        let mut out = packs.extended(&[]);
        for pack in 0..packs.count() {
            let mut own: [Vec8; N] = [[F64x8::lit(0.0); 3]; N];
            for point in 0..packs.points {
                let (volume, at) = (packs.volume_at(pack, point), pack * packs.points + point);
                for (g, own) in packs.gradients_at::<N>(pack, point).iter().zip(&mut own) {
                    self.law.add_diagonal(volume, &self.parts[at], g, own);
                    if let Some(slope) = self.slopes.get(at) {
                        add_diagonal(slope, g, own);
                    }
                }
            }
            packs.scatter(pack, &own, &mut out);
        }
        out.truncate(n);
        out
    }

    /// K, into a matrix of the pattern [`SoftSystem::pattern`].
    ///
    /// # Panics
    /// For a matrix of another pattern.
    pub fn stiffness(&self, system: &SoftSystem, out: &mut SparseMatrix) {
        let values = out.values_mut();
        assert_eq!(values.len(), system.pattern().values().len(), "a matrix of another pattern");
        values.fill(0.0);
        by_nodes!(system.packs().each, self.stiffness_of(system, values));
    }

    fn stiffness_of<const N: usize>(&self, system: &SoftSystem, values: &mut [f64]) {
        let (packs, zero) = (system.packs(), F64x8::lit(0.0));
        let mut blocks = vec![[zero; 9]; N * (N + 1) / 2];
        for pack in 0..packs.count() {
            blocks.fill([zero; 9]);
            for point in 0..packs.points {
                let slope = self.slope(packs, pack, point);
                let gradients = packs.gradients_at::<N>(pack, point);
                let mut to = blocks.iter_mut();
                for (b, g) in gradients.iter().enumerate() {
                    // Of each row of the stress by a move of the node: `[i, j, k]`.
                    let along: [[[F64x8; 3]; 3]; 3] = std::array::from_fn(|i| {
                        std::array::from_fn(|j| {
                            std::array::from_fn(|k| {
                                let of = |l: usize| slope[entry(3 * i + j, 3 * k + l)];
                                of(2).mul_add(g[2], of(1).mul_add(g[1], of(0) * g[0]))
                            })
                        })
                    });
                    for (other, to) in gradients[..=b].iter().zip(&mut to) {
                        for at in 0..9 {
                            let (i, k) = (at / 3, at % 3);
                            let last = along[i][0][k].mul_add(other[0], to[at]);
                            to[at] = along[i][2][k].mul_add(other[2], along[i][1][k].mul_add(other[1], last));
                        }
                    }
                }
            }
            let mut from = blocks.iter();
            for b in 0..N {
                for (a, block) in (0..=b).zip(&mut from) {
                    for (which, element) in packs.elements_of(pack, system.n_element()).enumerate() {
                        let pair = [element, a, b];
                        if system.are_free(pair) {
                            // What a node does to itself is symmetric but for rounding, which must not tell triangles apart.
                            let at = |i: usize, j: usize| if a == b { 3 * i.min(j) + i.max(j) } else { 3 * i + j };
                            system.add_pair(
                                pair,
                                &Matrix3::from_fn(|i, j| packs.of_element(&block[at(i, j)], which)),
                                values,
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Adds a symmetric matrix of nine rows times a matrix of nine entries.
#[inline(always)]
fn add_times(slope: &Slope, x: &Mat8, out: &mut Mat8) {
    for p in 0..9 {
        out[p] = slope[entry(p, p)].mul_add(x[p], out[p]);
        for q in p + 1..9 {
            let own = slope[entry(p, q)];
            out[p] = own.mul_add(x[q], out[p]);
            out[q] = own.mul_add(x[p], out[q]);
        }
    }
}

/// Adds the diagonal of `G^T slope G`, G what a node of gradient g does to F.
#[inline(always)]
fn add_diagonal(slope: &Slope, g: &Vec8, out: &mut Vec8) {
    for (row, out) in out.iter_mut().enumerate() {
        for [j, l] in (0..9).map(|k| [k / 3, k % 3]) {
            *out = (g[j] * g[l]).mul_add(slope[entry(3 * row + j, 3 * row + l)], *out);
        }
    }
}
