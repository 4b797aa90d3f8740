// The page's main job, by mouse and by keyboard, and what surrounds it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./browser.mjs";
import { axe, booted, edit, readyPods, run, story, untilReady } from "./cluster.mjs";

let chromium;
before(async () => { chromium = await start(); });
after(() => chromium?.stop());

// Opens the page, waits for the cluster, and makes sure that nothing troubled the console at the end.
async function visit(query, context, body) {
  const { page, troubles, close } = await chromium.open(query, context);
  try {
    await booted(page);
    await body(page);
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
}

const PENDING = `apiVersion: v1
kind: Pod
metadata:
  name: big
spec:
  containers:
  - name: c
    image: nginx:1.27
    resources:
      requests:
        cpu: "40"
`;

test("Apply by mouse: three pods become ready, and the steps say how", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, false);
    await page.getByRole("button", { name: "Apply" }).click();
    await untilReady(page, "web", 3);
    await page.locator(".trip li.done").nth(5).waitFor({ timeout: 15_000 });
    assert.match(await page.locator(".trip").innerText(), /3\/3 · deployment\/web/);
  }));

test("Apply by keyboard alone, then kubectl in the terminal", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, false);
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+Enter");
    await untilReady(page, "web", 3);
    // From the tab of the manifest to the terminal's.
    await page.getByRole("tab", { name: "Manifest" }).focus();
    await page.keyboard.press("ArrowRight");
    if (!(await page.getByRole("combobox", { name: "Command" }).isVisible())) await page.keyboard.press("Enter");
    await page.getByRole("combobox", { name: "Command" }).focus();
    await page.keyboard.type("kubectl get deployment web -o jsonpath='{.status.readyReplicas}'");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.locator(".term .ln.o", { hasText: /^3$/ }).waitFor();
  }));

test("Tab leads through the page in the order in which it is read, and Apply is pressed by Enter", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, false);
    await page.locator(".cm-content").waitFor();
    // Tab goes on from where the reader clicked last: from the beginning.
    await page.locator(".brand").click();
    const seen = [];
    for (let presses = 0; presses < 40; presses++) {
      // Esc lets Tab leave the editor.
      if (await page.evaluate(() => document.activeElement?.closest(".cm-editor") !== null)) await page.keyboard.press("Escape");
      await page.keyboard.press("Tab");
      const here = await page.evaluate(() => {
        const e = document.activeElement;
        const style = getComputedStyle(e);
        const shown = style.outlineStyle !== "none" || style.boxShadow !== "none" || e.closest(".cm-editor, input, .field, select") !== null;
        return { name: e.getAttribute("aria-label") ?? e.innerText?.split("\n")[0] ?? e.tagName, shown, where: e.closest("header, .side, #cluster, .dock, .timebar")?.className ?? "" };
      });
      seen.push(here);
      if (here.name === "Apply") break;
    }
    const names = seen.map((s) => s.name);
    assert.equal(names.at(-1), "Apply", names.join(" > "));
    assert.deepEqual(seen.filter((s) => !s.shown).map((s) => s.name), [], "focus is not seen");
    // The header comes before the side panel.
    const places = seen.map((s) => s.where.split(" ")[0]);
    assert.ok(places.lastIndexOf("head") < places.indexOf("side"), places.join(" "));
    await page.keyboard.press("Enter");
    await untilReady(page, "web", 3);
    // A screen reader hears it.
    await page.waitForFunction(() => /^web: 3 of 3 ready/.test(document.querySelector(".sr[role=status]")?.textContent ?? ""), null, { timeout: 10_000 });
  }));

test("with reduced motion no light travels: lines count", () =>
  visit("?lang=en", { reducedMotion: "reduce" }, async (page) => {
    await story(page, false);
    await page.getByRole("button", { name: "Apply" }).click();
    await page.locator(".tally").first().waitFor({ timeout: 15_000 });
    await untilReady(page, "web", 3);
    assert.equal(await page.locator(".light").evaluateAll((lights) => lights.filter((l) => getComputedStyle(l).display !== "none").length), 0);
  }));

test("a command typed while the clock stands says what it waits for", () =>
  visit("?lang=en", {}, async (page) => {
    await page.getByRole("tab", { name: "Terminal" }).click();
    await page.locator("#play").click();
    await page.waitForTimeout(300);
    const field = page.getByRole("combobox", { name: "Command" });
    await field.fill("kubectl get nodes");
    await field.press("Escape");
    await field.press("Enter");
    const note = page.getByText("The clock is stopped. The command continues when it runs again.");
    await note.waitFor();
    await page.locator(".standing").getByRole("button").click();
    await page.locator(".term .ln.o", { hasText: /^node-3/ }).waitFor();
    assert.equal(await note.count(), 0);
  }));

