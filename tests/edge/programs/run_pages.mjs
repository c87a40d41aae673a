// node run_pages.mjs FOLDER NODE_MODULES CHROMIUM PAGE...: serve FOLDER, visit FOLDER/PAGE/ in turn.
// One line of JSON: page -> what it found; `foreign` names what it asked of other hosts. A page with a
// picture.png in its folder is given that, and `best` are the names and numbers that it shows.
import { createReadStream, existsSync, statSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, modules, executablePath, ...pages] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, "x.js"))("playwright-core");
const TYPES = {
  ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css",
  ".json": "application/json", ".wasm": "application/wasm",
};
const PATIENCE = 120_000; // ms

const server = http.createServer((request, response) => {
  const asked = decodeURIComponent(new URL(request.url, "http://x").pathname);
  const file = path.join(folder, asked.endsWith("/") ? `${asked}index.html` : asked);
  if (!file.startsWith(folder) || !existsSync(file) || !statSync(file).isFile()) {
    response.statusCode = 404;
    response.end();
    return;
  }
  response.setHeader("Content-Type", TYPES[path.extname(file)] ?? "application/octet-stream");
  createReadStream(file).pipe(response);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const root = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
const found = {};
for (const name of pages) {
  const page = await browser.newPage();
  const foreign = [];
  const errors = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(root) && !/^(data|blob):/.test(request.url())) {
      foreign.push(request.url());
    }
  });
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  try {
    await page.goto(`${root}/${name}/`, { timeout: PATIENCE });
    await page.waitForFunction("globalThis.checked !== undefined", null, { timeout: PATIENCE });
    found[name] = await page.evaluate("globalThis.checked");
    if (found[name].ok) {
      await page.click("#run");
      await page.waitForSelector("#results h2", { timeout: PATIENCE });
      found[name].shown = await page.locator("#results h2").allTextContents();
      const picture = path.join(folder, name, "picture.png");
      if (existsSync(picture)) {
        await page.evaluate("document.getElementById('results').replaceChildren()");
        await page.setInputFiles("input[type=file]", picture);
        await page.waitForSelector("#results .best", { timeout: PATIENCE });
        const texts = (selector) => page.locator(`#results ${selector}`).allTextContents();
        found[name].best = { names: await texts(".name"), values: await texts(".value") };
      }
    }
  } catch (error) {
    found[name] = { ok: false, largest: 0, relative: 0, wrong: [String(error)] };
  }
  Object.assign(found[name], { foreign, errors, browser: browser.version() });
  await page.close();
}
await browser.close();
server.close();
console.log(JSON.stringify(found));
process.exit(0);
