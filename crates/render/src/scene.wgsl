// A forward pass: solids and ground under one directional light with a shadow map, before a sky.

struct View {
    clip_from_world: mat4x4<f32>,
    // To the shadow map: x and y from -1 to 1, depth from 0 to 1.
    light_from_world: mat4x4<f32>,
    // Position of the camera, and the distance at which the ground has faded into the sky, m.
    eye: vec4<f32>,
    // Direction to the light, and the width of a pixel of the shadow map, m.
    light: vec4<f32>,
    // Axes of the camera times half the width and height of the picture at distance 1; forward has the grid's cell, m.
    right: vec4<f32>,
    up: vec4<f32>,
    forward: vec4<f32>,
}

@group(0) @binding(0) var<uniform> view: View;
@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var shadow_sampler: sampler_comparison;

const HORIZON = vec3<f32>(0.72, 0.80, 0.88);
const ZENITH = vec3<f32>(0.17, 0.34, 0.62);
const SUN = vec3<f32>(1.0, 0.95, 0.86) * 0.95;
const FROM_SKY = vec3<f32>(0.40, 0.46, 0.54);
const FROM_GROUND = vec3<f32>(0.21, 0.20, 0.18);

struct Corner {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) end: f32,
    // The instance: rows of the matrix to the world, scale by axis and shift of the ends, colour, and behind it
    // 0 for what is solid, 1 for the ground, 2 for what no shadow falls on.
    @location(3) x: vec4<f32>,
    @location(4) y: vec4<f32>,
    @location(5) z: vec4<f32>,
    @location(6) scale: vec4<f32>,
    @location(7) colour: vec4<f32>,
}

struct Point {
    @builtin(position) clip: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
    // In the frame of the ground, m.
    @location(2) local: vec2<f32>,
    @location(3) colour: vec4<f32>,
}

fn local(corner: Corner) -> vec3<f32> {
    return corner.position * corner.scale.xyz + vec3(0.0, 0.0, corner.end * corner.scale.w);
}

fn world(corner: Corner) -> vec3<f32> {
    let p = vec4(local(corner), 1.0);
    return vec3(dot(corner.x, p), dot(corner.y, p), dot(corner.z, p));
}

@vertex
fn place(corner: Corner) -> Point {
    let n = corner.normal / corner.scale.xyz;
    var point: Point;
    point.world = world(corner);
    point.clip = view.clip_from_world * vec4(point.world, 1.0);
    point.normal = vec3(dot(corner.x.xyz, n), dot(corner.y.xyz, n), dot(corner.z.xyz, n));
    point.local = local(corner).xy;
    point.colour = corner.colour;
    return point;
}

@vertex
fn place_for_light(corner: Corner) -> @builtin(position) vec4<f32> {
    return view.light_from_world * vec4(world(corner), 1.0);
}

fn sky(direction: vec3<f32>) -> vec3<f32> {
    return mix(HORIZON, ZENITH, sqrt(clamp(direction.z, 0.0, 1.0)) * 0.9);
}

// Part of the light that reaches a point: the mean over nine pixels of the shadow map, each between its neighbours.
fn lit(at: vec3<f32>, normal: vec3<f32>) -> f32 {
    let p = view.light_from_world * vec4(at + normal * view.light.w * 2.5, 1.0);
    let uv = vec2(0.5 + 0.5 * p.x, 0.5 - 0.5 * p.y);
    let pixel = 1.0 / vec2<f32>(textureDimensions(shadow_map));
    var sum = 0.0;
    for (var i = -1; i <= 1; i++) {
        for (var j = -1; j <= 1; j++) {
            let shifted = uv + vec2(f32(i), f32(j)) * pixel;
            sum += textureSampleCompareLevel(shadow_map, shadow_sampler, shifted, p.z);
        }
    }
    let inside = all(abs(p.xyz - vec3(0.0, 0.0, 0.5)) < vec3(1.0, 1.0, 0.5));
    return select(1.0, sum / 9.0, inside);
}

// How much of a line of the grid covers a pixel of this width, in cells; lines thinner than a pixel fade.
fn line(at: vec2<f32>, width: vec2<f32>) -> f32 {
    let distance = abs(fract(at - 0.5) - 0.5) / max(width, vec2(1e-6));
    let cover = (1.0 - smoothstep(vec2(0.4), vec2(1.4), distance)) * (1.0 - smoothstep(vec2(0.15), vec2(0.5), width));
    return max(cover.x, cover.y);
}

@fragment
fn shade(point: Point) -> @location(0) vec4<f32> {
    // Derivatives are taken before control flow divides.
    let cells = point.local / view.forward.w;
    let width = fwidth(cells);
    let normal = normalize(point.normal);
    let away = point.world - view.eye.xyz;
    let seen = normalize(away);
    let is_ground = abs(point.colour.a - 1.0) < 0.5;
    let reached = select(lit(point.world, normal), 1.0, point.colour.a > 1.5);
    let sun = max(dot(normal, view.light.xyz), 0.0) * reached;
    var colour = point.colour.rgb;
    if is_ground {
        colour *= 1.0 - 0.22 * line(cells, width) - 0.18 * line(cells / 5.0, width / 5.0);
    }
    let ambient = mix(FROM_GROUND, FROM_SKY, 0.5 + 0.5 * normal.z);
    colour *= ambient + SUN * sun;
    if is_ground {
        colour = mix(colour, sky(seen), smoothstep(0.1, 1.0, length(away) / view.eye.w));
    } else {
        let half_way = normalize(view.light.xyz - seen);
        colour += SUN * 0.18 * pow(max(dot(normal, half_way), 0.0), 40.0) * min(4.0 * sun, 1.0);
    }
    return vec4(colour, 1.0);
}

struct Beyond {
    @builtin(position) clip: vec4<f32>,
    @location(0) direction: vec3<f32>,
}

// One triangle over the whole picture, behind everything.
@vertex
fn place_sky(@builtin(vertex_index) number: u32) -> Beyond {
    let at = vec2(f32(number & 1u) * 4.0 - 1.0, f32(number >> 1u) * 4.0 - 1.0);
    var out: Beyond;
    out.clip = vec4(at, 1.0, 1.0);
    out.direction = view.forward.xyz + at.x * view.right.xyz + at.y * view.up.xyz;
    return out;
}

@fragment
fn shade_sky(beyond: Beyond) -> @location(0) vec4<f32> {
    return vec4(sky(normalize(beyond.direction)), 1.0);
}
