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

async function drop(name, text) {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}

// Chooses as a hand does.
function choose(id, value) {
  find(id).value = value;
  find(id).dispatchEvent(new Event("change"));
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

  choose("scene", "heavy-stack");
  page.paused = true;
  await picture("start");
  find("beside").checked = true;
  choose("solver", "auto");
  for (let i = 0; i < 40; i++) page.simulator.call("step");
  const [auto, pgs] = page.simulator.json("report").certificates;
  expect(auto.residual < 1e-6 && pgs.residual > 100 * auto.residual, `auto far below pgs: ${auto.residual} ${pgs.residual}`);
  await picture("beside");
  find("beside").checked = false;

  const ball =
    '<mujoco model="ball"><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/>' +
    '<geom type="sphere" size="0.1"/></body></worldbody></mujoco>';
  await drop("ball.xml", ball);
  await until(() => page.file === "ball.xml" && time() > 0, "a dropped file that is stepped");
  expect(find("problem").hidden, "no problem");
  await drop("bad.urdf", '<robot name="r">\n<link name="a"/>\n<joint name="j" type="wheel">\n</joint></robot>');
  await until(() => !find("problem").hidden, "a bad file that is reported");
  expect(/bad\.urdf:3/.test(find("problem").textContent), "the file and the line of what is wrong");

  choose("scene", "soft-pinch");
  expect(find("problem").hidden, "a soft body that opens");
  const speeds = { humanoid: speed("humanoid", 1200, 1000), "bolt-nut": speed("bolt-nut", 240, 200) };
  await post("/done", JSON.stringify({ speeds, auto, pgs }));
}

run().catch((problem) => post("/failed", String(problem.stack ?? problem)));
