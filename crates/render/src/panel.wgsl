// A panel of text over a picture: a rectangle that darkens what is behind it, with letters.

struct Panel {
    // Corners of the rectangle in clip coordinates: left, top, right, bottom.
    corners: vec4<f32>,
    // Size of a pixel of the letters, in pixels of the picture.
    pixel: vec4<f32>,
}

@group(0) @binding(0) var<uniform> panel: Panel;
// How much of each pixel a letter covers.
@group(0) @binding(1) var letters: texture_2d<f32>;

const BEHIND = vec4<f32>(0.01, 0.015, 0.025, 0.72);
const LETTER = vec3<f32>(0.93);

@vertex
fn place(@builtin(vertex_index) number: u32) -> @builtin(position) vec4<f32> {
    let x = select(panel.corners.x, panel.corners.z, (number & 1u) != 0u);
    let y = select(panel.corners.y, panel.corners.w, (number & 2u) != 0u);
    return vec4(x, y, 0.0, 1.0);
}

@fragment
fn shade(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let cover = textureLoad(letters, vec2<i32>(floor(at.xy / panel.pixel.xy)), 0).r;
    return mix(BEHIND, vec4(LETTER, 1.0), cover);
}
