// Reads digits of 8 × 8 pixels (0 to 16) and says which they are: `README.md` says how to run it.
import { readFile } from "node:fs/promises";
import ort from "onnxruntime-node";

const [model, ...files] = process.argv.slice(2);
if (!model || files.length === 0) {
  console.error("usage: node classify.mjs digits.onnx IMAGE.json...");
  process.exit(2);
}

const images = [];
for (const file of files) {
  const rows = JSON.parse(await readFile(file, "utf8"));
  if (rows.length !== 8 || rows.some((row) => row.length !== 8)) {
    throw new Error(`${file}: wanted 8 rows of 8 numbers`);
  }
  images.push(...rows.flat());
}

const session = await ort.InferenceSession.create(model);
const [input] = session.inputNames;
const [output] = session.outputNames;
const image = new ort.Tensor("float32", Float32Array.from(images), [files.length, 8, 8, 1]);
const { [output]: scores } = await session.run({ [input]: image });

const [, classes] = scores.dims;
files.forEach((file, i) => {
  const row = Array.from(scores.data.slice(i * classes, (i + 1) * classes));
  const best = row.indexOf(Math.max(...row));
  console.log(`${file}: ${best} (score ${row[best].toFixed(3)})`);
});
