// The API of the server: /openapi.json, to read, to copy and to try.

import { ask, askJson, hasKey, onMissingKey } from "/page/asking.js";
import { copyButton, make, newId } from "/page/elements.js";

const main = document.getElementById("main");
const dialog = document.getElementById("key-dialog");

onMissingKey((problem) => new Promise((resolve) => {
  document.getElementById("key-problem").textContent = problem;
  const field = document.getElementById("key");
  document.getElementById("key-form").onsubmit = () => resolve(field.value);
  dialog.showModal();
}));

function resolved(schema, document_) {
  if (!schema?.$ref) return schema;
  return schema.$ref.slice(2).split("/").reduce((found, part) => found?.[part], document_);
}

/** A short description of a schema. */
function typeOf(schema) {
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((item) => JSON.stringify(item)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.type === "array") {
    const size = schema.minItems === schema.maxItems ? schema.minItems ?? "" : "";
    return `${schema.items ? typeOf(schema.items) : "any"}[${size}]`;
  }
  return schema.format && schema.type !== "string" ? schema.format : schema.type ?? "any";
}

function shape(schema, document_) {
  const found = resolved(schema, document_);
  if (found.anyOf && found.anyOf.some((one) => one.properties)) {
    return make("ul", { class: "schema" }, found.anyOf.map((one) => make("li", {}, make("strong", {}, one.title ?? "one of these"), shape(one, document_))));
  }
  if (!found.properties) return make("p", { class: "schema" }, found.description ?? typeOf(found));
  return make("ul", { class: "schema" }, Object.entries(found.properties).map(([name, one]) => {
    const inner = resolved(one.items?.properties || one.items?.anyOf?.[0]?.properties ? one.items : one, document_);
    const needed = found.required?.includes(name) ? "" : "?";
    return make("li", {}, `${name}${needed}: `, make("span", { class: "type" }, inner.properties ? (one.items ? "list of" : "") : one.description ?? (one.items?.description ? `rows of ${one.items.description}` : typeOf(one))),
      inner.properties || inner.anyOf?.[0]?.properties ? shape(inner, document_) : null);
  }));
}

/** Text with `code` in it. */
function prose(text) {
  return make("p", {}, text.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part)));
}

function operation(path, verb, about, document_) {
  const parts = [about.description ? prose(about.description) : null];
  const own = (about.parameters ?? []).map((one) => make("li", {}, `${one.name} (${one.in}${one.required ? "" : ", optional"}): `, make("span", { class: "type" }, typeOf(one.schema ?? {}))));
  if (own.length) parts.push(make("h3", {}, "Parameters"), make("ul", { class: "schema" }, own));
  const content = about.requestBody?.content ?? {};
  for (const [kind, body] of Object.entries(content)) {
    parts.push(make("h3", {}, `Body, ${kind}`), shape(body.schema ?? {}, document_));
    for (const [name, example] of Object.entries(body.examples ?? {})) parts.push(tryExample(path, name, example));
  }
  if (verb === "get" && !path.includes("{")) parts.push(tryExample(path, "", null));
  const replies = Object.entries(about.responses ?? {});
  parts.push(make("h3", {}, "Replies"), ...replies.filter(([code]) => code < 300).map(([code, reply]) => make("div", {},
    make("p", {}, make("strong", {}, code), ` ${reply.description}`),
    reply.content?.["application/json"]?.schema && Object.keys(reply.content["application/json"].schema).length ? shape(reply.content["application/json"].schema, document_) : null)));
  const wrong = replies.filter(([code]) => code >= 300);
  if (wrong.length) {
    parts.push(make("details", {}, make("summary", {}, "Errors: {\"error\": message}"),
      make("ul", { class: "schema" }, wrong.map(([code, reply]) => make("li", {}, `${code} — ${reply.description}`)))));
  }
  const id = `${verb}-${path}`;
  return make("details", { class: "operation", id },
    make("summary", {}, make("span", { class: `verb ${verb}` }, verb.toUpperCase()), make("span", { class: "path" }, path), make("span", { class: "hint" }, about.summary ?? "")),
    make("div", {}, parts));
}

/** An example request that can be edited and sent. */
function tryExample(path, name, example) {
  const id = newId("example");
  const area = example ? make("textarea", { id, rows: 4, spellcheck: false, value: JSON.stringify(example.value) }) : null;
  const answer = make("pre", { hidden: true, tabIndex: 0, "aria-label": "Answer" });
  const command = () => {
    const key = hasKey() ? ' -H "X-API-Key: $KEY"' : "";
    const body = area ? ` -d '${area.value.replaceAll("'", `'"'"'`)}'` : "";
    return `curl -s ${new URL(path, location.href).href}${key}${body}`;
  };
  const send = make("button", { type: "button" }, "Send");
  send.addEventListener("click", async () => {
    const response = await ask(path, area ? { method: "POST", body: area.value, headers: { "Content-Type": "application/json" } } : {});
    const text = await response.text();
    answer.hidden = false;
    answer.textContent = `HTTP ${response.status}\n${text.length > 20000 ? `${text.slice(0, 20000)} …` : text}`;
  });
  return make("div", {},
    area ? make("label", { htmlFor: id }, `Example${name ? `: ${name}` : ""}`, example.summary ? make("span", { class: "hint" }, ` ${example.summary}`) : "") : null,
    area, make("div", { class: "row" }, send, copyButton(command, "Copy curl line")), answer);
}

try {
  const document_ = await askJson("/openapi.json");
  const groups = new Map();
  for (const [path, item] of Object.entries(document_.paths)) {
    for (const [verb, about] of Object.entries(item)) {
      const tag = about.tags?.[0] ?? "Other";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operation(path, verb, about, document_));
    }
  }
  main.append(make("h1", {}, "API"), prose(document_.info.description ?? ""));
  for (const [tag, found] of groups) main.append(make("section", {}, make("h2", {}, tag), found));
  main.querySelector("details")?.setAttribute("open", "");
} catch (error) {
  main.append(make("p", { class: "problem", role: "alert" }, error.message));
}
