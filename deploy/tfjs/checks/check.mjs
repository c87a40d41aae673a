// node check.mjs graph|layers BACKEND FOLDER NODE_MODULES CASES: run a model on recorded inputs.
//
// CASES/inputs.json lists runs, each a list of tensors in CASES/inputs.bin; what comes out is
// written the same way as outputs.json and outputs.bin. A failure is written as outputs.json, too.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

function artifacts(folder) {
  const model = JSON.parse(readFileSync(path.join(folder, "model.json"), "utf8"));
  const groups = model.weightsManifest ?? [];
  const pieces = groups.flatMap((one) => one.paths.map((p) => readFileSync(path.join(folder, p))));
  const whole = Buffer.concat(pieces);
  const weightData = whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength);
  const weightSpecs = groups.flatMap((one) => one.weights);
  return { ...model, weightSpecs, weightData };
}

function arrayOf(tensor, bytes) {
  if (tensor.dtype === "string") return tensor.data;
  const content = bytes.buffer.slice(
    bytes.byteOffset + tensor.offset,
    bytes.byteOffset + tensor.offset + tensor.bytes,
  );
  if (tensor.dtype === "float32" || tensor.dtype === "complex64") return new Float32Array(content);
  return tensor.dtype === "int32" ? new Int32Array(content) : new Uint8Array(content);
}

function tensorOf(tf, tensor, bytes) {
  const values = arrayOf(tensor, bytes);
  if (tensor.dtype !== "complex64") return tf.tensor(values, tensor.shape, tensor.dtype);
  const real = values.filter((_, index) => index % 2 === 0);
  const imaginary = values.filter((_, index) => index % 2 === 1);
  return tf.complex(tf.tensor(real, tensor.shape), tf.tensor(imaginary, tensor.shape));
}

/** TensorFlow.js of a `node_modules` folder, on a backend. */
export async function start(modules, backend) {
  const load = createRequire(path.join(modules, "x.js"));
  console.warn = () => {};
  const tf = load("@tensorflow/tfjs");
  if (backend === "wasm") {
    const wasm = load("@tensorflow/tfjs-backend-wasm");
    const files = path.join(modules, "@tensorflow", "tfjs-backend-wasm", "dist") + path.sep;
    wasm.setWasmPaths(files);
  }
  if (!(await tf.setBackend(backend))) throw new Error(`the backend ${backend} does not start`);
  await tf.ready();
  return tf;
}

/** Run the model of a folder on the inputs in another one, and write its outputs there. */
export async function run(tf, kind, folder, cases) {
  const handler = { load: async () => artifacts(folder) };
  const model = await (kind === "layers" ? tf.loadLayersModel(handler) : tf.loadGraphModel(handler));
  const bytes = readFileSync(path.join(cases, "inputs.bin"));
  const runs = JSON.parse(readFileSync(path.join(cases, "inputs.json"), "utf8"));
  const results = [];
  const parts = [];
  let offset = 0;
  for (const inputs of runs) {
    const feeds = {};
    for (const tensor of inputs) feeds[tensor.name] = tensorOf(tf, tensor, bytes);
    let found, names;
    try {
      if (kind === "layers") {
        const given = inputs.map((tensor) => feeds[tensor.name]);
        found = [model.predict(given.length === 1 ? given[0] : given)].flat();
        names = found.map((_, index) => String(index));
      } else {
        names = model.outputNodes;
        found = [await model.executeAsync(feeds, names)].flat();
      }
    } catch (error) {
      results.push({ error: String(error?.message ?? error) });
      continue;
    }
    const outputs = [];
    for (const [index, tensor] of found.entries()) {
      const one = { name: names[index], dtype: tensor.dtype, shape: tensor.shape };
      if (tensor.dtype === "string") {
        one.data = Array.from(await tensor.bytes(), (text) => Buffer.from(text).toString("base64"));
      } else {
        // A cast that costs nothing leaves the numbers in an array of another type.
        const kinds = { float32: Float32Array, complex64: Float32Array, int32: Int32Array };
        const values = (kinds[tensor.dtype] ?? Uint8Array).from(await tensor.data());
        const content = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
        Object.assign(one, { offset, bytes: content.length });
        parts.push(Buffer.from(content));
        offset += content.length;
      }
      outputs.push(one);
    }
    results.push(outputs);
    tf.dispose(found);
    tf.dispose(feeds);
  }
  writeFileSync(path.join(cases, "outputs.bin"), Buffer.concat(parts));
  return { ok: true, version: tf.version.tfjs, results };
}

if (path.basename(process.argv[1] ?? "") === "check.mjs") {
  const [kind, backend, folder, modules, cases] = process.argv.slice(2);
  let found;
  try {
    found = await run(await start(modules, backend), kind, folder, cases);
  } catch (error) {
    found = { ok: false, error: String(error?.message ?? error), stack: String(error?.stack) };
  }
  writeFileSync(path.join(cases, "outputs.json"), JSON.stringify(found));
  process.exit(0);
}
