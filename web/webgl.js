// Draws with WebGL 2 what crates/render draws with wgpu: its scene.wgsl in GLSL, for browsers without WebGPU.

const VIEW = `
precision highp float;
uniform mat4 clip_from_world;
uniform mat4 light_from_world;
uniform vec4 eye, sky_layer, right, up, forward, from_sky, from_ground;
`;

const SKY = `
precision highp sampler2DArray;
uniform sampler2DArray textures, sides;
const vec3 HORIZON = vec3(0.72, 0.80, 0.88);
const vec3 ZENITH = vec3(0.17, 0.34, 0.62);
// Which side of a cube a direction points at, and where on it.
vec3 side(vec3 d) {
  vec3 size = abs(d);
  if (size.x >= size.y && size.x >= size.z)
    return vec3(0.5 + 0.5 * vec2(d.x > 0.0 ? -d.z : d.z, -d.y) / size.x, d.x > 0.0 ? 0.0 : 1.0);
  if (size.y >= size.z)
    return vec3(0.5 + 0.5 * vec2(d.x, d.y > 0.0 ? d.z : -d.z) / size.y, d.y > 0.0 ? 2.0 : 3.0);
  return vec3(0.5 + 0.5 * vec2(d.z > 0.0 ? d.x : -d.x, -d.y) / size.z, d.z > 0.0 ? 4.0 : 5.0);
}
vec3 on_cube(vec3 direction, vec2 layer, vec3 right, vec3 down) {
  vec3 where = side(direction);
  float size = max(max(abs(direction.x), abs(direction.y)), abs(direction.z));
  vec3 from = vec3(where.xy, layer.x + layer.y * where.z);
  return textureGrad(sides, from, vec2(0.5 * length(right) / size, 0.0), vec2(0.0, 0.5 * length(down) / size)).rgb;
}
vec3 sky(vec3 d) {
  if (sky_layer.x < 0.0) return mix(HORIZON, ZENITH, sqrt(clamp(d.z, 0.0, 1.0)) * 0.9);
  return on_cube(vec3(d.x, d.z, -d.y), sky_layer.xy, vec3(0.0), vec3(0.0));
}
// From intensities to bytes.
vec4 srgb(vec3 c) {
  c = clamp(c, 0.0, 1.0);
  return vec4(mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)), 1.0);
}
`;

const CORNER = `
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in float end;
layout(location = 3) in vec2 place;
layout(location = 4) in vec4 x;
layout(location = 5) in vec4 y;
layout(location = 6) in vec4 z;
layout(location = 7) in vec4 scale;
layout(location = 8) in vec4 colour;
layout(location = 9) in vec4 factors;
layout(location = 10) in vec4 layer;
layout(location = 11) in vec4 shine;
vec3 local() { return position * scale.xyz + vec3(0.0, 0.0, end * scale.w); }
vec3 world() { vec4 p = vec4(local(), 1.0); return vec3(dot(x, p), dot(y, p), dot(z, p)); }
`;

const PLACE = `#version 300 es
${VIEW}${CORNER}
uniform float in_front;
out vec3 at, turned, inside;
out vec2 on_texture;
flat out vec4 tint, paint, lies, gloss;
void main() {
  vec3 n = normal / scale.xyz;
  at = world();
  turned = vec3(dot(x.xyz, n), dot(y.xyz, n), dot(z.xyz, n));
  inside = local();
  on_texture = place;
  tint = colour;
  paint = factors;
  lies = layer;
  gloss = shine;
  gl_Position = clip_from_world * vec4(at, 1.0);
  // The first depths are those of arrows, which so lie before everything else.
  float depth = gl_Position.z / gl_Position.w;
  gl_Position.z = mix(0.1 + 0.9 * depth, 0.1 * depth, in_front) * gl_Position.w;
}`;

