//! The momentum matrix `A = (1 + h a) M + h^2 K` and what momentum lacks, `b = M (u - v_k - h a v_k) + h f`, at the velocity
//! v_k, with forces f and stiffness K = -df/dq of all elements at `q + h v_k`; a: damping in proportion to mass; q and u: see
//! [`super::start`].
//!
//! An element's record in `topology`: its free nodes, n, and its regions; the regions; the nodes in the order of
//! elimination; the blocks of the matrix between them, `(0,0) (1,0) (1,1) (2,0) ..`. In `rest`, for each point of
//! integration: its volume, and the gradient of each free node's shape function.
//!
//! Stresses come from the gradient of displacements, `H = F - I`, where F itself would leave differences of numbers near one.
//!
//! Stiffness is that of `manyworlds_soft`, here as the few products of vectors that each law comes to: with `p_a = G g_a` of
//! shape functions' gradients g, `P_ab` is a sum of multiples of `I`, `p_a p_b^T`, `p_b p_a^T`, `[F (g_b x g_a)]_x`,
//! `[p_a]_x T [p_b]_x`.

use crate::args::Args;
use crate::dynamics::tree::{nth, nth_mut};
use crate::math::{Mat3, Vec3, cross, dot, mat_vec};
use crate::real::Real;
pub use crate::soft::body::SoftDims as Dims;
use crate::soft::body::{BLOCK, all_settled, law, soft};
use crate::soft::points::points;
use crate::soft::svd::svd;

/// Nodes of an element at most.
pub(super) const MOST_NODES: usize = 27;
/// Two stretches whose sum is smaller turn into each other by any rotation; the derivative of the rotation is held there.
const NO_SUM: f64 = 1e-6;

/// What a point of integration has to give: times its volume, a stress and the parts of its derivative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Response<R> {
    /// First Piola-Kirchhoff stress.
    pub(super) stress: Mat3<R>,
    /// The co-rotational and neo-Hookean laws: of `I`, and of `p_a p_b^T`.
    shear: R,
    bulk: R,
    /// `p_a = along g_a`: the rotation, or the cofactor of F.
    along: Mat3<R>,
    /// T (xx, yy, zz, xy, xz, yz): the turning of the rotation.
    turning: [R; 6],
    /// Of `[F (g_b x g_a)]_x`: derivative of the energy by the volume.
    by_volume: R,
    /// Green's strain, in the law or in damping: of `p_a p_b^T`; and of `p_b p_a^T` and `left left^T`.
    strain_bulk: R,
    strain_shear: R,
    /// `p_a = left g_a`.
    left: Mat3<R>,
    /// `left left^T`.
    gram: [R; 6],
    /// Second Piola-Kirchhoff stress.
    strain_stress: [R; 6],
}

/// Material of an element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moduli<R> {
    mu: R,
    lambda: R,
    pub(super) pressure: R,
    /// `damping / h`
    rate: R,
}

impl<R: Real> Moduli<R> {
    #[inline(always)]
    pub(super) fn new(params: &[R]) -> Self {
        let rate = params[soft::DAMPING] / params[soft::TIMESTEP];
        Self { mu: params[soft::MU], lambda: params[soft::LAMBDA], pressure: R::lit(0.0), rate }
    }
}

/// What an element is made of.
pub(super) struct Element<'a, S> {
    pub(super) nodes: &'a [u32],
    pub(super) regions: &'a [u32],
    /// The blocks of the matrix between its nodes.
    pub(super) places: &'a [u32],
    /// Of each point of integration.
    pub(super) rest: &'a [S],
}

impl<'a, S> Element<'a, S> {
    /// The next of the records.
    #[inline(always)]
    pub(super) fn take(dims: &Dims, words: &mut &'a [u32], rest: &mut &'a [S]) -> Self {
        let (n, n_region) = (words[0] as usize, words[1] as usize);
        let (regions, tail) = words[2..].split_at(n_region);
        let (nodes, tail) = tail.split_at(n);
        let (places, tail) = tail.split_at(n * (n + 1) / 2);
        *words = tail;
        let (own, tail) = rest.split_at(dims.n_point as usize * (1 + 3 * n));
        *rest = tail;
        Self { nodes, regions, places, rest: own }
    }
}

