// node tools/tfjs_ops.mjs NODE_MODULES > deploy/tfjs/facts/ops.json
//
// The ops that graph models of TensorFlow.js may have, from the package that runs them: those that
// its mapper registers and one of its executors has a case for, each with the attributes and the
// kinds of inputs that are read. What is not listed is not read, whatever the graph says.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

const converter = path.join(process.argv[2], "@tensorflow", "tfjs-converter");
const { version } = JSON.parse(await readFile(path.join(converter, "package.json"), "utf8"));
const operations = path.join(converter, "dist", "operations");
const mapper = await readFile(path.join(operations, "operation_mapper.js"), "utf8");
const executors = path.join(operations, "executors");

const run = new Set();
for (const file of await readdir(executors)) {
  if (!file.endsWith("_executor.js")) continue;
  const text = await readFile(path.join(executors, file), "utf8");
  for (const [, name] of text.matchAll(/case '(\w+)':/g)) run.add(name);
}
const ops = {};
for (const file of (await readdir(path.join(operations, "op_list"))).sort()) {
  const category = path.basename(file, ".js");
  if (!file.endsWith(".js") || !mapper.includes(`./op_list/${category}'`)) continue;
  const source = await readFile(path.join(operations, "op_list", file), "utf8");
  const { json } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  for (const op of json) {
    if (!run.has(op.tfOpName)) continue;
    const attrs = (op.attrs ?? []).filter((one) => !one.notSupported);
    ops[op.tfOpName] = {
      category,
      inputs: (op.inputs ?? []).map((one) => [one.start, one.end ?? null, one.type]),
      attrs: attrs.flatMap((one) => [one.tfName, one.tfDeprecatedName]).filter(Boolean).sort(),
      ...(op.outputs ? { outputs: op.outputs } : {}),
    };
  }
}
const lines = Object.keys(ops)
  .sort()
  .map((name) => `  ${JSON.stringify(name)}: ${JSON.stringify(ops[name])}`);
console.log(`{"version": "${version}", "ops": {\n${lines.join(",\n")}\n}}`);
