// The page's start, and what is shown where it can't.
import { takeOut } from "../../scripts/inline.mjs";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./browser.mjs";

let chromium;
before(async () => { chromium = await start(); });
after(() => chromium?.stop());

test("the page starts under the strict policy and fetches nothing from elsewhere", async () => {
  const { page, troubles, close } = await chromium.open();
  await page.waitForFunction(() => !document.querySelector(".outline"), null, { timeout: 20_000 });
  await page.waitForTimeout(500);
  assert.deepEqual(troubles, []);
  assert.equal(await page.title().then((title) => title.includes("Tabernetes")), true);
  await close();
});

test("without WebAssembly a sentence says so", async () => {
  const { page, close } = await chromium.open("robots.txt"); // any address of the server's
  await page.addInitScript(() => { delete globalThis.WebAssembly; });
  await page.goto(chromium.address + "?lang=en");
  await page.getByText("This browser has no WebAssembly").waitFor();
  await page.goto(chromium.address + "?lang=ko");
  await page.getByText("WebAssembly가 없습니다").waitFor();
  await close();
});

test("a page whose program does not load says so", async () => {
  const { page, close } = await chromium.open("robots.txt");
  await page.route(/tabernetes-page.*\.wasm/, (route) => route.fulfill({ status: 404, body: "gone" }));
  await page.goto(chromium.address + "?lang=en");
  await page.getByText("The page could not start").waitFor();
  await close();
});

test("the outline is painted before any of the program is there", async () => {
  const { page, close } = await chromium.open("robots.txt");
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(/\.wasm$/, async (route) => { await held; await route.continue(); });
  await page.goto(chromium.address + "?lang=en", { waitUntil: "domcontentloaded" });
  await page.getByText("Starting the cluster").waitFor();
  assert.equal(await page.locator(".outline").count(), 1);
  const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint").length);
  assert.equal(painted, 1);
  release();
  await page.waitForFunction(() => !document.querySelector(".outline"), null, { timeout: 30_000 });
  await close();
});

test("without JavaScript a sentence says so", async () => {
  const { page, close } = await chromium.open("", { javaScriptEnabled: false });
  // (Text is not looked for inside of noscript.)
  await page.locator("noscript .outline-note").waitFor();
  await close();
});

test("inline scripts become files, but for what trunk has yet to fill in", () => {
  // As trunk 0.21 puts it into a page that it serves.
  const reload = `<script>const address = '{{__TRUNK_ADDRESS__}}';</script>`;
  const texts = [];
  const file = (text) => `a${texts.push(text)}.js`;
  const html = takeOut(`<script type="module" nonce="x">start()</script><script src="boot.js"></script>${reload}`, file);
  assert.equal(html, `<script type="module" src="a1.js"></script><script src="boot.js"></script>${reload}`);
  assert.deepEqual(texts, ["start()"]);
});
