// Y = A^-1 J^T, the diagonal blocks and restitution of every slot. See tree_assemble.rs.
#import dynamics/tree
#import dynamics/solve
#import dynamics/small
#import contact/tree_layout
#import contact/local

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> factor: array<real>;
@group(0) @binding(4) var<storage, read> state: array<real>;
@group(0) @binding(5) var<storage, read> slots: array<u32>;
@group(0) @binding(6) var<storage, read_write> constraint: array<real>;

fn load_x(base: u32, i: u32) -> real {
    return constraint[base + i * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    constraint[base + i * TILE] = value;
}

// Slots at a time: a load of the factor serves all of their rows.
const GROUP: u32 = 4u;
// Numbers of four slots, of each of their rows by dof.
var<private> firsts: array<vec4<real>, SMALL_DOFS>;
var<private> seconds: array<vec4<real>, SMALL_DOFS>;
var<private> thirds: array<vec4<real>, SMALL_DOFS>;

fn load_four(at: vec4<u32>) -> vec4<real> {
    return vec4<real>(constraint[at.x], constraint[at.y], constraint[at.z], constraint[at.w]);
}

fn store_four(at: vec4<u32>, values: vec4<real>) {
    constraint[at.x] = values.x;
    constraint[at.y] = values.y;
    constraint[at.z] = values.z;
    constraint[at.w] = values.w;
}

// Y of the slots whose J begins at these addresses.
fn respond(factor_base: u32, j: vec4<u32>) {
    let n_v = dims.tree.n_v;
    for (var i = 0u; i < n_v; i++) {
        firsts[i] = load_four(j + i * TILE);
        seconds[i] = load_four(j + (n_v + i) * TILE);
        thirds[i] = load_four(j + (2u * n_v + i) * TILE);
    }
    for (var r = 0u; r < n_v; r++) {
        let i = n_v - 1u - r;
        let at = factor_base + begins[i] * TILE;
        let a = firsts[i];
        let b = seconds[i];
        let c = thirds[i];
        if all(abs(a) + abs(b) + abs(c) == vec4<real>(real(0.0), real(0.0), real(0.0), real(0.0))) {
            continue;
        }
        var to = parents[i];
        for (var k = 1u; k < chains[i]; k++) {
            let f = -factor[at + k * TILE];
            firsts[to] = fma(vec4<real>(f, f, f, f), a, firsts[to]);
            seconds[to] = fma(vec4<real>(f, f, f, f), b, seconds[to]);
            thirds[to] = fma(vec4<real>(f, f, f, f), c, thirds[to]);
            to = parents[to];
        }
    }
    for (var i = 0u; i < n_v; i++) {
        let at = factor_base + begins[i] * TILE;
        let inverse = factor[at];
        var a = firsts[i] * inverse;
        var b = seconds[i] * inverse;
        var c = thirds[i] * inverse;
        var from_dof = parents[i];
        for (var k = 1u; k < chains[i]; k++) {
            let f = -factor[at + k * TILE];
            a = fma(vec4<real>(f, f, f, f), firsts[from_dof], a);
            b = fma(vec4<real>(f, f, f, f), seconds[from_dof], b);
            c = fma(vec4<real>(f, f, f, f), thirds[from_dof], c);
            from_dof = parents[from_dof];
        }
        firsts[i] = a;
        seconds[i] = b;
        thirds[i] = c;
        store_four(j + (3u * n_v + i) * TILE, a);
        store_four(j + (4u * n_v + i) * TILE, b);
        store_four(j + (5u * n_v + i) * TILE, c);
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let factor_base = tile_base(lane, dims.tree.n_m);
    let v = tile_base(lane, n_state()) + dims.tree.n_q * TILE;
    let tile = lane / TILE * SLOTS;
    let first = slot_base(lane, slots[tile], 0u, slot_reals(n_v)) + SLOT_J * TILE;
    let stride = slot_reals(n_v) * TILE;
    let count = slots[tile + 1u];
    let small = is_small();
    if small {
        read_small();
    }
    for (var s = 0u; small && s < count; s += GROUP) {
        // The last slot stands in for those that are not there.
        let at = min(vec4<u32>(s, s + 1u, s + 2u, s + 3u), vec4<u32>(count - 1u));
        respond(factor_base, first + at * stride);
    }
    for (var s = 0u; s < count; s++) {
        let at = slot_base(lane, slots[tile], s, slot_reals(n_v));
        let j = at + SLOT_J * TILE;
        let y = j + 3u * n_v * TILE;
        if !small {
            for (var i = 0u; i < 3u * n_v; i++) {
                constraint[y + i * TILE] = constraint[j + i * TILE];
            }
            for (var a = 0u; a < 3u; a++) {
                solve(factor_base, y + a * n_v * TILE);
            }
        }
        var g = Block(array<real, 6>(real(0.0), real(0.0), real(0.0), real(0.0), real(0.0), real(0.0)));
        var normal = real(0.0);
        var reach = real(0.0);
        for (var i = 0u; i < n_v; i++) {
            let j0 = constraint[j + i * TILE];
            let j1 = constraint[j + (n_v + i) * TILE];
            let j2 = constraint[j + (2u * n_v + i) * TILE];
            if abs(j0) + abs(j1) + abs(j2) == real(0.0) {
                continue;
            }
            let y1 = constraint[y + (n_v + i) * TILE];
            let y2 = constraint[y + (2u * n_v + i) * TILE];
            g.g[0] = fma(j0, constraint[y + i * TILE], g.g[0]);
            g.g[1] = fma(j0, y1, g.g[1]);
            g.g[2] = fma(j0, y2, g.g[2]);
            g.g[3] = fma(j1, y1, g.g[3]);
            g.g[4] = fma(j1, y2, g.g[4]);
            g.g[5] = fma(j2, y2, g.g[5]);
            normal = fma(j2, state[v + i * TILE], normal);
            reach = max(reach, abs(j2));
        }
        let drift = constraint[at + SLOT_DRIFT * TILE];
        let inverse = local_invert(g);
        for (var k = 0u; k < 6u; k++) {
            constraint[at + (SLOT_BLOCK + k) * TILE] = g.g[k];
            constraint[at + (SLOT_INVERSE + k) * TILE] = inverse.g[k];
        }
        let rho = constraint[at + SLOT_RESTITUTION * TILE];
        var asked = constraint[at + (SLOT_BIAS + 2u) * TILE];
        let speed = normal + drift;
        if real(0.0) < rho && speed < constraint[at + SLOT_BOUNCE * TILE] {
            asked = rho * speed;
        }
        asked += drift;
        let mu = constraint[at + SLOT_MU * TILE];
        constraint[at + (SLOT_BIAS + 2u) * TILE] = local_parted(mu, g, reach, asked);
    }
}
