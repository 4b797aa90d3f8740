// The world comes in two halves: the first is enough for a first visit, the second comes when it is called for.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./browser.mjs";
import { booted, run, story, untilReady } from "./cluster.mjs";

let chromium;
before(async () => { chromium = await start(); });
after(() => chromium?.stop());

// Opens the page where the second half's request number `n` is answered as `answers(n)` says.
async function visit(answers) {
  const opened = await chromium.open("robots.txt");
  let requests = 0;
  await opened.page.route(/world_rest\.wasm/, (route) => {
    requests += 1;
    return answers(requests) ? route.continue() : route.fulfill({ status: 503, body: "later" });
  });
  await opened.page.goto(chromium.address + "?lang=en");
  await booted(opened.page);
  return { ...opened, requests: () => requests };
}

test("what the first visit does not need is fetched when it is called", async () => {
  const { page, requests, close } = await visit((request) => request > 1);
  await page.waitForTimeout(3000);
  assert.equal(requests(), 1, "asked for once by itself, in vain");
  await story(page, false);
  await page.getByRole("button", { name: /^Apply/ }).click();
  await untilReady(page, "web", 3);
  assert.match(await run(page, "kubectl explain pods.spec"), /KIND: +Pod/);
  assert.equal(requests(), 2);
  assert.match(await run(page, "kubectl explain nodes"), /KIND: +Node/);
  assert.equal(requests(), 2);
  await close();
});

for (const [lang, heading, again] of [["en", "The simulation could not be loaded", "Try again"], ["ko", "시뮬레이션을 불러오지 못했습니다", "다시 시도"]]) {
  test(`a program that does not come is named, with what was answered, and can be asked for again: ${lang}`, async () => {
    const { page, close } = await chromium.open("robots.txt");
    let there = false;
    await page.route(/world_bg\.wasm/, (route) => (there ? route.continue() : route.fulfill({ status: 404, body: "gone" })));
    await page.goto(chromium.address + `?lang=${lang}`);
    const box = page.getByRole("alertdialog");
    await box.getByText(heading).waitFor({ timeout: 20_000 });
    assert.match(await box.innerText(), /world_bg\.wasm[^]*404/);
    assert.doesNotMatch(await box.locator("#crash-text").innerText(), /Chrome/);
    there = true;
    await box.getByRole("button", { name: again }).click();
    await booted(page);
    await close();
  });
}

test("a second half that never comes is named where it lacks, and the cluster boots without it", async () => {
  const { page, close } = await visit(() => false);
  const field = page.getByRole("combobox", { name: "Command" });
  await page.getByRole("tab", { name: "Terminal" }).click();
  await field.fill("kubectl explain pods.spec");
  await field.press("Escape");
  await field.press("Enter");
  const box = page.getByRole("alertdialog");
  await box.getByText("The simulation could not be loaded").waitFor({ timeout: 20_000 });
  await box.getByText("Report", { exact: true }).click();
  await box.getByText(/world_rest\.wasm: 503/).first().waitFor();
  await close();
});
