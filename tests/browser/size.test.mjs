// What a visitor downloads before the cluster stands there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { after, before, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { start } from "./browser.mjs";

const KIB = 1024;
// The budget is 900 KiB by brotli and 1.1 MiB by gzip. It is not met; these bounds keep what was reached from growing.
const BROTLI = 2300 * KIB;
const GZIP = 3000 * KIB;

let chromium;
before(async () => { chromium = await start(); });
after(() => chromium?.stop());

test("everything loaded for first use is no larger than it was", async () => {
  const { page, close } = await chromium.open();
  await page.waitForFunction(() => !document.querySelector(".outline"), null, { timeout: 20_000 });
  await page.waitForTimeout(3000);
  await close();
  const rows = [...chromium.served].map((file) => {
    const bytes = readFileSync(file);
    return { file: basename(file), raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes).length };
  });
  const sum = (of) => rows.reduce((total, row) => total + row[of], 0);
  rows.push({ file: "all", raw: sum("raw"), gzip: sum("gzip"), brotli: sum("brotli") });
  for (const { file, raw, gzip, brotli } of rows) {
    const kib = (bytes) => `${(bytes / KIB).toFixed(1).padStart(8)} KiB`;
    console.log(`${file.padEnd(44)}${kib(raw)} raw${kib(gzip)} gzip${kib(brotli)} brotli`);
  }
  assert.ok(rows.at(-1).brotli <= BROTLI, `${rows.at(-1).brotli} bytes by brotli, more than ${BROTLI}`);
  assert.ok(rows.at(-1).gzip <= GZIP, `${rows.at(-1).gzip} bytes by gzip, more than ${GZIP}`);
});
