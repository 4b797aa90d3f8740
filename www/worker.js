// The world's worker: bytes in, bytes out, and the world's pace.
//
// From the page: ArrayBuffers; the first one starts the world, each further one is an input.
// To the page: ArrayBuffers (what the world answered), `{failed: {file, arrived, why}}` when its program, or the second
// half of it, did not arrive or could not be started, `{crashed: {message, stack}}` when it trapped or panicked; after
// either nothing more comes. "alive?" is answered by `{alive: true}`, and `{fetching: true}` says that nothing will be
// until `{fetching: false}`.

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
    if (error instanceof NotLoaded) self.postMessage({ failed: error.failed });
    else self.postMessage({ crashed: { message: panic || String(error), stack: String((error && error.stack) || "") } });
  }
};

// A part of the world did not arrive, or could not be started.
class NotLoaded extends Error {
  constructor(file, arrived, why) {
    super(`${file}: ${why}`);
    this.failed = { file, arrived, why: String((why && why.message) || why) };
  }
}

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

// The build cuts the world in two (scripts/split.mjs): the second half is fetched once the first one runs, or at once
// when something that it holds is called before. The first half calls it through a table, whose entry 0 is the fetching.
const REST = new URL(`./world_rest.wasm${build}`, import.meta.url);
// (module (import "a" "b" (func)) (export "c" (func 0))): a table takes no JavaScript function as it is.
const PASS_ON = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 97, 1, 98, 0, 0, 7, 5, 1, 1, 99, 0, 0]);
const REST_AFTER_MS = 2000;

const expectRest = (first) => {
  const table = first?.["~"];
  if (!table) return; // a world in one piece
  const there = () => table.get(table.length - 1) !== null;
  const join = (module) => { if (!there()) new WebAssembly.Instance(module, { "~": first }); };
  const fetchNow = () => {
    self.postMessage({ fetching: true });
    const request = new XMLHttpRequest();
    request.open("GET", REST, false);
    request.responseType = "arraybuffer";
    try {
      request.send();
    } catch (error) {
      throw new NotLoaded("world_rest.wasm", false, error);
    }
    if (request.status !== 200) throw new NotLoaded("world_rest.wasm", false, `${request.status} ${request.statusText}`);
    join(new WebAssembly.Module(request.response));
    self.postMessage({ fetching: false });
  };
  table.set(0, new WebAssembly.Instance(new WebAssembly.Module(PASS_ON), { a: { b: fetchNow } }).exports.c);
  // What fails here is tried again when it is needed.
  setTimeout(() => fetch(REST).then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(answer.status))).then(WebAssembly.compile).then(join, () => {}), REST_AFTER_MS);
};

let World = null;
self.onmessage = ({ data }) => {
  if (data === "alive?") return self.postMessage({ alive: true });
  const bytes = new Uint8Array(data);
  if (World === null) waiting.push(bytes);
  else take(bytes);
};

const begin = async () => {
  const refused = (file, arrived) => (error) => { throw new NotLoaded(file, arrived, error); };
  // Both are on their way at once.
  const program = fetch(new URL(`./world_bg.wasm${build}`, import.meta.url));
  program.catch(() => {});
  const module = await import(`./world.js${build}`).catch(refused("world.js", false));
  const answer = await program.catch(refused("world_bg.wasm", false));
  if (!answer.ok) throw new NotLoaded("world_bg.wasm", false, `${answer.status} ${answer.statusText}`);
  expectRest(await module.default({ module_or_path: answer }).catch(refused("world_bg.wasm", true)));
  World = module.World;
  for (const bytes of waiting.splice(0)) take(bytes);
};

begin().catch((error) => {
  dead = true;
  self.postMessage({ failed: error.failed || { file: "world.js", arrived: true, why: String((error && error.message) || error) } });
});
