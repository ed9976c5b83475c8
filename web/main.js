// The page: what is open, stepped in real time, looked at and told about.

import { load } from "./simulator.js";
import { openWebGpu } from "./webgpu.js";
import { WebGl } from "./webgl.js";
import { dropped } from "./drop.js";
import { drawHistory } from "./history.js";

const find = (id) => document.getElementById(id);
const canvas = find("picture");

// Longest time of steps between two pictures, ms: where the simulator is slower than real time, time goes slower.
const MOST = 50;

// What contacts are coloured by, as the simulator numbers it.
const CONTACTS = ["", "penetration", "residual"];

// What is shown, and whether it changed since it was drawn.
const page = { changed: true, paused: false, file: null, before: performance.now() };
// For a browser's console, and for tests.
window.manyworlds = page;

function tell(problem) {
  const shown = find("problem");
  shown.hidden = !problem;
  shown.textContent = problem ? problem.message : "";
  if (problem) page.paused = true;
  find("pause").textContent = page.paused ? "go on" : "pause";
}

// Runs something and shows what goes wrong.
function guarded(what) {
  page.changed = true;
  try {
    tell(null);
    what();
  } catch (problem) {
    tell(problem);
  }
}

function solvers() {
  const solver = find("solver").value;
  return find("beside").checked && solver !== "pgs" ? [solver, "pgs"] : [solver];
}

page.open = () => {
  const worlds = Number(find("worlds").value);
  page.simulator.open({ file: page.file, scene: find("scene").value, worlds, solvers: solvers() });
  page.renderer.setCorners(page.simulator.floats(0));
  page.renderer.setTextures(page.simulator.textures());
  page.mark();
  page.fit();
  page.simulator.call("frame", canvas.width, canvas.height);
  page.report();
};

// What is shown beside shapes.
page.mark = () => {
  const [centres, axes] = ["centres", "axes"].map((id) => (find(id).checked ? 1 : 0));
  page.simulator.call("show_marks", CONTACTS.indexOf(find("contacts").value), centres, axes);
};

// Goes on under other solvers.
page.change = () => {
  page.simulator.switch(solvers());
  page.report();
};

page.fit = () => {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.round(side * scale)));
  if (canvas.width === width && canvas.height === height) return;
  [canvas.width, canvas.height] = [width, height];
  page.changed = true;
};

page.draw = () => {
  const { simulator, renderer } = page;
  simulator.call("display", canvas.width, canvas.height);
  renderer.draw(simulator.floats(4), simulator.runs(), simulator.floats(3), simulator.floats(1));
};

page.report = () => {
  const { time, certificates, scale } = page.simulator.json("report");
  const rows = ["solver", "residual", "contacts", "deepest", "status"].map((name) => {
    const cell = (c) =>
      ({
        solver: c.solver,
        residual: `${c.residual.toExponential(1)} N s`,
        contacts: c.contacts,
        deepest: `${c.penetration.toExponential(1)} m`,
        status: c.status,
      })[name];
    const row = document.createElement("tr");
    const add = (kind, text) => (row.appendChild(document.createElement(kind)).textContent = text);
    add("th", name);
    certificates.forEach((c) => add("td", cell(c)));
    return row;
  });
  find("certificates").replaceChildren(...rows);
  drawHistory(find("history"), page.simulator.floats(5), certificates.map((c) => c.solver));
  const slow = page.speed !== undefined && !page.paused && page.speed < 0.95 ? `, ${page.speed.toFixed(2)} of real time` : "";
  find("said").textContent = `${time.toFixed(2)} s${slow}; drawn with ${page.renderer.name}`;
  find("scale").textContent = scale ?? "";
};

// Steps for as long as passed since the last picture.
function advance(now) {
  const passed = (now - page.before) / 1000;
  page.before = now;
  if (page.paused) return;
  const { wasm } = page.simulator;
  const step = wasm.time_step();
  wasm.pass(passed);
  let gone = 0;
  const start = performance.now();
  while (wasm.due()) {
    page.simulator.call("step");
    gone += step;
    if (performance.now() - start > MOST) wasm.forget();
  }
  if (passed > 0) page.speed = 0.9 * (page.speed ?? 1) + (0.1 * gone) / passed;
}

let told = 0;
function turn(now) {
  try {
    page.fit();
    advance(now);
    // A page that waits does not draw the same again and again.
    if (page.changed || !page.paused) page.draw();
    page.changed = false;
    if (now - told > 200) {
      told = now;
      page.report();
    }
  } catch (problem) {
    tell(problem);
    // After a fault the simulator is not to be called again.
    if (!problem.message.startsWith("nothing")) return;
  }
  requestAnimationFrame(turn);
}

