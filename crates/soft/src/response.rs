//! First and second derivatives of energy densities by F itself, of eight elements side by side.
//!
//! The laws are those of `law`, and damping that of `SoftSystem`. With `P = F S + c cof F` of Green's strain and the volume,
//! `dP_ij/dF_kl = S_jl [i = k] + mu (F_il F_kj + (F F^T)_ik [j = l]) + lambda F_ij F_kl + bulk (cof F)_ij (cof F)_kl
//! + c e_ikm e_jln F_mn`, e the sign of a permutation; the linear law has the same with the identity in the place of F and without S.

use manyworlds_model::MaterialLaw;
use manyworlds_shaders::{F64x8, LANES, Real};
use nalgebra::{Matrix3, Vector3};

use crate::law::Moduli;
use crate::packs::{Mat8, Vec8, identity};
use crate::system::SoftParams;

/// Entries of a symmetric matrix of nine rows.
pub(crate) const ENTRIES: usize = 45;

/// These, row by row from the diagonal on.
pub(crate) type Slope = [F64x8; ENTRIES];

/// Where an entry of a [`Slope`] stands.
#[inline(always)]
pub(crate) const fn entry(p: usize, q: usize) -> usize {
    let (p, q) = if p <= q { (p, q) } else { (q, p) };
    p * 9 - p * (p + 1) / 2 + q
}

/// Calls a function for each row of a [`Slope`], whose number it has as a constant.
macro_rules! by_rows {
    ($f:ident($a:expr, $b:expr, $slope:expr)) => {
        $f::<0>($a, $b, $slope);
        $f::<1>($a, $b, $slope);
        $f::<2>($a, $b, $slope);
        $f::<3>($a, $b, $slope);
        $f::<4>($a, $b, $slope);
        $f::<5>($a, $b, $slope);
        $f::<6>($a, $b, $slope);
        $f::<7>($a, $b, $slope);
        $f::<8>($a, $b, $slope);
    };
}
/// Pairs of rows, or of columns: xx, yy, zz, xy, xz, yz.
const SYMMETRIC: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];

/// A material, and how its damping counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Law {
    law: MaterialLaw,
    mu: f64,
    lambda: f64,
    /// `damping / h`
    rate: f64,
    /// Some elements may be under pressure.
    pressed: bool,
}

/// A point of eight elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point8 {
    /// m^3
    pub(crate) volume: F64x8,
    /// Pa
    pub(crate) pressure: F64x8,
    /// F where the step begins, and where it ends.
    pub(crate) before: Mat8,
    pub(crate) f: Mat8,
}

/// What the derivative of a point's stress is made of, times volume, but for a law of principal stretches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    /// F; of the linear law the identity.
    f: Mat8,
    /// S, in the order of [`SYMMETRIC`]; of the linear law nothing.
    s: [F64x8; 6],
    c: F64x8,
}

impl Point8 {
    /// At rest.
    pub(crate) fn new(volume: F64x8, pressure: F64x8) -> Self {
        Self { volume, pressure, before: identity(), f: identity() }
    }
}

impl Law {
    pub(crate) fn new(params: &SoftParams, h: f64) -> Self {
        let SoftParams { material, pressures } = params;
        let [mu, lambda] = material.lame();
        Self { law: material.law, mu, lambda, rate: material.damping / h, pressed: !pressures.is_empty() }
    }

    pub(crate) fn is_damped(&self) -> bool {
        self.rate > 0.0
    }

    /// Whether the law is one of principal stretches, which has a [`Slope`] of its own.
    pub(crate) fn has_slope(&self) -> bool {
        self.law == MaterialLaw::Corotated
    }

    /// Whether the law itself goes by the strain; damping always does.
    fn is_strained(&self) -> bool {
        matches!(self.law, MaterialLaw::Linear | MaterialLaw::SaintVenantKirchhoff)
    }

    /// Whether there is a `c`.
    fn swells(&self) -> bool {
        self.law == MaterialLaw::NeoHookean || self.pressed && self.law == MaterialLaw::SaintVenantKirchhoff
    }

    /// How much of the strain counts at once.
    fn share(&self) -> f64 {
        self.rate + if self.is_strained() { 1.0 } else { 0.0 }
    }

    /// `mu` and `lambda` of the strain, times volume.
    #[inline(always)]
    fn moduli(&self, volume: F64x8) -> [F64x8; 2] {
        [self.mu, self.lambda].map(|x| volume * F64x8::lit(x * self.share()))
    }

