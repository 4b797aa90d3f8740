// What the tests do on the page, in a visitor's terms.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The three nodes stand there, Ready.
export async function booted(page) {
  for (const name of ["node-1", "node-2", "node-3"]) {
    await page.locator(`#cluster [aria-label="${name}"]`).getByText("Ready", { exact: true }).first().waitFor({ timeout: 30_000 });
  }
}

// Puts a text into the editor, as pasting does.
export async function edit(page, text) {
  const editor = page.locator(".cm-content");
  await editor.waitFor();
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

// The chips of ready pods whose names begin so.
export function readyPods(page, name) {
  return page.locator(`#cluster button[aria-label^="Pod ${name}-"][aria-label*=" 1/1"]`);
}

export async function untilReady(page, name, count) {
  // A pod may have a chip in more than one place: at its node and where the scheduler shows what it bound last.
  const ready = () => readyPods(page, name).evaluateAll((chips) => [...new Set(chips.map((chip) => chip.title))]);
  for (let tries = 0; tries < 150 && (await ready()).length < count; tries++) await page.waitForTimeout(200);
  assert.equal((await ready()).length, count);
}

// The next change is played straight on, or as a story.
export async function story(page, wanted) {
  const button = page.locator("button.arm");
  if ((await button.count()) === 0) return; // the compact form has no such button
  if ((await button.getAttribute("aria-pressed")) !== String(wanted)) await button.click();
}

// Types a command into the terminal and gives what it printed.
export async function run(page, command) {
  const tab = page.getByRole("tab", { name: "Terminal" });
  if ((await tab.count()) > 0) await tab.click(); // a phone has a bar instead
  // What the program printed, without the terminal's own notes (`[exit 1]`).
  const lines = page.locator(".term .ln:not(.h)");
  const before = await lines.count();
  const field = page.getByRole("combobox", { name: "Command" });
  await field.fill(command);
  await field.press("Escape"); // closes a list of completions
  await field.press("Enter");
  // The prompt is back when the command has ended.
  await page.waitForFunction(
    ([count]) => document.querySelectorAll(".term .ln:not(.h)").length > count && document.querySelector(".term .input .p")?.textContent.startsWith("$"),
    [before],
    { timeout: 30_000 },
  );
  await page.waitForTimeout(150);
  const texts = await lines.allTextContents();
  return texts.slice(before + 1).map((text) => text.replace(/\u00a0/g, "")).join("\n");
}

// What an accessibility checker finds.
export async function axe(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}