test("an unknown field is corrected by a click", () =>
  visit("?lang=en", {}, async (page) => {
    await edit(page, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replica: 3\n");
    await page.getByText("Did you mean").first().waitFor();
    await page.getByRole("button", { name: "Fix" }).first().click();
    await page.waitForFunction(() => /replicas: 3/.test(document.querySelector(".cm-content")?.innerText ?? ""));
  }));

test("story mode holds at each step and ends with ready pods", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, true);
    await page.getByRole("button", { name: "Apply" }).click();
    const dialog = page.getByRole("dialog", { name: "Story" });
    await dialog.waitFor({ timeout: 15_000 });
    const sentences = new Set();
    for (let step = 0; step < 12 && (await dialog.isVisible()); step++) {
      await page.waitForFunction(
        () => !document.querySelector(".story") || document.querySelector(".story .btn.main")?.getAttribute("aria-disabled") === "false",
        null,
        { timeout: 30_000 },
      );
      if (!(await dialog.isVisible())) break;
      sentences.add(await dialog.locator("p").innerText());
      await page.keyboard.press("Enter");
      await page.waitForTimeout(300);
    }
    assert.ok(sentences.size >= 5, [...sentences].join("\n"));
    await untilReady(page, "web", 3);
  }));

test("a story can be left by a key", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, true);
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("dialog", { name: "Story" }).waitFor({ timeout: 15_000 });
    await page.keyboard.press("Escape");
    await untilReady(page, "web", 3);
  }));

test("a broken manifest gets the server's own error and changes nothing", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, false);
    await edit(page, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replica: 3\n");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText('unknown field "spec.replica"').first().waitFor();
    await edit(page, "kind: [\n");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.locator(".problems.bad").waitFor();
    assert.equal(await run(page, "kubectl get deployments,pods"), "No resources found in default namespace.");
  }));

test("whatever is typed into the terminal gets an answer", () =>
  visit("?lang=en", {}, async (page) => {
    assert.match(await run(page, "kubectl get nodes"), /^NAME +STATUS +ROLES +AGE +VERSION\nnode-1 +Ready/);
    assert.equal(await run(page, "kubectl get pdos"), 'error: the server doesn\'t have a resource type "pdos"');
    assert.match(await run(page, "frobnicate --now"), /frobnicate: command not found/);
    assert.match(await run(page, "kubectl get nodes | grep -c Ready"), /^3$/);
    assert.match(await run(page, "kubectl create deployment x"), /required flag\(s\) "image" not set|error/);
    for (const junk of ["'", "((((", "| | |", "kubectl \u0000", "💥 && 💥", "$(", "kubectl get -o jsonpath={", "<<<"]) {
      await page.getByRole("combobox", { name: "Command" }).fill(junk);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Control+c");
    }
    assert.match(await run(page, "kubectl get nodes"), /node-3 +Ready/);
  }));

/// What is typed into the terminal, and the prompt before it.
const terminal = (page) => ({
  type: async (line) => {
    const field = page.getByRole("combobox", { name: "Command" });
    await field.fill(line);
    await field.press("Enter");
  },
  prompt: (text) =>
    page.waitForFunction((text) => document.querySelector(".term .input .p")?.textContent === text, text, { timeout: 30_000 }),
});

test("a shell in a container is typed into after its prompt", () =>
  visit("?lang=en", {}, async (page) => {
    await run(page, "kubectl run web --image=nginx");
    await run(page, "kubectl wait --for=condition=Ready pod/web");
    const { type, prompt } = terminal(page);
    await type("kubectl exec -it web -- bash");
    await prompt("root@web:/# ");
    assert.deepEqual(await axe(page), []);
    await type("cd /etc/nginx; sleep 1000");
    await page.keyboard.press("Control+c");
    await prompt("root@web:/etc/nginx# ");
    await type("echo $?");
    await page.locator(".term .ln", { hasText: /^130$/ }).waitFor();
    await prompt("root@web:/etc/nginx# ");
    await page.keyboard.press("Control+d");
    await prompt("$ ");
    // bash says `exit` where the prompt stands, as in any terminal.
    assert.equal((await page.locator(".term .ln").last().textContent()).trim(), "root@web:/etc/nginx# exit");
  }));