    /// `bulk`, times volume.
    #[inline(always)]
    fn bulk(&self, volume: F64x8) -> F64x8 {
        volume * F64x8::lit(self.lambda + self.mu)
    }

    /// The first Piola-Kirchhoff stress of a point times its volume, N m, and what its derivative is made of. `slope`: for the rest of
    /// that, where there is one.
    #[inline(always)]
    pub(crate) fn stress(&self, at: &Point8, slope: Option<&mut Slope>) -> (Mat8, Parts) {
        let Point8 { volume, pressure, f, .. } = at;
        let zero = F64x8::lit(0.0);
        let mut s = if self.is_strained() || self.is_damped() { self.strain_stress(at) } else { [zero; 6] };
        if self.law == MaterialLaw::Linear {
            let mut stress = full(&s);
            (0..3).for_each(|k| stress[4 * k] -= *volume * *pressure);
            return (stress, Parts { f: identity(), s: [zero; 6], c: zero });
        }
        let (mut stress, mut c) = ([zero; 9], zero);
        if self.has_slope() {
            self.by_stretches(at, &mut stress, slope);
        }
        if self.swells() {
            let cofactor = cofactor(f);
            c = -(*volume * *pressure);
            if self.law == MaterialLaw::NeoHookean {
                let shear = *volume * F64x8::lit(self.mu);
                let grown = f[0] * cofactor[0] + f[1] * cofactor[1] + f[2] * cofactor[2] - F64x8::lit(1.0);
                c += self.bulk(*volume) * grown - shear;
                (0..3).for_each(|k| s[k] += shear);
            }
            (0..9).for_each(|at| stress[at] = c * cofactor[at]);
        }
        add_product(f, &full(&s), &mut stress);
        (stress, Parts { f: *f, s, c })
    }

    /// Second Piola-Kirchhoff stress of what goes by the strain, times volume.
    #[inline(always)]
    fn strain_stress(&self, Point8 { volume, before, f, .. }: &Point8) -> [F64x8; 6] {
        let is_linear = self.law == MaterialLaw::Linear;
        let [mu, lambda] = [self.mu, self.lambda].map(|x| *volume * F64x8::lit(x));
        let (now, then) = (strain(is_linear, f), strain(is_linear, before));
        let (whole, rate) = (F64x8::lit(self.share()), F64x8::lit(self.rate));
        let mut s = now;
        (0..6).for_each(|k| s[k] = whole * now[k] - rate * then[k]);
        let trace = lambda * (s[0] + s[1] + s[2]);
        (0..6).for_each(|k| s[k] = (mu + mu) * s[k]);
        (0..3).for_each(|k| s[k] += trace);
        s
    }

    /// Change of the stress with that of F, times volume.
    #[inline(always)]
    pub(crate) fn change(&self, volume: F64x8, Parts { f, s, c }: &Parts, by: &Mat8) -> Mat8 {
        let mut out = [F64x8::lit(0.0); 9];
        if self.law != MaterialLaw::Linear {
            add_product(by, &full(s), &mut out);
        }
        if self.swells() {
            if self.law == MaterialLaw::NeoHookean {
                let cofactor = cofactor(f);
                let mut grown = cofactor[0] * by[0];
                (1..9).for_each(|at| grown = cofactor[at].mul_add(by[at], grown));
                let swollen = self.bulk(volume) * grown;
                (0..9).for_each(|at| out[at] = swollen.mul_add(cofactor[at], out[at]));
            }
            for (at, out) in out.iter_mut().enumerate() {
                let [a, b, d, e] = minor(at);
                let sum = f[a].mul_add(by[b], by[a] * f[b]) - f[d].mul_add(by[e], by[d] * f[e]);
                *out = c.mul_add(sum, *out);
            }
        }
        if self.share() != 0.0 {
            let [mu, lambda] = self.moduli(volume);
            add_product(f, &strain_change(f, by, mu, lambda), &mut out);
        }
        out
    }

