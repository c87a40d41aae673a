// node draw.mjs FOLDER NODE_MODULES CHROMIUM: draw a one on the page of examples/js_browser.
import http from "node:http";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, modules, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, "x.js"))("playwright-core");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const server = http.createServer(async (request, response) => {
  const asked = request.url === "/" ? "/index.html" : request.url;
  try {
    const content = await readFile(path.join(folder, path.normalize(asked)));
    response.setHeader("Content-Type", TYPES[path.extname(asked)] ?? "application/octet-stream");
    response.end(content);
  } catch {
    response.statusCode = 404;
    response.end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/`);
await page.waitForFunction("document.getElementById('answer').textContent === 'Draw.'");
const { x, y } = await page.locator("#board").boundingBox();
await page.mouse.move(x + 130, y + 20);
await page.mouse.down();
for (const turn of [0.25, 0.5, 0.75, 1]) await page.mouse.move(x + 130, y + 20 + 215 * turn);
await page.mouse.up();
await page.waitForFunction("document.getElementById('answer').textContent.startsWith('This')");
console.log(JSON.stringify({ answer: await page.textContent("#answer") }));
await browser.close();
process.exit(0);
