// Live numbers of a model: requests a second, latency, rows of a batch, and where the time goes.

import { draw, make } from "/page/elements.js";

const KEPT = 90; // polls that a line shows
const LEAST = 30; // polls that it has room for at the beginning
const STAGES = ["read", "parse", "queue", "run", "write"];

/** The cards of one model; `add` takes what the server counted. */
export class Charts {
  constructor() {
    this.last = null;
    this.rates = new Line("Requests a second", "rate");
    this.times = new Line("Latency", "latency", "99 % is dashed");
    this.batches = new Line("Rows of a batch", "rows");
    this.stages = make("tbody");
    this.total = make("span", { class: "hint right" });
    this.element = make("section", { class: "card", "aria-label": "Live numbers" },
      make("div", { class: "head" }, make("h2", {}, "Live"), this.total),
      make("div", { class: "charts" }, this.rates.element, this.times.element, this.batches.element),
      make("details", {}, make("summary", {}, "Where the time goes"),
        make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "stage"), make("th", {}, "mean since the start"))), this.stages))));
  }

  /** Show what was counted until now; nothing, if the model was not asked yet. */
  add(numbers, now) {
    const { last } = this;
    const counts = sums(numbers?.requests);
    const seconds = last ? (now - last.now) / 1000 : 0;
    const errors = counts - (numbers?.requests?.OK ?? 0);
    this.total.textContent = `${counts} ${counts === 1 ? "request" : "requests"} since the start${errors ? `, ${errors} failed` : ""}`;
    if (last && seconds > 0 && counts >= last.counts) {
      const latency = newCounts(numbers?.latency, last.numbers?.latency);
      this.rates.add([(counts - last.counts) / seconds], (v) => `${v < 10 ? v.toFixed(1) : Math.round(v)}`, "a second");
      const [median, most] = [quantile(latency, 0.5), quantile(latency, 0.99)];
      this.times.add([median, most], micros, median === null ? "" : `median; 99 % ${micros(most)}`);
      this.batches.add([mean(numbers?.batch_rows, last.numbers?.batch_rows)], (v) => v.toFixed(v < 10 ? 1 : 0), "rows, mean");
    }
    this.stages.replaceChildren(...STAGES.map((stage) => {
      const value = mean(numbers?.stages?.[stage]);
      return make("tr", {}, make("td", {}, stage), make("td", { class: "number" }, value === null ? "–" : micros(value)));
    }));
    this.last = { now, counts, numbers };
  }
}

class Line {
  constructor(title, name, remark = "") {
    this.points = [];
    this.title = title;
    this.most = make("span", { class: "most" });
    this.now = make("p", { class: "now" }, "–");
    this.lines = [draw("polyline", { class: "line" }), draw("polyline", { class: "line second" })];
    this.svg = draw("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": title }, ...this.lines);
    this.element = make("div", { class: `chart ${name}` }, make("h3", {}, title, " ", make("span", { class: "hint" }, remark)), this.now, this.most, this.svg);
  }

  add(values, format, unit) {
    this.points.push(values);
    if (this.points.length > KEPT) this.points.shift();
    const [value] = values;
    if (value === null) this.now.textContent = "–";
    else this.now.replaceChildren(format(value), " ", make("small", {}, unit));
    const highest = Math.max(...this.points.flat().filter((v) => v !== null), 0);
    const most = (highest || 1) * 1.1;
    const room = Math.max(LEAST, this.points.length) - 1;
    this.most.textContent = highest ? `highest ${format(highest)}` : "";
    this.svg.setAttribute("aria-label", `${this.title}: now ${this.now.textContent}; ${this.most.textContent}`);
    this.lines.forEach((line, which) => {
      const places = this.points.map((point, i) => [point[which], (i / room) * 100])
        .filter(([v]) => v !== null && v !== undefined).map(([v, x]) => `${x.toFixed(2)},${(39 - (v / most) * 37).toFixed(2)}`);
      line.setAttribute("points", [...places, ...places.slice(-1)].join(" ")); // one point is a dot
    });
  }
}

function sums(counts = {}) {
  return Object.values(counts).reduce((a, b) => a + b, 0);
}

/** Counts of each bucket between two looks: [upper bound, count]. */
function newCounts(now, before) {
  const bounds = Object.entries(now?.counts ?? {}).map(([bound, count]) => [bound === "+Inf" ? Infinity : Number(bound), count - (before?.counts?.[bound] ?? 0)]);
  bounds.sort((a, b) => a[0] - b[0]);
  return bounds.map(([bound, count], i) => [bound, count - (i ? bounds[i - 1][1] : 0)]);
}

/** The value below which this share lies, between the bounds of its bucket; null without counts. */
function quantile(buckets, share) {
  const all = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (!all) return null;
  let below = 0;
  for (let i = 0; i < buckets.length; i += 1) {
    const [bound, count] = buckets[i];
    if (below + count >= share * all) {
      const low = i ? buckets[i - 1][0] : 0;
      return bound === Infinity ? low : low + (bound - low) * ((share * all - below) / count);
    }
    below += count;
  }
  return null;
}

function mean(now, before) {
  const count = (now?.counts?.["+Inf"] ?? 0) - (before?.counts?.["+Inf"] ?? 0);
  return count > 0 ? (now.total - (before?.total ?? 0)) / count : null;
}

function micros(value) {
  if (value === null) return "–";
  if (value < 1000) return `${Math.round(value)} µs`;
  return value < 1e6 ? `${(value / 1000).toFixed(value < 1e4 ? 2 : 0)} ms` : `${(value / 1e6).toFixed(1)} s`;
}
