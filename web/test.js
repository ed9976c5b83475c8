// Tests of the page in a browser: `cargo xtask web --test` adds this script to it and waits for what it posts.

const page = window.manyworlds;
const find = (id) => document.getElementById(id);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const post = (path, body) => fetch(path, { method: "POST", body });

function expect(holds, what) {
  if (!holds) throw new Error(`expected ${what}; the page says: ${find("problem").textContent}`);
}

async function until(holds, what) {
  for (let i = 0; i < 200 && !holds(); i++) await wait(100);
  expect(holds(), what);
}

async function drop(name, contents) {
  const transfer = new DataTransfer();
  transfer.items.add(new File([contents], name));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}

// A folder as a browser hands it over: its reader gives one entry at a time, and nothing at the end.
function folder(entries) {
  return { isFile: false, createReader: () => ({ readEntries: (done) => done(entries.splice(0, 1)) }) };
}

const entry = (fullPath, text) => ({ isFile: true, fullPath, file: (done) => done(new File([text], fullPath)) });

function dropFolder(top) {
  const event = new Event("drop", { bubbles: true, cancelable: true });
  event.dataTransfer = { items: [{ kind: "file", webkitGetAsEntry: () => top }] };
  document.dispatchEvent(event);
}

// Chooses as a hand does.
function choose(id, value) {
  find(id).value = value;
  find(id).dispatchEvent(new Event("change"));
}

// An archive of texts, not compressed.
function zip(files) {
  const encode = (text) => new TextEncoder().encode(text);
  const crc = (bytes) => {
    let sum = ~0;
    for (const byte of bytes) {
      sum ^= byte;
      for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return ~sum;
  };
  // Numbers of two and of four bytes.
  const record = (...fields) =>
    new Uint8Array(fields.flatMap(([bytes, value]) => [...Array(bytes).keys()].map((i) => (value >>> (8 * i)) & 255)));
  const [local, central] = [[], []];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const [name, bytes] = [encode(path), encode(text)];
    const sizes = [[4, crc(bytes)], [4, bytes.length], [4, bytes.length], [2, name.length], [2, 0]];
    const stored = [[2, 20], [2, 0], [2, 0], [2, 0], [2, 33]];
    local.push(record([4, 0x04034b50], ...stored, ...sizes), name, bytes);
    central.push(record([4, 0x02014b50], [2, 20], ...stored, ...sizes, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]), name);
    offset += 30 + name.length + bytes.length;
  }
  const length = central.reduce((sum, part) => sum + part.length, 0);
  const n = Object.keys(files).length;
  const end = record([4, 0x06054b50], [2, 0], [2, 0], [2, n], [2, n], [4, length], [4, offset], [2, 0]);
  return new Blob([...local, ...central, end]);
}

// A pointer's event at a point of the picture.
function pointer(kind, x, y) {
  const { left, top } = find("picture").getBoundingClientRect();
  const event = new PointerEvent(kind, { clientX: left + x, clientY: top + y, pointerId: 1, button: 0, bubbles: true });
  find("picture").dispatchEvent(event);
}

// Where the one body of a scene is: of the first solid thing drawn, the last column of its place, m.
function place() {
  page.draw();
  const [runs, instances] = [page.simulator.runs(), page.simulator.floats(3)];
  let first = 0;
  for (let i = 0; i < runs.length; i += 4) {
    if (runs[i + 3] === 1) return [3, 7, 11].map((at) => instances[20 * first + at]);
    first += runs[i + 2];
  }
  throw new Error("nothing solid is drawn");
}

// The body in the middle of the picture follows the mouse upward, and falls when it is let go.
function pull() {
  choose("scene", "free-box");
  page.paused = true;
  const { clientWidth: width, clientHeight: height } = find("picture");
  // From so far off that the mouse has room.
  page.simulator.call("move_camera", 0, 0, 0, 0, 3);
  const start = place();
  // The pointer of a test is none that the browser knows.
  find("picture").setPointerCapture = () => {};
  pointer("pointerdown", width / 2, height / 2);
  expect(page.simulator.wasm.holds() === 1, "a body under the mouse");
  pointer("pointermove", width / 2, height / 5);
  for (let i = 0; i < 200; i++) page.simulator.call("step");
  const pulled = place();
  expect(pulled[2] > start[2] + 0.1, `a body that follows the mouse: ${start} ${pulled}`);
  pointer("pointerup", width / 2, height / 5);
  for (let i = 0; i < 60; i++) page.simulator.call("step");
  expect(place()[2] < pulled[2] - 0.1, "a body that falls when let go");
  pointer("pointerdown", width - 2, 2);
  expect(page.simulator.wasm.holds() === 0, "no body in the sky");
  pointer("pointerup", width - 2, 2);
}

// Instances of a kind, as the simulator numbers them.
function instances(kind) {
  page.draw();
  const runs = page.simulator.runs();
  let count = 0;
  for (let i = 0; i < runs.length; i += 4) count += runs[i + 3] === kind ? runs[i + 2] : 0;
  return count;
}

const solids = () => instances(1);
// A ball, a shaft and a tip each.
const arrows = () => instances(2) / 3;

