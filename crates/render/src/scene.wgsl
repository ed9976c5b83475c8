// A forward pass: solids and ground under up to eight lights, one of them with a shadow map, before a sky.

// As `Shining` in light.rs.
struct Light {
    // Where it is, m, and 1; or 0 for one that is far away.
    position: vec4<f32>,
    // Along which it shines, and the cosine of the angle to the side of its cone.
    direction: vec4<f32>,
    // On a matt surface, and the power of the cosine of the angle from its axis.
    diffuse: vec4<f32>,
    // In a highlight, and 1 for the one whose shadows are drawn.
    specular: vec4<f32>,
    // Parts of the divisor of its strength by distance.
    attenuation: vec4<f32>,
}

struct View {
    clip_from_world: mat4x4<f32>,
    // To the shadow map: x and y from -1 to 1, depth from 0 to 1.
    light_from_world: mat4x4<f32>,
    // Position of the camera, and the distance at which the ground has faded into the sky, m.
    eye: vec4<f32>,
    // First layer of the sky's texture, -1 without one, from there to that of the next side, and the width of a pixel of the
    // shadow map, m.
    sky: vec4<f32>,
    // Axes of the camera times half the width and height of the picture at distance 1; forward has the grid's cell, m.
    right: vec4<f32>,
    up: vec4<f32>,
    forward: vec4<f32>,
    // Light from everywhere: from above, with the number of lights, and from below.
    from_sky: vec4<f32>,
    from_ground: vec4<f32>,
    lights: array<Light, 8>,
}

@group(0) @binding(0) var<uniform> view: View;
@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var shadow_sampler: sampler_comparison;
@group(2) @binding(0) var textures: texture_2d_array<f32>;
@group(2) @binding(1) var texture_sampler: sampler;
@group(2) @binding(2) var side_sampler: sampler;

const HORIZON = vec3<f32>(0.72, 0.80, 0.88);
const ZENITH = vec3<f32>(0.17, 0.34, 0.62);

struct Corner {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) end: f32,
    // In a texture.
    @location(3) place: vec2<f32>,
    // The instance: rows of the matrix to the world, scale by axis and shift of the ends, colour, and behind it
    // 0 for what is solid, 1 for the ground, 2 for what no shadow falls on.
    @location(4) x: vec4<f32>,
    @location(5) y: vec4<f32>,
    @location(6) z: vec4<f32>,
    @location(7) scale: vec4<f32>,
    @location(8) colour: vec4<f32>,
    // `Paint` in texture/mod.rs.
    @location(9) factors: vec4<f32>,
    @location(10) layer: vec4<f32>,
    @location(11) shine: vec4<f32>,
}

struct Point {
    @builtin(position) clip: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
    // In the frame of the geom, m.
    @location(2) local: vec3<f32>,
    @location(3) place: vec2<f32>,
    @location(4) @interpolate(flat) colour: vec4<f32>,
    @location(5) @interpolate(flat) factors: vec4<f32>,
    @location(6) @interpolate(flat) layer: vec4<f32>,
    @location(7) @interpolate(flat) shine: vec4<f32>,
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
    point.local = local(corner);
    point.place = corner.place;
    point.colour = corner.colour;
    point.factors = corner.factors;
    point.layer = corner.layer;
    point.shine = corner.shine;
    return point;
}

@vertex
fn place_for_light(corner: Corner) -> @builtin(position) vec4<f32> {
    return view.light_from_world * vec4(world(corner), 1.0);
}

// A place on the sides of a cube: which side, and where on it from the upper left corner on.
struct Side {
    number: f32,
    at: vec2<f32>,
}

// The side that a direction points at, with the axes of cube maps in OpenGL.
fn side(d: vec3<f32>) -> Side {
    let size = abs(d);
    if size.x >= size.y && size.x >= size.z {
        return Side(select(1.0, 0.0, d.x > 0.0), 0.5 + 0.5 * vec2(select(d.z, -d.z, d.x > 0.0), -d.y) / size.x);
    }
    if size.y >= size.z {
        return Side(select(3.0, 2.0, d.y > 0.0), 0.5 + 0.5 * vec2(d.x, select(-d.z, d.z, d.y > 0.0)) / size.y);
    }
    return Side(select(5.0, 4.0, d.z > 0.0), 0.5 + 0.5 * vec2(select(-d.x, d.x, d.z > 0.0), -d.y) / size.z);
}

// The colour of a cube in a direction, and how far that moves from pixel to pixel.
fn on_cube(direction: vec3<f32>, layer: vec2<f32>, right: vec3<f32>, down: vec3<f32>) -> vec3<f32> {
    let at = side(direction);
    // By lengths alone: on both sides of an edge they are the same, so that no line is seen there.
    let size = max(max(abs(direction.x), abs(direction.y)), abs(direction.z));
    let dx = vec2(0.5 * length(right) / size, 0.0);
    let dy = vec2(0.0, 0.5 * length(down) / size);
    return textureSampleGrad(textures, side_sampler, at.at, i32(layer.x + layer.y * at.number + 0.5), dx, dy).rgb;
}

fn plain_sky(direction: vec3<f32>) -> vec3<f32> {
    return mix(HORIZON, ZENITH, sqrt(clamp(direction.z, 0.0, 1.0)) * 0.9);
}

