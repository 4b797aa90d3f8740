// Cuts the world in two in trunk's staging folder: the code that a first visit runs stays in world_bg.wasm, the rest becomes
// world_rest.wasm. Which is which is seen by playing first visits here, with a world that marks what runs.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const split = (...words) => execFileSync("cargo", ["run", "--quiet", "--profile", "tool", "--package", "tabernetes-split", "--", ...words], { encoding: "utf8" });

// What only kubectl explain and the server's OpenAPI read, and what only kubectl's help does.
const TEXTS = ["src/api/descriptions.tsv", "src/kubectl/help.txt"];

/// Cuts the world of a folder.
export async function cut(folder) {
  const own = mkdtempSync(join(tmpdir(), "tabernetes-split-"));
  try {
    const [whole, counted, ran] = ["whole.wasm", "counted.wasm", "ran"].map((name) => join(own, name));
    copyFileSync(join(folder, "world_bg.wasm"), whole);
    const [base, stretches] = split("count", whole, counted).split(" ").map(Number);
    split("visits", own);
    const marks = new Uint8Array(stretches);
    for (const visit of readdirSync(own).filter((name) => name.startsWith("visit-"))) {
      const memory = await play(join(folder, "world.js"), counted, join(own, visit));
      new Uint8Array(memory.buffer, base, stretches).forEach((mark, at) => { marks[at] |= mark; });
    }
    writeFileSync(ran, marks);
    const texts = split("cut", whole, ran, join(folder, "world_bg.wasm"), join(folder, "world_rest.wasm"), ...TEXTS).trim();
    console.log(`world: ${marks.reduce((sum, mark) => sum + mark, 0)} of ${stretches} stretches of code ran in the first visits; ${texts}`);
  } finally {
    rmSync(own, { recursive: true });
  }
}

async function play(glue, wasm, visit) {
  // Node takes a module by its name's ending.
  const script = `${visit}.mjs`;
  copyFileSync(glue, script);
  globalThis.self ??= globalThis;
  globalThis.worldPanicked = (message) => { throw new Error(message); };
  const { default: init, World } = await import(pathToFileURL(script));
  const { memory } = await init({ module_or_path: readFileSync(wasm) });
  const steps = readFileSync(visit);
  let world = null;
  // As the worker does.
  const turn = (milliseconds) => { world.advance(milliseconds); world.wait_ms(); };
  for (let at = 0; at < steps.length;) {
    const length = steps.readUInt32LE(at);
    at += 4;
    if (length === 0) {
      // In slices, as the worker's timers would.
      for (let left = steps.readUInt32LE(at); left > 0; left -= 16) turn(16);
      at += 4;
    } else {
      const message = steps.subarray(at, at + length);
      if (world === null) world = new World(message); else world.input(message);
      turn(0.25);
      at += length;
    }
  }
  return memory;
}
