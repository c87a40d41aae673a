// Runs the model of this folder in the browser: ONNX Runtime's WebAssembly build, from ort/.
import * as ort from "./ort/ort.wasm.min.mjs";
import { check, encode, values } from "./tensors.js";

const SHOWN = 400; // values of an output
const BEST = 5;
const at = (id) => document.getElementById(id);

/** Nested lists of rows, as people write them. */
function nested(data, shape) {
  if (shape.length === 0) return data[0];
  if (shape.length === 1) return data;
  const step = shape.slice(1).reduce((a, b) => a * b, 1);
  return Array.from({ length: shape[0] }, (_, i) =>
    nested(data.slice(i * step, (i + 1) * step), shape.slice(1)));
}

/** Nested lists to a tensor; unlike rows and wrong sizes are errors. */
function parsed(text, { name, dtype, shape }) {
  const value = JSON.parse(text);
  const found = [];
  for (let part = value; Array.isArray(part); part = part[0]) found.push(part.length);
  const data = [value].flat(Infinity);
  const count = found.reduce((a, b) => a * b, 1);
  const fits = found.length === shape.length && shape.every((n, i) => n === null || n === found[i]);
  const even = (part, depth) => depth === found.length
    ? !Array.isArray(part)
    : Array.isArray(part) && part.length === found[depth] && part.every((p) => even(p, depth + 1));
  if (!fits || data.length !== count || !even(value, 0)) {
    const wanted = shape.map((n) => n ?? "?").join(", ");
    throw new Error(`${name}: wanted ${dtype}[${wanted}], got [${found.join(", ")}]`);
  }
  return { dtype, shape: found, data: dtype === "bool" ? data.map(Number) : data };
}

/** Pixels as floats from 0 to 1 (integers: to 255) of a picture, at the size that the input has. */
async function picture(file, { dtype, shape }) {
  const image = await createImageBitmap(file);
  const [height, width, channels] = [shape[1] ?? image.height, shape[2] ?? image.width, shape[3]];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height).data;
  const scale = dtype.startsWith("float") ? 255 : 1;
  const data = [];
  for (let i = 0; i < pixels.length; i += 4) {
    const [r, g, b] = [pixels[i] / scale, pixels[i + 1] / scale, pixels[i + 2] / scale];
    if (channels === 1) data.push(0.299 * r + 0.587 * g + 0.114 * b);
    else data.push(...[r, g, b, pixels[i + 3] / scale].slice(0, channels));
  }
  const rounded = scale === 1 ? data.map(Math.round) : data;
  return nested(rounded, [1, height, width, channels]);
}

function addInput(input, sample) {
  const label = document.createElement("label");
  const wanted = input.shape.map((n) => n ?? "?").join(", ");
  label.textContent = `${input.name}: ${input.dtype}[${wanted}]`;
  const area = document.createElement("textarea");
  area.spellcheck = false;
  area.name = input.name;
  const numbers = sample && !["string", "int64", "uint64"].includes(input.dtype);
  const data = numbers ? sample.data.map(Number) : sample?.data;
  area.value = sample ? JSON.stringify(nested(data, sample.shape)) : "";
  label.append(area);
  if (input.shape.length === 4 && [1, 3, 4].includes(input.shape[3])) {
    const file = document.createElement("input");
    file.type = "file";
    file.accept = "image/*";
    file.addEventListener("change", async () => {
      if (file.files[0]) area.value = JSON.stringify(await picture(file.files[0], input));
    });
    label.append(file);
  }
  at("inputs").append(label);
}

function show(name, tensor) {
  const title = document.createElement("h2");
  title.textContent = `${name}: ${tensor.type}[${tensor.dims.join(", ")}]`;
  const data = values(tensor);
  const parts = [title];
  const width = tensor.dims.at(-1);
  if (tensor.type.startsWith("float") && tensor.dims.length === 2 && width > 1 && data.length) {
    const row = data.slice(0, width);
    const order = row.map((_, i) => i).sort((a, b) => row[b] - row[a]).slice(0, BEST);
    const list = document.createElement("ul");
    for (const i of order) {
      const line = document.createElement("li");
      const meter = document.createElement("meter");
      meter.min = Math.min(0, ...row);
      meter.max = Math.max(...row);
      meter.value = row[i];
      line.append(meter, ` ${i}: ${row[i].toPrecision(4)}`);
      list.append(line);
    }
    parts.push(list);
  }
  const text = document.createElement("pre");
  const plain = data.slice(0, SHOWN).map((x) => (typeof x === "bigint" ? x.toString() : x));
  text.textContent = data.length > SHOWN
    ? `${plain.join(" ")} … ${data.length} values`
    : JSON.stringify(nested(plain, tensor.dims));
  parts.push(text);
  at("results").append(...parts);
}

function tell(text, kind = "") {
  at("status").textContent = text;
  at("status").className = kind;
}

async function start() {
  const description = await (await fetch("model.json")).json();
  document.title = description.title;
  at("title").textContent = description.title;
  at("about").textContent = description.about;
  for (const input of description.inputs) addInput(input, description.cases[0]?.inputs[input.name]);
  ort.env.wasm.wasmPaths = new URL("ort/", import.meta.url).href;
  ort.env.wasm.numThreads = 1; // more need cross-origin isolation, which a plain file server lacks
  const response = await fetch(description.model);
  if (!response.ok) throw new Error(`${description.model}: ${response.status}`);
  const session = await ort.InferenceSession.create(new Uint8Array(await response.arrayBuffer()), {
    executionProviders: ["wasm"],
  });

  const run = async () => {
    at("results").replaceChildren();
    try {
      const feeds = {};
      for (const input of description.inputs) {
        feeds[input.name] = encode(ort, parsed(at("form").elements[input.name].value, input));
      }
      const begun = performance.now();
      const results = await session.run(feeds);
      tell(`Ran in ${(performance.now() - begun).toFixed(1)} ms.`);
      for (const { name } of description.outputs) show(name, results[name]);
    } catch (error) {
      tell(String(error.message ?? error), "bad");
    }
  };
  const verify = async () => {
    const found = await check(ort, session, description);
    tell(
      found.ok
        ? `Agrees with the recorded outputs; the largest difference is ${found.largest.toExponential(1)}.`
        : found.wrong.join("; "),
      found.ok ? "good" : "bad",
    );
    return { ...found, version: ort.env.versions?.web ?? "" };
  };
  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  at("check").addEventListener("click", verify);
  at("run").disabled = at("check").disabled = false;
  return verify();
}

// Programs that visit the page wait for this.
globalThis.checked = start().catch((error) => {
  tell(String(error.message ?? error), "bad");
  return { ok: false, largest: 0, relative: 0, wrong: [String(error.message ?? error)] };
});
