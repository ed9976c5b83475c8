// The page: what is open, stepped in real time, looked at and told about.

import { load } from "./simulator.js";
import { Renderer } from "./renderer.js";
import { dropped } from "./drop.js";
import { drawHistory } from "./history.js";

const find = (id) => document.getElementById(id);
const canvas = find("picture");

// Longest time of steps between two pictures, ms: where the simulator is slower than real time, time goes slower.
const MOST = 50;

const page = { paused: false, file: null, before: performance.now() };
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
  page.simulator.call("show_contacts", find("contacts").checked ? 1 : 0);
  page.fit();
  page.simulator.call("frame", canvas.width, canvas.height);
  page.report();
};

// Goes on under other solvers.
page.change = () => {
  page.simulator.switch(solvers());
  page.report();
};

page.fit = () => {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.round(side * scale)));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
};

page.draw = () => {
  const { simulator, renderer } = page;
  simulator.call("display", canvas.width, canvas.height);
  renderer.draw(simulator.floats(4), simulator.runs(), simulator.floats(3), simulator.floats(1));
};

page.report = () => {
  const { time, certificates } = page.simulator.json("report");
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
  find("said").textContent = `${time.toFixed(2)} s${slow}`;
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
    page.draw();
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
  find("contacts").addEventListener("change", () =>
    guarded(() => page.simulator.call("show_contacts", find("contacts").checked ? 1 : 0)),
  );
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
  page.simulator = await load();
  page.renderer = new Renderer(canvas);
  const known = page.simulator.json("known");
  const address = new URLSearchParams(location.search);
  fill(find("scene"), known.scenes, address.get("scene") ?? "humanoid");
  fill(find("solver"), known.solvers.map((name) => [name, ""]), address.get("solver") ?? "auto");
  find("worlds").value = address.get("worlds") ?? "1";
  find("worlds-said").textContent = find("worlds").value;
  find("beside").checked = address.has("beside");
  find("contacts").checked = address.has("contacts");
  page.paused = address.has("paused");
  listen();
  guarded(page.open);
  requestAnimationFrame(turn);
  page.ready = true;
} catch (problem) {
  tell(problem);
}
