"use strict";
(() => {
  const P = JSON.parse(document.getElementById("picture").textContent);
  const $ = (id) => document.getElementById(id);
  const BOXES = P.boxes, ROOT = 0, SVG = "http://www.w3.org/2000/svg";
  const GAP_X = 22, GAP_Y = 40, PAD = 16, HEAD = 26, LINE = 14, MOST_OPERANDS = 3, FIRST_OPEN = 60;
  const HUES = {
    input: [150], output: [150], "neural network": [215], math: [30], array: [265], control: [335], state: [190],
    linalg: [50], random: [300], strings: [85], "image and signal": [172], "ragged and sparse": [240],
    quantization: [110], "files and data": [15], unknown: [0], group: [220, "8%"],
  };
  const isGroup = (n) => P.groups[n] !== undefined;
  const inside = {};
  const nodesIn = new Array(BOXES.length).fill(0);
  for (const [n, group] of Object.entries(P.groups)) {
    inside[n] = group.rows.flat().filter((one) => one < BOXES.length);
    group.entry = new Map(group.entries.map(([a, ...places]) => [a, places]));
    group.exit = new Map(group.exits.map(([a, ...places]) => [a, places]));
    group.route = new Map(group.routes.map(([a, b, ...places]) => [`${a} ${b}`, places]));
  }
  const depthFirst = (n, visit) => {
    const stack = [n], order = [];
    while (stack.length) { const one = stack.pop(); order.push(one); stack.push(...(inside[one] || [])); }
    order.reverse().forEach(visit);
  };
  depthFirst(ROOT, (n) => {
    nodesIn[n] = isGroup(n) ? inside[n].reduce((sum, one) => sum + nodesIn[one], 0) : 1;
  });

  // Open groups.
  const opened = new Set([ROOT]);
  const openSome = () => {
    let count = inside[ROOT].length;
    let waiting = inside[ROOT].filter(isGroup);
    while (waiting.length) {
      waiting.sort((a, b) => inside[a].length - inside[b].length);
      const next = waiting.shift();
      if (waiting.length && count + inside[next].length > FIRST_OPEN) break;
      if (count + inside[next].length > 4 * FIRST_OPEN) break;
      opened.add(next);
      count += inside[next].length;
      waiting.push(...inside[next].filter(isGroup));
    }
  };
  const pathOf = (n) => { const path = []; for (let one = n; one >= 0; one = BOXES[one].parent) path.unshift(one); return path; };
  const shown = (n) => { for (const one of pathOf(n)) if (!opened.has(one) || one === n) return one; return n; };

  // Sizes.
  const pen = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  const width = (text, font) => {
    const key = font + text;
    if (!widths.has(key)) { pen.font = font; widths.set(key, pen.measureText(text).width); }
    return widths.get(key);
  };
  const BOLD = "600 12px system-ui, sans-serif", SMALL = "10.5px system-ui, sans-serif";
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const wordsOf = (n) => {
    const box = BOXES[n];
    if (isGroup(n)) {
      const what = box.op === "scope" || box.op.startsWith("function ") ? "" : box.op.startsWith("call of ") ? "function" : box.op;
      return [cut(box.label || box.name, 34), [`${nodesIn[n]} nodes`, what].filter(Boolean).join(" · ")];
    }
    if (box.family === "input" || box.family === "output") return [cut(box.name, 34), cut(box.outputs[0] || "", 40)];
    const more = box.operands.slice(0, MOST_OPERANDS).map((one) => cut(one, 38));
    if (box.operands.length > MOST_OPERANDS) more.push(`and ${box.operands.length - MOST_OPERANDS} more`);
    const name = box.label.replace(/_\d+$/, "") === box.op ? [] : [cut(box.label, 38)];
    return [cut(box.op, 34), ...name, ...more];
  };
  const place = new Map(); // box or waypoint -> {x, y, w, h}, relative to its group
  const measure = (n) => {
    if (isGroup(n) && opened.has(n)) return arrange(n);
    const words = wordsOf(n);
    const room = isGroup(n) ? 44 : 20;
    const w = Math.max(56, width(words[0], BOLD) + room, ...words.slice(1).map((one) => width(one, SMALL) + room));
    return { w, h: 12 + LINE * words.length };
  };

  // Positions in rows: each box as close to its neighbours in the graph as the order of its row allows.
  const spread = (wanted, sizes, weights) => {
    const blocks = [];
    let offset = 0;
    wanted.forEach((want, i) => {
      const at = offset + sizes[i] / 2;
      blocks.push({ sum: (want - at) * weights[i], weight: weights[i], count: 1 });
      offset += sizes[i] + GAP_X;
      while (blocks.length > 1) {
        const last = blocks[blocks.length - 1], before = blocks[blocks.length - 2];
        if (before.sum / before.weight <= last.sum / last.weight) break;
        before.sum += last.sum; before.weight += last.weight; before.count += last.count;
        blocks.pop();
      }
    });
    const centres = [];
    offset = 0;
    for (const block of blocks) {
      for (let k = 0; k < block.count; k++) {
        const i = centres.length;
        centres.push(block.sum / block.weight + offset + sizes[i] / 2);
        offset += sizes[i] + GAP_X;
      }
    }
    return centres;
  };
  const arrange = (group) => {
    const { rows, routes, entries, exits } = P.groups[group];
    const size = new Map(), centre = new Map(), above = new Map(), below = new Map(), rowOf = new Map();
    for (const row of rows) for (const one of row) size.set(one, one < BOXES.length ? measure(one) : { w: 8, h: 0 });
    rows.forEach((row, index) => row.forEach((one) => rowOf.set(one, index)));
    const add = (map, key, value) => { if (!map.has(key)) map.set(key, new Set()); map.get(key).add(value); };
    const paths = [
      ...routes.map(([a, b, ...between]) => [a, ...between, b]),
      ...entries.map(([a, ...places]) => [...places, a]), ...exits,
    ];
    for (const path of paths) {
      for (let i = 0; i + 1 < path.length; i++) {
        const [high, low] = rowOf.get(path[i]) < rowOf.get(path[i + 1]) ? [path[i], path[i + 1]] : [path[i + 1], path[i]];
        if (rowOf.get(low) - rowOf.get(high) !== 1) continue;
        add(below, high, low); add(above, low, high);
      }
    }
    for (const row of rows) {
      const total = row.reduce((sum, one) => sum + size.get(one).w + GAP_X, -GAP_X);
      let x = -total / 2;
      for (const one of row) { centre.set(one, x + size.get(one).w / 2); x += size.get(one).w + GAP_X; }
    }
    const settle = (row, maps) => {
      const wanted = row.map((one) => {
        const near = maps.flatMap((map) => [...(map.get(one) || [])]);
        return near.length ? near.reduce((sum, other) => sum + centre.get(other), 0) / near.length : centre.get(one);
      });
      const weights = row.map((one) => (one < BOXES.length ? (above.has(one) || below.has(one) ? 1 : 0.05) : 6));
      spread(wanted, row.map((one) => size.get(one).w), weights).forEach((x, i) => centre.set(row[i], x));
    };
    for (let sweep = 0; sweep < 4; sweep++) {
      for (const row of rows) settle(row, [above]);
      for (let i = rows.length - 1; i >= 0; i--) settle(rows[i], [below]);
    }
    for (let sweep = 0; sweep < 2; sweep++) for (const row of rows) settle(row, [above, below]);
    let left = Infinity, right = -Infinity;
    for (const [one, x] of centre) {
      left = Math.min(left, x - size.get(one).w / 2);
      right = Math.max(right, x + size.get(one).w / 2);
    }
    const box = BOXES[group];
    const heading = group === ROOT ? 0 : width(cut(box.label || box.name, 34), BOLD) + 50;
    const w = Math.max(right - left + 2 * PAD, heading);
    const shift = (w - (right - left)) / 2 - left;
    let y = group === ROOT ? PAD : HEAD + PAD;
    for (const row of rows) {
      const high = Math.max(...row.map((one) => size.get(one).h));
      for (const one of row) {
        const { w: width_, h } = size.get(one);
        const tall = one < BOXES.length ? h : high;
        place.set(one, { x: centre.get(one) + shift - width_ / 2, y: y + (high - tall) / 2, w: width_, h: tall });
      }
      y += high + GAP_Y;
    }
    return { w, h: y - GAP_Y + PAD };
  };

  // Drawing.
  const stage = $("stage"), view = $("view");
  const at = new Map(); // box -> absolute position
  let lines = [], chosen = null, marks = new Set(), scale = 1, panX = 0, panY = 0;
  const make = (tag, attributes, parent, text) => {
    const one = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    if (text !== undefined) one.textContent = text;
    if (parent) parent.append(one);
    return one;
  };
  const draw = () => {
    place.clear(); at.clear();
    const whole = arrange(ROOT);
    at.set(ROOT, { x: 0, y: 0, ...whole });
    stage.textContent = "";
    const back = make("g", {}, stage), middle = make("g", {}, stage), front = make("g", {}, stage), over = make("g", {}, stage);
    const waiting = [ROOT];
    while (waiting.length) {
      const group = waiting.pop(), origin = at.get(group);
      for (const one of P.groups[group].rows.flat()) {
        const spot = place.get(one);
        const found = { x: origin.x + spot.x, y: origin.y + spot.y, w: spot.w, h: spot.h };
        if (one >= BOXES.length) { at.set(one, found); continue; }
        at.set(one, found);
        const open = isGroup(one) && opened.has(one);
        drawBox(one, found, open ? back : front, open);
        if (open) waiting.push(one);
      }
    }
    drawEdges(middle, over);
    mark();
  };
  const drawBox = (n, spot, parent, open) => {
    const box = BOXES[n], group = isGroup(n);
    const kind = ["box", group && "group", open && "isopen", box.family === "unknown" && "unknown"].filter(Boolean).join(" ");
    const [hue, s] = HUES[box.family] || [220, "10%"];
    const g = make("g", { class: kind, "data-n": n, transform: `translate(${spot.x},${spot.y})`, style: `--hue:${hue}${s ? `;--s:${s}` : ""}` }, parent);
    const round = box.family === "input" || box.family === "output" ? spot.h / 2 : group ? 8 : 5;
    make("rect", { width: spot.w, height: spot.h, rx: round }, g);
    const words = wordsOf(n);
    if (open) {
      make("text", { class: "name", x: 30, y: 18 }, g, words[0]);
    } else {
      const x = spot.w / 2 + (group ? 9 : 0);
      words.forEach((text, i) => make("text", { class: i ? "more" : "name", x, y: 18 + LINE * i }, g, text));
    }
    if (group) {
      make("text", { class: "sign", x: 15, y: 18 }, g, open ? "−" : "+");
      make("rect", { class: "toggle", width: 30, height: open ? HEAD : spot.h }, g);
    }
    make("title", {}, g, `${box.name}\n${box.op}`);
  };
  const drawEdges = (middle, over) => {
    const found = new Map();
    for (const [source, target, label, control] of P.edges) {
      const a = shown(source), b = shown(target);
      if (a === b || pathOf(b).includes(a) || pathOf(a).includes(b)) continue;
      const key = a * BOXES.length + b;
      if (!found.has(key)) found.set(key, { a, b, labels: new Set(), control: true });
      const edge = found.get(key);
      if (!control) { edge.labels.add(label); edge.control = false; }
    }
    lines = [...found.values()];
    const arriving = new Map();
    for (const line of lines) {
      const up = pathOf(line.a), down = pathOf(line.b);
      let k = 0;
      while (up[k] === down[k]) k++;
      const A = at.get(up[k]), B = at.get(down[k]);
      line.turned = A.y > B.y;
      const ways = [P.groups[up[k - 1]].route.get(`${up[k]} ${down[k]}`)];
      if (!line.turned) {
        // Through the groups around both ends, along their own rows.
        for (let i = k; i + 1 < up.length; i++) ways.unshift(P.groups[up[i]].exit.get(up[i + 1]));
        for (let i = k; i + 1 < down.length; i++) ways.push(P.groups[down[i]].entry.get(down[i + 1]));
      }
      line.via = ways.flatMap((way) => way || []).map((one) => at.get(one));
      const from = at.get(line.a);
      line.x0 = from.x + from.w / 2;
      line.y0 = line.turned ? from.y : from.y + from.h;
      const last = line.via[line.via.length - 1];
      line.before = last ? last.x + last.w / 2 : line.x0;
      if (!arriving.has(line.b)) arriving.set(line.b, []);
      arriving.get(line.b).push(line);
    }
    for (const [b, all] of arriving) {
      const to = at.get(b);
      const room = to.w * (isGroup(b) ? 0.8 : 0.7);
      all.sort((one, other) => one.before - other.before);
      all.forEach((line, i) => {
        line.x1 = to.x + to.w / 2 + (all.length > 1 ? room * (i / (all.length - 1) - 0.5) : 0);
        line.y1 = line.turned ? to.y + to.h : to.y;
      });
    }
    const said = new Set();
    for (const line of lines) {
      let d = `M${line.x0},${line.y0}`, x = line.x0, y = line.y0;
      const curve = (x2, y2) => { const m = (y + y2) / 2; d += `C${x},${m} ${x2},${m} ${x2},${y2}`; x = x2; y = y2; };
      for (const spot of line.via) {
        const cx = spot.x + spot.w / 2;
        const [y1, y2] = line.turned ? [spot.y + spot.h, spot.y] : [spot.y, spot.y + spot.h];
        curve(cx, y1);
        d += `L${cx},${y2}`; y = y2;
      }
      curve(line.x1, line.y1);
      line.path = make("path", { class: `edge${line.control ? " control" : ""}`, d }, middle);
      const label = line.labels.size === 1 ? [...line.labels][0] : line.labels.size ? `${line.labels.size} tensors` : "";
      if (label) make("title", {}, line.path, [...line.labels].join("\n"));
      const key = `${line.a} ${label}`;
      if (label && !said.has(key) && BOXES[line.a].family !== "input") {
        said.add(key);
        make("text", { class: "spec", x: line.x0 + 5, y: line.turned ? line.y0 - 6 : line.y0 + 13 }, over, cut(label, 34));
      }
    }
  };

  // Panning and zooming.
  const look = () => {
    stage.setAttribute("transform", `translate(${panX},${panY}) scale(${scale})`);
    view.classList.toggle("far", scale < 0.45);
  };
  const zoom = (factor, x = view.clientWidth / 2, y = view.clientHeight / 2) => {
    const next = Math.min(4, Math.max(0.02, scale * factor));
    panX = x - ((x - panX) * next) / scale;
    panY = y - ((y - panY) * next) / scale;
    scale = next;
    look();
  };
  const fit = (readable) => {
    const { w, h } = at.get(ROOT);
    const whole = Math.min(view.clientWidth / w, view.clientHeight / h, 1.4);
    // A long chain is shown from its beginning, large enough to read.
    scale = readable ? Math.max(whole, Math.min(0.75, Math.max(view.clientWidth / w, 0.45))) : whole;
    panX = (view.clientWidth - w * scale) / 2;
    panY = Math.max(0, (view.clientHeight - h * scale) / 2);
    if (readable && w * scale > view.clientWidth) {
      const first = P.groups[ROOT].rows[0].filter((one) => one < BOXES.length).map((one) => at.get(one));
      const middle = first.reduce((sum, one) => sum + one.x + one.w / 2, 0) / Math.max(1, first.length);
      panX = view.clientWidth / 2 - middle * scale;
    }
    look();
  };
  const centre = (n) => {
    const spot = at.get(n), covered = innerWidth > 640 ? 330 : 0;
    if (scale < 0.5) scale = 0.8;
    panX = (view.clientWidth - covered) / 2 - (spot.x + spot.w / 2) * scale;
    const high = isGroup(n) && opened.has(n) ? Math.min(spot.h, view.clientHeight / scale) : spot.h;
    panY = view.clientHeight * (innerWidth > 640 ? 0.45 : 0.25) - (spot.y + high / 2) * scale;
    if (at.get(ROOT).h * scale > view.clientHeight) panY = Math.min(panY, 24); // nothing is above
    look();
  };
  const keepInView = (n) => {
    const spot = at.get(n), right = view.clientWidth - (innerWidth > 640 ? 350 : 20);
    const bottom = view.clientHeight * (innerWidth > 640 ? 1 : 0.55) - 20;
    const x = panX + (spot.x + spot.w / 2) * scale, y = panY + spot.y * scale;
    if (x < 20 || x > right || y < 4 || y + Math.min(spot.h * scale, 60) > bottom) centre(n);
  };

  // Selection.
  const mark = () => {
    for (const g of stage.querySelectorAll(".box")) {
      const n = Number(g.dataset.n);
      g.classList.toggle("chosen", n === chosen);
      g.classList.toggle("hit", marks.has(n));
    }
    for (const line of lines) {
      const touched = chosen !== null && (line.a === chosen || line.b === chosen);
      line.path.classList.toggle("in", touched);
      if (touched) line.path.parentNode.append(line.path);
    }
  };
  const choose = (n, move = true) => {
    chosen = n === null ? null : shown(n);
    mark();
    tell();
    if (chosen !== null && move) keepInView(chosen);
  };
  const toggle = (n) => {
    if (!isGroup(n) || n === ROOT) return;
    const before = at.get(n);
    if (opened.has(n)) opened.delete(n); else opened.add(n);
    draw();
    const after = at.get(n);
    if (before && after) {
      panX += (before.x + before.w / 2 - after.x - after.w / 2) * scale;
      panY += (before.y - after.y) * scale;
      look();
    }
    choose(n, false);
  };
  const reveal = (n) => {
    for (const one of pathOf(n).slice(0, -1)) opened.add(one);
    draw(); choose(n, false); centre(n); view.focus({ preventScroll: true });
  };
  const element = (tag, parent, text, className) => {
    const one = document.createElement(tag);
    if (text !== undefined) one.textContent = text;
    if (className) one.className = className;
    parent.append(one);
    return one;
  };
  const tell = () => {
    const panel = $("details");
    panel.hidden = chosen === null;
    panel.textContent = "";
    if (chosen === null) return;
    const box = BOXES[chosen], within = new Set();
    depthFirst(chosen, (n) => within.add(n));
    element("h3", panel, box.label || box.name);
    element("small", panel, isGroup(chosen) ? `${box.op}, ${nodesIn[chosen]} nodes` : `${box.op} · ${box.family}`);
    const away = element("button", panel, "×", "close");
    away.setAttribute("aria-label", "Close");
    away.onclick = () => choose(null);
    for (const note of box.notes) element("p", panel, note, "warn");
    if (isGroup(chosen)) {
      const button = element("button", element("p", panel), opened.has(chosen) ? "Close group" : "Open group");
      button.onclick = () => toggle(chosen);
    }
    const list = (title, items) => {
      if (!items.length) return;
      element("h2", panel, title);
      const ul = element("ul", panel);
      for (const item of items.slice(0, 40)) item(element("li", ul));
      if (items.length > 40) element("li", ul, `and ${items.length - 40} more`);
    };
    const link = (n, label) => (li) => {
      const button = element("button", li, BOXES[n].name || BOXES[n].label, "to");
      button.onclick = () => reveal(n);
      element("small", li, ` ${label || "runs before"}`);
    };
    if (box.name && box.name !== box.label) list("Name", [(li) => { li.textContent = box.name; }]);
    const incoming = P.edges.filter(([a, b]) => within.has(b) && !within.has(a));
    const leaving = P.edges.filter(([a, b]) => within.has(a) && !within.has(b));
    list("From", incoming.map(([a, , label]) => link(a, label)));
    list("Constants and variables", box.operands.map((text) => (li) => { li.textContent = text; }));
    list("Outputs", box.outputs.map((text) => (li) => { li.textContent = text; }));
    list("To", leaving.map(([, b, label]) => link(b, label)));
    list("Attributes", Object.entries(box.attrs).map(([name, text]) => (li) => {
      element("small", li, `${name} `); li.append(cut(text, 300));
    }));
    $("spoken").textContent = `${box.op} ${box.name}, ${incoming.length} in, ${leaving.length} out`;
  };
  const beside = (step) => {
    const rows = P.groups[BOXES[chosen].parent].rows;
    const row = rows.find((one) => one.includes(chosen)).filter((one) => one < BOXES.length);
    return row[row.indexOf(chosen) + step];
  };

  // Search.
  const search = $("search"), list = $("found");
  let hits = [], active = 0;
  const find = () => {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    hits = [];
    if (words.length) {
      BOXES.forEach((box, n) => {
        const text = `${box.name} ${box.label} ${box.op} ${box.operands.join(" ")}`.toLowerCase();
        if (n !== ROOT && words.every((word) => text.includes(word))) hits.push(n);
      });
    }
    const total = hits.length;
    hits = hits.slice(0, 60);
    marks = new Set(hits.map(shown));
    active = 0;
    list.textContent = "";
    list.hidden = !words.length;
    for (const n of hits) {
      const li = element("li", list, BOXES[n].name || BOXES[n].label);
      li.setAttribute("role", "option");
      element("small", li, ` ${BOXES[n].op}`);
      li.onpointerdown = (event) => { event.preventDefault(); take(n); };
    }
    if (words.length && !total) element("li", list, "nothing found");
    if (total > hits.length) element("li", list, `and ${total - hits.length} more: type more of the name`);
    point(); mark();
  };
  const point = () => [...list.children].forEach((li, i) => {
    li.setAttribute("aria-selected", i === active && i < hits.length);
    if (i === active) li.scrollIntoView({ block: "nearest" });
  });
  const take = (n) => { list.hidden = true; marks = new Set(); reveal(n); };
  search.oninput = find;
  search.onfocus = find;
  search.onblur = () => { list.hidden = true; };
  search.onkeydown = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      active = Math.max(0, Math.min(hits.length - 1, active + (event.key === "ArrowDown" ? 1 : -1)));
      point(); event.preventDefault();
    } else if (event.key === "Enter" && hits.length) take(hits[active]);
    else if (event.key === "Escape") { search.value = ""; find(); view.focus(); }
    event.stopPropagation();
  };

  // Pointer and keyboard.
  const fingers = new Map();
  let moved = 0, pinch = 0;
  view.onpointerdown = (event) => {
    if (event.button) return;
    view.focus({ preventScroll: true });
    fingers.set(event.pointerId, event);
    moved = 0;
    if (fingers.size === 2) pinch = apart();
  };
  const apart = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
  view.onpointermove = (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()], frame = view.getBoundingClientRect(), now = apart();
      zoom(now / (pinch || now), (a.clientX + b.clientX) / 2 - frame.left, (a.clientY + b.clientY) / 2 - frame.top);
      pinch = now;
    } else if (moved > 4) {
      // Capturing at once would steal the click from the box under the pointer.
      if (!view.hasPointerCapture(event.pointerId)) view.setPointerCapture(event.pointerId);
      view.classList.add("dragging");
      panX += dx; panY += dy; look();
    }
  };
  const lift = (event) => { fingers.delete(event.pointerId); view.classList.remove("dragging"); };
  view.onpointerup = lift;
  view.onpointercancel = lift;
  view.onclick = (event) => {
    if (moved > 4) return;
    const g = event.target.closest(".box");
    const n = g ? Number(g.dataset.n) : null;
    if (n !== null && event.target.classList.contains("toggle")) toggle(n);
    else choose(n, false);
  };
  view.ondblclick = (event) => {
    const g = event.target.closest(".box");
    if (g && !event.target.classList.contains("toggle")) toggle(Number(g.dataset.n));
  };
  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    const frame = view.getBoundingClientRect();
    const lines_ = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) { panX -= event.deltaY * lines_; look(); return; }
    zoom(Math.exp(-event.deltaY * lines_ * (event.ctrlKey ? 0.01 : 0.0016)), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  const openAll = () => {
    if (BOXES.length > 4000 && !confirm(`Open all? There are ${BOXES.length} boxes.`)) return;
    for (const n of Object.keys(P.groups)) opened.add(Number(n));
    draw(); choose(chosen, false); fit(false);
  };
  const closeAll = () => { opened.clear(); opened.add(ROOT); draw(); choose(chosen, false); fit(true); };
  const help = () => {
    $("legend").hidden = !$("legend").hidden;
    $("help").setAttribute("aria-expanded", String(!$("legend").hidden));
  };
  const arrow = (key, inner) => {
    if (chosen === null) return choose(inside[ROOT][0]);
    if (inner && key === "ArrowDown" && opened.has(chosen) && isGroup(chosen)) return choose(inside[chosen][0]);
    if (inner && key === "ArrowUp") return BOXES[chosen].parent > ROOT && choose(BOXES[chosen].parent);
    const next = key === "ArrowDown" ? lines.find((line) => line.a === chosen)?.b
      : key === "ArrowUp" ? lines.find((line) => line.b === chosen)?.a
      : beside(key === "ArrowRight" ? 1 : -1);
    if (next !== undefined) choose(next);
  };
  document.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key, onButton = event.target.tagName === "BUTTON";
    if (key === "Escape") { choose(null); $("legend").hidden = true; view.focus(); }
    else if (key === "/") search.focus();
    else if (key.startsWith("Arrow")) arrow(key, event.shiftKey);
    else if (key === "Enter" && !onButton && chosen !== null) toggle(chosen);
    else if (key === "Backspace" && chosen !== null) { if (BOXES[chosen].parent > ROOT) choose(BOXES[chosen].parent); }
    else if (key === "+" || key === "=") zoom(1.25);
    else if (key === "-") zoom(0.8);
    else if (key === "0") fit(false);
    else if (key === "e") openAll();
    else if (key === "c") closeAll();
    else if (key === "?") help();
    else return;
    event.preventDefault();
  };
  $("fit").onclick = () => fit(false);
  $("in").onclick = () => zoom(1.25);
  $("out").onclick = () => zoom(0.8);
  $("open").onclick = openAll;
  $("close").onclick = closeAll;
  $("help").onclick = help;

  $("title").textContent = P.title;
  $("counts").textContent = `${P.nodes} nodes, ${P.folded} of them constants and reads, shown where they are used`;
  for (const family of Object.keys(HUES)) {
    if (family === "group" || !BOXES.some((box) => box.family === family)) continue;
    const li = element("li", $("colours"));
    const swatch = element("i", li, "", "swatch");
    swatch.style.setProperty("--hue", HUES[family][0]);
    li.append(family === "unknown" ? "no kernel here" : family);
  }
  if (!P.groups[ROOT]) { $("counts").textContent = "this graph has no nodes"; return; }
  openSome();
  draw();
  fit(true);
  addEventListener("resize", look);
})();
