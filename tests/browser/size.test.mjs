// What a visitor downloads before the cluster stands there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { after, before, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { start } from "./browser.mjs";

const KIB = 1024;
// The budget of the first use is 900 KiB by brotli and 1.1 MiB by gzip. It is not met; these bounds keep what was
// reached from growing.
const FIRST = { gzip: 1665 * KIB, brotli: 1310 * KIB };
// With the second half of the world, which comes when the cluster stands there: what few visits use lies there, CEL with
// the policies written in it, the allocation of devices and forwarded ports among it, and of the functions that all
// visits use what did not run, where each piece costs some bytes more than in its place.
const ALL = { gzip: 3760 * KIB, brotli: 2860 * KIB };
const LATER = "world_rest.wasm";

let chromium;
before(async () => { chromium = await start(); });
after(() => chromium?.stop());

test("everything loaded for first use is no larger than it was, nor is all that is loaded", async () => {
  const { page, close } = await chromium.open();
  await page.waitForFunction(() => !document.querySelector(".outline"), null, { timeout: 20_000 });
  await page.waitForTimeout(5000);
  await close();
  const rows = [...chromium.served].map((file) => {
    const bytes = readFileSync(file);
    return { file: basename(file), raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes).length };
  });
  assert.ok(rows.some(({ file }) => file === LATER), "the second half was not fetched");
  const sum = (file, rows) => ({ file, ...Object.fromEntries(["raw", "gzip", "brotli"].map((of) => [of, rows.reduce((total, row) => total + row[of], 0)])) });
  const all = sum("all", rows);
  const first = sum("for first use", rows.filter(({ file }) => file !== LATER));
  for (const { file, raw, gzip, brotli } of [...rows, first, all]) {
    const kib = (bytes) => `${(bytes / KIB).toFixed(1).padStart(8)} KiB`;
    console.log(`${file.padEnd(44)}${kib(raw)} raw${kib(gzip)} gzip${kib(brotli)} brotli`);
  }
  for (const [what, bound] of [[first, FIRST], [all, ALL]]) {
    for (const by of ["gzip", "brotli"]) assert.ok(what[by] <= bound[by], `${what.file}: ${what[by]} bytes by ${by}, more than ${bound[by]}`);
  }
});
