// node tokenize.mjs FOLDER TEXTS.json [MODEL NODE_MODULES]: what tokenizer.js, copied to FOLDER, makes
// of each set of texts, and what MODEL makes of that. One line of JSON.
import { copyFile, readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, texts, model, modules] = process.argv.slice(2);
// Node takes a module by its ending.
await copyFile(path.join(folder, "tokenizer.js"), path.join(folder, "tokenizer.mjs"));
const { Tokenizer } = await import(pathToFileURL(path.join(folder, "tokenizer.mjs")).href);
const document = (await readdir(folder)).find((name) => name.endsWith(".tokenizer.json"));
const tokenizer = new Tokenizer(JSON.parse(await readFile(path.join(folder, document), "utf8")));
const plain = (data) => Array.from(data, (item) => (typeof item === "bigint" ? String(item) : item));

let ort, session;
if (model) {
  ort = createRequire(path.join(modules, "x.js"))("onnxruntime-node");
  session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1 });
}
const found = [];
for (const given of JSON.parse(await readFile(texts, "utf8"))) {
  let numbers;
  try {
    numbers = tokenizer.run(given);
  } catch (error) {
    found.push({ error: `${error.name} ${error.constructor.name}: ${error.message}` });
    continue;
  }
  const one = { numbers: {}, outputs: {} };
  const feeds = {};
  for (const [name, { type, data, dims }] of Object.entries(numbers)) {
    one.numbers[name] = { dtype: type, shape: dims, data: plain(data) };
    if (session) feeds[name] = new ort.Tensor(type, data, dims);
  }
  for (const [name, tensor] of Object.entries(session ? await session.run(feeds) : {})) {
    one.outputs[name] = { dtype: tensor.type, shape: tensor.dims, data: plain(tensor.data) };
  }
  found.push(one);
}
console.log(JSON.stringify(found));
