// A form for one signature: fields, or the whole request as JSON; the curl command; the result.

import { ask, hasKey, parseReply, problemOf } from "/page/asking.js";
import { copyButton, describe, download, make, newId } from "/page/elements.js";
import { fieldFor } from "/page/fields.js";
import { showReply } from "/page/replies.js";

const SMALL = 64 * 64; // pixels of an image up to which a drawing is sent automatically
const LARGE = 10000; // numbers of an image above which the request is not updated at every move
const DELAY_MS = 250; // time after the last change, for larger images
const LONG = 4000; // characters of a request that are too many for a command line

/** The card of a version's signature; requests go to `path`, with a body of at most `most` bytes. */
export function tryCard(signature, path, most) {
  if (!signature.form) {
    return make("section", { class: "card" }, make("h2", {}, "Try it"),
      make("p", {}, `JSON cannot represent ${signature.inputs.map((input) => input.dtype).join(", ")}: send tensors as bytes to ${path.replace("/v1/", "/v2/").replace(":predict", "/infer")}.`));
  }
  return new Form(signature, path, most).element;
}

class Form {
  constructor(signature, path, most) {
    this.signature = signature;
    this.path = path;
    this.isJson = false;
    this.fields = new Map();
    const size = ({ image }) => (image ? image.height * image.width * image.channels : 0);
    // Updating the request for a large image or file takes too long during a stroke.
    const isLarge = signature.inputs.some((input) => size(input) > LARGE);
    const changed = () => {
      if (!this.curl) return;
      clearTimeout(this.later);
      const waits = isLarge || [...this.fields.values()].some((field) => field.isLarge?.());
      if (waits) this.later = setTimeout(() => this.changed(), DELAY_MS);
      else this.changed();
    };
    const sets = signature.inputs.map((input) => {
      const field = fieldFor(input, signature.form, most, changed, () => this.finished());
      this.fields.set(input.name, field);
      return make("fieldset", {}, make("legend", {}, input.name, " ", make("span", { class: "hint" }, describe(input))), field.element);
    });
    this.drawn = make("div", {}, sets.length ? sets : make("p", { class: "hint" }, "This signature has no inputs."));
    const id = newId("body");
    this.area = make("textarea", { id, rows: 10, spellcheck: false, oninput: changed });
    this.typed = make("div", { hidden: true }, make("label", { htmlFor: id }, "The request"), this.area);
    this.toggle = make("button", { type: "button", class: "plain", onclick: () => this.switch() }, "Edit as JSON");
    this.send = make("button", { type: "submit", class: "primary" }, "Predict");
    this.problem = make("p", { class: "problem", role: "alert" });
    this.curl = make("pre", { tabIndex: 0, class: "curl", "aria-label": "Command that sends the same request" });
    this.save = make("button", { type: "button", hidden: true, onclick: () => download("request.json", this.text(), "application/json") }, "Save request.json");
    this.facts = make("p", { class: "hint" }, "The result will appear here.");
    this.shown = make("div");
    this.raw = make("pre", { tabIndex: 0, "aria-label": "The reply as JSON" });
    this.rawBox = make("details", { hidden: true }, make("summary", {}, "JSON"), this.raw);
    const form = make("form", { onsubmit: (event) => this.submit(event) },
      this.drawn, this.typed, this.problem,
      make("div", { class: "row" }, this.send, this.toggle));
    form.classList.add("stack");
    this.element = make("section", { class: "card", "aria-labelledby": `${id}-title` },
      make("h2", { id: `${id}-title` }, "Try it"),
      make("div", { class: "two" }, form,
        make("section", { "aria-live": "polite", "aria-label": "Answer", class: "answer-box" }, this.shown, this.facts, this.rawBox)),
      make("div", {},
        make("div", { class: "head" }, make("h3", {}, "The same from a terminal"), make("span", { class: "right row" }, this.save, copyButton(() => this.command()))),
        this.curl));
    this.changed();
  }

  /** The request; throws if a field has no valid value. */
  text() {
    if (this.isJson) {
      JSON.parse(this.area.value);
      return this.area.value;
    }
    const { signature } = this;
    const values = [...this.fields].map(([name, field]) => [name, field.read()]);
    const value = values.length === 1 ? values[0][1] : Object.fromEntries(values);
    const named = signature.is_default ? {} : { signature_name: signature.name };
    return JSON.stringify({ ...named, [signature.form]: signature.form === "instances" ? [value] : value });
  }

  command() {
    const key = hasKey() ? ' -H "X-API-Key: $KEY"' : "";
    const text = this.text();
    const body = text.length > LONG ? "@request.json" : quote(this.isJson ? JSON.stringify(JSON.parse(text)) : text);
    this.save.hidden = text.length <= LONG;
    return `curl -s ${quote(new URL(this.path, location.href).href)}${key} -d ${body}`;
  }

  changed() {
    this.problem.textContent = "";
    try {
      this.curl.textContent = this.command();
      this.send.disabled = false;
    } catch (error) {
      this.problem.textContent = error.message;
      this.send.disabled = true;
    }
  }

  /** Something was drawn: requests with small images are sent at once. */
  finished() {
    const { inputs } = this.signature;
    const isSmall = inputs.length === 1 && inputs[0].image.height * inputs[0].image.width <= SMALL;
    if (isSmall && !this.send.disabled) this.send.form.requestSubmit();
  }

  switch() {
    if (!this.isJson) {
      try {
        const text = this.text();
        this.area.value = text.length > 3000 ? text : pretty(JSON.parse(text));
      } catch (error) {
        this.problem.textContent = error.message;
        return;
      }
    }
    this.isJson = !this.isJson;
    this.drawn.hidden = this.isJson;
    this.typed.hidden = !this.isJson;
    this.toggle.textContent = this.isJson ? "Back to the form" : "Edit as JSON";
    this.changed();
  }

  async submit(event) {
    event.preventDefault();
    this.problem.textContent = "";
    this.send.disabled = true;
    try {
      const body = this.text();
      const begin = performance.now();
      const response = await ask(this.path, { method: "POST", body, headers: { "Content-Type": "application/json" } });
      if (!response.ok) {
        this.facts.textContent = `HTTP ${response.status}`;
        this.shown.replaceChildren(make("p", { class: "problem" }, await problemOf(response)));
        this.rawBox.hidden = true;
        return;
      }
      const text = await response.text();
      const ms = performance.now() - begin;
      this.shown.replaceChildren(...showReply(parseReply(text), this.signature));
      const version = response.headers.get("X-Model-Version");
      this.facts.textContent = `version ${version}, ${ms.toFixed(ms < 10 ? 1 : 0)} ms round trip, ${text.length} bytes`;
      this.raw.textContent = text.length > 50000 ? `${text.slice(0, 50000)} …` : text;
      this.rawBox.hidden = false;
    } catch (error) {
      this.shown.replaceChildren(make("p", { class: "problem" }, `No answer: ${error.message}`));
    } finally {
      this.send.disabled = false;
    }
  }
}

/** A word quoted for a shell. */
function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** JSON with rows of numbers in one line. */
function pretty(value) {
  return JSON.stringify(value, null, 2).replace(/\[\s+((?:[^[\]{}"]|"(?:[^"\\]|\\.)*")*?)\s+\]/g, (_, inner) => `[${inner.replace(/,\s+/g, ", ")}]`);
}
