// Converts texts to the numbers that a model takes, as described by a `.tokenizer.json` file.
//
// `pinnace export --cut-strings` wrote the JSON, and this file beside it: an ES module without
// dependencies, for browsers and Node; copy it to where the model runs. `tokenizer.py` does the same.
//
//   const tokenizer = new Tokenizer(await (await fetch("model.tokenizer.json")).json());
//   const numbers = tokenizer.run({ text: ["Hello, world!"] });
//   const feeds = {};
//   for (const [name, t] of Object.entries(numbers)) feeds[name] = new ort.Tensor(t.type, t.data, t.dims);
//
// Strings are bytes inside, as in TensorFlow: a JavaScript string with a character per byte. Text is
// UTF-8; in JSON and in operations on characters, a byte that is not valid UTF-8 is the character U+DC00
// plus that byte. Elements of int64 are BigInt.

const FORMAT = "pinnace.tokenizer";
const VERSION = 1;
const MOST = 1 << 26; // elements of one tensor: more result from invalid numbers
const SPACE = " \t\n\v\f\r";
const ARRAYS = {
  int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array, float32: Float32Array,
  float64: Float64Array, bool: Uint8Array,
};

/** The file is not a tokenizer, or the inputs do not fit it. */
export class TokenizerError extends Error {}

function fail(message) {
  throw new TokenizerError(message);
}

// Strings: bytes, code points, text.

/** The code points of bytes, each `[code, first byte, bytes]`; -1 for bytes that are not UTF-8. */
function decoded(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.charCodeAt(at);
    let more = 0;
    let code = first;
    let low = 0x80;
    let high = 0xbf;
    if (first >= 0xc2 && first <= 0xdf) [more, code] = [1, first & 31];
    else if (first >= 0xe0 && first <= 0xef) {
      [more, code] = [2, first & 15];
      if (first === 0xe0) low = 0xa0;
      if (first === 0xed) high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
      [more, code] = [3, first & 7];
      if (first === 0xf0) low = 0x90;
      if (first === 0xf4) high = 0x8f;
    } else if (first >= 0x80) code = -1;
    let size = 1;
    while (more && size <= more) {
      const next = at + size < bytes.length ? bytes.charCodeAt(at + size) : -1;
      if (next < low || next > high) break;
      code = code * 64 + (next & 63);
      [low, high] = [0x80, 0xbf];
      size += 1;
    }
    found.push([size === more + 1 ? code : -1, at, size]);
    at += size;
  }
  return found;
}

/** A code point as bytes. */
function encoded(code) {
  if (code < 0x80) return String.fromCharCode(code);
  if (code < 0x800) return String.fromCharCode(0xc0 | (code >> 6), 0x80 | (code & 63));
  const last = [0x80 | ((code >> 6) & 63), 0x80 | (code & 63)];
  if (code < 0x10000) return String.fromCharCode(0xe0 | (code >> 12), ...last);
  return String.fromCharCode(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), ...last);
}

function textOf(bytes) {
  if (/^[\x00-\x7f]*$/.test(bytes)) return bytes;
  let out = "";
  for (const [code, at, size] of decoded(bytes)) {
    if (code >= 0) out += String.fromCodePoint(code);
    else for (let i = at; i < at + size; i += 1) out += String.fromCharCode(0xdc00 + bytes.charCodeAt(i));
  }
  return out;
}

function bytesOf(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  let out = "";
  for (const char of text) {
    const code = char.codePointAt(0);
    if (code >= 0xdc80 && code <= 0xdcff) out += String.fromCharCode(code - 0xdc00);
    else out += encoded(code >= 0xd800 && code <= 0xdfff ? 0xfffd : code);
  }
  return out;
}

/** The text without these letters at its ends. */
function stripped(bytes, atStart, atEnd) {
  let [from, to] = [0, bytes.length];
  while (atStart && from < to && SPACE.includes(bytes[from])) from += 1;
  while (atEnd && to > from && SPACE.includes(bytes[to - 1])) to -= 1;
  return bytes.slice(from, to);
}

// Tensors: { dtype, shape, data }, the last axis fastest.

const tensor = (dtype, shape, data) => ({ dtype, shape, data });
const vector = (dtype, data) => tensor(dtype, [data.length], data);
const strings = (data, shape) => tensor("string", shape ?? [data.length], data);
const product = (sizes) => sizes.reduce((a, b) => a * b, 1);
const numberOf = (x) => Number(x.data[0]);
/** A count or index as an element. */
const integer = (dtype, n) => (dtype === "int64" ? BigInt(n) : n);

function sizeOf(shape) {
  const count = product(shape);
  if (!(count <= MOST)) fail(`a tensor of shape [${shape}] is too large`);
  return count;
}

/** An integer, wrapped around to its type. */
function wrapped(dtype, value) {
  if (dtype === "int64") return BigInt.asIntN(64, value);
  if (dtype === "int32") return value | 0;
  return dtype === "uint8" ? value & 255 : value;
}

