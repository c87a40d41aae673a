// LiteRT.js, its WebAssembly build with XNNPACK, from litert/.

const ARRAYS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };

/** The model of the page. */
export async function open({ model, signature, version }) {
  const { loadLiteRt, loadAndCompile, Tensor } = await import("./litert/litert.js");
  await loadLiteRt(new URL("litert/", import.meta.url).href);
  const found = await loadAndCompile(new URL(model, import.meta.url).href, { accelerator: "wasm" });
  const runner = found.signatures[signature];
  if (!runner) throw new Error(`${model} has no signature ${signature}`);
  const run = async (feeds) => {
    const given = {};
    const results = {};
    // Their memory is not garbage-collected.
    try {
      for (const [name, { dtype, shape, data }] of Object.entries(feeds)) {
        given[name] = new Tensor(ARRAYS[dtype].from(data, Number), shape);
      }
      Object.assign(results, await runner.run(given));
      return Object.fromEntries(
        Object.entries(results).map(([name, tensor]) => [name, {
          dtype: tensor.type.dtype,
          shape: Array.from(tensor.type.layout.dimensions),
          data: Array.from(tensor.toTypedArray()),
        }]),
      );
    } finally {
      for (const tensor of [...Object.values(given), ...Object.values(results)]) tensor.delete();
    }
  };
  return { run, version, name: `LiteRT.js ${version}, WebAssembly` };
}