/// `begin` and `velocity` v_k to `matrix` `[n_block, 9]` and `b` `[n_v]` of one tile.
pub fn elements<R: Real>(
    dims: &Dims,
    topology: &[u32],
    rest: &[R::Scalar],
    params: &[R],
    begin: &[R],
    velocity: &[R],
    matrix: &mut [R],
    b: &mut [R],
) {
    if R::N == 1 {
        let scalars = bytemuck::cast_slice::<R, R::Scalar>;
        let (matrix, b) = (bytemuck::cast_slice_mut(matrix), bytemuck::cast_slice_mut(b));
        return points(dims, topology, rest, scalars(params), scalars(begin), scalars(velocity), matrix, b);
    }
    let n_v = dims.n_v() as usize;
    let (q, begin) = begin.split_at(n_v);
    let (u, pressures) = begin.split_at(n_v);
    let h = params[soft::TIMESTEP];
    let n_node = dims.n_node as usize;
    nodes(dims, params, &topology[..n_node], &rest[..n_node], u, velocity, matrix, b);
    let (square, material) = (h * h, Moduli::new(params));
    let (mut words, mut rest) = (&topology[n_node..], &rest[4 * n_node..]);
    // Of the nodes of an element: displacements at the start, by how much they grow, gradients at a point, what these come to.
    let none = [[R::lit(0.0); 3]; MOST_NODES];
    let (mut start, mut by, mut gradients, mut pushed) = (none, none, none, [none; 2]);
    for _ in 0..dims.n_element {
        let element = Element::take(dims, &mut words, &mut rest);
        let n = element.nodes.len();
        let moduli = Moduli { pressure: pressure(pressures, element.regions), ..material };
        for (i, &node) in element.nodes.iter().enumerate() {
            for k in 0..3 {
                let dof = 3 * node as usize + k;
                start[i][k] = q[dof];
                by[i][k] = h * velocity[dof];
            }
        }
        for own in element.rest.chunks_exact(1 + 3 * n) {
            let volume = R::splat(own[0]);
            for (i, to) in gradients[..n].iter_mut().enumerate() {
                *to = gradient(&own[1..], i);
            }
            let gradients = &gradients[..n];
            let (f, response) = respond_at(dims, &moduli, gradients, [&start[..n], &by[..n]]);
            let force = h * volume;
            for (&node, &g) in element.nodes.iter().zip(gradients) {
                let p = mat_vec(&response.stress, g);
                for k in 0..3 {
                    let dof = 3 * node as usize + k;
                    b[dof] = (-force).mul_add(p[k], b[dof]);
                }
            }
            if dims.check == 0 {
                let scale = square * volume;
                stiffness(dims, &response, &f, gradients, &mut pushed, |pair, own| {
                    let at = element.places[pair] as usize * BLOCK;
                    for (to, own) in matrix[at..at + BLOCK].iter_mut().zip(own) {
                        *to = scale.mul_add(own, *to);
                    }
                });
            }
        }
    }
}

/// Sets matrix, if one is made, and right-hand side to those of the nodes alone.
#[inline(always)]
pub(super) fn nodes<R: Real>(
    dims: &Dims,
    params: &[R],
    diagonals: &[u32],
    volumes: &[R::Scalar],
    u: &[R],
    velocity: &[R],
    matrix: &mut [R],
    b: &mut [R],
) {
    if dims.check == 0 {
        matrix.fill(R::lit(0.0));
    }
    let density = params[soft::DENSITY];
    let damping = params[soft::TIMESTEP] * params[soft::MASS_DAMPING];
    for (i, (&place, &volume)) in diagonals.iter().zip(volumes).enumerate() {
        let mass = density * R::splat(volume);
        let diagonal = mass * damping + mass;
        for k in 0..3 {
            if dims.check == 0 {
                matrix[place as usize * BLOCK + 4 * k] = diagonal;
            }
            let dof = 3 * i + k;
            b[dof] = mass * ((u[dof] - velocity[dof]) - damping * velocity[dof]);
        }
    }
}

/// Pressure in an element that is in some regions.
#[inline(always)]
pub(super) fn pressure<R: Real>(pressures: &[R], regions: &[u32]) -> R {
    let mut sum = R::lit(0.0);
    for &region in regions {
        sum += pressures[region as usize];
    }
    sum
}

#[inline(always)]
fn identity<R: Real>() -> Mat3<R> {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    [one, zero, zero, zero, one, zero, zero, zero, one]
}

/// `I + H`
#[inline(always)]
fn deformed<R: Real>(h: &Mat3<R>) -> Mat3<R> {
    let one = R::lit(1.0);
    let mut f = *h;
    f[0] += one;
    f[4] += one;
    f[8] += one;
    f
}

