// The page: the list of models, the selected one, and live updates.

import { ask, askJson, forgetKey, hasKey, onMissingKey, problemOf } from "/page/asking.js";
import { Charts } from "/page/charts.js";
import { describe, download, make, newId } from "/page/elements.js";
import { tryCard } from "/page/trying.js";

const MODELS_MS = 3000;
const NUMBERS_MS = 1000;
const main = document.getElementById("main");
const list = document.getElementById("models");
const ready = document.getElementById("ready");
const keyButton = document.getElementById("key-button");
const dialog = document.getElementById("key-dialog");

let models = [];
let shownAs = ""; // the state of the main part, which is not rebuilt while a user works in it
let charts = null;
let form = { key: "", card: null }; // kept while the signature stays the same: a user may be drawing
const chosen = { version: null, signature: null };

onMissingKey((problem) => new Promise((resolve) => {
  document.getElementById("key-problem").textContent = problem;
  const field = document.getElementById("key");
  field.value = "";
  document.getElementById("key-form").onsubmit = () => resolve(field.value);
  dialog.oncancel = (event) => event.preventDefault();
  dialog.showModal();
}));
keyButton.addEventListener("click", () => { forgetKey(); look(); });

function chosenModel() {
  const name = decodeURIComponent(location.hash.slice(1));
  return models.find((model) => model.name === name) ?? models[0];
}

function stateOf(model) {
  if (model.versions.some((version) => version.state === "LOADING" || version.state === "START")) return ["wait", "loading"];
  if (!model.versions.some((version) => version.state === "AVAILABLE" && !version.shadow)) return ["bad", "does not answer"];
  return model.versions.some((version) => version.code !== "OK") ? ["wait", "answers; another version failed"] : ["good", "answers"];
}