function element(dtype, item) {
  if (dtype === "string") return bytesOf(item);
  if (dtype === "int64") return BigInt(item);
  return dtype === "int32" || dtype === "uint8" ? Number(item) : item;
}

function constant(one) {
  return tensor(one.dtype, one.shape, one.data.map((item) => element(one.dtype, item)));
}

function table(one) {
  const { keys, values } = one;
  const known = new Map();
  keys.data.forEach((key, index) => {
    const value = values.data ? values.data[index] : Number(values.first) + index;
    known.set(element(keys.dtype, key), element(values.dtype, value));
  });
  return { dtype: values.dtype, known };
}

function given(name, nested, wanted) {
  const shape = [];
  let data = [nested];
  const isList = (item) => Array.isArray(item) || (ArrayBuffer.isView(item) && wanted.dtype !== "string");
  while (data.length && isList(data[0])) {
    const size = data[0].length;
    if (data.some((row) => !isList(row) || row.length !== size)) {
      fail(`input "${name}": rows must have one length`);
    }
    shape.push(size);
    data = data.flatMap((row) => [...row]);
  }
  if (!data.length) shape.push(...wanted.shape.slice(shape.length));
  if (shape.length !== wanted.shape.length || wanted.shape.some((n, i) => n !== null && n !== shape[i])) {
    fail(`input "${name}" must have shape [${wanted.shape.map((n) => n ?? "?")}], got [${shape}]`);
  }
  const kinds = wanted.dtype === "string" ? ["string"] : ["number", "bigint", "boolean"];
  data = data.map((item) => {
    if (wanted.dtype === "string" && item instanceof Uint8Array) {
      return Array.from(item, (byte) => String.fromCharCode(byte)).join("");
    }
    if (!kinds.includes(typeof item)) fail(`input "${name}" must be ${wanted.dtype}`);
    return element(wanted.dtype, item);
  });
  return tensor(wanted.dtype, shape, data);
}

/** A tokenizer; its argument is the content of the JSON file. */
export class Tokenizer {
  constructor(document) {
    if (document.format !== FORMAT || document.version !== VERSION) {
      fail(`this is not a file of ${FORMAT}, version ${VERSION}`);
    }
    this.inputs = document.inputs;
    this.outputs = document.outputs;
    this.constants = new Map(Object.entries(document.constants).map(([name, one]) => [name, constant(one)]));
    const tables = new Map(Object.entries(document.tables).map(([name, one]) => [name, table(one)]));
    this.steps = document.steps.map((step) => {
      if (!STEPS.has(step.op)) fail(`there is no step "${step.op}"`);
      const ready = { ...step };
      if (step.table !== undefined) ready.table = tables.get(step.table);
      if (step.expression !== undefined) ready.source = expression(step.expression);
      return ready;
    });
  }

  /** The model's inputs, `{ name: { type, data, dims } }`, for strings (or nested lists) by name. */
  run(inputs) {
    const names = (one) => Object.keys(one).sort().join(", ");
    if (names(inputs) !== names(this.inputs)) {
      fail(`inputs must be ${names(this.inputs)}, got ${names(inputs)}`);
    }
    const values = new Map(this.constants);
    for (const [name, wanted] of Object.entries(this.inputs)) {
      values.set(name, given(name, inputs[name], wanted));
    }
    for (const step of this.steps) {
      const found = STEPS.get(step.op)(step, ...step.in.map((name) => values.get(name)));
      const results = Array.isArray(found) ? found : [found];
      step.out.forEach((name, index) => values.set(name, results[index]));
    }
    const told = {};
    for (const [name, one] of Object.entries(this.outputs)) {
      const { dtype, shape, data } = values.get(one.value);
      const array = dtype === "string" ? data.map(textOf) : ARRAYS[dtype].from(data);
      told[name] = { type: dtype, data: array, dims: shape };
    }
    return told;
  }
}

// Steps.

const STEPS = new Map();

function define(steps) {
  for (const [name, step] of Object.entries(steps)) STEPS.set(name, step);
}

const mapped = (x, change) => tensor(x.dtype, x.shape, x.data.map(change));

/** The byte offset of each code point, and the end. */
function starts(item) {
  const found = [];
  for (let i = 0; i < item.length; i += 1) if ((item.charCodeAt(i) & 0xc0) !== 0x80) found.push(i);
  return [...found, item.length];
}

function part(item, begin, count, unit) {
  const at = unit === "BYTE" ? Array.from({ length: item.length + 1 }, (_, i) => i) : starts(item);
  const size = at.length - 1;
  if (begin < -size || begin > size || (count < 0 && begin < 0 && unit !== "BYTE")) {
    fail(`substr: position ${begin} is out of range for "${textOf(item)}"`);
  }
  const first = begin < 0 ? begin + size : begin;
  if (count < 0 && unit === "BYTE") return item.slice(first);
  return item.slice(at[first], at[Math.min(first + Math.max(count, 0), size)]);
}

