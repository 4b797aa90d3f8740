// A headless Chromium on the built page.
//
// playwright-core drives the system's own Chromium over its debugging protocol: it waits for elements by itself, speaks
// mouse and keyboard as a person does, and downloads no browser. The page is served under a sub-path.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serve } from "./server.mjs";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const DIST = process.env.TABERNETES_DIST ?? join(ROOT, "dist");
const PREFIX = "/courses/kubernetes/playground/";

const CHROMIUM = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (path) => path && existsSync(path),
);

export async function start(options = {}) {
  assert.ok(existsSync(join(DIST, "index.html")), `${DIST} holds no built page: run make build`);
  assert.ok(CHROMIUM, "there is no Chromium: run scripts/setup test, or name one in CHROMIUM");
  const server = await serve({ folder: DIST, prefix: PREFIX, ...options });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  return {
    address: server.address,
    served: server.served,
    browser,
    // Opens the page in a profile of its own; `troubles` gathers what the console complains of and what is fetched
    // from elsewhere.
    async open(query = "", context = {}) {
      const profile = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US", ...context });
      const page = await profile.newPage();
      const troubles = [];
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) troubles.push(`${message.type()}: ${message.text()}`);
      });
      page.on("pageerror", (error) => troubles.push(`uncaught: ${error.message}`));
      page.on("request", (request) => {
        const url = request.url();
        if (!url.startsWith(server.address) && !/^(data|blob):/.test(url)) troubles.push(`fetched ${url}`);
      });
      page.on("requestfailed", (request) => troubles.push(`failed to fetch ${request.url()}`));
      await page.goto(server.address + query);
      return { page, troubles, close: () => profile.close() };
    },
    async stop() {
      await browser.close();
      server.close();
    },
  };
}
