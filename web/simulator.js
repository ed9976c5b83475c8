// The simulator's wasm: its functions, with texts and arrays as JavaScript has them.

export async function load() {
  const answer = await fetch("manyworlds.wasm");
  if (!answer.ok) throw new Error(`manyworlds.wasm: ${answer.status} ${answer.statusText}`);
  const { instance } = await WebAssembly.instantiate(await answer.arrayBuffer(), {});
  instance.exports.start();
  return new Simulator(instance.exports);
}

class Simulator {
  constructor(wasm) {
    this.wasm = wasm;
  }

  text() {
    const { memory, text, text_len } = this.wasm;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, text(), text_len()));
  }

  // Calls a function that may fail.
  call(name, ...numbers) {
    let done = 0;
    try {
      done = this.wasm[name](...numbers);
    } catch (trap) {
      throw new Error(this.text() || String(trap));
    }
    if (!done) throw new Error(this.text());
  }

  json(name) {
    this.call(name);
    return JSON.parse(this.text());
  }

  give(bytes) {
    const at = this.wasm.input(bytes.length);
    new Uint8Array(this.wasm.memory.buffer, at, bytes.length).set(bytes);
  }

  open(opening) {
    this.give(new TextEncoder().encode(JSON.stringify(opening)));
    this.call("open");
  }

  switch(solvers) {
    this.give(new TextEncoder().encode(JSON.stringify(solvers)));
    this.call("switch");
  }

  addFile(path, bytes) {
    const name = new TextEncoder().encode(path);
    const both = new Uint8Array(name.length + bytes.length);
    both.set(name);
    both.set(bytes, name.length);
    this.give(both);
    this.call("add_file", name.length);
  }

  floats(which) {
    return new Float32Array(this.wasm.memory.buffer, this.wasm.numbers(which), this.wasm.count(which));
  }

  // Pixels of the textures, four bytes each, and how many textures there are.
  textures() {
    const { memory, numbers, count, textures } = this.wasm;
    return { pixels: new Uint8Array(memory.buffer, numbers(6), 4 * count(6)), count: textures() };
  }

  runs() {
    return new Uint32Array(this.wasm.memory.buffer, this.wasm.numbers(2), this.wasm.count(2));
  }
}