#[inline(always)]
fn gradient<R: Real>(gradients: &[R::Scalar], i: usize) -> Vec3<R> {
    [R::splat(gradients[3 * i]), R::splat(gradients[3 * i + 1]), R::splat(gradients[3 * i + 2])]
}

/// `H + sum u_i g_i^T`.
#[inline(always)]
fn add_gradient<R: Real>(gradients: &[Vec3<R>], u: &[Vec3<R>], mut h: Mat3<R>) -> Mat3<R> {
    for (g, u) in gradients.iter().zip(u) {
        for row in 0..3 {
            for column in 0..3 {
                h[3 * row + column] = u[row].mul_add(g[column], h[3 * row + column]);
            }
        }
    }
    h
}

/// F, and what a point has to give, by the gradients of shape functions, the nodes' displacements at the start and by how much they grow.
#[inline(always)]
pub(super) fn respond_at<R: Real>(
    dims: &Dims,
    moduli: &Moduli<R>,
    gradients: &[Vec3<R>],
    [start, by]: [&[Vec3<R>]; 2],
) -> (Mat3<R>, Response<R>) {
    let before = add_gradient(gradients, start, [R::lit(0.0); 9]);
    let after = add_gradient(gradients, by, before);
    let f = deformed(&after);
    (f, respond(dims, moduli, [&before, &after], &f))
}

#[inline(always)]
fn respond<R: Real>(dims: &Dims, m: &Moduli<R>, [before, after]: [&Mat3<R>; 2], f: &Mat3<R>) -> Response<R> {
    let zero = R::lit(0.0);
    let mut out = Response {
        stress: [zero; 9],
        shear: zero,
        bulk: zero,
        along: [zero; 9],
        turning: [zero; 6],
        by_volume: zero,
        strain_bulk: zero,
        strain_shear: zero,
        left: identity(),
        gram: [zero; 6],
        strain_stress: [zero; 6],
    };
    if dims.law == law::COROTATED {
        corotated(m, f, &mut out);
    }
    if dims.law == law::NEO_HOOKEAN || dims.pressed == 1 && dims.law != law::LINEAR {
        by_volume(dims, m, after, f, &mut out);
    }
    if dims.law == law::LINEAR || dims.law == law::SAINT_VENANT || dims.damped == 1 {
        strained(dims, m, [before, after], f, &mut out);
    }
    out
}

/// `P = 2 mu (F - R) + lambda tr(S - I) R`.
#[inline(always)]
fn corotated<R: Real>(m: &Moduli<R>, f: &Mat3<R>, out: &mut Response<R>) {
    let d = svd(f);
    let twice = m.mu + m.mu;
    let spread = m.lambda * (d.s[0] + d.s[1] + d.s[2] - R::lit(3.0));
    for row in 0..3 {
        for column in 0..3 {
            let at = 3 * row + column;
            let turned = d.u[2][row] * d.v[2][column];
            out.along[at] = d.u[0][row].mul_add(d.v[0][column], d.u[1][row].mul_add(d.v[1][column], turned));
        }
    }
    let along = spread - twice;
    for at in 0..9 {
        out.stress[at] = twice.mul_add(f[at], along * out.along[at]);
    }
    out.shear = twice;
    out.bulk = m.lambda;
    // Of the turn about each principal direction, halved: `[p_a]_x T [p_b]_x` comes with it.
    let mut turns = [R::lit(0.0); 3];
    for (k, [i, j]) in [[1, 2], [0, 2], [0, 1]].into_iter().enumerate() {
        turns[k] = -along / (d.s[i] + d.s[j]).max(R::lit(NO_SUM));
    }
    for (at, [row, column]) in [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
        let last = turns[2] * d.u[2][row] * d.u[2][column];
        let both = (turns[1] * d.u[1][row]).mul_add(d.u[1][column], last);
        out.turning[at] = (turns[0] * d.u[0][row]).mul_add(d.u[0][column], both);
    }
}

/// What depends on the volume: the neo-Hookean law, and pressures.
#[inline(always)]
fn by_volume<R: Real>(dims: &Dims, m: &Moduli<R>, h: &Mat3<R>, f: &Mat3<R>, out: &mut Response<R>) {
    let cofactor = cofactors(f);
    let mut pull = -m.pressure;
    out.by_volume = pull;
    if dims.law == law::NEO_HOOKEAN {
        out.shear = m.mu;
        out.bulk = m.lambda + m.mu;
        out.along = cofactor;
        let small = cofactors(h);
        let trace = h[0] + h[4] + h[8];
        // `det F - 1`
        let more = trace + (small[0] + small[4] + small[8]) + dot([h[0], h[1], h[2]], [small[0], small[1], small[2]]);
        pull = out.bulk * more - m.pressure;
        out.by_volume = pull - m.mu;
        // `F - cof F`
        for at in 0..9 {
            let both = h[at] + h[at / 3 + 3 * (at % 3)];
            let turned = if at % 4 == 0 { both - trace } else { both };
            out.stress[at] += m.mu * (turned - small[at]);
        }
    }
    for at in 0..9 {
        out.stress[at] = pull.mul_add(cofactor[at], out.stress[at]);
    }
}

