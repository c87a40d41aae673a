// One field for each input of a signature; its kind follows from dtype and shape.

import { make } from "/page/elements.js";
import { ImageField } from "/page/drawing.js";
import { TextField } from "/page/texts.js";

const MOST_NUMBERS = 16;
const MOST_TEXTS = 16;
const WHOLE = /^u?int/;
const REAL = /^(float|double)/;

/** Nested lists filled with one value. */
export function filled(zero, dims) {
  return dims.reduceRight((value, size) => Array.from({ length: size }, () => value), zero);
}

/** The initial value of a field. */
function first(input) {
  return input.value ?? filled(input.zero, input.dims);
}

/** A field for an input: `element`, and `read()`, which throws if the text is not a valid value.
 *
 * `most` is the largest body of a request, in bytes. `changed` is called at every change, `finished`
 * when something is drawn or loaded. */
export function fieldFor(input, form, most, changed, finished) {
  const rowIsImage = input.image && (form === "instances" || input.shape?.[0] === 1);
  if (rowIsImage) {
    const field = new ImageField(input, changed, finished);
    if (form === "instances") return field;
    return { element: field.element, read: () => [field.read()] };
  }
  if (input.dtype === "bool" && !input.dims.length) return checkbox(input, changed);
  const texts = textsOf(input);
  if (texts) return new TextField(input, texts, most, changed);
  if (WHOLE.test(input.dtype) || REAL.test(input.dtype)) {
    if (!input.dims.length) return numbers(input, 1, changed);
    if (input.dims.length === 1 && input.dims[0] <= MOST_NUMBERS && input.shape?.at(-1) !== null) return numbers(input, input.dims[0], changed);
  }
  return json(input, changed);
}

function checkbox(input, changed) {
  const box = make("input", { type: "checkbox", checked: first(input) === true, onchange: changed });
  return { element: make("label", { class: "plain-label" }, box, "true"), read: () => box.checked };
}

/** The strings of an input that has a field for each; null if their number is not fixed.
 *
 * The first axis is the batch: the form has one row; more can be entered as JSON. */
function textsOf(input) {
  if (input.dtype !== "string" || input.shape?.slice(1).includes(null)) return null;
  const count = input.dims.reduce((product, size) => product * size, 1);
  if (count !== 1 && (input.dims.length !== 1 || count > MOST_TEXTS || !count)) return null;
  const texts = [first(input)].flat(Infinity);
  return texts.length === count && texts.every((one) => typeof one === "string") ? texts : null;
}

function numbers(input, count, changed) {
  const step = WHOLE.test(input.dtype) ? "1" : "any";
  const boxes = Array.from({ length: count }, (_, i) => make("input", {
    type: "number", step, value: [first(input)].flat()[i], oninput: changed,
    "aria-label": count === 1 ? input.name : `${input.name}, number ${i + 1} of ${count}`,
  }));
  const read = (box) => {
    if (box.value.trim() === "" || Number.isNaN(Number(box.value))) throw new Error(`${box.getAttribute("aria-label")}: not a number`);
    return Number(box.value);
  };
  return {
    element: make("div", { class: "numbers" }, boxes),
    read: () => (input.dims.length ? boxes.map(read) : read(boxes[0])),
  };
}

function json(input, changed) {
  const value = JSON.stringify(first(input));
  const area = make("textarea", {
    rows: value.length > 400 ? 8 : 3, value, spellcheck: false, oninput: changed, "aria-label": `${input.name}, as JSON`,
  });
  return {
    element: area,
    read: () => {
      try {
        return JSON.parse(area.value);
      } catch (error) {
        throw new Error(`${input.name}: ${error.message}`);
      }
    },
  };
}