// Contacts, centres and axes are drawn when they are asked for, and the page says what colours stand for.
function marks() {
  expect(arrows() === 0, "no arrows unasked");
  choose("contacts", "residual");
  expect(arrows() > 10, "contacts of two stacks");
  page.report();
  expect(/blue is solved to/.test(find("scale").textContent), "what colours stand for");
  choose("contacts", "");
  find("centres").checked = true;
  find("centres").dispatchEvent(new Event("change"));
  expect(arrows() === 10, `a ball for each of ten boxes: ${arrows()}`);
  find("centres").checked = false;
  find("centres").dispatchEvent(new Event("change"));
  expect(arrows() === 0, "no arrows any more");
}

// Simulated seconds a second of steps alone, once contacts are there.
function speed(scene, settle, measured) {
  choose("scene", scene);
  page.paused = true;
  for (let i = 0; i < settle; i++) page.simulator.call("step");
  const start = performance.now();
  for (let i = 0; i < measured; i++) page.simulator.call("step");
  return (measured * page.simulator.wasm.time_step() * 1000) / (performance.now() - start);
}

async function picture(name) {
  // Of the size of web/heavy-stack.png; the page undoes it when it draws next.
  [find("picture").width, find("picture").height] = [640, 480];
  page.simulator.call("frame", find("picture").width, find("picture").height);
  page.draw();
  const image = await new Promise((done) => find("picture").toBlob(done));
  await post(`/picture/${name}`, image);
}

async function run() {
  await until(() => page.ready, "a page that is ready");
  const time = () => page.simulator.json("report").time;
  await until(() => time() > 0, "steps without being asked");

  // The server that serves this test says by the address which renderer there must be.
  const renderer = location.search === "?renderer=webgl" ? "WebGL 2" : "WebGPU";
  expect(page.renderer.name === renderer, `${renderer}, found ${page.renderer.name}`);
  page.report();
  expect(find("said").textContent.includes(renderer), "the renderer's name on the page");

  choose("scene", "heavy-stack");
  page.paused = true;
  await picture("start");
  find("beside").checked = true;
  choose("solver", "auto");
  for (let i = 0; i < 40; i++) page.simulator.call("step");
  const [auto, pgs] = page.simulator.json("report").certificates;
  expect(auto.residual < 1e-6 && pgs.residual > 100 * auto.residual, `auto far below pgs: ${auto.residual} ${pgs.residual}`);
  await picture("beside");
  marks();
  find("beside").checked = false;
  find("beside").dispatchEvent(new Event("change"));
  choose("solver", "pgs");
  for (let i = 0; i < 20; i++) page.simulator.call("step");
  page.report();
  // Of the first solver: two numbers are kept a step.
  const history = [...page.simulator.floats(5)].filter((_, i) => i % 2 === 0);
  const gap = history.findLastIndex(Number.isNaN);
  expect(gap > 0 && history.at(-1) > 100 * auto.residual, `residuals of pgs after a switch: ${history}`);
  expect(history.slice(0, gap).some((residual) => residual < 1e-6), `those of auto before it: ${history}`);
  choose("solver", "auto");
  pull();

  const ball =
    '<mujoco model="ball"><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/>' +
    '<geom type="sphere" size="0.1"/></body></worldbody></mujoco>';
  await drop("ball.xml", ball);
  await until(() => page.file === "ball.xml" && time() > 0, "a dropped file that is stepped");
  expect(find("problem").hidden, "no problem");
  const mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
  const solid = '<mujoco><asset><mesh name="m" file="parts/m.obj"/></asset><worldbody><body><freejoint/>' +
    '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>';
  await drop("robot.zip", zip({ "robot/parts/m.obj": mesh, "robot/robot.xml": solid }));
  await until(() => page.file === "robot/robot.xml" && time() > 0, "an archive that is stepped");
  dropFolder(folder([folder([entry("/two/parts/m.obj", mesh)]), entry("/two/two.xml", solid)]));
  await until(() => page.file === "two/two.xml" && time() > 0, "a folder that is stepped");
  expect(find("problem").hidden, "no problem with the folder");
  choose("scene", "free-box");
  find("worlds").value = "5";
  find("worlds").dispatchEvent(new Event("change"));
  expect(solids() === 5, `a box in each of five worlds: ${solids()}`);
  find("worlds").value = "1";
  find("worlds").dispatchEvent(new Event("change"));
  expect(solids() === 1, `one box again: ${solids()}`);
  await drop("bad.zip", "no archive");
  await until(() => !find("problem").hidden, "a bad archive that is reported");
  expect(/bad\.zip/.test(find("problem").textContent), "the archive's name");
  await drop("bad.urdf", '<robot name="r">\n<link name="a"/>\n<joint name="j" type="wheel">\n</joint></robot>');
  await until(() => /bad\.urdf/.test(find("problem").textContent), "a bad file that is reported");
  expect(/bad\.urdf:3/.test(find("problem").textContent), "the file and the line of what is wrong");

  choose("scene", "soft-pinch");
  expect(find("problem").hidden, "a soft body that opens");
  const speeds = {
    humanoid: speed("humanoid", 1200, 1000),
    "bolt-nut": speed("bolt-nut", 240, 200),
    "soft-ball-hand": speed("soft-ball-hand", 60, 120),
    "dish-pile": speed("dish-pile", 120, 60),
  };
  await post("/done", JSON.stringify({ renderer, speeds, auto, pgs }));
}

run().catch((problem) => post("/failed", String(problem.stack ?? problem)));