const SHADE = `#version 300 es
${VIEW}${SKY}
// Five for each light: where it is, along which it shines, on matt surfaces, in highlights, and how it fades.
uniform vec4 lights[40];
precision highp sampler2DShadow;
uniform sampler2DShadow shadow_map;
in vec3 at, turned, inside;
in vec2 on_texture;
flat in vec4 tint, paint, lies, gloss;
out vec4 pixel;
float lit(vec3 where, vec3 normal) {
  vec4 clip = light_from_world * vec4(where + normal * sky_layer.z * 2.5, 1.0);
  vec3 p = clip.xyz / clip.w;
  if (clip.w <= 0.0 || any(greaterThan(abs(p - vec3(0.0, 0.0, 0.5)), vec3(1.0, 1.0, 0.5)))) return 1.0;
  // This map's depths run from -1 to 1 before they are stored.
  vec3 uvz = vec3(0.5 + 0.5 * p.xy, 0.5 + 0.5 * p.z);
  float one = 1.0 / float(textureSize(shadow_map, 0).x), sum = 0.0;
  for (int i = -1; i <= 1; i++)
    for (int j = -1; j <= 1; j++) sum += texture(shadow_map, uvz + vec3(float(i) * one, float(j) * one, 0.0));
  return sum / 9.0;
}
float line(vec2 cells, vec2 width) {
  vec2 away = abs(fract(cells - 0.5) - 0.5) / max(width, vec2(1e-6));
  vec2 cover = (1.0 - smoothstep(vec2(0.4), vec2(1.4), away)) * (1.0 - smoothstep(vec2(0.15), vec2(0.5), width));
  return max(cover.x, cover.y);
}
vec3 textured(vec3 right, vec3 down, vec2 right_place, vec2 down_place) {
  if (paint.w < 0.5) return vec3(1.0);
  if (paint.w > 1.5 && paint.w < 2.5) return on_cube(inside * paint.xyz, lies.zw, right * paint.xyz, down * paint.xyz);
  bool own = paint.w > 2.5;
  vec2 where = (own ? on_texture : inside.xy) * paint.xy + lies.xy;
  vec2 dx = (own ? right_place : right.xy) * paint.xy, dy = (own ? down_place : down.xy) * paint.xy;
  return textureGrad(textures, vec3(where, lies.z), dx, dy).rgb;
}
void main() {
  vec3 right = dFdx(inside), down = dFdy(inside);
  vec2 right_place = dFdx(on_texture), down_place = dFdy(on_texture);
  vec2 cells = inside.xy / forward.w, width = fwidth(cells);
  vec3 normal = normalize(turned), away = at - eye.xyz, seen = normalize(away);
  bool ground = abs(tint.a - 1.0) < 0.5;
  vec3 c = tint.rgb * textured(right, down, right_place, down_place);
  if (ground && paint.w < 0.5) c *= 1.0 - 0.22 * line(cells, width) - 0.18 * line(cells / 5.0, width / 5.0);
  float reached = tint.a > 1.5 ? 1.0 : lit(at, normal);
  vec3 matt = mix(from_ground.rgb, from_sky.rgb, 0.5 + 0.5 * normal.z) + gloss.z, highlight = vec3(0.0);
  for (int i = 0; i < int(from_sky.w); i++) {
    vec4 position = lights[5 * i], direction = lights[5 * i + 1], diffuse = lights[5 * i + 2];
    vec4 specular = lights[5 * i + 3], fading = lights[5 * i + 4];
    vec3 to = position.w > 0.5 ? position.xyz - at : -direction.xyz;
    float distance = length(to), strength = specular.w > 0.5 ? reached : 1.0;
    vec3 towards = to / distance;
    if (position.w > 0.5) {
      strength /= max(fading.x + distance * (fading.y + distance * fading.z), 1e-6);
      float cosine = -dot(towards, direction.xyz);
      strength *= smoothstep(direction.w, direction.w + 0.02 * (1.0 - direction.w), cosine);
      strength *= pow(max(cosine, 1e-6), diffuse.w);
    }
    float facing = max(dot(normal, towards), 0.0) * strength;
    matt += diffuse.rgb * facing;
    float mirrored = pow(max(dot(normal, normalize(towards - seen)), 0.0), gloss.y);
    highlight += specular.rgb * mirrored * min(4.0 * facing, 1.0);
  }
  c *= matt;
  if (gloss.w > 0.0) c += gloss.w * sky(reflect(seen, normal));
  if (ground) c = mix(c, sky(seen), smoothstep(0.1, 1.0, length(away) / eye.w));
  else c += gloss.x * highlight;
  pixel = srgb(c);
}`;

const PLACE_FOR_LIGHT = `#version 300 es
${VIEW}${CORNER}
void main() { gl_Position = light_from_world * vec4(world(), 1.0); }`;

const NOTHING = `#version 300 es
precision highp float;
void main() {}`;

const PLACE_SKY = `#version 300 es
${VIEW}
out vec3 direction;
void main() {
  vec2 at = vec2(float(gl_VertexID & 1) * 4.0 - 1.0, float(gl_VertexID >> 1) * 4.0 - 1.0);
  gl_Position = vec4(at, 1.0, 1.0);
  direction = forward.xyz + at.x * right.xyz + at.y * up.xyz;
}`;

const SHADE_SKY = `#version 300 es
${VIEW}${SKY}
in vec3 direction;
out vec4 pixel;
void main() { pixel = srgb(sky(normalize(direction))); }`;

// Pixels along an edge of the shadow map.
const SHADOW = 2048;
const [GROUND, SOLID, ARROW] = [0, 1, 2];
// Numbers of a corner and of an instance, attribute by attribute.
const CORNER_PARTS = [3, 3, 1, 2];
const INSTANCE_PARTS = [4, 4, 4, 4, 4, 4, 4, 4];
// Units of textures.
const [MAP, TEXTURES, SIDES] = [0, 1, 2];