test("whatever reads the terminal gets what is typed, however its command was written", () =>
  visit("?lang=en", {}, async (page) => {
    await run(page, "kubectl run web --image=nginx");
    await run(page, "kubectl wait --for=condition=Ready pod/web");
    const { type, prompt } = terminal(page);
    const shells = [
      "kubectl -n default exec -it web -- sh",
      "kubectl exec web --stdin=true --tty=true -- sh",
      "true && kubectl exec -it web -- sh",
      "if true; then kubectl exec -it web -- sh; fi",
    ];
    for (const [turn, command] of shells.entries()) {
      await type(command);
      await prompt("# ");
      await type(`hostname; echo turn $((${turn} + 10))`);
      await page.locator(".term .ln", { hasText: new RegExp(`^turn ${turn + 10}$`) }).waitFor();
      await type("exit 4");
      await prompt("$ ");
    }
    assert.equal(await page.locator(".term .ln.h", { hasText: "[exit 4]" }).count(), shells.length);
    // What is typed before anybody reads is read by who reads first; the end of input too.
    await type("cat > x.txt");
    await type("one");
    await type("two");
    await page.keyboard.press("Control+d");
    await prompt("$ ");
    assert.match(await run(page, "wc -l x.txt"), /^2 x\.txt$/m);
    // Where nobody reads, it is the next command.
    await type("sleep 1");
    await type("echo after $((40 + 2))");
    await page.locator(".term .ln", { hasText: /^after 42$/ }).waitFor();
  }));

test("kubectl edit opens the page's editor, by keyboard alone", () =>
  visit("?lang=en", {}, async (page) => {
    await run(page, "kubectl create deployment web --image=nginx");
    const field = page.getByRole("combobox", { name: "Command" });
    const open = async (command) => {
      await field.fill(command);
      await field.press("Escape");
      await field.press("Enter");
      await page.locator(".opened .cm-content:focus").waitFor();
    };
    await open("kubectl edit deployment web");
    const text = await page.locator(".opened .cm-content").innerText();
    assert.match(text, /kind: Deployment/);
    assert.deepEqual(await axe(page), []);
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: x}\n");
    await page.keyboard.press("Control+Enter");
    // kubectl opens it again and says why.
    await page.locator(".opened .cm-content", { hasText: "Please edit the object below" }).waitFor();
    await page.getByRole("button", { name: "Close without saving" }).click();
    await page.locator(".term .ln", { hasText: /^Edit cancelled|error: Edit cancelled/ }).waitFor();
    await open("vi notes.txt");
    await page.keyboard.insertText("a word\n");
    await page.keyboard.press("Control+Enter");
    // The line has the focus again.
    await page.locator(".term .input input:focus").waitFor();
    assert.equal(await run(page, "cat notes.txt"), "a word");
  }));

test("the controllers' logs are there, can be filtered, and lead to objects", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, false);
    await page.getByRole("button", { name: "Apply" }).click();
    await untilReady(page, "web", 3);
    const log = page.getByRole("log", { name: "Controller logs" });
    await page.getByRole("combobox", { name: "Component" }).selectOption("kube-scheduler");
    await log.getByText("Successfully bound pod to node").first().waitFor();
    await page.waitForFunction(() => {
      const rows = [...document.querySelectorAll(".log .r .co")];
      return rows.length > 0 && rows.every((row) => row.textContent.includes("scheduler"));
    });
    await page.getByPlaceholder("Object or word").fill("no such word");
    await page.getByText("No matching lines.").waitFor();
  }));

test("the inspector says why a pod is pending", () =>
  visit("?lang=en", {}, async (page) => {
    await story(page, false);
    await edit(page, PENDING);
    await page.getByRole("button", { name: "Apply" }).click();
    const chip = page.locator('#cluster button[aria-label^="Pod big"]');
    await chip.waitFor({ timeout: 15_000 });
    await chip.click();
    const inspector = page.getByRole("complementary", { name: "Inspector" });
    await inspector.getByText("Why no node fits").waitFor();
    await inspector.getByText("Insufficient cpu").first().waitFor();
    await inspector.getByText("How it came to be").waitFor();
    await inspector.getByRole("tab", { name: "Describe" }).click();
    await inspector.getByText("FailedScheduling").waitFor();
    await inspector.getByRole("tab", { name: "YAML" }).click();
    await inspector.getByText("kind: Pod").first().waitFor();
    // Esc closes it from wherever no text is written.
    await chip.first().click();
    await page.keyboard.press("Escape");
    await inspector.waitFor({ state: "detached" });
  }));

