// Live numbers of a model: requests a second, latency, rows of a batch, and where the time goes.

import { draw, make } from "/page/elements.js";

const SHORTEST_MS = 60e3; // the minimum range of the time axis
const LONGEST_MS = 3600e3;
const GAP_MS = 5000; // after this time without a point the line is interrupted
const STAGES = ["read", "parse", "queue", "run", "write"];

/** The cards of one model; `add` takes the server's counters. */
export class Charts {
  constructor() {
    this.last = null;
    this.rates = new Line("Requests a second", "rate", "", short, " /s");
    this.times = new Line("Latency", "latency", "99 % is dashed", micros, "");
    this.batches = new Line("Rows of a batch", "rows", "mean", short, "");
    this.stages = make("tbody");
    this.total = make("span", { class: "hint right" });
    this.element = make("section", { class: "card", "aria-label": "Live numbers" },
      make("div", { class: "head" }, make("h2", {}, "Live"), this.total),
      make("div", { class: "charts" }, this.rates.element, this.times.element, this.batches.element),
      make("details", {}, make("summary", {}, "Where the time goes"),
        make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "stage"), make("th", {}, "mean since the start"))), this.stages))));
  }

  /** Whether the history since the last update is missing. */
  needsHistory(now) {
    return this.last === null || now - this.last.now > GAP_MS;
  }

  /** Start with the server's history: [age in seconds, rate, median, 99 %, rows] each. */
  begin(points, now) {
    this.last = null;
    for (const line of [this.rates, this.times, this.batches]) line.points = [];
    for (const [age, rate, median, most, rows] of points) {
      const time = now - age * 1000;
      this.rates.add(time, [rate]);
      this.times.add(time, [median, most]);
      this.batches.add(time, [rows]);
    }
  }

  /** Show the counts until now; nothing if the model has had no requests. */
  add(numbers, now) {
    const { last } = this;
    const counts = sums(numbers?.requests);
    const seconds = last ? (now - last.now) / 1000 : 0;
    const errors = counts - (numbers?.requests?.OK ?? 0);
    this.total.textContent = `${counts} ${counts === 1 ? "request" : "requests"} since the start${errors ? `, ${errors} failed` : ""}`;
    if (last && seconds > 0 && counts >= last.counts) {
      const latency = newCounts(numbers?.latency, last.numbers?.latency);
      this.rates.add(now, [(counts - last.counts) / seconds], "a second");
      const [median, most] = [quantile(latency, 0.5), quantile(latency, 0.99)];
      this.times.add(now, [median, most], median === null ? "" : `median; 99 % ${micros(most)}`);
      this.batches.add(now, [mean(numbers?.batch_rows, last.numbers?.batch_rows)], "rows, mean");
    }
    for (const line of [this.rates, this.times, this.batches]) line.show(now);
    this.stages.replaceChildren(...STAGES.map((stage) => {
      const value = mean(numbers?.stages?.[stage]);
      return make("tr", {}, make("td", {}, stage), make("td", { class: "number" }, value === null ? "–" : micros(value)));
    }));
    this.last = { now, counts, numbers };
  }
}

class Line {
  constructor(title, name, remark, format, unit) {
    Object.assign(this, { title, format, unit, points: [] });
    this.most = make("span", { class: "most" });
    this.now = make("p", { class: "now" }, "–");
    this.lines = [draw("path", { class: "line" }), draw("path", { class: "line second" })];
    this.svg = draw("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": title },
      draw("path", { class: "grid", d: "M0 0H100M0 20H100M0 40H100" }), ...this.lines);
    this.values = [make("span"), make("span"), make("span")];
    this.times = [make("span"), make("span"), make("span", {}, "now")];
    this.element = make("div", { class: `chart ${name}` },
      make("h3", {}, title, " ", make("span", { class: "hint" }, remark)), this.most, this.now,
      make("div", { class: "plot" },
        make("div", { class: "values" }, this.values), this.svg, make("div", { class: "times" }, this.times)));
    this.show(0);
  }

  /** Add values at a time in milliseconds; `text` is the current value, shown beside the first line. */
  add(time, values, text = "") {
    this.points.push([time, values]);
    const [value] = values;
    if (value === null) this.now.textContent = "–";
    else this.now.replaceChildren(this.format(value), " ", make("small", {}, text));
  }

  show(now) {
    this.points = this.points.filter(([time]) => now - time <= LONGEST_MS);
    const span = Math.max(SHORTEST_MS, now - (this.points[0]?.[0] ?? now));
    const highest = Math.max(...this.points.flatMap(([, values]) => values).filter((v) => v !== null), 0);
    const top = roundUp(highest);
    this.most.textContent = highest ? `highest ${this.format(highest)}` : "";
    this.svg.setAttribute("aria-label", `${this.title}, the last ${ago(span)}: now ${this.now.textContent}; ${this.most.textContent}`);
    [top, top / 2, 0].forEach((value, i) => { this.values[i].textContent = value ? `${this.format(value).replace(".00 ", " ")}${this.unit}` : "0"; });
    [span, span / 2].forEach((age, i) => { this.times[i].textContent = `−${ago(age)}`; });
    this.lines.forEach((line, which) => {
      let last = null;
      let path = "";
      for (const [time, values] of this.points) {
        const value = values[which] ?? null;
        if (value === null) continue;
        const place = `${(100 * (1 - (now - time) / span)).toFixed(2)} ${(40 - (value / top) * 40).toFixed(2)}`;
        path += last !== null && time - last <= GAP_MS ? `L${place}` : `M${place}L${place}`; // one point is a dot
        last = time;
      }
      line.setAttribute("d", path);
    });
  }
}

/** The next of 1, 2 and 5 times a power of ten. */
function roundUp(value) {
  if (!value) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((times) => times * power >= value) * power;
}

/** A time in the form for an axis. */
function ago(ms) {
  const seconds = Math.round(ms / 1000);
  return seconds < 100 ? `${seconds} s` : `${+(seconds / 60).toPrecision(2)} min`;
}

function short(value) {
  return value < 10 ? `${+value.toFixed(1)}` : `${Math.round(value)}`;
}

function sums(counts = {}) {
  return Object.values(counts).reduce((a, b) => a + b, 0);
}

/** Counts of each bucket between two updates: [upper bound, count]. */
function newCounts(now, before) {
  const bounds = Object.entries(now?.counts ?? {}).map(([bound, count]) => [bound === "+Inf" ? Infinity : Number(bound), count - (before?.counts?.[bound] ?? 0)]);
  bounds.sort((a, b) => a[0] - b[0]);
  return bounds.map(([bound, count], i) => [bound, count - (i ? bounds[i - 1][1] : 0)]);
}

/** The quantile of this fraction, interpolated in its bucket; null without counts. */
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
