// What was dropped: files with their paths, those in folders as well, and which of them is the model.

const IS_MODEL = /\.(xml|mjcf|urdf)$/i;

export async function dropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  // All of this is gone after the first wait.
  const found = items.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  const files = [];
  for (const one of found) await collect(one, files);
  const models = files.map(([path]) => path).filter((path) => IS_MODEL.test(path));
  if (models.length === 0) throw new Error("There is no model in what was dropped: expected a file .xml, .mjcf or .urdf.");
  // The one least deep in folders; of several there, the first by name.
  const depth = (path) => path.split("/").length;
  models.sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
  return { files, model: models[0] };
}

async function collect(one, files) {
  if (one === null) return;
  if (one instanceof File) {
    files.push([one.name, new Uint8Array(await one.arrayBuffer())]);
  } else if (one.isFile) {
    const file = await new Promise((done, failed) => one.file(done, failed));
    files.push([one.fullPath.replace(/^\//, ""), new Uint8Array(await file.arrayBuffer())]);
  } else {
    const reader = one.createReader();
    for (;;) {
      // A reader gives a part of the folder at a time, and none at the end.
      const part = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (part.length === 0) break;
      for (const entry of part) await collect(entry, files);
    }
  }
}