export class WebGl {
  name = "WebGL 2";

  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true });
    if (!gl) throw new Error("This browser draws neither with WebGPU nor with WebGL 2.");
    this.gl = gl;
    this.solid = program(gl, PLACE, SHADE);
    this.shadow = program(gl, PLACE_FOR_LIGHT, NOTHING);
    this.sky = program(gl, PLACE_SKY, SHADE_SKY);
    this.buffers = [0, 1, 2].map(() => gl.createBuffer());
    this.map = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.map);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW, SHADOW);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    // Textures on planes repeat, and sides of a cube end at its edges.
    [gl.REPEAT, gl.CLAMP_TO_EDGE].forEach((mode, i) => {
      const sampler = gl.createSampler();
      gl.samplerParameteri(sampler, gl.TEXTURE_WRAP_S, mode);
      gl.samplerParameteri(sampler, gl.TEXTURE_WRAP_T, mode);
      gl.samplerParameteri(sampler, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
      gl.samplerParameteri(sampler, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
      gl.bindSampler(TEXTURES + i, sampler);
    });
    this.frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.map, 0);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
  }

  // Corners of the meshes that keep their shape.
  setCorners(corners) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[0]);
    gl.bufferData(gl.ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    this.corners = corners.length / CORNER_PARTS.reduce((a, b) => a + b);
  }

  // Square pictures of the same size; none is one white pixel.
  setTextures({ pixels, count }) {
    const { gl } = this;
    if (count === 0) [pixels, count] = [new Uint8Array(4).fill(255), 1];
    const side = Math.sqrt(pixels.length / 4 / count);
    gl.deleteTexture(this.textures ?? null);
    this.textures = gl.createTexture();
    for (const unit of [TEXTURES, SIDES]) {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.textures);
    }
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, Math.log2(side) + 1, gl.SRGB8_ALPHA8, side, side, count);
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, 0, side, side, count, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    gl.generateMipmap(gl.TEXTURE_2D_ARRAY);
    gl.activeTexture(gl.TEXTURE0 + MAP);
  }

  draw(view, runs, instances, soft) {
    const { gl } = this;
    for (const [buffer, numbers] of [[1, soft], [2, instances]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
      gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.DYNAMIC_DRAW);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.viewport(0, 0, SHADOW, SHADOW);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(3, 2);
    this.use(this.shadow, view);
    this.drawRuns(runs, [SOLID]);
    gl.disable(gl.POLYGON_OFFSET_FILL);

    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.CULL_FACE);
    this.use(this.solid, view);
    const front = gl.getUniformLocation(this.solid, "in_front");
    gl.uniform1f(front, 1);
    this.drawRuns(runs, [ARROW]);
    gl.uniform1f(front, 0);
    this.drawRuns(runs, [GROUND, SOLID]);
    gl.disable(gl.CULL_FACE);
    this.use(this.sky, view);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  use(program, view) {
    const { gl } = this;
    const at = (name) => gl.getUniformLocation(program, name);
    gl.useProgram(program);
    gl.uniformMatrix4fv(at("clip_from_world"), false, view, 0, 16);
    gl.uniformMatrix4fv(at("light_from_world"), false, view, 16, 16);
    const names = ["eye", "sky_layer", "right", "up", "forward", "from_sky", "from_ground"];
    names.forEach((name, i) => gl.uniform4fv(at(name), view, 32 + 4 * i, 4));
    gl.uniform4fv(at("lights"), view, 60, 160);
    gl.uniform1i(at("textures"), TEXTURES);
    gl.uniform1i(at("sides"), SIDES);
  }

  drawRuns(runs, kinds) {
    const { gl } = this;
    let instance = 0;
    for (let i = 0; i < runs.length; i += 4) {
      const [first, corners, count, kind] = runs.subarray(i, i + 4);
      if (count > 0 && kinds.includes(kind)) {
        const soft = first >= this.corners;
        this.point(soft ? 1 : 0, 0, CORNER_PARTS, 0, 0);
        this.point(2, CORNER_PARTS.length, INSTANCE_PARTS, instance, 1);
        gl.drawArraysInstanced(gl.TRIANGLES, soft ? first - this.corners : first, corners, count);
      }
      instance += count;
    }
  }

  // Attributes from a location on, of these sizes, from an element of a buffer on.
  point(buffer, location, sizes, first, divisor) {
    const { gl } = this;
    const stride = 4 * sizes.reduce((a, b) => a + b);
    let offset = first * stride;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
    for (const size of sizes) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, stride, offset);
      gl.vertexAttribDivisor(location, divisor);
      location += 1;
      offset += 4 * size;
    }
  }
}

function program(gl, vertex, fragment) {
  const out = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(out, shader);
  }
  gl.linkProgram(out);
  if (!gl.getProgramParameter(out, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(out));
  return out;
}