function parts(item, between, most) {
  if (most === 0) return [item];
  const found = [];
  if (between) {
    let from = 0;
    while (most < 0 || found.length < most) {
      const at = item.indexOf(between, from);
      if (at < 0) break;
      found.push(item.slice(from, at));
      from = at + between.length;
    }
    return [...found, item.slice(from)];
  }
  let rest = stripped(item, true, false);
  while (rest) {
    let end = 0;
    while (end < rest.length && !SPACE.includes(rest[end])) end += 1;
    found.push(rest.slice(0, end));
    rest = stripped(rest.slice(end), true, false);
    if (most === found.length) return [...found, rest];
  }
  return found;
}

/** The components of a sparse tensor: indices, values, shape. */
function pieces(rows) {
  const places = rows.flatMap((row, i) => row.flatMap((_, j) => [BigInt(i), BigInt(j)]));
  const longest = rows.reduce((most, row) => Math.max(most, row.length), 0);
  return [
    tensor("int64", [places.length / 2, 2], places),
    strings(rows.flat()),
    vector("int64", [BigInt(rows.length), BigInt(longest)]),
  ];
}

/** Code points, and the byte at which each begins. */
function points(item, step) {
  const found = [];
  for (const [code, at] of decoded(item)) {
    const control = step.controls && code >= 0 && code < 32;
    // As in TensorFlow's two ops: in strict mode the other one replaces control characters.
    const refused = step.errors === "strict" && (code < 0 || step.op === "recode");
    if (code >= 0 && !control) found.push([code, at]);
    else if (refused) fail(`${step.op}: "${textOf(item)}" is not valid UTF-8, or has a control character`);
    else if (step.errors !== "ignore") found.push([step.replacement, at]);
  }
  return found;
}

function letters(codes, step) {
  let out = "";
  for (const code of codes) {
    if (code >= 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)) out += encoded(code);
    else if (step.errors === "strict") fail(`encode: ${code} is not a code point`);
    else if (step.errors === "replace") out += encoded(step.replacement);
  }
  return out;
}

/** Row splits as numbers, checked. */
function endsOf(splits, count, who) {
  const ends = splits.data.map(Number);
  const rise = ends.every((end, i) => i === 0 || end >= ends[i - 1]);
  if (ends.length && (ends[0] !== 0 || ends[ends.length - 1] !== count || !rise)) {
    fail(`${who}: row splits do not fit the values`);
  }
  return ends;
}

const slices = (data, ends) => ends.slice(1).map((end, i) => data.slice(ends[i], end));

function lengthsToSplits(lengths) {
  const found = [0];
  for (const length of lengths) found.push(found[found.length - 1] + length);
  return found;
}

const lowerAscii = (item) => item.replace(/[A-Z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 32));
const upperAscii = (item) => item.replace(/[a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 32));

