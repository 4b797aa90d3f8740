// Serves a folder under a sub-path with the strict Content-Security-Policy that an embedding site may have.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

export const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'";

const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".woff2": "font/woff2",
  ".yaml": "text/yaml; charset=utf-8",
};

// Listens on a free port of this machine, or on `port`; `replace` maps a file's name to a function of how often it was
// asked for before, which gives what is sent in its stead, or nothing.
export async function serve({ folder, prefix = "/", port = 0, replace = {} }) {
  const served = new Set();
  const asked = new Map();
  const server = createServer((request, response) => {
    response.setHeader("Content-Security-Policy", POLICY);
    response.setHeader("Cache-Control", "no-store");
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const name = normalize(path.startsWith(prefix) ? path.slice(prefix.length) : "..") || "index.html";
    const file = join(folder, name === "." || name.endsWith("/") ? "index.html" : name);
    const times = asked.get(name) ?? 0;
    asked.set(name, times + 1);
    const instead = replace[name]?.(times);
    if (instead !== undefined) {
      response.writeHead(200, { "Content-Type": TYPES[extname(name)] ?? "text/plain" }).end(instead);
      return;
    }
    if (name.startsWith("..") || !statSync(file, { throwIfNoEntry: false })?.isFile()) {
      response.writeHead(404).end("not found");
      return;
    }
    served.add(file);
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((listening) => server.listen(port, "127.0.0.1", listening));
  const address = `http://127.0.0.1:${server.address().port}${prefix}`;
  // `served`: the files that were asked for so far.
  return { address, served, close: () => { server.closeAllConnections(); server.close(); } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { address } = await serve({ folder: process.argv[2] ?? "dist", port: Number(process.argv[3] ?? 8081) });
  console.log(address);
}