test("a stopped node is told, and comes back", () =>
  visit("?lang=en", {}, async (page) => {
    await run(page, "cluster stop node-2");
    await page.locator('#cluster [aria-label="node-2"]').getByText(/powered off/i).first().waitFor();
    await run(page, "cluster start node-2");
    await page.locator('#cluster [aria-label="node-2"]').getByText("Ready", { exact: true }).first().waitFor({ timeout: 30_000 });
  }));

test("beside a wide terminal the cards hold what they show, and a pod that waits is named with its reason", () =>
  visit("?lang=en", {}, async (page) => {
    await run(page, "kubectl create deployment big --image=nginx --replicas=3");
    await run(page, "kubectl set resources deployment big --requests=cpu=5");
    await run(page, "kubectl create deployment web --image=nginx --replicas=5");
    await untilReady(page, "web", 5);
    await page.locator(".mapnote", { hasText: "pending" }).waitFor({ timeout: 20_000 });
    const over = () =>
      page.evaluate(() => {
        const box = (e) => e.getBoundingClientRect();
        const found = [];
        const [note, etcd] = [document.querySelector(".mapnote"), document.querySelector(".card.etcd")];
        for (const part of note.querySelectorAll("h2, span, b")) if (box(part).right > box(etcd).left) found.push(`over etcd: ${part.textContent}`);
        for (const card of document.querySelectorAll("#cluster .managers, #cluster .scheduler"))
          for (const part of card.querySelectorAll("button, .score, .waitrow, .queues"))
            if (!part.matches(".bolt") && box(part).bottom > box(card).bottom) found.push(`out of ${card.ariaLabel}: ${part.textContent}`);
        return found;
      });
    const scheduler = page.locator("#cluster .scheduler");
    for (const tab of ["Terminal", "Manifest"]) {
      await page.getByRole("tab", { name: tab }).click();
      for (let look = 0; look < 8; look++) {
        assert.deepEqual(await over(), [], tab);
        assert.match(await scheduler.innerText(), /Insufficient cpu/);
        assert.doesNotMatch(await scheduler.innerText(), /Nothing to place/);
        await page.waitForTimeout(600);
      }
    }
  }));

for (const [name, query, size] of [["whole", "", [1440, 900]], ["whole and small", "", [760, 600]], ["compact", "&embed=1", [760, 600]]]) {
  test(`the story hides neither Apply nor the log: ${name}`, () =>
    visit(`?lang=ko${query}`, { viewport: { width: size[0], height: size[1] } }, async (page) => {
      await page.locator(".actions .btn.main").click();
      await page.locator(".story").waitFor({ timeout: 15_000 });
      for (let step = 0; step < 4; step++) {
        await page.waitForTimeout(500);
        const hidden = await page.evaluate(() => {
          const story = document.querySelector(".story")?.getBoundingClientRect();
          const meets = (e) => {
            const r = e.getBoundingClientRect();
            return story && r.width > 0 && r.left < story.right && story.left < r.right && r.top < story.bottom && story.top < r.bottom;
          };
          const all = [...document.querySelectorAll(".actions .btn, .dock, .ticker, .timebar, .head, .trip")];
          const outside = story && (story.left < 0 || story.top < 0 || story.right > innerWidth || story.bottom > innerHeight);
          return [...all.filter(meets).map((e) => e.className), ...(outside ? ["outside"] : [])];
        });
        assert.deepEqual(hidden, []);
        await page.keyboard.press("Enter");
      }
    }));
}

