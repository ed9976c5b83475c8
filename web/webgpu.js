// Draws with WebGPU as crates/render does with wgpu, by the same shader: scene.wgsl.

// Pixels along an edge of the shadow map.
const SHADOW = 2048;
const SAMPLES = 4;
const DEPTH = "depth32float";
// Part of the range of depths that is for arrows, which so lie before everything else.
const IN_FRONT = 0.1;
const [GROUND, SOLID, ARROW] = [0, 1, 2];
// Numbers of a corner and of an instance, attribute by attribute, and of the view.
const CORNER_PARTS = [3, 3, 1, 2];
const INSTANCE_PARTS = [4, 4, 4, 4, 4, 4, 4, 4];
const VIEW = 220;
const ANISOTROPY = 8;

const sum = (numbers) => numbers.reduce((a, b) => a + b);

// A renderer, or none where the browser has no WebGPU or no adapter for it.
export async function openWebGpu(canvas, failed) {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return null;
  const device = await adapter.requestDevice();
  device.lost.then((lost) => failed(new Error(`The graphics device was lost: ${lost.message}`)));
  device.onuncapturederror = (event) => failed(new Error(`WebGPU: ${event.error.message}`));
  const answer = await fetch("scene.wgsl");
  if (!answer.ok) throw new Error(`scene.wgsl: ${answer.status} ${answer.statusText}`);
  return new WebGpu(canvas, device, await answer.text());
}

class WebGpu {
  name = "WebGPU";