#[inline(always)]
fn cofactors<R: Real>(m: &Mat3<R>) -> Mat3<R> {
    let (x, y, z) = ([m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]);
    let (yz, zx, xy) = (cross(y, z), cross(z, x), cross(x, y));
    [yz[0], yz[1], yz[2], zx[0], zx[1], zx[2], xy[0], xy[1], xy[2]]
}

/// What depends on Green's strain, or on the small one.
#[inline(always)]
fn strained<R: Real>(dims: &Dims, m: &Moduli<R>, [before, after]: [&Mat3<R>; 2], f: &Mat3<R>, out: &mut Response<R>) {
    let zero = R::lit(0.0);
    let elastic = dims.law == law::LINEAR || dims.law == law::SAINT_VENANT;
    let share = if elastic { R::lit(1.0) + m.rate } else { m.rate };
    out.strain_shear = m.mu * share;
    out.strain_bulk = m.lambda * share;
    let now = strain(dims.law, after);
    let then = strain(dims.law, before);
    // The whole strain, and that of the step.
    let mut sum = [zero; 6];
    for at in 0..6 {
        let of_step = m.rate * (now[at] - then[at]);
        sum[at] = if elastic { now[at] + of_step } else { of_step };
    }
    let trace = m.lambda * (sum[0] + sum[1] + sum[2]);
    let twice = m.mu + m.mu;
    let mut s = [zero; 6];
    for at in 0..6 {
        s[at] = twice * sum[at];
    }
    let pressure = if dims.law == law::LINEAR { m.pressure } else { zero };
    for at in 0..3 {
        s[at] = s[at] + trace - pressure;
    }
    if dims.law != law::LINEAR {
        out.left = *f;
        out.strain_stress = s;
    }
    let rows = [[s[0], s[3], s[4]], [s[3], s[1], s[5]], [s[4], s[5], s[2]]];
    let left = out.left;
    for row in 0..3 {
        for column in 0..3 {
            out.stress[3 * row + column] += dot([left[3 * row], left[3 * row + 1], left[3 * row + 2]], rows[column]);
        }
    }
    for (at, [row, column]) in [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
        let (r, c) = (3 * row, 3 * column);
        out.gram[at] = dot([left[r], left[r + 1], left[r + 2]], [left[c], left[c + 1], left[c + 2]]);
    }
}

/// (xx, yy, zz, xy, xz, yz), from H.
#[inline(always)]
fn strain<R: Real>(law: u32, h: &Mat3<R>) -> [R; 6] {
    let half = R::lit(0.5);
    let small = [h[0], h[4], h[8], half * (h[1] + h[3]), half * (h[2] + h[6]), half * (h[5] + h[7])];
    if law == law::LINEAR {
        return small;
    }
    let (x, y, z) = ([h[0], h[3], h[6]], [h[1], h[4], h[7]], [h[2], h[5], h[8]]);
    let squares = [dot(x, x), dot(y, y), dot(z, z), dot(x, y), dot(x, z), dot(y, z)];
    [0, 1, 2, 3, 4, 5].map(|at| half.mul_add(squares[at], small[at]))
}

