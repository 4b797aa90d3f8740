// The world's worker: bytes in, bytes out, and the world's pace.
//
// From the page: ArrayBuffers; the first one starts the world, each further one is an input.
// To the page: ArrayBuffers (what the world answered), `{failed: message}` when its wasm can't be loaded,
// `{crashed: {message, stack}}` when it trapped or panicked; after either nothing more comes.

const build = new URL(import.meta.url).search;
let world = null;
let dead = false;
let panic = "";
let last = 0;
let timer = 0;
let soon = false;
const waiting = [];

// The world's panic hook calls this just before it traps.
self.worldPanicked = (message) => { panic = message; };

const post = (bytes) => {
  if (bytes && bytes.length > 0) self.postMessage(bytes.buffer, [bytes.buffer]);
};

const guarded = (step) => {
  if (dead) return;
  try {
    step();
  } catch (error) {
    dead = true;
    world = null;
    self.postMessage({ crashed: { message: panic || String(error), stack: String((error && error.stack) || "") } });
  }
};

// A timer of 0 ms is made to wait for 4 ms by the browser; a message to oneself is not.
const channel = new MessageChannel();
channel.port1.onmessage = () => { soon = false; turn(); };

const schedule = () => {
  clearTimeout(timer);
  const wait = world.wait_ms();
  if (wait <= 0) {
    if (!soon) { soon = true; channel.port2.postMessage(null); }
  } else if (wait !== Infinity) {
    timer = setTimeout(turn, wait);
  }
};

const turn = () => guarded(() => {
  const now = performance.now();
  const elapsed = now - last;
  last = now;
  post(world.advance(elapsed));
  schedule();
});

const take = (bytes) => guarded(() => {
  if (world === null) {
    world = new World(bytes);
    last = performance.now();
  } else {
    post(world.input(bytes));
  }
  turn();
});

let World = null;
self.onmessage = ({ data }) => {
  const bytes = new Uint8Array(data);
  if (World === null) waiting.push(bytes);
  else take(bytes);
};

try {
  const module = await import(`./world.js${build}`);
  await module.default({ module_or_path: new URL(`./world_bg.wasm${build}`, import.meta.url) });
  World = module.World;
  for (const bytes of waiting.splice(0)) take(bytes);
} catch (error) {
  dead = true;
  self.postMessage({ failed: String((error && error.message) || error) });
}