    /// Adds the diagonal of the stiffness of a node whose shape function has a gradient.
    #[inline(always)]
    pub(crate) fn add_diagonal(&self, volume: F64x8, Parts { f, s, .. }: &Parts, g: &Vec8, out: &mut Vec8) {
        let along = |m: &Mat8, i: usize| m[3 * i + 2].mul_add(g[2], m[3 * i + 1].mul_add(g[1], m[3 * i] * g[0]));
        if self.law != MaterialLaw::Linear {
            let s = full(s);
            let pushed = g[0] * along(&s, 0) + g[1] * along(&s, 1) + g[2] * along(&s, 2);
            (0..3).for_each(|i| out[i] += pushed);
        }
        if self.law == MaterialLaw::NeoHookean {
            let (cofactor, bulk) = (cofactor(f), self.bulk(volume));
            for (i, out) in out.iter_mut().enumerate() {
                let area = along(&cofactor, i);
                *out = (bulk * area).mul_add(area, *out);
            }
        }
        if self.share() != 0.0 {
            let [mu, lambda] = self.moduli(volume);
            let sheared = mu * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
            for (i, out) in out.iter_mut().enumerate() {
                let (moved, row) = (along(f, i), &f[3 * i..3 * i + 3]);
                let gram = row[0] * row[0] + row[1] * row[1] + row[2] * row[2];
                *out = ((mu + lambda) * moved).mul_add(moved, sheared.mul_add(gram, *out));
            }
        }
    }

    /// Adds the derivative of a point's stress by F, times volume.
    #[inline(always)]
    pub(crate) fn add_slope(&self, volume: F64x8, Parts { f, s, c }: &Parts, slope: &mut Slope) {
        for ([j, l], s) in SYMMETRIC.into_iter().zip(s) {
            (0..3).for_each(|i| slope[entry(3 * i + j, 3 * i + l)] += *s);
        }
        if self.law == MaterialLaw::NeoHookean {
            let (cofactor, bulk) = (cofactor(f), self.bulk(volume));
            let mut swollen = cofactor;
            (0..9).for_each(|at| swollen[at] = bulk * cofactor[at]);
            by_rows!(add_outer(&swollen, &cofactor, slope));
        }
        if self.swells() {
            // Of two rows, and two columns, the minor that is left: `c F_mn`, with the sign of the permutations.
            for [i, k] in [[0, 1], [1, 2], [2, 0]] {
                for [j, l] in [[0, 1], [1, 2], [2, 0]] {
                    let turned = *c * f[3 * (3 - i - k) + 3 - j - l];
                    slope[entry(3 * i + j, 3 * k + l)] += turned;
                    slope[entry(3 * i + l, 3 * k + j)] -= turned;
                }
            }
        }
        if self.share() != 0.0 {
            let [mu, lambda] = self.moduli(volume);
            let (mut sheared, mut swollen) = (*f, *f);
            (0..9).for_each(|p| (sheared[p], swollen[p]) = (mu * f[p], lambda * f[p]));
            by_rows!(add_outer(&swollen, f, slope));
            by_rows!(add_exchanged(&sheared, f, slope));
            for [i, k] in SYMMETRIC {
                let sum = sheared[3 * i] * f[3 * k] + sheared[3 * i + 1] * f[3 * k + 1];
                let gram = sheared[3 * i + 2].mul_add(f[3 * k + 2], sum);
                (0..3).for_each(|j| slope[entry(3 * i + j, 3 * k + j)] += gram);
            }
        }
    }

    /// A law of the principal stretches, element by element.
    fn by_stretches(&self, at: &Point8, stress: &mut Mat8, mut slope: Option<&mut Slope>) {
        let Point8 { volume, pressure, f, .. } = at;
        let Self { law, mu, lambda, .. } = *self;
        for lane in 0..LANES {
            let volume = volume.lane(lane);
            let moduli =
                Moduli { law, mu: volume * mu, lambda: volume * lambda, pressure: volume * pressure.lane(lane) };
            let own = moduli.response(&Matrix3::from_fn(|i, j| f[3 * i + j].lane(lane)));
            for at in 0..9 {
                stress[at].set_lane(lane, own.stress[(at / 3, at % 3)]);
            }
            let Some(slope) = &mut slope else { continue };
            for (j, l) in (0..9).map(|k| (k / 3, k % 3)) {
                let block = own.block(&Vector3::ith(j, 1.0), &Vector3::ith(l, 1.0));
                for (i, k) in (0..9).map(|k| (k / 3, k % 3)).filter(|(i, k)| 3 * i + j <= 3 * k + l) {
                    slope[entry(3 * i + j, 3 * k + l)].set_lane(lane, block[(i, k)]);
                }
            }
        }
    }

