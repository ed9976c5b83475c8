// The momentum matrix and what momentum lacks, from all elements. See elements.rs.
#import math
#import index
#import dynamics/names.rs
#import soft/body.rs
#import soft/svd

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> topology: array<u32>;
@group(0) @binding(2) var<storage, read> rest: array<real>;
@group(0) @binding(3) var<storage, read> params: array<real>;
@group(0) @binding(4) var<storage, read> begin: array<real>;
@group(0) @binding(5) var<storage, read> velocity: array<real>;
@group(0) @binding(6) var<storage, read> status: array<u32>;
@group(0) @binding(7) var<storage, read_write> matrix: array<real>;
@group(0) @binding(8) var<storage, read_write> b: array<real>;

struct Response {
    stress: Mat3,
    shear: real,
    bulk: real,
    along: Mat3,
    turning: Sym3,
    by_volume: real,
    strain_bulk: real,
    strain_shear: real,
    left: Mat3,
    gram: Sym3,
    strain_stress: Sym3,
}

struct Moduli {
    mu: real,
    lambda: real,
    pressure: real,
    rate: real,
}

var<private> start: array<vec3<real>, MOST_NODES>;
var<private> by: array<vec3<real>, MOST_NODES>;
var<private> along: array<vec3<real>, MOST_NODES>;
var<private> left: array<vec3<real>, MOST_NODES>;
var<private> block: array<vec3<real>, 3>;
var<private> response: Response;

fn param_at(lane: u32, index: u32) -> real {
    return params[tile_at(lane, dims.n_param, index)];
}

// Sets matrix, if one is made, and right-hand side to those of the nodes alone.
fn nodes(lane: u32, u_base: u32, v_base: u32, matrix_base: u32) {
    if dims.check == 0u {
        for (var e = 0u; e < dims.n_block * BLOCK; e++) {
            matrix[matrix_base + e * TILE] = real(0.0);
        }
    }
    let density = param_at(lane, SOFT_DENSITY);
    let damping = param_at(lane, SOFT_TIMESTEP) * param_at(lane, SOFT_MASS_DAMPING);
    for (var i = 0u; i < dims.n_node; i++) {
        let mass = density * rest[i];
        let place = topology[i] * BLOCK;
        for (var k = 0u; k < 3u; k++) {
            if dims.check == 0u {
                matrix[matrix_base + (place + 4u * k) * TILE] = mass * damping + mass;
            }
            let dof = (3u * i + k) * TILE;
            let v = velocity[v_base + dof];
            b[v_base + dof] = mass * ((begin[u_base + dof] - v) - damping * v);
        }
    }
}

// Pressure in an element that is in some regions.
fn pressure(pressure_base: u32, word: u32, n_region: u32) -> real {
    var sum = real(0.0);
    for (var r = 0u; r < n_region; r++) {
        sum += begin[pressure_base + topology[word + r] * TILE];
    }
    return sum;
}

fn zeros() -> Mat3 {
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    return Mat3(zero, zero, zero);
}

fn identity() -> Mat3 {
    let zero = real(0.0);
    let one = real(1.0);
    return Mat3(vec3<real>(one, zero, zero), vec3<real>(zero, one, zero), vec3<real>(zero, zero, one));
}

// `I + H`
fn deformed(h: Mat3) -> Mat3 {
    let one = identity();
    return Mat3(h.x + one.x, h.y + one.y, h.z + one.z);
}

fn gradient(at: u32, i: u32) -> vec3<real> {
    return vec3<real>(rest[at + 3u * i], rest[at + 3u * i + 1u], rest[at + 3u * i + 2u]);
}

fn grown(f: Mat3, u: vec3<real>, g: vec3<real>) -> Mat3 {
    return Mat3(scale_add(g, u.x, f.x), scale_add(g, u.y, f.y), scale_add(g, u.z, f.z));
}

// `H += sum u_i g_i^T` of displacements at the start, or of those since.
fn add_gradient(at: u32, n: u32, since: bool, h: Mat3) -> Mat3 {
    var out = h;
    for (var i = 0u; i < n; i++) {
        var u = start[i];
        if since {
            u = by[i];
        }
        out = grown(out, u, gradient(at, i));
    }
    return out;
}

