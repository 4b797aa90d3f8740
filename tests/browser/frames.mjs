// How smoothly the page goes while 1,000 pods start on 100 nodes: the longest frame and the 95th percentile, in the
// whole page and on a phone. Budgets: 50 ms and 16 ms (a frame at 60 Hz, give or take its jitter).
//   node tests/browser/frames.mjs [PODS [NODES]]
import { start } from "./browser.mjs";
import { run } from "./cluster.mjs";

const [pods, nodes] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 100)];
const FORMS = [
  ["whole page", { viewport: { width: 1440, height: 900 } }],
  ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
];

// Gathers the time between frames, and how long the main thread was kept at once.
function record() {
  globalThis.gaps = [];
  globalThis.tasks = [];
  new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((e) => e.duration))).observe({ entryTypes: ["longtask"] });
  let last = performance.now();
  const frame = (now) => {
    globalThis.gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const share = (numbers, part) => numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * part)] ?? 0;
const ms = (number) => `${number.toFixed(1)} ms`;

// Seconds that the main thread spent so far, by what it did: less noisy than the time between frames.
async function spent(devtools) {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return ["Task", "Script", "RecalcStyle", "Layout"].map((what) => metrics.find((m) => m.name === `${what}Duration`).value);
}

const chromium = await start();
for (const [name, context] of FORMS) {
  const { page, troubles, close } = await chromium.open(`?lang=en&nodes=${nodes}&zones=3`, context);
  const phone = context.isMobile === true;
  const show = (panel) => page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: panel }).click();
  await page.waitForFunction(() => !document.querySelector(".outline"), null, { timeout: 60_000 });
  if (phone) await show("Terminal");
  const began = Date.now();
  for (let tries = 0; tries < 120; tries++) {
    const text = await run(page, "kubectl get nodes --no-headers | grep -cw Ready");
    if (text === String(nodes)) break;
    await page.waitForTimeout(500);
  }
  const booted = Date.now() - began;
  if (phone) await show("Cluster");
  await page.waitForTimeout(1000);
  await page.evaluate(record);
  await page.waitForTimeout(2000);
  const rest = await page.evaluate(() => globalThis.gaps.splice(0));
  if (phone) await show("Terminal");
  await run(page, `kubectl create deployment load --image=nginx:1.27 --replicas=${pods}`);
  if (phone) await show("Cluster");
  await page.evaluate(() => { globalThis.gaps.length = 0; globalThis.tasks.length = 0; });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const before = await spent(devtools);
  const from = Date.now();
  // The map's heading counts pods; a phone has none, so there the time is fixed and kubectl counts afterwards.
  const ready = () => page.evaluate(() => Number(/([\d,]+) ready/.exec(document.querySelector("#cluster")?.textContent ?? "")?.[1]?.replace(",", "") ?? 0));
  let most = 0;
  if (phone) await page.waitForTimeout(20_000);
  else while (Date.now() - from < 240_000 && (most = await ready()) < pods) await page.waitForTimeout(250);
  const took = Date.now() - from;
  const [all, script, style, layout] = (await spent(devtools)).map((s, i) => `${((s - before[i]) * 1e6 / took).toFixed(0)} ms`);
  const { gaps, tasks } = await page.evaluate(() => ({ gaps: globalThis.gaps, tasks: globalThis.tasks }));
  if (phone) {
    await show("Terminal");
    most = Number(await run(page, "kubectl get deployment load -o jsonpath='{.status.readyReplicas}'"));
  }
  console.log(`${name}: ${nodes} nodes, ${most} of ${pods} pods ready after ${(took / 1000).toFixed(1)} s (nodes Ready after ${(booted / 1000).toFixed(1)} s)`);
  console.log(`  at rest      ${rest.length} frames, 95 % within ${ms(share(rest, 0.95))}, longest ${ms(Math.max(...rest))}`);
  console.log(`  meanwhile    ${gaps.length} frames, half within ${ms(share(gaps, 0.5))}, 95 % within ${ms(share(gaps, 0.95))}, longest ${ms(Math.max(...gaps))}`);
  console.log(`  long tasks   ${tasks.length}, longest ${ms(Math.max(0, ...tasks))}`);
  console.log(`  main thread  ${all} of a second: ${script} script, ${style} styles, ${layout} layout, the rest painting`);
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/frames-${phone ? "phone" : "whole"}.png` });
  if (troubles.length > 0) console.log(`  troubles     ${troubles.join("; ")}`);
  await close();
}
await chromium.stop();