define({
  lower: (step, x) => mapped(x, step.encoding ? (i) => bytesOf(textOf(i).toLowerCase()) : lowerAscii),
  upper: (step, x) => mapped(x, step.encoding ? (i) => bytesOf(textOf(i).toUpperCase()) : upperAscii),
  strip: (step, x) => mapped(x, (item) => stripped(item, true, true)),
  length: (step, x) =>
    tensor("int32", x.shape, x.data.map((i) => (step.unit === "BYTE" ? i.length : starts(i).length - 1))),
  substr: (step, x, begin, count) => {
    const [shape, [items, begins, counts]] = spread(x, begin, count);
    return strings(items.map((item, i) => part(item, Number(begins[i]), Number(counts[i]), step.unit)), shape);
  },
  join: (step, ...xs) => {
    const [shape, columns] = spread(...xs);
    const between = bytesOf(step.separator);
    return strings(columns[0].map((_, i) => columns.map((column) => column[i]).join(between)), shape);
  },
  reduce_join: (step, x) => {
    const [shape, rows] = rowsOf(step, x);
    return strings(rows.map((row) => row.join(bytesOf(step.separator))), shape);
  },
  split: (step, x) => pieces(x.data.map((item) => parts(item, bytesOf(step.separator), step.most))),
  split_letters: (step, x) => {
    const known = bytesOf(step.letters);
    const rows = x.data.map((item) => {
      if (!known) return [...item];
      const row = [];
      let from = 0;
      for (let i = 0; item && i <= item.length; i += 1) {
        if (i === item.length || known.includes(item[i])) {
          row.push(item.slice(from, i));
          from = i + 1;
        }
      }
      return row;
    });
    return pieces(rows.map((row) => row.filter((one) => one || !step.skip_empty)));
  },
  decode: (step, x) => {
    const rows = x.data.map((item) => points(item, step));
    const splits = lengthsToSplits(rows.map((row) => row.length)).map((n) => integer(step.dtype, n));
    const flat = rows.flat();
    return [
      vector(step.dtype, splits),
      vector("int32", flat.map(([code]) => code)),
      vector("int64", flat.map(([, at]) => BigInt(at))),
    ];
  },
  encode: (step, x, splits) => {
    if (!splits.data.length) fail("encode: row splits do not fit the values");
    const rows = slices(x.data, endsOf(splits, x.data.length, "encode"));
    return strings(rows.map((row) => letters(row, step)));
  },
  recode: (step, x) => mapped(x, (item) => letters(points(item, step).map(([code]) => code), step)),
  ngrams: (step, x, splits) => {
    const ends = endsOf(splits, x.data.length, "ngrams");
    if (!x.data.length) return [strings([]), mapped(splits, () => integer(splits.dtype, 0))];
    const [between, left, right] = [step.separator, step.left, step.right].map(bytesOf);
    const padOf = (width) => (step.pad < 0 ? width - 1 : Math.min(step.pad, width - 1));
    const rows = slices(x.data, ends).map((words) => {
      const padded = (width) => {
        const pad = padOf(width);
        return [...Array(pad).fill(left), ...words, ...Array(pad).fill(right)];
      };
      const found = [];
      for (const width of step.widths) {
        const row = padded(width);
        for (let i = 0; i + width <= row.length; i += 1) found.push(row.slice(i, i + width).join(between));
      }
      if (step.keep_short && !found.length && words.length) {
        found.push(padded(Math.min(...step.widths)).join(between));
      }
      return found;
    });
    const after = lengthsToSplits(rows.map((row) => row.length)).map((n) => integer(splits.dtype, n));
    return [strings(rows.flat()), vector(splits.dtype, after)];
  },
  bytes: (step, x) => {
    const wanted = step.length || x.data.reduce((most, item) => Math.max(most, item.length), 0);
    if (!step.length && x.data.some((item) => item.length !== wanted)) {
      fail("bytes: all strings must have one length");
    }
    const data = x.data.flatMap((item) =>
      Array.from({ length: wanted }, (_, i) => (i < item.length ? item.charCodeAt(i) : 0)));
    return tensor("uint8", [...x.shape, wanted], data);
  },
  to_integer: (step, x) =>
    tensor(step.dtype, x.shape, x.data.map((item) => {
      const found = /^[ \t\n\v\f\r]*([+-]?)([0-9]+)[ \t\n\v\f\r]*$/.exec(item);
      const whole = found && (found[1] === "-" ? -BigInt(found[2]) : BigInt(found[2]));
      if (!found || BigInt.asIntN(step.dtype === "int32" ? 32 : 64, whole) !== whole) {
        fail(`to_integer: "${textOf(item)}" is no ${step.dtype}`);
      }
      return step.dtype === "int64" ? whole : Number(whole);
    })),
  as_string: (step, x) => strings(x.data.map(String), x.shape),
  hash: (step, x) => {
    const [low, high] = (step.key ?? []).map(BigInt);
    const one = step.kind === "farm64" ? farm64 : (item) => sip64(item, low, high);
    return tensor("int64", x.shape, x.data.map((item) => one(item) % BigInt(step.buckets)));
  },
  lookup: (step, keys, other) => {
    const { dtype, known } = step.table;
    const [, [, defaults]] = spread(keys, other);
    const data = keys.data.map((key, i) => (known.has(key) ? known.get(key) : defaults[i]));
    return tensor(dtype, keys.shape, data);
  },
});

// Numbers.

const strides = (shape) => shape.map((_, axis) => product(shape.slice(axis + 1)));
const upTo = (count, by = 1) => Array.from({ length: count }, (_, i) => i * by);
/** The strides of each axis's indices. */
const movesOf = (shape) => strides(shape).map((stride, axis) => upTo(shape[axis], stride));

/** The offsets of elements, given the strides of each axis's indices. */
function offsets(axes) {
  let found = [0];
  for (const steps of axes) found = found.flatMap((offset) => steps.map((step) => offset + step));
  return found;
}

/** The broadcast shape of all, and their elements in it. */
function spread(...xs) {
  const rank = Math.max(...xs.map((x) => x.shape.length));
  const shapes = xs.map((x) => [...Array(rank - x.shape.length).fill(1), ...x.shape]);
  const sizes = upTo(rank).map((axis) => {
    const wide = new Set(shapes.map((shape) => shape[axis]).filter((size) => size !== 1));
    if (wide.size > 1) fail(`shapes ${xs.map((x) => `[${x.shape}]`)} do not fit`);
    return wide.size ? [...wide][0] : 1;
  });
  const count = sizeOf(sizes);
  const columns = xs.map((x, index) => {
    const own = shapes[index];
    if (own.every((size, axis) => size === sizes[axis])) return x.data;
    if (x.data.length === 1) return Array(count).fill(x.data[0]);
    const moves = movesOf(own).map((one, axis) => (own[axis] === 1 ? Array(sizes[axis]).fill(0) : one));
    return offsets(moves).map((offset) => x.data[offset]);
  });
  return [sizes, columns];
}

/** The values that are reduced to each element, and the shape of the result. */
function rowsOf(step, x) {
  const moves = movesOf(x.shape);
  const within = offsets(step.axes.map((axis) => moves[axis]));
  const kept = offsets(moves.filter((_, axis) => !step.axes.includes(axis)));
  const shape = step.keep
    ? x.shape.map((size, axis) => (step.axes.includes(axis) ? 1 : size))
    : x.shape.filter((_, axis) => !step.axes.includes(axis));
  return [shape, kept.map((a) => within.map((b) => x.data[a + b]))];
}

