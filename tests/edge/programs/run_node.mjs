// node run_node.mjs native|wasm|tfjs MODEL PAGE NODE_MODULES: what the page checks, without a browser.
// One line of JSON.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [kind, model, page, modules] = process.argv.slice(2);
const load = (...parts) => import(pathToFileURL(path.join(...parts)).href);
let found;
try {
  const { check } = await load(page, "tensors.js");
  const runtime = await load(page, "runtime.js");
  const description = JSON.parse(await readFile(path.join(page, "page.json"), "utf8"));
  let session, version;
  if (kind === "tfjs") {
    const tf = createRequire(path.join(modules, "x.js"))("@tensorflow/tfjs");
    await tf.setBackend("cpu");
    const content = JSON.parse(await readFile(model, "utf8"));
    const groups = content.weightsManifest;
    const folder = path.dirname(model);
    const pieces = groups.flatMap((one) => one.paths.map((name) => readFile(path.join(folder, name))));
    const whole = Buffer.concat(await Promise.all(pieces));
    const weightData = whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength);
    const weightSpecs = groups.flatMap((one) => one.weights);
    const handler = { load: async () => ({ ...content, weightSpecs, weightData }) };
    const { layers } = description;
    const inner = await (layers ? tf.loadLayersModel(handler) : tf.loadGraphModel(handler));
    session = runtime.sessionOf(tf, inner, description);
    version = tf.version.tfjs;
  } else {
    let ort, inner;
    if (kind === "native") {
      ort = createRequire(path.join(modules, "x.js"))("onnxruntime-node");
      inner = await ort.InferenceSession.create(model, {
        executionProviders: ["cpu"],
        intraOpNumThreads: 1,
      });
    } else {
      ort = await load(modules, "onnxruntime-web/dist/ort.node.min.mjs");
      ort.env.wasm.numThreads = 1;
      inner = await ort.InferenceSession.create(new Uint8Array(await readFile(model)), {
        executionProviders: ["wasm"],
      });
    }
    session = runtime.sessionOf(ort, inner);
    version = ort.env.versions?.[kind === "native" ? "node" : "web"];
  }
  found = { ...(await check(session, description)), version };
} catch (error) {
  found = { ok: false, largest: 0, relative: 0, wrong: [String(error?.stack ?? error)] };
}
console.log(JSON.stringify(found));
process.exit(0); // threads of WebAssembly would keep it alive