fn respond(m: Moduli, before: Mat3, after: Mat3, f: Mat3) {
    let zero = real(0.0);
    let none = Sym3(vec3<real>(zero, zero, zero), vec3<real>(zero, zero, zero));
    response = Response(zeros(), zero, zero, zeros(), none, zero, zero, zero, identity(), none, none);
    if dims.law == LAW_COROTATED {
        corotated(m, f);
    }
    if dims.law == LAW_NEO_HOOKEAN || dims.pressed == 1u && dims.law != LAW_LINEAR {
        by_volume(m, after, f);
    }
    if dims.law == LAW_LINEAR || dims.law == LAW_SAINT_VENANT || dims.damped == 1u {
        strained(m, before, after, f);
    }
}

// Adds `s m` to the stress.
fn add_stress(s: real, m: Mat3) {
    response.stress.x = scale_add(m.x, s, response.stress.x);
    response.stress.y = scale_add(m.y, s, response.stress.y);
    response.stress.z = scale_add(m.z, s, response.stress.z);
}

// `P = 2 mu (F - R) + lambda tr(S - I) R`.
fn corotated(m: Moduli, f: Mat3) {
    let d = svd(f);
    let twice = m.mu + m.mu;
    let spread = m.lambda * (d.s.x + d.s.y + d.s.z - real(3.0));
    var turned = zeros();
    for (var k = 0u; k < 3u; k++) {
        turned = grown(turned, d.u[2u - k], d.v[2u - k]);
    }
    response.along = turned;
    let along_rotation = spread - twice;
    add_stress(along_rotation, turned);
    add_stress(twice, f);
    response.shear = twice;
    response.bulk = m.lambda;
    let sums = vec3<real>(d.s.y + d.s.z, d.s.x + d.s.z, d.s.x + d.s.y);
    let turns = vec3<real>(
        -along_rotation / max(sums.x, NO_SUM),
        -along_rotation / max(sums.y, NO_SUM),
        -along_rotation / max(sums.z, NO_SUM),
    );
    for (var r = 0u; r < 3u; r++) {
        let k = 2u - r;
        let u = d.u[k];
        let by_u = u * turns[k];
        response.turning.d += by_u * u;
        response.turning.o += vec3<real>(by_u.x * u.y, by_u.x * u.z, by_u.y * u.z);
    }
}

// What depends on the volume: the neo-Hookean law, and pressures.
fn by_volume(m: Moduli, h: Mat3, f: Mat3) {
    let cofactor = cofactors(f);
    var pull = -m.pressure;
    response.by_volume = pull;
    if dims.law == LAW_NEO_HOOKEAN {
        response.shear = m.mu;
        response.bulk = m.lambda + m.mu;
        response.along = cofactor;
        let small = cofactors(h);
        let trace = h.x.x + h.y.y + h.z.z;
        // `det F - 1`
        let more = trace + (small.x.x + small.y.y + small.z.z) + dot3(h.x, small.x);
        pull = response.bulk * more - m.pressure;
        response.by_volume = pull - m.mu;
        // `F - cof F`
        add_stress(m.mu, Mat3(
            h.x + vec3<real>(h.x.x - trace, h.y.x, h.z.x) - small.x,
            h.y + vec3<real>(h.x.y, h.y.y - trace, h.z.y) - small.y,
            h.z + vec3<real>(h.x.z, h.y.z, h.z.z - trace) - small.z,
        ));
    }
    add_stress(pull, cofactor);
}

fn cofactors(m: Mat3) -> Mat3 {
    return Mat3(cross3(m.y, m.z), cross3(m.z, m.x), cross3(m.x, m.y));
}