/// A point's stiffness, block by block: `(0,0) (1,0) (1,1) (2,0) ..`. `along`, `left`: memory.
#[inline(always)]
pub(super) fn stiffness<R: Real>(
    dims: &Dims,
    response: &Response<R>,
    f: &Mat3<R>,
    gradients: &[Vec3<R>],
    [along, left]: &mut [[Vec3<R>; MOST_NODES]; 2],
    mut add: impl FnMut(usize, [R; BLOCK]),
) {
    let isotropic = dims.law == law::COROTATED || dims.law == law::NEO_HOOKEAN;
    let swells = dims.law == law::NEO_HOOKEAN || dims.pressed == 1 && dims.law != law::LINEAR;
    let strains = dims.law == law::LINEAR || dims.law == law::SAINT_VENANT || dims.damped == 1;
    let zero = R::lit(0.0);
    for (i, &g) in gradients.iter().enumerate() {
        if isotropic {
            along[i] = mat_vec(&response.along, g);
        }
        if strains {
            left[i] = mat_vec(&response.left, g);
        }
    }
    let mut pair = 0;
    for (i, &a) in gradients.iter().enumerate() {
        for (j, &b) in gradients[..=i].iter().enumerate() {
            let both = dot(a, b);
            let mut own = [zero; BLOCK];
            if isotropic {
                add_outer(response.bulk, along[i], along[j], &mut own);
                add_diagonal(response.shear * both, &mut own);
            }
            if dims.law == law::COROTATED {
                add_turning(&response.turning, along[i], along[j], &mut own);
            }
            if swells {
                add_cross(response.by_volume, mat_vec(f, cross(b, a)), &mut own);
            }
            if strains {
                add_outer(response.strain_bulk, left[i], left[j], &mut own);
                add_outer(response.strain_shear, left[j], left[i], &mut own);
                add_symmetric(response.strain_shear * both, &response.gram, &mut own);
                add_diagonal(product(&response.strain_stress, a, b), &mut own);
            }
            add(pair, own);
            pair += 1;
        }
    }
}

/// `own += s a b^T`.
#[inline(always)]
fn add_outer<R: Real>(s: R, a: Vec3<R>, b: Vec3<R>, own: &mut [R; BLOCK]) {
    for row in 0..3 {
        let own = &mut own[3 * row..3 * row + 3];
        let by = s * a[row];
        for column in 0..3 {
            own[column] = by.mul_add(b[column], own[column]);
        }
    }
}

/// `own += s I`.
#[inline(always)]
fn add_diagonal<R: Real>(s: R, own: &mut [R; BLOCK]) {
    own[0] += s;
    own[4] += s;
    own[8] += s;
}

/// `own += s m`, m symmetric.
#[inline(always)]
fn add_symmetric<R: Real>(s: R, m: &[R; 6], own: &mut [R; BLOCK]) {
    for (at, of) in [0, 3, 4, 3, 1, 5, 4, 5, 2].into_iter().enumerate() {
        own[at] = s.mul_add(m[of], own[at]);
    }
}

/// `own += s [w]_x`.
#[inline(always)]
fn add_cross<R: Real>(s: R, w: Vec3<R>, own: &mut [R; BLOCK]) {
    let w = [s * w[0], s * w[1], s * w[2]];
    own[1] -= w[2];
    own[2] += w[1];
    own[3] += w[2];
    own[5] -= w[0];
    own[6] -= w[1];
    own[7] += w[0];
}

/// `own += [a]_x T [b]_x`.
#[inline(always)]
fn add_turning<R: Real>(t: &[R; 6], a: Vec3<R>, b: Vec3<R>, own: &mut [R; BLOCK]) {
    // Row by row `T [b]_x` is the row of T times `[b]_x`, `-(b x row)`.
    let x = cross([t[0], t[3], t[4]], b);
    let y = cross([t[3], t[1], t[5]], b);
    let z = cross([t[4], t[5], t[2]], b);
    for column in 0..3 {
        own[column] += a[1] * z[column] - a[2] * y[column];
        own[3 + column] += a[2] * x[column] - a[0] * z[column];
        own[6 + column] += a[0] * y[column] - a[1] * x[column];
    }
}

/// `a^T s b`.
#[inline(always)]
fn product<R: Real>(s: &[R; 6], a: Vec3<R>, b: Vec3<R>) -> R {
    let of = [dot([s[0], s[3], s[4]], b), dot([s[3], s[1], s[5]], b), dot([s[4], s[5], s[2]], b)];
    dot(a, of)
}

/// Buffers: topology, rest, params, begin, velocity, status, matrix, b.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [topology, rest, params, begin, velocity, status, matrix, b] = args.split();
    let (topology, rest, params, begin) = (topology.index(), rest.real(), params.tile(), begin.tile());
    let (velocity, status, matrix, b) = (velocity.tile(), status.index(), matrix.tile_mut(), b.tile_mut());
    for t in (0..tiles).filter(|&t| !all_settled(nth(status, t, R::N as u32))) {
        elements(
            &dims,
            topology,
            rest,
            nth(params, t, dims.n_param),
            nth(begin, t, dims.n_begin()),
            nth(velocity, t, dims.n_v()),
            nth_mut(matrix, t, dims.n_block * BLOCK as u32),
            nth_mut(b, t, dims.n_v()),
        );
    }
}