    /// Adds the change of the stress of damping, times volume, with that of F where the step begins; of the transposed derivative.
    #[inline(always)]
    pub(crate) fn add_change_by_start(
        &self,
        volume: F64x8,
        before: &Mat8,
        Parts { f, .. }: &Parts,
        (by, transposed): (&Mat8, bool),
        out: &mut Mat8,
    ) {
        let unit = identity();
        let before = if self.law == MaterialLaw::Linear { &unit } else { before };
        let (from, to) = if transposed { (f, before) } else { (before, f) };
        let [mu, lambda] = [self.mu, self.lambda].map(|x| volume * F64x8::lit(-self.rate * x));
        add_product(to, &strain_change(from, by, mu, lambda), out);
    }
}

/// `out += a b`
#[inline(always)]
fn add_product(a: &Mat8, b: &Mat8, out: &mut Mat8) {
    for (at, out) in out.iter_mut().enumerate() {
        let (i, j) = (at / 3, at % 3);
        *out = a[3 * i + 2].mul_add(b[6 + j], a[3 * i + 1].mul_add(b[3 + j], a[3 * i].mul_add(b[j], *out)));
    }
}

/// `mu (F^T X + X^T F) + lambda tr(F^T X) I`
#[inline(always)]
fn strain_change(f: &Mat8, by: &Mat8, mu: F64x8, lambda: F64x8) -> Mat8 {
    let mut turned = *f;
    for (at, turned) in turned.iter_mut().enumerate() {
        let (i, j) = (at / 3, at % 3);
        *turned = f[6 + i].mul_add(by[6 + j], f[3 + i].mul_add(by[3 + j], f[i] * by[j]));
    }
    let trace = lambda * (turned[0] + turned[4] + turned[8]);
    let mut out = turned;
    (0..9).for_each(|at| out[at] = mu * (turned[at] + turned[3 * (at % 3) + at / 3]));
    (0..3).for_each(|k| out[4 * k] += trace);
    out
}

/// All entries of a symmetric matrix.
#[inline(always)]
fn full(s: &[F64x8; 6]) -> Mat8 {
    [s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]]
}

/// Of an entry of `cof F` the entries a, b, d, e of F with which it is `a b - d e`.
#[inline(always)]
const fn minor(at: usize) -> [usize; 4] {
    let ([i1, i2], [j1, j2]) = ([(at / 3 + 1) % 3, (at / 3 + 2) % 3], [(at % 3 + 1) % 3, (at % 3 + 2) % 3]);
    [3 * i1 + j1, 3 * i2 + j2, 3 * i1 + j2, 3 * i2 + j1]
}

/// Adds `a_ij b_kl` to a row `ij`.
#[inline(always)]
fn add_outer<const P: usize>(a: &Mat8, b: &Mat8, slope: &mut Slope) {
    for q in P..9 {
        slope[entry(P, q)] = a[P].mul_add(b[q], slope[entry(P, q)]);
    }
}

/// Adds `a_il b_kj` to a row `ij`.
#[inline(always)]
fn add_exchanged<const P: usize>(a: &Mat8, b: &Mat8, slope: &mut Slope) {
    for q in P..9 {
        slope[entry(P, q)] = a[P / 3 * 3 + q % 3].mul_add(b[q / 3 * 3 + P % 3], slope[entry(P, q)]);
    }
}

#[inline(always)]
fn cofactor(f: &Mat8) -> Mat8 {
    let mut out = *f;
    for (at, out) in out.iter_mut().enumerate() {
        let [a, b, d, e] = minor(at);
        *out = f[a] * f[b] - f[d] * f[e];
    }
    out
}

/// Green's strain, or the small one, in the order of [`SYMMETRIC`].
#[inline(always)]
fn strain(is_linear: bool, f: &Mat8) -> [F64x8; 6] {
    let (half, one) = (F64x8::lit(0.5), F64x8::lit(1.0));
    let mut out = [one; 6];
    for ([i, j], out) in SYMMETRIC.into_iter().zip(&mut out) {
        let mut x = if is_linear {
            f[3 * i + j] + f[3 * j + i]
        } else {
            f[i] * f[j] + f[3 + i] * f[3 + j] + f[6 + i] * f[6 + j]
        };
        if i == j {
            x -= if is_linear { one + one } else { one };
        }
        *out = half * x;
    }
    out
}