// What depends on Green's strain, or on the small one.
fn strained(m: Moduli, before: Mat3, after: Mat3, f: Mat3) {
    let elastic = dims.law == LAW_LINEAR || dims.law == LAW_SAINT_VENANT;
    let share = select(m.rate, real(1.0) + m.rate, elastic);
    response.strain_shear = m.mu * share;
    response.strain_bulk = m.lambda * share;
    let now = strain(after);
    let then = strain(before);
    var sum = Sym3((now.d - then.d) * m.rate, (now.o - then.o) * m.rate);
    if elastic {
        sum.d += now.d;
        sum.o += now.o;
    }
    let trace = m.lambda * (sum.d.x + sum.d.y + sum.d.z);
    let twice = m.mu + m.mu;
    var axial = trace;
    if dims.law == LAW_LINEAR {
        axial -= m.pressure;
    }
    let s = Sym3(sum.d * twice + vec3<real>(axial, axial, axial), sum.o * twice);
    if dims.law != LAW_LINEAR {
        response.left = f;
        response.strain_stress = s;
    }
    let l = response.left;
    response.stress.x += sym_vec(s, l.x);
    response.stress.y += sym_vec(s, l.y);
    response.stress.z += sym_vec(s, l.z);
    response.gram = Sym3(
        vec3<real>(dot3(l.x, l.x), dot3(l.y, l.y), dot3(l.z, l.z)),
        vec3<real>(dot3(l.x, l.y), dot3(l.x, l.z), dot3(l.y, l.z)),
    );
}

// From H.
fn strain(h: Mat3) -> Sym3 {
    let half = real(0.5);
    let d = vec3<real>(h.x.x, h.y.y, h.z.z);
    let o = vec3<real>(h.x.y + h.y.x, h.x.z + h.z.x, h.y.z + h.z.y) * half;
    if dims.law == LAW_LINEAR {
        return Sym3(d, o);
    }
    let x = vec3<real>(h.x.x, h.y.x, h.z.x);
    let y = vec3<real>(h.x.y, h.y.y, h.z.y);
    let z = vec3<real>(h.x.z, h.y.z, h.z.z);
    return Sym3(
        scale_add(vec3<real>(dot3(x, x), dot3(y, y), dot3(z, z)), half, d),
        scale_add(vec3<real>(dot3(x, y), dot3(x, z), dot3(y, z)), half, o),
    );
}

// Adds a point's stiffness, times `scale`.
fn stiffness(f: Mat3, at: u32, places: u32, n: u32, scale: real, matrix_base: u32) {
    let isotropic = dims.law == LAW_COROTATED || dims.law == LAW_NEO_HOOKEAN;
    let swells = dims.law == LAW_NEO_HOOKEAN || dims.pressed == 1u && dims.law != LAW_LINEAR;
    let strains = dims.law == LAW_LINEAR || dims.law == LAW_SAINT_VENANT || dims.damped == 1u;
    for (var i = 0u; i < n; i++) {
        let g = gradient(at, i);
        along[i] = mat_vec(response.along, g);
        left[i] = mat_vec(response.left, g);
    }
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var pair = places;
    for (var i = 0u; i < n; i++) {
        let ga = gradient(at, i);
        for (var j = 0u; j <= i; j++) {
            let gb = gradient(at, j);
            let both = dot3(ga, gb);
            block[0] = zero;
            block[1] = zero;
            block[2] = zero;
            if isotropic {
                add_outer(response.bulk, along[i], along[j]);
                add_diagonal(response.shear * both);
            }
            if dims.law == LAW_COROTATED {
                add_turning(along[i], along[j]);
            }
            if swells {
                add_cross(response.by_volume, mat_vec(f, cross3(gb, ga)));
            }
            if strains {
                add_outer(response.strain_bulk, left[i], left[j]);
                add_outer(response.strain_shear, left[j], left[i]);
                add_symmetric(response.strain_shear * both, response.gram);
                add_diagonal(dot3(ga, sym_vec(response.strain_stress, gb)));
            }
            let to = matrix_base + topology[pair] * BLOCK * TILE;
            for (var row = 0u; row < 3u; row++) {
                for (var column = 0u; column < 3u; column++) {
                    let entry = to + (3u * row + column) * TILE;
                    matrix[entry] = fma(scale, block[row][column], matrix[entry]);
                }
            }
            pair++;
        }
    }
}

