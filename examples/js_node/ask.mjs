// Says of which mood sentences are: `README.md` says how to run it. The tokenizer's two files are
// beside the model, where the export has written them.
import { readFile } from "node:fs/promises";
import path from "node:path";
import ort from "onnxruntime-node";

const [folder, ...texts] = process.argv.slice(2);
if (!folder || texts.length === 0) {
  console.error("usage: node ask.mjs FOLDER TEXT...");
  process.exit(2);
}
const moods = ["good", "bad"];

// A module in a folder without package.json: its source, so that Node needs no other ending.
const source = await readFile(path.join(folder, "tokenizer.js"));
const { Tokenizer } = await import(`data:text/javascript;base64,${source.toString("base64")}`);
const tokenizer = new Tokenizer(JSON.parse(await readFile(path.join(folder, "mood.tokenizer.json"), "utf8")));
const session = await ort.InferenceSession.create(path.join(folder, "mood.onnx"));

const feeds = {};
for (const [name, { type, data, dims }] of Object.entries(tokenizer.run({ text: texts.map((text) => [text]) }))) {
  feeds[name] = new ort.Tensor(type, data, dims);
}
const { [session.outputNames[0]]: scores } = await session.run(feeds);
texts.forEach((text, i) => {
  const row = Array.from(scores.data.slice(i * moods.length, (i + 1) * moods.length));
  const best = row.indexOf(Math.max(...row));
  console.log(`${text} -> ${moods[best]} (${row[best].toFixed(2)})`);
});
