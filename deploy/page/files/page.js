// Runs the model of this folder in the browser, with the runtime of runtime.js.
import { open } from "./runtime.js";
import { check, nested, parsed } from "./tensors.js";
import { isPicture, numbersOf, paint } from "./pictures.js";

const SHOWN = 400; // values of an output
const BEST = 5;
const ROWS = 4;
const at = (id) => document.getElementById(id);

function made(kind, text = "", style = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  if (style) element.className = style;
  return element;
}

const kindOf = (dtype, shape) => `${dtype}[${shape.map((n) => n ?? "?").join(", ")}]`;

/** A field for an image, from a file or dropped, with a preview of the model's input. */
function pictureField(input, area) {
  const field = made("div", "", "picture");
  const canvas = made("canvas");
  const side = made("div");
  const file = made("input");
  file.type = "file";
  file.accept = "image/*";
  file.setAttribute("aria-label", `picture for ${input.name}`);
  const take = async (picked) => {
    if (!picked) return;
    try {
      area.value = JSON.stringify(await numbersOf(picked, input));
      paint(canvas, area.value, input);
      at("run").click();
    } catch (error) {
      tell(`${input.name}: the browser cannot read this file as an image (${error.message})`, "bad");
    }
  };
  file.addEventListener("change", () => take(file.files[0]));
  field.addEventListener("dragover", (event) => {
    event.preventDefault();
    field.classList.add("over");
  });
  field.addEventListener("dragleave", () => field.classList.remove("over"));
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    field.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  area.addEventListener("input", () => paint(canvas, area.value, input));
  paint(canvas, area.value, input);
  side.append(made("p", "Drop a picture here, or choose one."), file);
  field.append(canvas, side);
  return field;
}

function addInput(input, sample) {
  const card = made("div", "", "card");
  const title = made("h2", input.name);
  title.append(" ", made("span", kindOf(input.dtype, input.shape), "kind"));
  const area = made("textarea");
  area.spellcheck = false;
  area.name = input.name;
  area.setAttribute("aria-label", input.name);
  const numbers = sample && !["string", "int64", "uint64"].includes(input.dtype);
  const data = numbers ? sample.data.map(Number) : sample?.data;
  area.value = sample ? JSON.stringify(nested(data, sample.shape)) : "";
  area.rows = Math.min(6, 1 + Math.ceil(area.value.length / 48));
  card.append(title);
  if (isPicture(input)) {
    const details = made("details");
    details.append(made("summary", "Numbers"), area);
    card.append(pictureField(input, area), details);
  } else {
    card.append(area);
  }
  at("inputs").append(card);
}

/** The largest entries of a row, with their labels. */
function bestOf(row, labels) {
  const order = row.map((_, i) => i).sort((a, b) => row[b] - row[a]).slice(0, BEST);
  const list = made("ol", "", "best");
  for (const i of order) {
    const line = made("li");
    const meter = made("meter");
    meter.min = Math.min(0, ...row);
    meter.max = Math.max(...row) <= 1 && meter.min >= 0 ? 1 : Math.max(...row, meter.min + 1e-9);
    meter.value = row[i];
    const value = made("span", String(Number(row[i].toPrecision(4))), "value");
    line.append(made("span", labels?.[i] ?? String(i), "name"), meter, value);
    list.append(line);
  }
  return list;
}

function show(output, { dtype, shape, data }) {
  const card = made("div", "", "card");
  const title = made("h2", output.name);
  title.append(" ", made("span", kindOf(dtype, shape), "kind"));
  card.append(title);
  const width = shape.at(-1);
  const numbers = dtype.startsWith("float") || (output.labels && !dtype.endsWith("int64"));
  const isRows = shape.length === 2 && width > 1 && data.length > 0 && numbers;
  if (isRows) {
    for (let i = 0; i < Math.min(shape[0], ROWS); i += 1) {
      if (shape[0] > 1) card.append(made("h3", `row ${i + 1} of ${shape[0]}`));
      card.append(bestOf(data.slice(i * width, (i + 1) * width), output.labels));
    }
  }
  const plain = data.slice(0, SHOWN).map((x) => (typeof x === "bigint" ? x.toString() : x));
  const text = made("pre", data.length > SHOWN
    ? `${plain.join(" ")} … ${data.length} values`
    : JSON.stringify(nested(plain, shape)));
  if (isRows) {
    const details = made("details");
    details.append(made("summary", "All numbers"), text);
    card.append(details);
  } else {
    card.append(text);
  }
  at("results").append(card);
}

function tell(text, kind = "") {
  at("status").textContent = text;
  at("status").className = kind;
}

async function start() {
  const description = await (await fetch("page.json")).json();
  document.title = description.title;
  at("title").textContent = description.title;
  at("about").textContent = description.about;
  at("runtime").textContent = description.runtime;
  for (const input of description.inputs) addInput(input, description.cases[0]?.inputs[input.name]);
  const session = await open(description);
  at("runtime").textContent = session.name;

  const run = async () => {
    at("results").replaceChildren();
    try {
      const feeds = {};
      for (const input of description.inputs) {
        feeds[input.name] = parsed(at("form").elements[input.name].value, input);
      }
      const begun = performance.now();
      const results = await session.run(feeds);
      tell(`Ran in ${(performance.now() - begun).toFixed(1)} ms.`);
      for (const output of description.outputs) show(output, results[output.name]);
    } catch (error) {
      tell(String(error.message ?? error), "bad");
    }
  };
  const verify = async () => {
    const found = await check(session, description);
    tell(
      found.ok
        ? `Agrees with the recorded outputs; the largest difference is ${found.largest.toExponential(1)}.`
        : found.wrong.join("; "),
      found.ok ? "good" : "bad",
    );
    return { ...found, version: session.version };
  };
  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  at("check").addEventListener("click", verify);
  at("run").disabled = at("check").disabled = false;
  return verify();
}

// Programs that visit the page wait for this.
globalThis.checked = start().catch((error) => {
  tell(String(error.message ?? error), "bad");
  return { ok: false, largest: 0, relative: 0, wrong: [String(error.message ?? error)] };
});