/** The quotient, rounded down. */
function divided(a, b) {
  if (b == 0) fail("division by 0"); // eslint-disable-line eqeqeq -- number or BigInt
  if (typeof a !== "bigint") return Math.floor(a / b);
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

const times = (a, b) => (typeof a === "bigint" ? a * b : Math.imul(a, b));
const BINARY = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: times,
  floor_div: divided,
  floor_mod: (a, b) => a - times(divided(a, b), b),
  maximum: (a, b) => (a > b ? a : b),
  minimum: (a, b) => (a < b ? a : b),
  less: (a, b) => a < b,
  less_equal: (a, b) => a <= b,
  greater: (a, b) => a > b,
  greater_equal: (a, b) => a >= b,
  equal: (a, b) => a === b,
  not_equal: (a, b) => a !== b,
  and: (a, b) => a && b,
  or: (a, b) => a || b,
};
for (const [name, one] of Object.entries(BINARY)) {
  STEPS.set(name, (step, x, y) => {
    const [shape, [a, b]] = spread(x, y);
    return tensor(step.dtype, shape, a.map((item, i) => wrapped(step.dtype, one(item, b[i]))));
  });
}

function cast(dtype, item) {
  if (dtype === "bool") return Boolean(item);
  if (dtype === "int64") return BigInt(item);
  return Number(dtype === "uint8" ? BigInt.asUintN(8, BigInt(item)) : BigInt.asIntN(32, BigInt(item)));
}

const expanded = (x, axis) => tensor(x.dtype, [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)], x.data);

function concat(step, ...xs) {
  const { axis } = step;
  const first = xs[0].shape;
  const others = (shape) => String(shape.filter((_, i) => i !== axis));
  if (xs.some((x) => others(x.shape) !== others(first))) {
    fail(`concat: shapes ${xs.map((x) => `[${x.shape}]`)} do not fit`);
  }
  const data = upTo(product(first.slice(0, axis))).flatMap((row) =>
    xs.flatMap((x) => {
      const width = product(x.shape.slice(axis));
      return x.data.slice(row * width, (row + 1) * width);
    }));
  const size = xs.reduce((sum, x) => sum + x.shape[axis], 0);
  return tensor(xs[0].dtype, [...first.slice(0, axis), size, ...first.slice(axis + 1)], data);
}

/** The indices of an axis that start:stop:step selects. */
function taken(size, [start, stop, step]) {
  const by = step ?? 1;
  const [least, most] = by > 0 ? [0, size] : [-1, size - 1];
  const bound = (at, otherwise) =>
    at === null ? otherwise : Math.min(Math.max(at < 0 ? at + size : at, least), most);
  const [from, to] = by > 0 ? [bound(start, 0), bound(stop, size)] : [bound(start, size - 1), bound(stop, -1)];
  const found = [];
  for (let i = from; by > 0 ? i < to : i > to; i += by) found.push(i);
  return found;
}

