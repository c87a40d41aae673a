// node tfjs_ops.mjs CHECK_MJS BACKEND FOLDER NODE_MODULES: run every model below FOLDER, which has its
// inputs beside it, and write the outputs there; see check.mjs of pinnace.deploy.tfjs.
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [check, backend, folder, modules] = process.argv.slice(2);
const { run, start } = await import(pathToFileURL(check).href);
const tf = await start(modules, backend);
for (const name of readdirSync(folder)) {
  const place = path.join(folder, name);
  let found;
  try {
    found = await run(tf, "graph", place, place);
  } catch (error) {
    found = { ok: false, error: String(error?.message ?? error) };
  }
  writeFileSync(path.join(place, "outputs.json"), JSON.stringify(found));
}
process.exit(0);