// `own += s a b^T`.
fn add_outer(s: real, x: vec3<real>, y: vec3<real>) {
    for (var row = 0u; row < 3u; row++) {
        block[row] = scale_add(y, s * x[row], block[row]);
    }
}

// `own += s I`.
fn add_diagonal(s: real) {
    block[0].x += s;
    block[1].y += s;
    block[2].z += s;
}

// `own += s m`, m symmetric.
fn add_symmetric(s: real, m: Sym3) {
    block[0] = scale_add(vec3<real>(m.d.x, m.o.x, m.o.y), s, block[0]);
    block[1] = scale_add(vec3<real>(m.o.x, m.d.y, m.o.z), s, block[1]);
    block[2] = scale_add(vec3<real>(m.o.y, m.o.z, m.d.z), s, block[2]);
}

// `own += s [w]_x`.
fn add_cross(s: real, w: vec3<real>) {
    let x = w * s;
    let zero = real(0.0);
    block[0] += vec3<real>(zero, -x.z, x.y);
    block[1] += vec3<real>(x.z, zero, -x.x);
    block[2] += vec3<real>(-x.y, x.x, zero);
}

// `own += [a]_x T [b]_x`.
fn add_turning(a: vec3<real>, c: vec3<real>) {
    let t = response.turning;
    let x = cross3(vec3<real>(t.d.x, t.o.x, t.o.y), c);
    let y = cross3(vec3<real>(t.o.x, t.d.y, t.o.z), c);
    let z = cross3(vec3<real>(t.o.y, t.o.z, t.d.z), c);
    block[0] += z * a.y - y * a.z;
    block[1] += x * a.z - z * a.x;
    block[2] += y * a.x - x * a.y;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes || (status[lane] & STATUS_SETTLED) != 0u {
        return;
    }
    let n_v = 3u * dims.n_node;
    let q_base = tile_base(lane, 2u * n_v + dims.n_region);
    let pressure_base = q_base + 2u * n_v * TILE;
    let v_base = tile_base(lane, n_v);
    let matrix_base = tile_base(lane, dims.n_block * BLOCK);
    nodes(lane, q_base + n_v * TILE, v_base, matrix_base);
    let h = param_at(lane, SOFT_TIMESTEP);
    let square = h * h;
    let rate = param_at(lane, SOFT_DAMPING) / h;
    let mu = param_at(lane, SOFT_MU);
    let lambda = param_at(lane, SOFT_LAMBDA);
    var word = dims.n_node;
    var at = 4u * dims.n_node;
    for (var e = 0u; e < dims.n_element; e++) {
        let n = topology[word];
        let n_region = topology[word + 1u];
        let moduli = Moduli(mu, lambda, pressure(pressure_base, word + 2u, n_region), rate);
        let own = word + 2u + n_region;
        let places = own + n;
        word = places + n * (n + 1u) / 2u;
        for (var i = 0u; i < n; i++) {
            for (var k = 0u; k < 3u; k++) {
                let dof = (3u * topology[own + i] + k) * TILE;
                start[i][k] = begin[q_base + dof];
                by[i][k] = h * velocity[v_base + dof];
            }
        }
        for (var p = 0u; p < dims.n_point; p++) {
            let volume = rest[at];
            let g = at + 1u;
            at = g + 3u * n;
            let before = add_gradient(g, n, false, zeros());
            let after = add_gradient(g, n, true, before);
            let f = deformed(after);
            respond(moduli, before, after, f);
            let force = h * volume;
            for (var i = 0u; i < n; i++) {
                let pull = mat_vec(response.stress, gradient(g, i));
                for (var k = 0u; k < 3u; k++) {
                    let dof = v_base + (3u * topology[own + i] + k) * TILE;
                    b[dof] = fma(-force, pull[k], b[dof]);
                }
            }
            if dims.check == 0u {
                stiffness(f, g, places, n, square * volume, matrix_base);
            }
        }
    }
}
