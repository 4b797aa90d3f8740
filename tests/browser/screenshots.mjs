// Pictures of the built page: three sizes, both languages, both themes, before and after Apply.
//   node tests/browser/screenshots.mjs FOLDER
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT, start } from "./browser.mjs";

const SIZES = [[1440, 900], [760, 600], [390, 844]];
const into = resolve(process.argv[2] ?? "");
if (process.argv[2] === undefined || into.startsWith(ROOT)) {
  console.error("name a folder outside the repository: make screenshots INTO=folder");
  process.exit(1);
}
mkdirSync(into, { recursive: true });

const chromium = await start();
for (const [width, height] of SIZES) {
  for (const lang of ["en", "ko"]) {
    for (const theme of ["light", "dark"]) {
      const query = `?lang=${lang}&theme=${theme}${width === 760 ? "&embed=1" : ""}`;
      const { page, troubles, close } = await chromium.open(query, { viewport: { width, height } });
      const name = `${width}x${height}-${lang}-${theme}`;
      await page.waitForFunction(() => !document.querySelector(".outline"), null, { timeout: 20_000 });
      await page.waitForTimeout(2500);
      await page.screenshot({ path: join(into, `${name}-start.png`) });
      const phone = width < 760;
      const show = (at) => page.locator(".dockbar button").nth(at).click();
      if (phone) await show(0);
      await page.locator(".actions .btn.main").click();
      if (phone) await show(1);
      const story = page.locator(".story");
      await story.waitFor({ timeout: 15_000 });
      for (let step = 0; step < 3; step++) {
        await page.waitForTimeout(1200);
        if (step < 2) await page.keyboard.press("Enter");
      }
      await page.screenshot({ path: join(into, `${name}-story.png`) });
      await page.keyboard.press("Escape");
      await page.waitForTimeout(6000);
      await page.screenshot({ path: join(into, `${name}-applied.png`) });
      if (phone) await show(0);
      if (phone) await page.waitForTimeout(300), await page.screenshot({ path: join(into, `${name}-manifest.png`) }), await show(1);
      await page.locator('#cluster button[aria-label^="Pod web-"]').first().click();
      await page.waitForTimeout(1200);
      await page.screenshot({ path: join(into, `${name}-inspect.png`) });
      if (troubles.length > 0) console.error(`${name}:\n  ${troubles.join("\n  ")}`);
      console.log(name);
      await close();
    }
  }
}
await chromium.stop();
