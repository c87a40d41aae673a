// Tensors as JSON: {"dtype", "shape", "data"}, data flat and row by row. 64-bit integers are text, as
// are NaN, Infinity and -Infinity; booleans are 0 and 1. Browsers and Node load it.

/** Nested lists of rows, the usual notation. */
export function nested(data, shape) {
  if (shape.length === 0) return data[0];
  if (shape.length === 1) return data;
  const step = shape.slice(1).reduce((a, b) => a * b, 1);
  return Array.from({ length: shape[0] }, (_, i) =>
    nested(data.slice(i * step, (i + 1) * step), shape.slice(1)));
}

/** Nested lists to a tensor; rows of different lengths and wrong sizes are errors. */
export function parsed(text, { name, dtype, shape }) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: must be nested lists of numbers in JSON (${error.message})`);
  }
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

/**
 * Compares results with the expected ones.
 * `relative` is the largest difference, divided by the largest value of its output; quantised integers
 * may differ by `steps`.
 */
export function compare(expected, results, tolerance, steps = {}) {
  let largest = 0;
  let relative = 0;
  const wrong = [];
  for (const [name, want] of Object.entries(expected)) {
    const got = results[name];
    if (!got) {
      wrong.push(`${name}: missing`);
      continue;
    }
    if (got.dtype !== want.dtype || String(got.shape) !== String(want.shape)) {
      wrong.push(`${name}: ${got.dtype}[${got.shape}], wanted ${want.dtype}[${want.shape}]`);
      continue;
    }
    const floats = want.dtype.startsWith("float");
    const allowed = steps[name] ?? 0;
    let gap = 0;
    let size = 0;
    let other = 0;
    want.data.forEach((text, i) => {
      const found = got.data[i];
      if (!floats && !allowed) {
        other += String(found) !== String(text) ? 1 : 0;
        return;
      }
      const value = Number(text);
      if (!Number.isFinite(value) || !Number.isFinite(found)) {
        other += Object.is(value, found) ? 0 : 1;
        return;
      }
      gap = Math.max(gap, Math.abs(found - value));
      size = Math.max(size, Math.abs(value));
    });
    if (other) wrong.push(`${name}: ${other} of ${want.data.length} values differ`);
    if (gap > (floats ? tolerance * size : allowed)) {
      wrong.push(`${name}: differs by ${gap}, largest value ${size}`);
    }
    largest = Math.max(largest, gap);
    relative = Math.max(relative, size ? gap / size : gap);
  }
  return { ok: wrong.length === 0, largest, relative, wrong };
}

/** Run every case of a description in a session: `run` maps tensors by name to tensors by name. */
export async function check(session, description) {
  let largest = 0;
  let relative = 0;
  const wrong = [];
  const steps = Object.fromEntries(description.outputs.map(({ name, steps: n }) => [name, n]));
  for (const one of description.cases) {
    const results = await session.run(one.inputs);
    const found = compare(one.outputs, results, description.tolerance, steps);
    largest = Math.max(largest, found.largest);
    relative = Math.max(relative, found.relative);
    wrong.push(...found.wrong);
  }
  if (description.cases.length === 0) wrong.push("there is no recorded case to compare with");
  return { ok: wrong.length === 0, largest, relative, wrong };
}
