// What `tabernetes bench` measures, in WebAssembly as the page runs it: the world's steps, without the page.
//   node benches/wasm.mjs [--large]
// Every figure stands beside its ratio against a fixed piece of JavaScript in the same run.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const folder = 'target/wasm-bench';
execFileSync('scripts/cargo-wasm', ['build', '--quiet', '--profile', 'world', '--package', 'tabernetes-history',
  '--target', 'wasm32-unknown-unknown', '--target-dir', folder], { stdio: 'inherit' });
const module = new WebAssembly.Module(readFileSync(`${folder}/wasm32-unknown-unknown/world/history.wasm`));
const fresh = () => new WebAssembly.Instance(module, {}).exports;

function yardstick() {
  const text = '{"a":[1,2,3,{"b":"some text, as long as a name usually is"}],"c":true,"d":null,"e":1.5}';
  const began = performance.now();
  let size = 0;
  for (let i = 0; i < 20_000; i++) size += JSON.stringify(JSON.parse(text)).length;
  return size > 0 ? performance.now() - began : NaN;
}
const yard = Math.min(yardstick(), yardstick(), yardstick());

function timed(title, step) {
  const began = performance.now();
  if (!step()) throw new Error(`${title}: did not come about`);
  const ms = performance.now() - began;
  console.log(title.padEnd(44), `${ms.toFixed(1)} ms`.padStart(12), `${(ms / yard).toFixed(1)}`.padStart(10));
  return ms;
}
const memory = (world) => `${(world.memory.buffer.byteLength / 2 ** 20).toFixed(0)} MiB of memory`;

let world = fresh();
timed('3 nodes Ready, the first time', () => world.bench_boot(3, 1));
world.bench_idle(120);
const idle = timed('an hour of an idle 3-node cluster', () => world.bench_idle(3600));
timed('3 replicas from kubectl to Running', () => world.bench_create(3));
timed('2,000 API writes, the first ones', () => world.bench_write(2000));
// The engine has compiled by now what it first took as it came.
const writes = timed('2,000 API writes more, one after the other', () => world.bench_write(2000));
console.log(`idle: ${(3_600_000 / idle).toFixed(0)} times real time; a write: ${(writes / 2).toFixed(1)} us; ${memory(world)}`);
for (const [nodes, pods] of [[10, 100], [100, 1000], ...(process.argv.includes('--large') ? [[1000, 10_000]] : [])]) {
  world = fresh();
  timed(`${nodes} nodes Ready`, () => world.bench_boot(nodes, 1000));
  timed(`${pods} pods Running on ${nodes} nodes`, () => world.bench_roll_out(pods));
  console.log(memory(world));
}
console.log(`ratio: against parsing and printing 20,000 small JSON objects, ${yard.toFixed(1)} ms in this run`);
