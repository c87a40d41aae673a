// TensorFlow.js, from tfjs/: its WebAssembly backend if the package was installed and has all kernels
// of the model, else the CPU backend. Programs for Node pass `sessionOf` what they have loaded.

const KINDS = { float32: Float32Array, int32: Int32Array };

function loaded(source) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = source;
    script.addEventListener("load", done);
    script.addEventListener("error", () => failed(new Error(`${source} could not be loaded`)));
    document.head.append(script);
  });
}

/** The page's interface to a GraphModel, or a LayersModel, which has no names of outputs. */
export function sessionOf(tf, model, { inputs, outputs, layers, waits }) {
  const names = outputs.map(({ name }) => name);
  const answer = (given) => {
    if (layers) {
      const all = inputs.map(({ name }) => given[name]);
      return model.predict(all.length === 1 ? all[0] : all);
    }
    // Each method warns or fails on models of the other kind.
    return waits ? model.executeAsync(given, names) : model.execute(given, names);
  };
  const run = async (feeds) => {
    const given = {};
    for (const [name, { dtype, shape, data }] of Object.entries(feeds)) {
      const values = dtype === "string" ? data : data.map(Number);
      given[name] = tf.tensor(values, shape, dtype);
    }
    const kept = [];
    try {
      const results = [await answer(given)].flat();
      kept.push(...results);
      const found = {};
      for (const [i, tensor] of results.entries()) {
        // A free cast leaves the numbers in an array of another type.
        const data = await tensor.data();
        const Kind = KINDS[tensor.dtype];
        found[names[i]] = {
          dtype: tensor.dtype,
          shape: tensor.shape,
          data: Array.from(Kind ? Kind.from(data) : data),
        };
      }
      return found;
    } finally {
      tf.dispose([...kept, ...Object.values(given)]);
    }
  };
  const version = tf.version.tfjs;
  return { run, version, name: `TensorFlow.js ${version}, ${tf.getBackend()}` };
}

/** Throw errors about missing kernels of a backend; the page shows other errors when it runs. */
function refuseLacking(error) {
  if (/not registered|not yet implemented|not supported/.test(String(error.message))) throw error;
}

/** The model of the page. */
export async function open(description) {
  await loaded("tfjs/tf.es2017.min.js");
  const { tf } = globalThis;
  const backends = description.backends.filter((name) => name !== "wasm");
  if (description.backends.includes("wasm")) {
    await loaded("tfjs/tf-backend-wasm.es2017.min.js");
    tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false); // threads need cross-origin isolation
    tf.wasm.setWasmPaths(new URL("tfjs/", import.meta.url).href);
    backends.unshift("wasm");
  }
  let reason;
  for (const backend of backends) {
    try {
      if (!(await tf.setBackend(backend))) throw new Error(`the backend ${backend} does not start`);
      const place = new URL(description.model, import.meta.url).href;
      const model = await (description.layers ? tf.loadLayersModel(place) : tf.loadGraphModel(place));
      const session = sessionOf(tf, model, description);
      const [first] = description.cases;
      if (first) await session.run(first.inputs).catch(refuseLacking);
      return session;
    } catch (error) {
      reason ??= error; // the next one may have the kernel
    }
  }
  throw reason;
}