test("etcd's absence is told, what it costs comes back by itself, and a long line of the log can be read whole", () =>
  visit("?lang=en", {}, async (page) => {
    await run(page, "cluster stop etcd");
    assert.match(await run(page, "cluster stop scheduler"), /no node or component "scheduler"[^]*kube-scheduler-1/);
    assert.match(await run(page, "cluster --help"), /cluster restore +end all of it/);
    const row = page.locator(".log .r", { hasText: "Failed to update lease" }).last();
    await row.waitFor({ timeout: 40_000 });
    // While the clock stands no line rushes by.
    await page.locator("#play").click();
    await page.waitForTimeout(500);
    const cut = (e) => e.evaluate((r) => { const ms = r.querySelector(".ms"); return ms.scrollWidth > ms.clientWidth; });
    const line = await row.elementHandle();
    assert.equal(await cut(line), true);
    await line.click({ position: { x: 60, y: 8 } });
    assert.equal(await cut(line), false);
    assert.match(await line.innerText(), /rpc error|context deadline|etcdserver/);
    await page.getByRole("button", { name: "Wrap" }).click();
    assert.equal(await page.locator(".log .r").first().evaluate((r) => getComputedStyle(r.querySelector(".ms")).whiteSpace), "pre-wrap");
    // No rest is claimed, and the leaders' restart is no fault.
    await page.locator("#play").click();
    await page.getByRole("group", { name: "Speed" }).getByRole("button", { name: "x10", exact: true }).click();
    for (let look = 0; look < 10; look++) {
      assert.doesNotMatch(await page.locator(".timebar").innerText(), /^settled$|only lease renewals/m);
      await page.waitForTimeout(500);
    }
    assert.equal(await run(page, "cluster status"), "stop etcd");
    assert.match(await page.locator(".mapnote").innerText(), /1 fault/);
  }));

test("the clock can be held and let go", () =>
  visit("?lang=en", {}, async (page) => {
    const clock = () => page.getByRole("timer").getAttribute("aria-label");
    await page.locator("#play").click();
    await page.waitForTimeout(300);
    const held = await clock();
    await page.waitForTimeout(1500);
    assert.equal(await clock(), held);
    await page.locator("#play").click();
    await page.waitForTimeout(2500);
    assert.notEqual(await clock(), held);
  }));

test("two presses on pause within one frame end as they began", () =>
  visit("?lang=en", {}, async (page) => {
    const name = () => page.locator("#play").getAttribute("aria-label");
    const before = await name();
    const press = (times) => page.evaluate((times) => { for (let i = 0; i < times; i++) document.querySelector("#play").click(); }, times);
    await press(2);
    await page.waitForTimeout(600);
    assert.equal(await name(), before);
    await press(3);
    await page.waitForTimeout(600);
    assert.notEqual(await name(), before);
  }));

test("what the address asks for in its hash is answered by a sentence", () =>
  visit("?lang=en#manifest=eNqbroken&run=1", {}, async (page) => {
    await page.getByRole("alert").getByText("#manifest").waitFor();
    await page.getByRole("alert").getByText("#run").waitFor();
  }));

test("in low and narrow windows the story keeps its title and its buttons, and the time bar stays inside", async () => {
  for (const [width, height, query, lang] of [[844, 390, "", "en"], [760, 600, "", "ko"], [760, 600, "&embed=1", "ko"], [500, 300, "&embed=1", "en"], [320, 640, "", "en"]]) {
    await visit(`?lang=${lang}${query}`, { viewport: { width, height } }, async (page) => {
      if (width < 760) await page.locator(".dockbar button").first().click();
      await page.locator(".actions .btn.main").first().click();
      await page.locator(".story footer .btn.main").waitFor();
      const seen = await page.evaluate(() => {
        const inside = (e) => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight; };
        const box = document.querySelector(".story").getBoundingClientRect();
        const over = (e) => { const r = e.getBoundingClientRect(); return r.width > 0 && r.top < box.bottom && r.bottom > box.top && r.left < box.right && r.right > box.left; };
        return {
          outside: [...document.querySelectorAll(".story header, .story footer button, .timebar, .timebar > *")].filter((e) => !inside(e)).map((e) => e.className),
          covered: [...document.querySelectorAll("header.head, .side .tabs, .timebar")].filter(over).map((e) => e.className),
          times: [...document.querySelectorAll(".timebar .tk")].map((e) => e.getBoundingClientRect()).filter((r) => r.width > 0).sort((a, b) => a.left - b.left).filter((r, i, all) => i > 0 && r.left < all[i - 1].right + 4).length,
        };
      });
      assert.deepEqual(seen, { outside: [], covered: [], times: 0 }, `${width}x${height}${query}`);
    });
  }
});

test("both languages, chosen by address, by browser and by button", async () => {
  await visit("?lang=ko", {}, async (page) => {
    await page.getByRole("button", { name: "적용" }).waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "ko");
    await page.getByRole("group", { name: "언어" }).getByRole("button", { name: "EN" }).click();
    await page.getByRole("button", { name: "Apply" }).waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "en");
  });
  await visit("", { locale: "ko-KR" }, (page) => page.getByRole("button", { name: "적용" }).waitFor());
});

