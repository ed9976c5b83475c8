// Singular values of a deformation gradient, with rotations on both sides. See svd.rs.
#import math

struct Svd {
    u: array<vec3<real>, 3>,
    v: array<vec3<real>, 3>,
    s: vec3<real>,
}

var<private> columns: array<vec3<real>, 3>;
var<private> right: array<vec3<real>, 3>;

fn svd(f: Mat3) -> Svd {
    let zero = real(0.0);
    let one = real(1.0);
    columns[0] = vec3<real>(f.x.x, f.y.x, f.z.x);
    columns[1] = vec3<real>(f.x.y, f.y.y, f.z.y);
    columns[2] = vec3<real>(f.x.z, f.y.z, f.z.z);
    right[0] = vec3<real>(one, zero, zero);
    right[1] = vec3<real>(zero, one, zero);
    right[2] = vec3<real>(zero, zero, one);
    for (var sweep = 0u; sweep < SWEEPS; sweep++) {
        let first = turn(0u, 1u);
        let second = turn(0u, 2u);
        let third = turn(1u, 2u);
        if !(first || second || third) {
            break;
        }
    }
    order(0u, 1u);
    order(1u, 2u);
    order(0u, 1u);
    var out: Svd;
    out.u[0] = direction(columns[0], vec3<real>(one, zero, zero));
    let across = columns[1] - out.u[0] * dot3(out.u[0], columns[1]);
    out.u[1] = direction(across, perpendicular(out.u[0]));
    out.u[2] = cross3(out.u[0], out.u[1]);
    out.v = right;
    out.s = vec3<real>(dot3(out.u[0], columns[0]), dot3(out.u[1], columns[1]), dot3(out.u[2], columns[2]));
    return out;
}

// Turns columns i and j to be at right angles; whether they were not.
fn turn(i: u32, j: u32) -> bool {
    let alpha = dot3(columns[i], columns[i]);
    let beta = dot3(columns[j], columns[j]);
    let gamma = dot3(columns[i], columns[j]);
    if !(SQUARE * (alpha * beta) < gamma * gamma) {
        return false;
    }
    let d = beta - alpha;
    let g = gamma + gamma;
    let t = select(g, -g, d < real(0.0)) / (abs(d) + sqrt(d * d + g * g));
    let c = real(1.0) / sqrt(t * t + real(1.0));
    let s = c * t;
    let x = columns[i];
    let y = columns[j];
    columns[i] = x * c - y * s;
    columns[j] = x * s + y * c;
    let p = right[i];
    let q = right[j];
    right[i] = p * c - q * s;
    right[j] = p * s + q * c;
    return true;
}

// Puts the longer of two columns first; the other one changes sign, so that V stays a rotation.
fn order(i: u32, j: u32) {
    if !(dot3(columns[i], columns[i]) < dot3(columns[j], columns[j])) {
        return;
    }
    let x = columns[i];
    columns[i] = columns[j];
    columns[j] = -x;
    let y = right[i];
    right[i] = right[j];
    right[j] = -y;
}

// Unit vector along one; `other` where it has no length.
fn direction(x: vec3<real>, other: vec3<real>) -> vec3<real> {
    let square = dot3(x, x);
    if square < NO_LENGTH {
        return other;
    }
    return x * (real(1.0) / sqrt(square));
}

// A unit vector at right angles to a unit vector: across the axis that it is farthest from, or nearly so.
fn perpendicular(x: vec3<real>) -> vec3<real> {
    let flat = x.x * x.x < real(0.5);
    let one = real(1.0);
    let zero = real(0.0);
    let across = cross3(x, vec3<real>(select(zero, one, flat), select(one, zero, flat), zero));
    return across * (one / sqrt(dot3(across, across)));
}
