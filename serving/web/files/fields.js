// One field for each input of a signature: what kind it is follows from dtype and shape.

import { make, newId } from "/page/elements.js";
import { ImageField } from "/page/drawing.js";

const MOST_NUMBERS = 16;
const WHOLE = /^u?int/;
const REAL = /^(float|double)/;

/** Nested lists of one value. */
export function filled(zero, dims) {
  return dims.reduceRight((value, size) => Array.from({ length: size }, () => value), zero);
}

/** What stands in a field at first. */
function first(input) {
  return input.value ?? filled(input.zero, input.dims);
}

/** A field for an input: `element`, and `read()`, which throws where the text is no value.
 *
 * `changed` is called at every change, `finished` when something is drawn or loaded. */
export function fieldFor(input, form, changed, finished) {
  const rowIsImage = input.image && (form === "instances" || input.shape?.[0] === 1);
  if (rowIsImage) {
    const field = new ImageField(input, changed, finished);
    if (form === "instances") return field;
    return { element: field.element, read: () => [field.read()] };
  }
  if (input.dtype === "bool" && !input.dims.length) return checkbox(input, changed);
  if (input.dtype === "string" && !input.dims.length && typeof first(input) === "string") return text(input, changed);
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

function text(input, changed) {
  const id = newId("text");
  const area = make("textarea", { id, rows: 3, value: first(input), spellcheck: false, oninput: changed, "aria-label": input.name });
  return { element: area, read: () => area.value };
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
