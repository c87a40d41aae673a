// ONNX Runtime: its WebAssembly build, from ort/; programs for Node give `sessionOf` another one.

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
};

/** Bits of the half-precision number nearest to x, ties to even. */
export function halfBits(x) {
  if (Number.isNaN(x)) return 0x7e00;
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  if (size >= 65520) return sign | 0x7c00;
  let exponent = -14; // below it numbers are subnormal, with equal spacing
  while (exponent < 15 && size >= 2 ** (exponent + 1)) exponent += 1;
  const units = size / 2 ** (exponent - 10);
  const down = Math.floor(units);
  const rest = units - down;
  const whole = rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
  return sign | (exponent === -14 ? whole : ((exponent + 14) << 10) + whole);
}

/** The number with these half-precision bits. */
export function halfValue(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const rest = bits & 1023;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + rest / 1024) * 2 ** (exponent - 15) : rest * 2 ** -24);
}

/** An ort.Tensor. */
export function encode(ort, { dtype, shape, data }) {
  if (dtype === "string") return new ort.Tensor("string", data, shape);
  if (dtype === "float16") {
    const Half = globalThis.Float16Array; // where an engine has it, ort wants it
    const values = Half
      ? Half.from(data, Number)
      : Uint16Array.from(data, (x) => halfBits(Number(x)));
    return new ort.Tensor("float16", values, shape);
  }
  const Kind = ARRAYS[dtype];
  if (!Kind) throw new Error(`JavaScript has no tensors of ${dtype}`);
  return new ort.Tensor(dtype, Kind.from(data, dtype.endsWith("int64") ? BigInt : Number), shape);
}

/** An ort.Tensor with a plain array; 64-bit integers stay BigInt. */
export function decode(tensor) {
  const bits = tensor.type === "float16" && tensor.data instanceof Uint16Array;
  const data = bits ? Array.from(tensor.data, halfValue) : Array.from(tensor.data);
  return { dtype: tensor.type, shape: [...tensor.dims], data };
}

/** The page's interface to an InferenceSession. */
export function sessionOf(ort, inner) {
  const run = async (feeds) => {
    const given = {};
    for (const [name, tensor] of Object.entries(feeds)) given[name] = encode(ort, tensor);
    const results = await inner.run(given);
    return Object.fromEntries(
      Object.entries(results).map(([name, tensor]) => [name, decode(tensor)]),
    );
  };
  const version = ort.env.versions?.web ?? "";
  return { run, version, name: `ONNX Runtime ${version}, WebAssembly` };
}

/** The model of the page. */
export async function open({ model }) {
  const ort = await import("./ort/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = new URL("ort/", import.meta.url).href;
  ort.env.wasm.numThreads = 1; // more need cross-origin isolation, which a plain file server lacks
  const response = await fetch(model);
  if (!response.ok) throw new Error(`${model}: ${response.status}`);
  const content = new Uint8Array(await response.arrayBuffer());
  return sessionOf(ort, await ort.InferenceSession.create(content, { executionProviders: ["wasm"] }));
}