/** The number of elements of a sorted row that are less than a value, or at most it. */
function before(row, value, orEqual) {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle] < value || (orEqual && row[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function counts(step, rows, size, shape) {
  const isBig = step.dtype === "int64";
  const data = Array(sizeOf(shape)).fill(isBig ? 0n : 0);
  const one = isBig ? 1n : 1;
  rows.forEach((row, index) => {
    for (const item of row) {
      if (item < 0) fail(`bincount: ${item} is negative`);
      if (item < size) {
        const place = index * size + Number(item);
        data[place] = step.binary ? one : data[place] + one;
      }
    }
  });
  return tensor(step.dtype, shape, data);
}

/** The row splits of each level. */
function nestedOf(step, given) {
  const found = [];
  let rows = 0;
  given.forEach((one, index) => {
    const kind = step.rows[index];
    if (kind === "FIRST_DIM_SIZE") rows = numberOf(one);
    else if (kind === "ROW_SPLITS") {
      found.push(one.data.map(Number));
      rows = Number(one.data[one.data.length - 1]);
    } else {
      const lengths = Array(rows).fill(0);
      for (const owner of one.data) lengths[Number(owner)] += 1;
      found.push(lengthsToSplits(lengths));
      rows = one.data.length;
    }
  });
  return found;
}

/** Rows of different lengths, padded or truncated. */
function toDense(step, sizes, values, filler, ...given) {
  const nested = nestedOf(step, given);
  const inner = values.shape.slice(1);
  const longest = nested.map((ends) => slices(upTo(ends[ends.length - 1]), ends)
    .reduce((most, row) => Math.max(most, row.length), 0));
  let shape = [nested[0].length - 1, ...longest, ...inner];
  if (sizes.shape.length) {
    shape = shape.map((own, i) => (sizes.data[i] < 0 ? own : Number(sizes.data[i])));
  }
  if (String(shape.slice(nested.length + 1)) !== String(inner)) {
    fail("to_dense: the shape must end with that of the values");
  }
  const width = product(inner);
  const [, [row]] = spread(filler, tensor("", inner, Array(width).fill(0)));
  const data = Array.from({ length: sizeOf(shape) }, (_, i) => row[i % width]);
  let places = upTo(nested[0].length - 1).map((i) => (i < shape[0] ? i : null));
  nested.forEach((ends, level) => {
    const size = shape[level + 1];
    places = places.flatMap((place, i) =>
      upTo(ends[i + 1] - ends[i]).map((column) =>
        (place === null || column >= size ? null : place * size + column)));
  });
  places.forEach((place, i) => {
    if (place === null) return;
    for (let k = 0; k < width; k += 1) data[place * width + k] = values.data[i * width + k];
  });
  return tensor(values.dtype, shape, data);
}

const EXTREMES = {
  int32: [-(2 ** 31), 2 ** 31 - 1], int64: [-(2n ** 63n), 2n ** 63n - 1n], uint8: [0, 255],
};
const REDUCTIONS = {
  sum: (row, dtype) => row.reduce((a, b) => a + b, integer(dtype, 0)),
  prod: (row, dtype) => row.reduce(times, integer(dtype, 1)),
  max: (row, dtype) => row.reduce(BINARY.maximum, EXTREMES[dtype][0]),
  min: (row, dtype) => row.reduce(BINARY.minimum, EXTREMES[dtype][1]),
  any: (row) => row.some(Boolean),
  all: (row) => row.every(Boolean),
};

define({
  not: (step, x) => mapped(x, (item) => !item),
  cast: (step, x) => tensor(step.dtype, x.shape, x.data.map((item) => cast(step.dtype, item))),
  select: (step, condition, x, y) => {
    const [shape, [truths, a, b]] = spread(condition, x, y);
    return tensor(x.dtype, shape, truths.map((truth, i) => (truth ? a[i] : b[i])));
  },
  shape: (step, x) => vector(step.dtype, x.shape.map((n) => integer(step.dtype, n))),
  size_of: (step, x) => tensor(step.dtype, [], [integer(step.dtype, x.data.length)]),
  reshape: (step, x, sizes) => {
    const shape = sizes.data.map(Number);
    const open = shape.indexOf(-1);
    const rest = product(shape.filter((size) => size !== -1));
    if (open >= 0) shape[open] = rest ? Math.floor(x.data.length / rest) : 0;
    if (product(shape) !== x.data.length) fail(`reshape: ${x.data.length} elements do not fit [${shape}]`);
    return tensor(x.dtype, shape, x.data);
  },
  expand: (step, x) => expanded(x, step.axis),
  squeeze: (step, x) => {
    if (step.axes.some((axis) => x.shape[axis] !== 1)) {
      fail(`squeeze: axes ${step.axes} of [${x.shape}] must have size 1`);
    }
    return tensor(x.dtype, x.shape.filter((_, axis) => !step.axes.includes(axis)), x.data);
  },
  concat,
  pack: (step, ...xs) => concat(step, ...xs.map((x) => expanded(x, step.axis))),
  slice: (step, x) => {
    const shape = [];
    const axes = [];
    const along = strides(x.shape);
    for (const one of step.axes) {
      if (one === "new") {
        shape.push(1);
        continue;
      }
      const [size, stride] = [x.shape[axes.length], along[axes.length]];
      if (typeof one === "number") {
        if (one < -size || one >= size) fail(`slice: ${one} is beyond an axis of size ${size}`);
        axes.push([(one < 0 ? one + size : one) * stride]);
      } else {
        axes.push(taken(size, one).map((i) => i * stride));
        shape.push(axes[axes.length - 1].length);
      }
    }
    return tensor(x.dtype, shape, offsets(axes).map((offset) => x.data[offset]));
  },
  gather: (step, x, indices) => {
    const { axis } = step;
    const places = indices.data.map(Number);
    if (places.some((i) => i < 0 || i >= x.shape[axis])) {
      fail(`gather: an index is beyond an axis of size ${x.shape[axis]}`);
    }
    const axes = movesOf(x.shape);
    const stride = strides(x.shape)[axis];
    axes[axis] = places.map((i) => i * stride);
    const shape = [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
    sizeOf(shape);
    return tensor(x.dtype, shape, offsets(axes).map((offset) => x.data[offset]));
  },
  range: (step, start, limit, delta) => {
    const [from, to, by] = [start, limit, delta].map(numberOf);
    if (!by) fail("range: the step is 0");
    const count = Math.max(Math.ceil((to - from) / by), 0);
    sizeOf([count]);
    return vector(step.dtype, upTo(count).map((i) => integer(step.dtype, from + i * by)));
  },
  fill: (step, sizes, value) => {
    const shape = sizes.data.map(Number);
    return tensor(value.dtype, shape, Array(sizeOf(shape)).fill(value.data[0]));
  },
  pad: (step, x, paddings, value) => {
    const sides = x.shape.map((_, i) => [2 * i, 2 * i + 1].map((at) => Number(paddings.data[at])));
    if (sides.flat().some((side) => side < 0)) fail("pad: paddings must not be negative");
    const shape = x.shape.map((size, i) => sides[i][0] + size + sides[i][1]);
    const data = Array(sizeOf(shape)).fill(value.data[0]);
    const along = strides(shape);
    const axes = x.shape.map((size, i) => upTo(size).map((at) => (at + sides[i][0]) * along[i]));
    offsets(axes).forEach((offset, i) => {
      data[offset] = x.data[i];
    });
    return tensor(x.dtype, shape, data);
  },
  reduce: (step, x) => {
    const [shape, rows] = rowsOf(step, x);
    const one = REDUCTIONS[step.kind];
    return tensor(x.dtype, shape, rows.map((row) => wrapped(x.dtype, one(row, x.dtype))));
  },
  cumsum: (step, x) => {
    let sum = integer(x.dtype, 0);
    const row = step.reverse ? [...x.data].reverse() : x.data;
    const sums = row.map((item) => {
      const last = sum;
      sum = wrapped(x.dtype, sum + item);
      return step.exclusive ? last : sum;
    });
    return tensor(x.dtype, x.shape, step.reverse ? sums.reverse() : sums);
  },
  search: (step, rows, values) => {
    const [count, width] = rows.shape;
    const wanted = values.shape[1];
    const data = upTo(count).flatMap((row) => {
      const known = rows.data.slice(row * width, (row + 1) * width);
      return values.data.slice(row * wanted, (row + 1) * wanted)
        .map((value) => integer(step.dtype, before(known, value, step.side === "right")));
    });
    return tensor(step.dtype, values.shape, data);
  },
  bincount: (step, x, size) => counts(step, [x.data], numberOf(size), [numberOf(size)]),
  bincount_rows: (step, splits, x, size) => {
    const rows = slices(x.data, splits.data.map(Number));
    return counts(step, rows, numberOf(size), [rows.length, numberOf(size)]);
  },
  count_by_row: (step, x, owners, rows) => {
    const found = upTo(numberOf(rows)).map(() => []);
    x.data.forEach((item, i) => {
      const owner = Number(owners.data[i]);
      if (owner >= 0 && owner < found.length && item >= 0 && item < step.size) found[owner].push(item);
    });
    return counts(step, found, step.size, [found.length, step.size]);
  },
  to_dense: toDense,
});

// Regular expressions: trees become the engine's own syntax.

const PLACES = {
  start: "^", end: "$", line_start: "(?<![^\\n])", line_end: "(?![^\\n])", word: "\\b",
};
const codeOf = (code) => `\\u{${code.toString(16)}}`;

/** A tree as JavaScript writes it. */
export function expression(tree) {
  if ("text" in tree) return [...tree.text].map((char) => codeOf(char.codePointAt(0))).join("");
  if ("set" in tree) {
    const ranges = tree.set.map(([low, high]) => `${codeOf(low)}-${codeOf(high)}`).join("");
    return ranges ? `[${ranges}]` : "(?!)";
  }
  if ("all" in tree) return `(?:${tree.all.map(expression).join("")})`;
  if ("any" in tree) return `(?:${tree.any.map(expression).join("|")})`;
  if ("group" in tree) return `(?<g${Number(tree.number)}>${expression(tree.group)})`;
  if ("at" in tree) return PLACES[tree.at];
  const high = tree.max === null ? "" : Number(tree.max);
  return `(?:${expression(tree.repeat)}){${Number(tree.min)},${high}}${tree.lazy ? "?" : ""}`;
}

/** As in RE2: no empty match right after another match. */
function replaced(step, wanted, item) {
  const text = textOf(item);
  let out = "";
  let place = 0;
  let last = -1;
  while (place <= text.length) {
    wanted.lastIndex = place;
    const found = wanted.exec(text);
    if (!found) break;
    out += text.slice(place, found.index);
    if (!found[0] && found.index === last) {
      const next = last < text.length ? String.fromCodePoint(text.codePointAt(last)) : "";
      out += next;
      place = last + (next.length || 1);
      continue;
    }
    for (const one of step.rewrite) {
      out += typeof one === "string" ? one : (one ? found.groups[`g${one}`] : found[0]) ?? "";
    }
    place = found.index + found[0].length;
    last = place;
    if (!step.all) break;
  }
  return bytesOf(out + text.slice(place));
}

define({
  match: (step, x) => {
    const whole = new RegExp(`^(?:${step.source})$`, "u");
    return tensor("bool", x.shape, x.data.map((item) => whole.test(textOf(item))));
  },
  replace: (step, x) => {
    const wanted = new RegExp(step.source, "gu");
    return mapped(x, (item) => replaced(step, wanted, item));
  },
});

// Hashes: FarmHash's Fingerprint64, and SipHash-2-4 under a key.

const [K0, K1, K2] = [0xc3a5c85c97cb3127n, 0xb492b66fbe98f273n, 0x9ae16a3b2f90404fn];
const word64 = (x) => BigInt.asUintN(64, x);

function rotated(value, by) {
  const x = word64(value);
  return word64((x >> BigInt(by)) | (x << BigInt(64 - by)));
}

function mixed(value) {
  const x = word64(value);
  return x ^ (x >> 47n);
}

/** Hashes two words to one. */
function two(u, v, factor) {
  const a = mixed(word64(u ^ v) * factor);
  return word64(mixed(word64(v ^ a) * factor) * factor);
}

function wordAt(data, place, width = 8) {
  const at = place < 0 ? place + data.length : place;
  let found = 0n;
  for (let i = width - 1; i >= 0; i -= 1) {
    const byte = at + i < data.length ? data.charCodeAt(at + i) : 0;
    found = (found << 8n) | BigInt(byte);
  }
  return found;
}

function farm64(data) {
  const count = data.length;
  const size = BigInt(count);
  const factor = K2 + size * 2n;
  const word = (at, width) => wordAt(data, at, width);
  if (count > 64) return farmLong(data, word);
  if (count > 16) {
    const a = word(0) * (count <= 32 ? K1 : K2);
    const b = word(8);
    const c = word(-8) * factor;
    const d = word(-16) * K2;
    const y = rotated(a + b, 43) + rotated(c, 30) + d;
    const z = two(y, a + rotated(b + K2, 18) + c, factor);
    if (count <= 32) return z;
    const [e, f] = [word(16) * factor, word(24)];
    const [g, h] = [(y + word(-32)) * factor, (z + word(-24)) * factor];
    return two(rotated(e + f, 43) + rotated(g, 30) + h, e + rotated(f + a, 18) + g, factor);
  }
  if (count >= 8) {
    const [a, b] = [word(0) + K2, word(-8)];
    const c = rotated(b, 37) * factor + a;
    return two(c, (rotated(a, 25) + b) * factor, factor);
  }
  if (count >= 4) return two(size + (word(0, 4) << 3n), word(-4, 4), factor);
  if (!count) return K2;
  const y = word(0, 1) + (word(count >> 1, 1) << 8n);
  const z = size + (word(-1, 1) << 2n);
  return word64(mixed((y * K2) ^ (z * K0)) * K2);
}

function farmLong(data, word) {
  const size = data.length;
  let y = 81n * K1 + 113n;
  let z = mixed(y * K2 + 113n) * K2;
  let x = 81n * K2 + word(0);
  let v = [0n, 0n];
  let w = [0n, 0n];
  const weak = (at, first, second) => {
    let a = first + word(at);
    const b = rotated(second + a + word(at + 24), 21);
    const c = a;
    a += word(at + 8) + word(at + 16);
    return [word64(a + word(at + 24)), word64(b + rotated(a, 44) + c)];
  };
  const block = (at, factor, nine) => {
    x = word64(rotated(x + y + v[0] + word(at + 8), 37) * factor);
    y = word64(rotated(y + v[1] + word(at + 48), 42) * factor);
    x ^= word64(w[1] * nine);
    y = word64(y + v[0] * nine + word(at + 40));
    z = word64(rotated(z + w[0], 33) * factor);
    v = weak(at, v[1] * factor, x + w[0]);
    w = weak(at + 32, z + w[1], y + word(at + 16));
    [x, z] = [z, x];
  };
  for (let place = 0; place < Math.floor((size - 1) / 64) * 64; place += 64) block(place, K1, 1n);
  const factor = K1 + ((z & 0xffn) << 1n);
  const first = w[0] + BigInt((size - 1) & 63);
  v = [v[0] + first, v[1]];
  w = [first + v[0], w[1]];
  block(size - 64, factor, 9n);
  return two(two(v[0], w[0], factor) + mixed(y) * K0 + z, two(v[1], w[1], factor) + x, factor);
}

function sip64(data, first, second) {
  const [low, high] = [word64(first), word64(second)];
  let [a, b] = [low ^ 0x736f6d6570736575n, high ^ 0x646f72616e646f6dn];
  let [c, d] = [low ^ 0x6c7967656e657261n, high ^ 0x7465646279746573n];
  const turns = (count) => {
    for (let i = 0; i < count; i += 1) {
      [a, c] = [word64(a + b), word64(c + d)];
      [b, d] = [rotated(b, 51) ^ a, rotated(d, 48) ^ c];
      [a, c] = [word64(rotated(a, 32) + d), word64(c + b)];
      [d, b] = [rotated(d, 43) ^ a, rotated(b, 47) ^ c];
      c = rotated(c, 32);
    }
  };
  const padded = data + "\0".repeat(7 - (data.length % 8)) + String.fromCharCode(data.length & 0xff);
  for (let at = 0; at < padded.length; at += 8) {
    const word = wordAt(padded, at);
    d ^= word;
    turns(2);
    a ^= word;
  }
  c ^= 0xffn;
  turns(4);
  return a ^ b ^ c ^ d;
}