fn sky(direction: vec3<f32>) -> vec3<f32> {
    if view.sky.x < 0.0 {
        return plain_sky(direction);
    }
    let none = vec3(0.0);
    return on_cube(vec3(direction.x, direction.z, -direction.y), view.sky.xy, none, none);
}

// Part of the light that reaches a point: the mean over nine pixels of the shadow map, each between its neighbours.
fn lit(at: vec3<f32>, normal: vec3<f32>) -> f32 {
    let clip = view.light_from_world * vec4(at + normal * view.sky.z * 2.5, 1.0);
    let p = clip.xyz / clip.w;
    let uv = vec2(0.5 + 0.5 * p.x, 0.5 - 0.5 * p.y);
    let pixel = 1.0 / vec2<f32>(textureDimensions(shadow_map));
    var sum = 0.0;
    for (var i = -1; i <= 1; i++) {
        for (var j = -1; j <= 1; j++) {
            let shifted = uv + vec2(f32(i), f32(j)) * pixel;
            sum += textureSampleCompareLevel(shadow_map, shadow_sampler, shifted, p.z);
        }
    }
    let inside = clip.w > 0.0 && all(abs(p - vec3(0.0, 0.0, 0.5)) < vec3(1.0, 1.0, 0.5));
    return select(1.0, sum / 9.0, inside);
}

// How much of a line of the grid covers a pixel of this width, in cells; lines thinner than a pixel fade.
fn line(at: vec2<f32>, width: vec2<f32>) -> f32 {
    let distance = abs(fract(at - 0.5) - 0.5) / max(width, vec2(1e-6));
    let cover = (1.0 - smoothstep(vec2(0.4), vec2(1.4), distance)) * (1.0 - smoothstep(vec2(0.15), vec2(0.5), width));
    return max(cover.x, cover.y);
}

// The colour of a texture; derivatives are those of the place on the geom.
fn textured(point: Point, right: vec3<f32>, down: vec3<f32>, right_place: vec2<f32>, down_place: vec2<f32>) -> vec3<f32> {
    let f = point.factors;
    if f.w < 0.5 {
        return vec3(1.0);
    }
    if f.w > 1.5 && f.w < 2.5 {
        return on_cube(point.local * f.xyz, point.layer.zw, right * f.xyz, down * f.xyz);
    }
    let own = f.w > 2.5;
    let at = select(point.local.xy, point.place, own) * f.xy + point.layer.xy;
    let dx = select(right.xy, right_place, own) * f.xy;
    let dy = select(down.xy, down_place, own) * f.xy;
    return textureSampleGrad(textures, texture_sampler, at, i32(point.layer.z + 0.5), dx, dy).rgb;
}

@fragment
fn shade(point: Point) -> @location(0) vec4<f32> {
    // Derivatives are taken before control flow divides.
    let right = dpdx(point.local);
    let down = dpdy(point.local);
    let right_place = dpdx(point.place);
    let down_place = dpdy(point.place);
    let cells = point.local.xy / view.forward.w;
    let width = fwidth(cells);
    let normal = normalize(point.normal);
    let away = point.world - view.eye.xyz;
    let seen = normalize(away);
    let is_ground = abs(point.colour.a - 1.0) < 0.5;
    var colour = point.colour.rgb * textured(point, right, down, right_place, down_place);
    if is_ground && point.factors.w < 0.5 {
        colour *= 1.0 - 0.22 * line(cells, width) - 0.18 * line(cells / 5.0, width / 5.0);
    }
    let reached = select(lit(point.world, normal), 1.0, point.colour.a > 1.5);
    var matt = mix(view.from_ground.rgb, view.from_sky.rgb, 0.5 + 0.5 * normal.z) + point.shine.z;
    var highlight = vec3(0.0);
    for (var i = 0u; i < u32(view.from_sky.w); i++) {
        let light = view.lights[i];
        let to = select(-light.direction.xyz, light.position.xyz - point.world, light.position.w > 0.5);
        let distance = length(to);
        let towards = to / distance;
        var strength = select(1.0, reached, light.specular.w > 0.5);
        if light.position.w > 0.5 {
            let fading = light.attenuation.xyz;
            strength /= max(fading.x + distance * (fading.y + distance * fading.z), 1e-6);
            let cosine = -dot(towards, light.direction.xyz);
            let edge = 0.02 * (1.0 - light.direction.w);
            strength *= smoothstep(light.direction.w, light.direction.w + edge, cosine);
            strength *= pow(max(cosine, 1e-6), light.diffuse.w);
        }
        let facing = max(dot(normal, towards), 0.0) * strength;
        matt += light.diffuse.rgb * facing;
        let half_way = normalize(towards - seen);
        let mirrored = pow(max(dot(normal, half_way), 0.0), point.shine.y);
        highlight += light.specular.rgb * mirrored * min(4.0 * facing, 1.0);
    }
    colour *= matt;
    if point.shine.w > 0.0 {
        colour += point.shine.w * sky(reflect(seen, normal));
    }
    if is_ground {
        colour = mix(colour, sky(seen), smoothstep(0.1, 1.0, length(away) / view.eye.w));
    } else {
        colour += point.shine.x * highlight;
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
