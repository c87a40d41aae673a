// node run_node.mjs native|wasm MODEL PAGE NODE_MODULES: what the page checks, without a browser.
// One line of JSON.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [kind, model, page, modules] = process.argv.slice(2);
const load = (...parts) => import(pathToFileURL(path.join(...parts)).href);
let found;
try {
  const { check } = await load(page, "tensors.mjs");
  const description = JSON.parse(await readFile(path.join(page, "model.json"), "utf8"));
  let ort, session;
  if (kind === "native") {
    ort = createRequire(path.join(modules, "x.js"))("onnxruntime-node");
    session = await ort.InferenceSession.create(model, {
      executionProviders: ["cpu"],
      intraOpNumThreads: 1,
    });
  } else {
    ort = await load(modules, "onnxruntime-web/dist/ort.node.min.mjs");
    ort.env.wasm.numThreads = 1;
    session = await ort.InferenceSession.create(new Uint8Array(await readFile(model)), {
      executionProviders: ["wasm"],
    });
  }
  const version = ort.env.versions?.[kind === "native" ? "node" : "web"];
  found = { ...(await check(ort, session, description)), version };
} catch (error) {
  found = { ok: false, largest: 0, relative: 0, wrong: [String(error?.stack ?? error)] };
}
console.log(JSON.stringify(found));
process.exit(0); // threads of WebAssembly would keep it alive
