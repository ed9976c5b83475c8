// Small pictures of many worlds, a tile each: colour, distance and what is seen. One light, no shadows.

struct View {
    clip_from_world: mat4x4<f32>,
    // Position of the camera, and the distance at which the ground has faded, m.
    eye: vec4<f32>,
    // Direction to the light, and the cell of the ground's squares, m.
    light: vec4<f32>,
}

// One a tile.
@group(0) @binding(0) var<storage, read> views: array<View>;

const HORIZON = vec3<f32>(0.72, 0.80, 0.88);
const SUN = vec3<f32>(1.0, 0.95, 0.86) * 0.75;
const FROM_SKY = vec3<f32>(0.40, 0.46, 0.54);
const FROM_GROUND = vec3<f32>(0.21, 0.20, 0.18);

struct Corner {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) end: f32,
    // The instance: as in scene.wgsl, then the tile and what it is.
    @location(3) x: vec4<f32>,
    @location(4) y: vec4<f32>,
    @location(5) z: vec4<f32>,
    @location(6) scale: vec4<f32>,
    @location(7) colour: vec4<f32>,
    @location(8) tile: u32,
    @location(9) what: i32,
}

struct Point {
    @builtin(position) clip: vec4<f32>,
    // Behind it, 1 for the ground.
    @location(0) colour: vec4<f32>,
    // Where in the ground's frame, in its cells; along the axis of the camera, m, and in parts of where the ground has faded.
    @location(1) place: vec4<f32>,
    @location(2) @interpolate(flat) what: i32,
}

struct Seen {
    @location(0) colour: vec4<f32>,
    @location(1) depth: f32,
    @location(2) what: i32,
}

@vertex
fn place(corner: Corner) -> Point {
    let view = views[corner.tile];
    let local = corner.position * corner.scale.xyz + vec3(0.0, 0.0, corner.end * corner.scale.w);
    let p = vec4(local, 1.0);
    let world = vec3(dot(corner.x, p), dot(corner.y, p), dot(corner.z, p));
    let n = corner.normal / corner.scale.xyz;
    let normal = normalize(vec3(dot(corner.x.xyz, n), dot(corner.y.xyz, n), dot(corner.z.xyz, n)));
    let ambient = mix(FROM_GROUND, FROM_SKY, 0.5 + 0.5 * normal.z);
    let lit = ambient + SUN * max(dot(normal, view.light.xyz), 0.0);
    var point: Point;
    point.clip = view.clip_from_world * vec4(world, 1.0);
    point.colour = vec4(corner.colour.rgb * lit, corner.colour.a);
    point.place = vec4(local.xy / view.light.w, point.clip.w, point.clip.w / view.eye.w);
    point.what = corner.what;
    return point;
}

@fragment
fn shade(point: Point) -> Seen {
    var colour = point.colour.rgb;
    if point.colour.a > 0.5 {
        let square = floor(point.place.xy);
        let odd = fract(0.5 * (square.x + square.y)) > 0.25;
        colour *= select(1.0, 0.8, odd);
        colour = mix(colour, HORIZON, smoothstep(0.1, 1.0, point.place.w));
    }
    return Seen(vec4(colour, 1.0), point.place.z, point.what);
}