function showList() {
  const current = chosenModel();
  const links = models.map((model) => {
    const [kind, words] = stateOf(model);
    return make("a", { href: `#${encodeURIComponent(model.name)}`, "aria-current": model === current ? "page" : null },
      model.name, make("span", { class: `dot ${kind}`, title: words }, make("span", { class: "hidden-text" }, words)));
  });
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  list.replaceChildren(...links);
  if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

function showModel() {
  const model = chosenModel();
  const about = JSON.stringify([model, chosen]);
  if (about === shownAs) return;
  shownAs = about;
  if (!model) {
    main.replaceChildren(make("section", { class: "card" }, make("p", {}, "No model is served.")));
    return;
  }
  const answering = model.versions.filter((version) => version.state === "AVAILABLE" && !version.shadow);
  const version = answering.find((one) => one.version === chosen.version) ?? answering[0];
  const signature = version?.signatures.find((one) => one.name === chosen.signature) ?? version?.signatures[0];
  const cards = [headCard(model, answering, version, signature)];
  if (signature) {
    const number = version === answering[0] ? "" : `/versions/${version.version}`;
    const path = `/v1/models/${encodeURIComponent(model.name)}${number}:predict`;
    const key = JSON.stringify([path, signature]);
    if (form.key !== key) form = { key, card: tryCard(signature, path, model.most_body_bytes) };
    cards.push(form.card);
  }
  if (charts?.name !== model.name) {
    charts = new Charts();
    charts.name = model.name;
  }
  document.title = `${model.name} – pinnace`;
  const wanted = [...cards, charts.element];
  for (const old of [...main.children]) if (!wanted.includes(old)) old.remove();
  wanted.forEach((card, i) => { if (main.children[i] !== card) main.insertBefore(card, main.children[i] ?? null); });
}

function headCard(model, answering, version, signature) {
  const [kind, words] = stateOf(model);
  return make("section", { class: "card" },
    make("div", { class: "head" }, make("h1", {}, model.name), make("span", { class: `chip ${kind}` }, words),
      signature?.has_graph ? graphLink(model, version, signature) : null),
    versionsOf(model, answering),
    make("div", { class: "row" },
      answering.length > 1 ? picker("Version", answering.map((one) => [one.version, nameOf(model, one.version)]), version.version, (value) => { chosen.version = value; }) : null,
      version?.signatures.length > 1 ? picker("Signature", version.signatures.map((one) => [one.name, one.name]), signature.name, (value) => { chosen.signature = value; }) : null),
    signature ? make("div", { class: "two" }, tensors("Inputs", signature.inputs), tensors("Outputs", signature.outputs)) : make("p", {}, "No version answers."));
}

function versionsOf(model) {
  const shown = new Set(model.versions.map((version) => version.version));
  const others = Object.entries(model.labels).filter(([, version]) => !shown.has(version));
  return make("ul", { class: "versions", "aria-label": "Versions" }, model.versions.map((version) => {
    const kind = version.code !== "OK" ? "bad" : { AVAILABLE: "good", LOADING: "wait", START: "wait", UNLOADING: "wait" }[version.state] ?? "";
    return make("li", {}, make("span", { class: `chip ${kind}` }, `version ${version.version}: ${version.code !== "OK" && version.state === "END" ? "failed" : version.state}`),
      labelsOf(model, version.version).flatMap((label) => [" ", make("span", { class: "chip label", title: `/v1/models/${model.name}/labels/${label}` }, label)]),
      version.message ? make("span", { class: "problem" }, ` ${version.code}: ${version.message}`) : null,
      version.shadow ? make("span", { class: "shadow" }, ` ${shadowText(version.shadow)}`) : null);
  }), others.map(([label, version]) => make("li", {}, make("span", { class: "chip label" }, label),
    make("span", { class: "hint" }, ` names version ${version}, which is not loaded`))));
}

function labelsOf(model, version) {
  return Object.keys(model.labels).filter((label) => model.labels[label] === version);
}

/** A version's number, with its labels. */
function nameOf(model, version) {
  const labels = labelsOf(model, version);
  return labels.length ? `${version} (${labels.join(", ")})` : version;
}

function picker(label, names, current, choose) {
  const id = newId("pick");
  const select = make("select", { id, onchange: () => { choose(select.value); showModel(); document.getElementById(id)?.focus(); } },
    names.map(([name, text]) => make("option", { value: name, selected: name === current }, text)));
  return make("span", { class: "row" }, make("label", { htmlFor: id }, label), select);
}

function tensors(title, specs) {
  return make("div", {}, make("h2", {}, title), specs.length
    ? make("ul", { class: "tensors" }, specs.map((spec) => make("li", {}, make("strong", {}, spec.name), " ", make("code", {}, describe(spec)))))
    : make("p", { class: "hint" }, "none"));
}

function shadowText(shadow) {
  const results = Object.entries(shadow.results).map(([result, count]) => `${count.toLocaleString("en")} ${result}`);
  const parts = [`shadow: gets ${+(shadow.fraction * 100).toPrecision(3)} % of the requests, never answers`, results.join(", ") || "nothing yet"];
  if (shadow.mean_us !== null) parts.push(`${+(shadow.mean_us / 1000).toPrecision(3)} ms each`);
  if (shadow.results.same || shadow.results.different) {
    const [absolute, relative] = [shadow.absolute_difference, shadow.relative_difference].map((value) => (value === null ? "∞" : +value.toPrecision(3)));
    parts.push(`largest difference ${absolute}, relative ${relative}`);
  }
  return parts.join("; ");
}

function graphLink(model, version, signature) {
  const href = `/v1/models/${encodeURIComponent(model.name)}/versions/${version.version}/graph?signature=${encodeURIComponent(signature.name)}`;
  const link = make("a", { href, target: "_blank", rel: "noopener", class: "right" }, "See the graph");
  link.addEventListener("click", async (event) => {
    if (!hasKey()) return;
    event.preventDefault(); // a link cannot send the key: save the page instead of opening it
    const response = await ask(href);
    if (response.ok) download(`${model.name}-graph.html`, await response.text(), "text/html");
    else link.after(make("span", { class: "problem" }, await problemOf(response)));
  });
  return link;
}

async function look() {
  try {
    const found = await askJson("/page/models");
    models = found.models;
    ready.textContent = found.ready ? "ready" : "not ready";
    ready.className = `chip ${found.ready ? "good" : "wait"}`;
    keyButton.hidden = !hasKey();
    showList();
    showModel();
  } catch (error) {
    ready.textContent = "no answer";
    ready.className = "chip bad";
    ready.title = error.message;
  }
}

async function count() {
  if (!charts) return;
  try {
    const shown = charts;
    if (shown.needsHistory(performance.now())) {
      const { points } = await askJson(`/page/history?model=${encodeURIComponent(shown.name)}`);
      shown.begin(points, performance.now());
    }
    const numbers = await askJson("/page/numbers");
    shown.add(numbers[shown.name], performance.now());
  } catch {
    // `look` says it
  }
}

/** Updates repeatedly while the page is visible. */
function repeat(action, ms) {
  setTimeout(async () => {
    if (!document.hidden) await action();
    repeat(action, ms);
  }, ms);
}

addEventListener("hashchange", () => {
  chosen.version = chosen.signature = null;
  showList();
  showModel();
  main.focus({ preventScroll: true });
});
await look();
await count();
repeat(look, MODELS_MS);
repeat(count, NUMBERS_MS);
