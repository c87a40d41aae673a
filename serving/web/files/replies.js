// Readable results: bars for scores, images for images, tables and JSON for the rest.

import { make } from "/page/elements.js";

const MOST_ROWS = 8;
const MOST_BARS = 12;
const MOST_CELLS = 400;

/** The content of a response, row by row. */
export function showReply(reply, signature) {
  const rows = rowsOf(reply, signature);
  const shown = rows.slice(0, MOST_ROWS).map((row, i) => make("section", { class: "shown" },
    rows.length > 1 ? make("h3", {}, `Row ${i + 1} of ${rows.length}`) : null,
    showRow(row, signature)));
  if (rows.length > MOST_ROWS) shown.push(make("p", { class: "hint" }, `${rows.length - MOST_ROWS} more rows in the JSON`));
  return shown;
}

/** Each row as {output: value}; one row with everything if outputs have no common batch axis. */
function rowsOf(reply, signature) {
  const names = signature.outputs.map((output) => output.name);
  const single = names.length === 1;
  if (Array.isArray(reply.predictions)) {
    return reply.predictions.map((row) => (single ? { [names[0]]: row } : row));
  }
  const whole = single ? { [names[0]]: reply.outputs } : reply.outputs;
  const isOpen = signature.outputs.every((output) => output.shape?.length && (output.shape[0] === null || output.shape[0] === 1));
  const size = whole[names[0]]?.length;
  if (!isOpen || !names.every((name) => Array.isArray(whole[name]) && whole[name].length === size)) return [whole];
  return Array.from({ length: size }, (_, i) => Object.fromEntries(names.map((name) => [name, whole[name][i]])));
}

function showRow(row, signature) {
  if (isLabelled(row)) return [bars(row.scores, row.classes)];
  return signature.outputs.map((output) => make("div", {},
    signature.outputs.length > 1 ? make("h3", {}, output.name) : null,
    showValue(row[output.name], output, signature)));
}

function isLabelled(row) {
  const { classes, scores } = row;
  return Array.isArray(classes) && Array.isArray(scores) && classes.length === scores.length && classes.every((item) => typeof item === "string") && isNumbers(scores);
}

function isNumbers(value) {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "number");
}

function showValue(value, output, signature) {
  if (value === "") return make("p", { class: "hint" }, "an empty text");
  if (value !== null && typeof value !== "object") return make("p", { class: "answer" }, short(value));
  const picture = imageOf(value, output, signature);
  if (picture) return picture;
  if (Array.isArray(value) && value.length === 1 && typeof value[0] === "string") return showValue(value[0], output, signature);
  if (isNumbers(value) && value.length === 1) return make("p", { class: "answer" }, short(value[0]));
  if (isNumbers(value)) return bars(value);
  if (Array.isArray(value) && value.every((row) => Array.isArray(row) && row.every((cell) => cell === null || typeof cell !== "object"))) {
    const cells = value.reduce((sum, row) => sum + row.length, 0);
    if (cells && cells <= MOST_CELLS) return table(value);
  }
  return make("pre", { tabIndex: 0, "aria-label": `${output.name} as JSON` }, clip(JSON.stringify(value)));
}

function clip(text) {
  return text.length > 20000 ? `${text.slice(0, 20000)} …` : text;
}

/** Scores with their class: all if they are few, else the highest. */
function bars(values, labels = values.map((_, i) => String(i))) {
  let order = values.map((_, i) => i);
  const best = order.reduce((a, b) => (values[b] > values[a] ? b : a), 0);
  if (values.length > MOST_BARS) order = order.sort((a, b) => values[b] - values[a]).slice(0, MOST_BARS);
  const low = Math.min(0, ...order.map((i) => values[i]));
  const high = Math.max(0, ...order.map((i) => values[i]));
  const range = high - low || 1;
  const sum = values.reduce((a, b) => a + b, 0);
  const isShare = values.every((v) => v >= 0 && v <= 1) && Math.abs(sum - 1) < 0.01;
  const items = order.map((i) => {
    const fill = make("span", { class: "fill" });
    const [from, to] = isShare ? [0, values[i]] : [(Math.min(values[i], 0) - low) / range, (Math.max(values[i], 0) - low) / range];
    fill.style.left = `${from * 100}%`;
    fill.style.width = `${Math.max(to - from, 0.003) * 100}%`;
    const text = isShare ? `${(values[i] * 100).toFixed(1)} %` : short(values[i]);
    return make("li", {},
      make("span", { class: `name${i === best ? " best" : ""}` }, labels[i]),
      make("span", { class: `track${i === best ? " best" : ""}`, "aria-hidden": "true" }, fill),
      make("span", { class: i === best ? "best" : "" }, text));
  });
  const more = values.length > order.length ? make("p", { class: "hint" }, `the ${order.length} highest of ${values.length}`) : null;
  const isChoice = isShare || labels.some((label, i) => label !== String(i));
  return make("div", {}, isChoice ? make("p", { class: "answer" }, labels[best]) : null, make("ul", { class: "bars" }, items), more);
}

/** An image, if the value is one: an output with an image's shape, or a flat one of the input's size. */
function imageOf(value, output, signature) {
  const form = output.image;
  if (!form || !Array.isArray(value)) return null;
  const alike = signature.inputs.some((input) => input.image?.layout === "flat" && input.image.height === form.height);
  if (form.layout === "flat" && !alike) return null;
  const flat = value.flat(2);
  const { channels } = form;
  const height = form.layout === "flat" ? form.height : value.length;
  const width = form.layout === "flat" ? form.width : value[0]?.length;
  if (!isNumbers(flat) || flat.length !== height * width * channels || flat.length > 4e6) return null;
  const [low, high] = flat.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const canvas = make("canvas", { width, height, role: "img", "aria-label": `${output.name}: an image of ${width} by ${height}` });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  for (let i = 0; i < width * height; i += 1) {
    for (let c = 0; c < 3; c += 1) {
      pixels.data[4 * i + c] = ((flat[i * channels + (channels === 3 ? c : 0)] - low) / (high - low || 1)) * 255;
    }
    pixels.data[4 * i + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
  return make("figure", {}, canvas, make("figcaption", {}, `${width} × ${height}; black is ${short(low)}, white is ${short(high)}`));
}

function table(rows) {
  return make("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": "Values" }, make("table", {}, make("tbody", {},
    rows.map((row) => make("tr", {}, row.map((cell) => make("td", { class: typeof cell === "number" ? "number" : "" }, short(cell))))))));
}

function short(value) {
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : String(value);
}
