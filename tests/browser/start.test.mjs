// The page's start, and what is shown where it can't.
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
