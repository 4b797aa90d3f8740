// The page outlives its world.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./browser.mjs";
import { axe, booted } from "./cluster.mjs";

// A world that traps after some turns, in the first worker only: a restart gets the real one.
const TRAP = `
  let turns = 0;
  export default async () => {};
  export class World {
    input() { return new Uint8Array(); }
    advance() { if (++turns > 3) { self.worldPanicked("panicked at src/world/test.rs:1:1:\\nthe world ended"); throw new WebAssembly.RuntimeError("unreachable"); } return new Uint8Array(); }
    wait_ms() { return 20; }
  }
`;

let chromium;
before(async () => { chromium = await start({ replace: { "world.js": (times) => (times === 0 ? TRAP : undefined) } }); });
after(() => chromium?.stop());

test("a world that crashes leaves a box with its report, and restarts", async () => {
  const { page, close } = await chromium.open("?lang=en");
  const box = page.getByRole("alertdialog");
  await box.waitFor({ timeout: 20_000 });
  assert.match(await box.innerText(), /The simulated world stopped/);
  await box.getByText("Report", { exact: true }).click();
  await box.getByText("the world ended").waitFor();
  assert.deepEqual(await axe(page), []);
  await box.getByRole("button", { name: "Restart" }).click();
  await booted(page);
  assert.equal(await box.count(), 0);
  await close();
});

// A world that is caught in a loop once it has been asked for a while, in the first worker only.
const LOOP = `
  let begun = 0;
  export default async () => {};
  export class World {
    constructor() { begun = performance.now(); }
    input() { return new Uint8Array(); }
    advance() { while (performance.now() - begun > 2500) {} return new Uint8Array(); }
    wait_ms() { return 50; }
  }
`;

test("a world that hangs is told of after ten seconds, with the last input, and restarts", async () => {
  const hung = await start({ replace: { "world.js": (times) => (times === 0 ? LOOP : undefined) } });
  try {
    const { page } = await hung.open("?lang=en");
    await page.locator(".timebar").waitFor({ timeout: 20_000 });
    await page.locator("#play").click();
    const box = page.getByRole("alertdialog");
    await page.waitForTimeout(8000);
    assert.equal(await box.count(), 0);
    await box.waitFor({ timeout: 20_000 });
    assert.match(await box.innerText(), /does not answer[^]*Last input: (Pause|Run)/);
    assert.deepEqual(await axe(page), []);
    await box.getByRole("button", { name: "Restart" }).click();
    await booted(page);
    assert.equal(await box.count(), 0);
  } finally {
    await hung.stop();
  }
});
