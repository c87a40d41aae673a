// An image input: drawn, dropped, pasted or chosen; the numbers are what the model gets.

import { make, newId } from "/page/elements.js";

const PAPER = 280; // approximate size of the drawing area in pixels
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class ImageField {
  constructor(input, changed, finished) {
    this.image = input.image;
    this.isWhole = /int/.test(input.dtype);
    this.changed = changed;
    this.finished = finished;
    const { height, width } = this.image;
    this.scale = Math.max(1, Math.floor(PAPER / Math.max(height, width)));
    this.cursor = null;
    this.paper = make("canvas", {
      class: "draw", width: width * this.scale, height: height * this.scale, tabIndex: 0, role: "img",
      "aria-label": `Image for ${input.name}, ${width} by ${height} pixels. Draw with the pointer, or move with the arrow keys and paint with space.`,
    });
    this.seen = make("canvas", { class: "seen", width, height, role: "img", "aria-label": "What the model gets" });
    this.pen = this.paper.getContext("2d", { willReadFrequently: true });
    this.controls(input);
    this.listen();
    this.clear();
    if (input.value !== null && input.value !== undefined) this.show(input.value);
  }

  controls(input) {
    const [black, white] = input.range ?? [0, 1];
    const number = (label, value) => {
      const id = newId("level");
      const field = make("input", { id, type: "number", step: "any", value, oninput: () => this.update() });
      return [field, make("span", { class: "row" }, make("label", { for: id, htmlFor: id }, label), field)];
    };
    const [blackField, blackRow] = number("Black is", black);
    const [whiteField, whiteRow] = number("White is", white);
    this.black = blackField;
    this.white = whiteField;
    this.inverted = make("input", { type: "checkbox", onchange: () => this.update() });
    this.colour = make("input", { type: "color", value: "#ffffff", "aria-label": "Pen colour" });
    const file = make("input", { type: "file", accept: "image/*", class: "hidden-text", "aria-label": `Image file for ${input.name}` });
    file.addEventListener("change", () => { this.load(file.files[0]); file.value = ""; });
    this.note = make("span", { class: "hint", role: "status" });
    const { height, width } = this.image;
    this.element = make("div", { class: "paper" },
      make("figure", {}, this.paper, make("figcaption", {}, "Draw here, or drop or paste an image")),
      make("figure", {}, this.seen, make("figcaption", {}, `${width} × ${height}, as the model sees it`)),
      make("div", { class: "controls" },
        make("div", { class: "row" },
          make("button", { type: "button", onclick: () => this.clear() }, "Clear"),
          make("button", { type: "button", onclick: () => file.click() }, "Choose an image…"), file,
          this.image.channels === 3 ? this.colour : null),
        make("details", {}, make("summary", {}, "Values"),
          make("div", { class: "row" }, blackRow, whiteRow),
          make("label", { class: "plain-label" }, this.inverted, "dark on light: swap black and white")),
        this.note));
  }

  listen() {
    let last = null;
    const place = (event) => {
      const box = this.paper.getBoundingClientRect();
      return [(event.clientX - box.left) * this.paper.width / box.width, (event.clientY - box.top) * this.paper.height / box.height];
    };
    this.paper.addEventListener("pointerdown", (event) => {
      this.paper.setPointerCapture(event.pointerId);
      last = place(event);
      this.stroke(last, last);
    });
    this.paper.addEventListener("pointermove", (event) => {
      if (!last) return;
      const next = place(event);
      this.stroke(last, next);
      last = next;
    });
    for (const end of ["pointerup", "pointercancel"]) {
      this.paper.addEventListener(end, () => {
        if (last) this.finished();
        last = null;
      });
    }
    this.paper.addEventListener("keydown", (event) => this.press(event));
    this.paper.addEventListener("blur", () => { if (this.cursor) { this.cursor = null; this.update(); } });
    this.element.addEventListener("dragover", (event) => { event.preventDefault(); this.element.classList.add("over"); });
    this.element.addEventListener("dragleave", () => this.element.classList.remove("over"));
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.element.classList.remove("over");
      this.load(event.dataTransfer.files[0]);
    });
    this.element.addEventListener("paste", (event) => this.load(event.clipboardData.files[0]));
  }

  press(event) {
    const { height, width } = this.image;
    const step = STEPS[event.key];
    this.cursor ??= [Math.floor(width / 2), Math.floor(height / 2)];
    if (step) {
      this.cursor = [Math.min(width - 1, Math.max(0, this.cursor[0] + step[0])), Math.min(height - 1, Math.max(0, this.cursor[1] + step[1]))];
    } else if (event.key === " ") {
      this.pen.fillStyle = this.colour.value;
      this.pen.fillRect(this.cursor[0] * this.scale, this.cursor[1] * this.scale, this.scale, this.scale);
    } else return;
    event.preventDefault();
    this.update();
    this.note.textContent = `column ${this.cursor[0] + 1}, row ${this.cursor[1] + 1}`;
  }

  stroke(from, to) {
    const side = Math.max(this.paper.width, this.paper.height);
    this.pen.strokeStyle = this.colour.value;
    this.pen.lineWidth = side / (this.image.width <= 16 ? 7 : this.image.width <= 64 ? 11 : 25);
    this.pen.lineCap = this.pen.lineJoin = "round";
    this.pen.beginPath();
    this.pen.moveTo(...from);
    this.pen.lineTo(to[0] + 0.01, to[1]);
    this.pen.stroke();
    this.update();
  }

  /** An image given as numbers; they stay unchanged until something is drawn. */
  show(value) {
    const { height, width, channels } = this.image;
    const given = value.flat(Infinity);
    if (given.length !== height * width * channels) return;
    const low = Number(this.black.value);
    const level = (v) => Math.round((255 * (v - low)) / (Number(this.white.value) - low));
    for (let i = 0; i < height * width; i += 1) {
      const colour = [0, 1, 2].map((c) => level(given[i * channels + (channels === 3 ? c : 0)]));
      this.pen.fillStyle = `rgb(${colour.join(" ")})`;
      this.pen.fillRect((i % width) * this.scale, Math.floor(i / width) * this.scale, this.scale, this.scale);
    }
    this.update();
    this.values = given;
    this.changed();
  }

  clear() {
    this.pen.fillStyle = "#000";
    this.pen.fillRect(0, 0, this.paper.width, this.paper.height);
    this.update();
  }

  async load(file) {
    if (!file) return;
    let picture;
    try {
      picture = await createImageBitmap(file);
    } catch {
      this.note.textContent = `${file.name}: the browser cannot read this file as an image`;
      return;
    }
    this.pen.fillStyle = "#000";
    this.pen.fillRect(0, 0, this.paper.width, this.paper.height);
    const fit = Math.min(this.paper.width / picture.width, this.paper.height / picture.height);
    const [wide, high] = [picture.width * fit, picture.height * fit];
    this.pen.imageSmoothingQuality = "high";
    this.pen.drawImage(picture, (this.paper.width - wide) / 2, (this.paper.height - high) / 2, wide, high);
    this.note.textContent = `${file.name}: ${picture.width} × ${picture.height}`;
    picture.close();
    this.update();
    this.finished();
  }

  /** Red, green and blue from 0 to 1 for each pixel: the mean over its area of the drawing. */
  levels() {
    const { height, width } = this.image;
    const { scale } = this;
    const sheet = this.pen.getImageData(0, 0, this.paper.width, this.paper.height).data;
    const found = new Float64Array(height * width * 3);
    for (let y = 0; y < height * scale; y += 1) {
      for (let x = 0; x < width * scale; x += 1) {
        const from = (y * width * scale + x) * 4;
        const to = (Math.floor(y / scale) * width + Math.floor(x / scale)) * 3;
        for (let c = 0; c < 3; c += 1) found[to + c] += sheet[from + c];
      }
    }
    const most = 255 * scale * scale;
    return found.map((sum) => (this.inverted.checked ? 1 - sum / most : sum / most));
  }

  update() {
    const { height, width } = this.image;
    const levels = this.levels();
    const grey = this.image.channels === 1;
    const context = this.seen.getContext("2d");
    const pixels = context.createImageData(width, height);
    this.values = new Array(height * width * this.image.channels);
    const low = Number(this.black.value);
    const range = Number(this.white.value) - low;
    // A resolution of a thousandth of the range: more digits would only make the request longer.
    const digits = this.isWhole ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.abs(range) || 1)));
    const value = (level) => Number((low + level * range).toFixed(digits));
    for (let i = 0; i < height * width; i += 1) {
      const colour = [levels[3 * i], levels[3 * i + 1], levels[3 * i + 2]];
      const mean = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
      if (grey) this.values[i] = value(mean);
      else colour.forEach((level, c) => { this.values[3 * i + c] = value(level); });
      const shown = grey ? [mean, mean, mean] : colour;
      shown.forEach((level, c) => { pixels.data[4 * i + c] = level * 255; });
      pixels.data[4 * i + 3] = 255;
    }
    context.putImageData(pixels, 0, 0);
    if (this.cursor) {
      context.strokeStyle = "#ff5a36";
      context.lineWidth = 0.5;
      context.strokeRect(this.cursor[0] + 0.25, this.cursor[1] + 0.25, 0.5, 0.5);
    }
    this.changed();
  }

  /** The image as nested lists, without batch axis. */
  read() {
    const { height, width, channels, layout } = this.image;
    if (layout === "flat") return [...this.values];
    const row = (y) => Array.from({ length: width }, (_, x) => {
      const at = (y * width + x) * channels;
      return layout === "grey" ? this.values[at] : this.values.slice(at, at + channels);
    });
    return Array.from({ length: height }, (_, y) => row(y));
  }
}
