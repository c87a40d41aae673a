// node make_layers.mjs NODE_MODULES FOLDER: a layers model that JavaScript made and saved, with its
// answers, by TensorFlow.js 4.22.0.
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [modules, folder] = process.argv.slice(2);
const tf = createRequire(path.join(modules, "x.js"))("@tensorflow/tfjs");
const layers = tf.layers;
const model = tf.sequential({
  layers: [
    layers.conv1d({ inputShape: [7, 3], filters: 4, kernelSize: 2, padding: "same", activation: "swish" }),
    layers.gru({ units: 5, returnSequences: true }),
    layers.simpleRNN({ units: 4 }),
    layers.layerNormalization(),
    layers.dense({ units: 2, activation: "hardSigmoid" }),
  ],
});
const x = tf.randomNormal([3, 7, 3], 0, 1, "float32", 4);
const target = path.join(folder, "layers_javascript");
mkdirSync(target, { recursive: true });
await model.save({
  async save(artifacts) {
    const { weightData, weightSpecs, ...rest } = artifacts;
    writeFileSync(path.join(target, "weights.bin"), Buffer.from(weightData));
    const weightsManifest = [{ paths: ["weights.bin"], weights: weightSpecs }];
    writeFileSync(path.join(target, "model.json"), JSON.stringify({ ...rest, weightsManifest }));
    return {};
  },
});
const answers = { inputs: { x: await x.array() }, outputs: await model.predict(x).array() };
writeFileSync(path.join(target, "answers.txt"), JSON.stringify(answers));
process.exit(0);
