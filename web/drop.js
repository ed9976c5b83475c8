// What was dropped: files with their paths, those in folders as well.

export async function dropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  // All of this is gone after the first wait.
  const found = items.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  const files = [];
  for (const one of found) await collect(one, files);
  return files;
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