function listen() {
  const again = () => guarded(page.open);
  find("panel").addEventListener("submit", (event) => event.preventDefault());
  find("scene").addEventListener("change", () => {
    page.file = null;
    page.paused = false;
    again();
  });
  find("worlds").addEventListener("input", () => (find("worlds-said").textContent = find("worlds").value));
  find("worlds").addEventListener("change", again);
  find("solver").addEventListener("change", () => guarded(page.change));
  find("beside").addEventListener("change", () =>
    guarded(() => {
      page.change();
      page.simulator.call("frame", canvas.width, canvas.height);
    }),
  );
  for (const id of ["contacts", "centres", "axes"]) find(id).addEventListener("change", () => guarded(page.mark));
  find("pause").addEventListener("click", () => {
    page.paused = !page.paused;
    tell(null);
  });
  find("step").addEventListener("click", () => {
    page.paused = true;
    guarded(() => page.simulator.call("step"));
  });
  find("reset").addEventListener("click", () => guarded(() => page.simulator.call("reset")));

  // What the mouse does: "pull" a body, "turn" or "move" the camera.
  let drags = null;
  // The point of the picture under the mouse: x and y from -1 to 1, to the right and upward, and the picture's size.
  const under = (event) => [
    (2 * event.offsetX) / canvas.clientWidth - 1,
    1 - (2 * event.offsetY) / canvas.clientHeight,
    canvas.width,
    canvas.height,
  ];
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    drags = "move";
    canvas.setPointerCapture(event.pointerId);
    if (event.button !== 0) return;
    mouse("take", ...under(event));
    drags = page.simulator.wasm.holds() ? "pull" : "turn";
  });
  const released = () => {
    if (drags === "pull") mouse("let_go");
    drags = null;
  };
  canvas.addEventListener("pointerup", released);
  canvas.addEventListener("pointercancel", released);
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [event.movementX, event.movementY].map((by) => by / canvas.clientHeight);
    if (drags === "pull") mouse("drag", ...under(event));
    if (drags === "turn") mouse("move_camera", Math.PI * x, -Math.PI * y, 0, 0, 1);
    if (drags === "move") mouse("move_camera", 0, 0, -x, y, 1);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    mouse("move_camera", 0, 0, 0, 0, Math.exp(event.deltaY / 1000));
  });

  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    try {
      const files = await dropped(event.dataTransfer);
      page.simulator.wasm.forget_files();
      for (const [path, bytes] of files) page.simulator.addFile(path, bytes);
      page.file = page.simulator.json("find_model");
      page.paused = false;
      guarded(page.open);
    } catch (problem) {
      tell(problem);
    }
  });
}

function mouse(name, ...numbers) {
  page.changed = true;
  try {
    page.simulator.call(name, ...numbers);
  } catch (problem) {
    tell(problem);
  }
}

function fill(select, entries, chosen) {
  for (const [name, title] of entries) {
    const option = select.appendChild(document.createElement("option"));
    option.textContent = option.value = name;
    option.title = title;
  }
  if (chosen && entries.some(([name]) => name === chosen)) select.value = chosen;
}

// The address may say what to begin with: ?scene=bolt-nut&solver=pgs&paused
try {
  const address = new URLSearchParams(location.search);
  page.simulator = await load();
  const wanted = address.get("renderer") !== "webgl";
  page.renderer = (wanted && (await openWebGpu(canvas, tell))) || new WebGl(canvas);
  const known = page.simulator.json("known");
  fill(find("scene"), known.scenes, address.get("scene") ?? "humanoid");
  fill(find("solver"), known.solvers.map((name) => [name, ""]), address.get("solver") ?? "auto");
  find("worlds").value = address.get("worlds") ?? "1";
  find("worlds-said").textContent = find("worlds").value;
  find("beside").checked = address.has("beside");
  // `?contacts` alone is by penetration.
  find("contacts").value = address.has("contacts") ? address.get("contacts") || CONTACTS[1] : CONTACTS[0];
  for (const id of ["centres", "axes"]) find(id).checked = address.has(id);
  page.paused = address.has("paused");
  listen();
  guarded(page.open);
  requestAnimationFrame(turn);
  page.ready = true;
} catch (problem) {
  tell(problem);
}