  constructor(canvas, device, shader) {
    this.device = device;
    this.context = canvas.getContext("webgpu");
    const plain = navigator.gpu.getPreferredCanvasFormat();
    // Colours are computed as intensities; the format turns them into bytes of sRGB. A canvas has no such format: it gets a copy,
    // since not every implementation turns them in a view of it.
    this.format = `${plain}-srgb`;
    this.context.configure({ device, format: plain, usage: GPUTextureUsage.COPY_DST, alphaMode: "opaque" });
    this.makePipelines(device.createShaderModule({ code: shader }));
    this.view = device.createBuffer({ size: 4 * VIEW, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    this.map = this.texture([SHADOW, SHADOW], 1, DEPTH, GPUTextureUsage.TEXTURE_BINDING).createView();
    const linear = { magFilter: "linear", minFilter: "linear" };
    const compare = device.createSampler({ ...linear, compare: "less-equal" });
    this.viewGroup = this.group(0, [{ buffer: this.view }]);
    this.shadowGroup = this.group(1, [this.map, compare]);
    // Textures on planes repeat, and sides of a cube end at its edges.
    this.samplers = [["repeat", ANISOTROPY], ["clamp-to-edge", 1]].map(([mode, maxAnisotropy]) =>
      device.createSampler({ ...linear, mipmapFilter: "linear", addressModeU: mode, addressModeV: mode, maxAnisotropy }),
    );
    this.buffers = [null, null, null];
  }

  makePipelines(module) {
    const { device } = this;
    const layout = (entries) =>
      device.createBindGroupLayout({ entries: entries.map((entry, binding) => ({ binding, ...entry })) });
    const both = GPUShaderStage.VERTEX | GPUShaderStage.FRAGMENT;
    const visibility = GPUShaderStage.FRAGMENT;
    this.layouts = [
      layout([{ visibility: both, buffer: {} }]),
      layout([{ visibility, texture: { sampleType: "depth" } }, { visibility, sampler: { type: "comparison" } }]),
      layout([{ visibility, texture: { viewDimension: "2d-array" } }, { visibility, sampler: {} }, { visibility, sampler: {} }]),
    ];
    let shaderLocation = 0;
    const buffers = [[CORNER_PARTS, "vertex"], [INSTANCE_PARTS, "instance"]].map(([parts, stepMode]) => {
      let offset = 0;
      const attributes = parts.map((size) => {
        const format = size === 1 ? "float32" : `float32x${size}`;
        const attribute = { shaderLocation, offset, format };
        shaderLocation += 1;
        offset += 4 * size;
        return attribute;
      });
      return { arrayStride: offset, stepMode, attributes };
    });
    const pipeline = ([vertex, fragment], groups, buffers, depthCompare, more = {}) =>
      device.createRenderPipeline({
        layout: device.createPipelineLayout({ bindGroupLayouts: this.layouts.slice(0, groups) }),
        vertex: { module, entryPoint: vertex, buffers },
        fragment: fragment && { module, entryPoint: fragment, targets: [{ format: this.format }] },
        primitive: { cullMode: more.cullMode ?? "none" },
        depthStencil: { format: DEPTH, depthWriteEnabled: true, depthCompare, ...more.bias },
        multisample: { count: fragment ? SAMPLES : 1 },
      });
    // A surface does not shade itself by rounding of depths.
    const bias = { depthBias: 2, depthBiasSlopeScale: 3 };
    this.solid = pipeline(["place", "shade"], 3, buffers, "less", { cullMode: "back" });
    this.shadow = pipeline(["place_for_light"], 1, buffers, "less", { bias });
    this.sky = pipeline(["place_sky", "shade_sky"], 3, [], "less-equal");
  }

  group(number, resources) {
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    return this.device.createBindGroup({ layout: this.layouts[number], entries });
  }

  texture(size, sampleCount, format, usage = 0) {
    return this.device.createTexture({ size, sampleCount, format, usage: usage | GPUTextureUsage.RENDER_ATTACHMENT });
  }

  // Puts numbers into a buffer, a larger one where they need it.
  fill(which, numbers) {
    const size = Math.max(4 * numbers.length, 4);
    if (!this.buffers[which] || this.buffers[which].size < size) {
      this.buffers[which]?.destroy();
      this.buffers[which] = this.device.createBuffer({ size, usage: GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST });
    }
    this.device.queue.writeBuffer(this.buffers[which], 0, numbers);
  }

  // Corners of the meshes that keep their shape.
  setCorners(corners) {
    this.fill(0, corners);
    this.corners = corners.length / sum(CORNER_PARTS);
  }

  // Square pictures of the same size; none is one white pixel.
  setTextures({ pixels, count }) {
    if (count === 0) [pixels, count] = [new Uint8Array(4).fill(255), 1];
    const side = Math.sqrt(pixels.length / 4 / count);
    this.textures?.destroy();
    this.textures = this.device.createTexture({
      size: [side, side, count],
      mipLevelCount: Math.log2(side) + 1,
      format: "rgba8unorm-srgb",
      usage: GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST,
    });
    for (let layer = 0; layer < count; layer++) {
      let level = pixels.slice(4 * side * side * layer, 4 * side * side * (layer + 1));
      for (let mipLevel = 0, edge = side; edge >= 1; mipLevel++, edge /= 2) {
        const to = { texture: this.textures, mipLevel, origin: [0, 0, layer] };
        this.device.queue.writeTexture(to, level, { bytesPerRow: 4 * edge }, [edge, edge]);
        if (edge > 1) level = halved(level, edge);
      }
    }
    const view = this.textures.createView({ dimension: "2d-array" });
    this.surfaceGroup = this.group(2, [view, ...this.samplers]);
  }

  // What a canvas of another size needs.
  fit({ width, height }) {
    if (this.size?.[0] === width && this.size[1] === height) return;
    for (const before of [this.samples, this.resolved, this.depth]) before?.destroy();
    this.size = [width, height];
    this.samples = this.texture(this.size, SAMPLES, this.format);
    this.resolved = this.texture(this.size, 1, this.format, GPUTextureUsage.COPY_SRC);
    this.depth = this.texture(this.size, SAMPLES, DEPTH);
  }

  draw(view, runs, instances, soft) {
    const { device } = this;
    const target = this.context.getCurrentTexture();
    this.fit(target);
    this.fill(1, soft);
    this.fill(2, instances);
    device.queue.writeBuffer(this.view, 0, view);
    const encoder = device.createCommandEncoder();
    const depth = (view, depthStoreOp) => ({ view, depthClearValue: 1, depthLoadOp: "clear", depthStoreOp });
    const shadow = encoder.beginRenderPass({ colorAttachments: [], depthStencilAttachment: depth(this.map, "store") });
    shadow.setPipeline(this.shadow);
    shadow.setBindGroup(0, this.viewGroup);
    this.drawRuns(shadow, runs, [SOLID]);
    shadow.end();
    const pass = encoder.beginRenderPass({
      colorAttachments: [{
        view: this.samples.createView(),
        resolveTarget: this.resolved.createView(),
        loadOp: "clear",
        storeOp: "discard",
      }],
      depthStencilAttachment: depth(this.depth.createView(), "discard"),
    });
    [this.viewGroup, this.shadowGroup, this.surfaceGroup].forEach((group, number) => pass.setBindGroup(number, group));
    const [width, height] = this.size;
    pass.setPipeline(this.solid);
    pass.setViewport(0, 0, width, height, 0, IN_FRONT);
    this.drawRuns(pass, runs, [ARROW]);
    pass.setViewport(0, 0, width, height, IN_FRONT, 1);
    this.drawRuns(pass, runs, [GROUND, SOLID]);
    pass.setPipeline(this.sky);
    pass.draw(3);
    pass.end();
    encoder.copyTextureToTexture({ texture: this.resolved }, { texture: target }, this.size);
    device.queue.submit([encoder.finish()]);
  }

  drawRuns(pass, runs, kinds) {
    pass.setVertexBuffer(1, this.buffers[2]);
    let instance = 0;
    for (let i = 0; i < runs.length; i += 4) {
      const [first, corners, count, kind] = runs.subarray(i, i + 4);
      if (count > 0 && kinds.includes(kind)) {
        const soft = first >= this.corners;
        pass.setVertexBuffer(0, this.buffers[soft ? 1 : 0]);
        pass.draw(corners, count, soft ? first - this.corners : first, instance);
      }
      instance += count;
    }
  }
}

// A picture of half the side: means of two by two pixels.
function halved(pixels, side) {
  const half = side / 2;
  const out = new Uint8Array(4 * half * half);
  for (let at = 0; at < out.length; at++) {
    const [channel, x, y] = [at % 4, (at >> 2) % half, Math.floor((at >> 2) / half)];
    const of = (dx, dy) => pixels[4 * ((2 * y + dy) * side + 2 * x + dx) + channel];
    out[at] = (of(0, 0) + of(1, 0) + of(0, 1) + of(1, 1) + 2) >> 2;
  }
  return out;
}