test("the compact form fits its frame and does the main job", () =>
  visit("?embed=1&lang=en", { viewport: { width: 760, height: 600 } }, async (page) => {
    await story(page, false);
    await page.getByRole("button", { name: "Apply" }).click();
    for (let tries = 0; tries < 100 && !(await page.evaluate(() => document.body.innerText.includes("3/3"))); tries++) {
      if (await page.locator(".story").isVisible()) await page.keyboard.press("Escape");
      await page.waitForTimeout(300);
    }
    assert.match(await page.locator("body").innerText(), /3\/3/);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0);
  }));

test("a phone shows one panel at a time, without sideways scrolling", () =>
  visit2("?lang=en", { viewport: { width: 360, height: 740 }, hasTouch: true }, async (page) => {
    const bar = page.getByRole("navigation", { name: "Panels" });
    for (const name of ["Manifest", "Terminal", "Cluster", "Logs"]) {
      await bar.getByRole("button", { name }).click();
      await page.waitForTimeout(200);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, name);
    }
    // Nothing is cut off at the right either.
    await bar.getByRole("button", { name: "Cluster" }).click();
    await page.locator('#cluster [aria-label="node-1"] h3 button').click();
    await page.locator(".insp").waitFor();
    await page.waitForTimeout(500);
    const over = await page.evaluate(() =>
      [...document.querySelectorAll(".mobile > *, .insp, .insp .body > *, .dockbar button")].filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.className || e.textContent));
    assert.deepEqual(over, []);
  }));

// As `visit`, where the map may not be the first panel.
async function visit2(query, context, body) {
  const { page, troubles, close } = await chromium.open(query, context);
  try {
    await page.waitForFunction(() => !document.querySelector(".outline"), null, { timeout: 20_000 });
    await body(page);
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
}

for (const [theme, lang] of [["light", "en"], ["dark", "ko"]]) {
  test(`an accessibility checker finds nothing: ${theme}, ${lang}`, () =>
    visit(`?lang=${lang}&theme=${theme}`, {}, async (page) => {
      assert.deepEqual(await axe(page), [], "at the start");
      await story(page, false);
      await page.locator(".actions .btn.main").click();
      await untilReady(page, "web", 3);
      await readyPods(page, "web").first().click();
      await page.locator(".insp").waitFor();
      await page.waitForTimeout(500);
      assert.deepEqual(await axe(page), [], "with the inspector open");
      // Beside the inspector the side panel is folded away.
      await page.locator(".insp .close").click();
      await page.locator("#side-terminal").click();
      await page.waitForTimeout(300);
      assert.deepEqual(await axe(page), [], "with the terminal open");
    }));
}

test("in a small window the log keeps its messages, and no button lies over a text", async () => {
  const context = { viewport: { width: 760, height: 600 } };
  await visit("?lang=en", context, async (page) => {
    await page.locator('#cluster [aria-label="node-1"] h3 button').click();
    await page.locator(".insp").waitFor();
    await page.waitForFunction(() => [...document.querySelectorAll(".log .r .ms")].at(-1)?.clientWidth > 160);
    const out = await page.evaluate(() => {
      const right = document.querySelector(".dock").getBoundingClientRect().right;
      return [...document.querySelectorAll(".dock .tabs .tools > *")].filter((e) => e.getBoundingClientRect().right > right + 1).length;
    });
    assert.equal(out, 0);
    assert.equal(await page.evaluate(covered), 0);
  });
  await visit("?lang=en", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }, async (page) => {
    await page.locator(".dockbar button").nth(1).click();
    assert.equal(await page.evaluate(covered), 0);
  });
});

// Buttons of the map that lie over its texts.
function covered() {
  // A text's box is larger than its letters, and the corner of a round button is empty.
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
  const buttons = [...document.querySelectorAll("#cluster .bolt, #cluster .maptools .btn")];
  const texts = [...document.querySelectorAll("#cluster .ct .num, #cluster .ct b, #cluster .ct h3, #cluster .idx")];
  const seen = (e) => e.getClientRects().length > 0 && !e.closest(".sr");
  return buttons.filter(seen).filter((b) => texts.filter(seen).some((t) => over(b.getBoundingClientRect(), t.getBoundingClientRect()))).length;
}
