// A string input: typed text, or the bytes of a file, which JSON contains as base64.

import { make, newId } from "/page/elements.js";

const MOST_BYTES = 16 * 2 ** 20; // of a file: the page holds it several times, as text
const REST = 4096; // bytes of a request besides its file
const LARGE = 10000; // characters of base64 above which the request is not updated at every key

/** Fields for the strings of an input; a file may replace a single one.
 *
 * `texts` are the initial values; `most` is the largest body of a request, in bytes. */
export class TextField {
  constructor(input, texts, most, changed) {
    this.input = input;
    this.changed = changed;
    this.base64 = null;
    this.most = Math.max(0, Math.min(MOST_BYTES, Math.floor(((most - REST) * 3) / 4)));
    const isOne = texts.length === 1;
    this.areas = texts.map((value, i) => make("textarea", {
      id: newId("text"), rows: isOne ? 3 : 1, value, spellcheck: false, oninput: changed,
      "aria-label": isOne ? input.name : `${input.name}, text ${i + 1} of ${texts.length}`,
    }));
    const parts = [make("div", { class: "texts" }, this.areas)];
    if (isOne) {
      // TensorFlow Serving's convention for the names of inputs that are files.
      if (input.name.endsWith("_bytes")) parts.unshift(this.chooser());
      else parts.push(this.chooser());
    }
    this.element = make("div", { class: "stack" }, parts);
  }

  chooser() {
    const file = make("input", { type: "file", class: "hidden-text", "aria-label": `File for ${this.input.name}` });
    file.addEventListener("change", () => { this.load(file.files[0]); file.value = ""; });
    this.note = make("span", { class: "hint", role: "status" }, `up to ${sizeText(this.most)}, sent as base64`);
    this.remove = make("button", { type: "button", class: "plain", hidden: true, onclick: () => { this.clear(); this.areas[0].focus(); } }, "Remove the file");
    const row = make("div", { class: "row" },
      make("button", { type: "button", onclick: () => file.click() }, "Choose a file…"), file, this.note, this.remove);
    row.addEventListener("dragover", (event) => event.preventDefault());
    row.addEventListener("drop", (event) => {
      event.preventDefault();
      this.load(event.dataTransfer.files[0]);
    });
    return row;
  }

  async load(file) {
    if (!file) return;
    if (file.size > this.most) {
      this.note.textContent = `${file.name} has ${sizeText(file.size)}; at most ${sizeText(this.most)} can be sent`;
      return;
    }
    try {
      this.base64 = await base64Of(file);
    } catch {
      this.note.textContent = `${file.name}: it cannot be read`;
      return;
    }
    this.note.textContent = `${file.name}, ${sizeText(file.size)}`;
    this.remove.hidden = false;
    this.areas[0].hidden = true;
    this.changed();
  }

  clear() {
    this.base64 = null;
    this.note.textContent = "";
    this.remove.hidden = true;
    this.areas[0].hidden = false;
    this.changed();
  }

  /** Whether updating the request takes too long to do at every key. */
  isLarge() {
    return this.base64 !== null && this.base64.length > LARGE;
  }

  read() {
    const values = this.base64 === null ? this.areas.map((area) => area.value) : [{ b64: this.base64 }];
    if (values.length > 1) return values;
    return this.input.dims.reduceRight((value) => [value], values[0]);
  }
}

/** The bytes of a file. */
function base64Of(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** A size in bytes, in readable units. */
function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 2 ** 20 ? `${+(bytes / 1024).toPrecision(3)} KiB` : `${+(bytes / 2 ** 20).toPrecision(3)} MiB`;
}
