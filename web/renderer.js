// Draws with WebGL 2 what crates/render draws with wgpu: its scene.wgsl in GLSL.

const VIEW = `
precision highp float;
uniform mat4 clip_from_world;
uniform mat4 light_from_world;
uniform vec4 eye, light, right, up, forward;
const vec3 HORIZON = vec3(0.72, 0.80, 0.88);
const vec3 ZENITH = vec3(0.17, 0.34, 0.62);
vec3 sky(vec3 direction) { return mix(HORIZON, ZENITH, sqrt(clamp(direction.z, 0.0, 1.0)) * 0.9); }
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
layout(location = 3) in vec4 x;
layout(location = 4) in vec4 y;
layout(location = 5) in vec4 z;
layout(location = 6) in vec4 scale;
layout(location = 7) in vec4 colour;
vec3 local() { return position * scale.xyz + vec3(0.0, 0.0, end * scale.w); }
vec3 world() { vec4 p = vec4(local(), 1.0); return vec3(dot(x, p), dot(y, p), dot(z, p)); }
`;

const PLACE = `#version 300 es
${VIEW}${CORNER}
uniform float in_front;
out vec3 at, turned;
out vec2 on_ground;
out vec4 tint;
void main() {
  vec3 n = normal / scale.xyz;
  at = world();
  turned = vec3(dot(x.xyz, n), dot(y.xyz, n), dot(z.xyz, n));
  on_ground = local().xy;
  tint = colour;
  gl_Position = clip_from_world * vec4(at, 1.0);
  // The first depths are those of arrows, which so lie before everything else.
  float depth = gl_Position.z / gl_Position.w;
  gl_Position.z = mix(0.1 + 0.9 * depth, 0.1 * depth, in_front) * gl_Position.w;
}`;

const SHADE = `#version 300 es
${VIEW}
precision highp sampler2DShadow;
uniform sampler2DShadow shadow_map;
in vec3 at, turned;
in vec2 on_ground;
in vec4 tint;
out vec4 pixel;
const vec3 SUN = vec3(1.0, 0.95, 0.86) * 0.95;
const vec3 FROM_SKY = vec3(0.40, 0.46, 0.54);
const vec3 FROM_GROUND = vec3(0.21, 0.20, 0.18);
float lit(vec3 where, vec3 normal) {
  vec3 p = (light_from_world * vec4(where + normal * light.w * 2.5, 1.0)).xyz;
  if (any(greaterThan(abs(p - vec3(0.0, 0.0, 0.5)), vec3(1.0, 1.0, 0.5)))) return 1.0;
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
void main() {
  vec2 cells = on_ground / forward.w, width = fwidth(cells);
  vec3 normal = normalize(turned), away = at - eye.xyz, seen = normalize(away);
  bool ground = abs(tint.a - 1.0) < 0.5;
  float sun = max(dot(normal, light.xyz), 0.0) * (tint.a > 1.5 ? 1.0 : lit(at, normal));
  vec3 c = tint.rgb;
  if (ground) c *= 1.0 - 0.22 * line(cells, width) - 0.18 * line(cells / 5.0, width / 5.0);
  c *= mix(FROM_GROUND, FROM_SKY, 0.5 + 0.5 * normal.z) + SUN * sun;
  if (ground) c = mix(c, sky(seen), smoothstep(0.1, 1.0, length(away) / eye.w));
  else c += SUN * 0.18 * pow(max(dot(normal, normalize(light.xyz - seen)), 0.0), 40.0) * min(4.0 * sun, 1.0);
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
${VIEW}
in vec3 direction;
out vec4 pixel;
void main() { pixel = srgb(sky(normalize(direction))); }`;

// Pixels along an edge of the shadow map.
const SHADOW = 2048;
const [GROUND, SOLID, ARROW] = [0, 1, 2];
const CORNER_BYTES = 28;
const INSTANCE_BYTES = 80;

export class Renderer {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true });
    if (!gl) throw new Error("This browser does not draw with WebGL 2.");
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
    this.corners = corners.length / 7;
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
    ["eye", "light", "right", "up", "forward"].forEach((name, i) => gl.uniform4fv(at(name), view, 32 + 4 * i, 4));
  }

  drawRuns(runs, kinds) {
    const { gl } = this;
    let instance = 0;
    for (let i = 0; i < runs.length; i += 4) {
      const [first, corners, count, kind] = runs.subarray(i, i + 4);
      if (count > 0 && kinds.includes(kind)) {
        const soft = first >= this.corners;
        this.point(soft ? 1 : 0, 0, [3, 3, 1], CORNER_BYTES, 0, 0);
        this.point(2, 3, [4, 4, 4, 4, 4], INSTANCE_BYTES, instance * INSTANCE_BYTES, 1);
        gl.drawArraysInstanced(gl.TRIANGLES, soft ? first - this.corners : first, corners, count);
      }
      instance += count;
    }
  }

  point(buffer, location, sizes, stride, offset, divisor) {
    const { gl } = this;
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
