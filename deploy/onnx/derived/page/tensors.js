// Tensors as JSON, and back: {"dtype", "shape", "data"}, data flat and row by row. 64-bit integers
// are text, as are NaN, Infinity and -Infinity; booleans are 0 and 1. Browsers and Node load it.

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
  let exponent = -14; // below it numbers have one spacing
  while (exponent < 15 && size >= 2 ** (exponent + 1)) exponent += 1;
  const units = size / 2 ** (exponent - 10);
  const down = Math.floor(units);
  const rest = units - down;
  const whole = rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
  return sign | (exponent === -14 ? whole : ((exponent + 14) << 10) + whole);
}

/** The number that the bits of a half-precision one say. */
export function halfValue(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const rest = bits & 1023;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + rest / 1024) * 2 ** (exponent - 15) : rest * 2 ** -24);
}

/** An ort.Tensor of such JSON. */
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

/** The values of an ort.Tensor in a plain array; 64-bit integers stay BigInt. */
export function values(tensor) {
  const bits = tensor.type === "float16" && tensor.data instanceof Uint16Array;
  return bits ? Array.from(tensor.data, halfValue) : Array.from(tensor.data);
}

/**
 * Results beside what they should be.
 * `relative` is the largest difference, divided by the largest value of its output.
 */
export function compare(expected, results, tolerance) {
  let largest = 0;
  let relative = 0;
  const wrong = [];
  for (const [name, want] of Object.entries(expected)) {
    const got = results[name];
    if (!got) {
      wrong.push(`${name}: missing`);
      continue;
    }
    if (got.type !== want.dtype || String(got.dims) !== String(want.shape)) {
      wrong.push(`${name}: ${got.type}[${got.dims}], wanted ${want.dtype}[${want.shape}]`);
      continue;
    }
    const floats = want.dtype.startsWith("float");
    const found = values(got);
    let gap = 0;
    let size = 0;
    let other = 0;
    want.data.forEach((text, i) => {
      if (!floats) {
        other += String(found[i]) !== String(text) ? 1 : 0;
        return;
      }
      const value = Number(text);
      if (!Number.isFinite(value) || !Number.isFinite(found[i])) {
        other += Object.is(value, found[i]) ? 0 : 1;
        return;
      }
      gap = Math.max(gap, Math.abs(found[i] - value));
      size = Math.max(size, Math.abs(value));
    });
    if (other) wrong.push(`${name}: ${other} of ${found.length} values differ`);
    if (gap > tolerance * size) wrong.push(`${name}: differs by ${gap}, largest value ${size}`);
    largest = Math.max(largest, gap);
    relative = Math.max(relative, size ? gap / size : gap);
  }
  return { ok: wrong.length === 0, largest, relative, wrong };
}

/** Run every case of a description in a session. */
export async function check(ort, session, description) {
  let largest = 0;
  let relative = 0;
  const wrong = [];
  for (const one of description.cases) {
    const feeds = Object.fromEntries(
      Object.entries(one.inputs).map(([name, tensor]) => [name, encode(ort, tensor)]),
    );
    const found = compare(one.outputs, await session.run(feeds), description.tolerance);
    largest = Math.max(largest, found.largest);
    relative = Math.max(relative, found.relative);
    wrong.push(...found.wrong);
  }
  if (description.cases.length === 0) wrong.push("there is no recorded case to check against");
  return { ok: wrong.length === 0, largest, relative, wrong };
}
