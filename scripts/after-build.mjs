// Runs after trunk's build, in its staging folder: cuts the world in two, makes every inline script a file, so that the
// page works under `script-src 'self' 'wasm-unsafe-eval'`, and names the build, so that a browser never pairs the page
// with another build's world out of its cache.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { takeOut } from "./inline.mjs";
import { page as document } from "./markdown.mjs";
import { cut } from "./split.mjs";

const folder = process.env.TRUNK_STAGING_DIR;
const digest = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex").slice(0, 16);
await cut(folder);

const page = join(folder, "index.html");
let html = readFileSync(page, "utf8");

html = takeOut(html, (text) => {
  const name = `loader-${digest(text)}.js`;
  writeFileSync(join(folder, name), text);
  return name;
});

const built = readdirSync(folder).filter((name) => /\.(js|wasm|css)$/.test(name)).sort();
const build = digest(...built.flatMap((name) => [name, readFileSync(join(folder, name))]));
html = html.replace(/<html\b/, `<html data-build="${build}"`).replace('src="boot.js"', `src="boot.js?b=${build}"`);
writeFileSync(page, html);

// What the dialog behind the badge leads to.
const styles = readdirSync(folder).filter((name) => /^(tokens|page)-.*\.css$/.test(name)).sort().reverse();
const list = readFileSync(new URL("../docs/differences.md", import.meta.url), "utf8");
writeFileSync(join(folder, "differences.html"), document(list, styles));
