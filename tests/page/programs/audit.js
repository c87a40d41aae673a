// Accessibility checks that a script can do: a list of problems, empty if there are none.
(() => {
  const problems = [];
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !element.closest("dialog:not([open])");
  const say = (what, element) => problems.push(`${what}: ${element.outerHTML.slice(0, 120)}`);

  const nameOf = (element) => element.getAttribute("aria-label")
    || [...(element.labels ?? [])].map((label) => label.textContent).join(" ").trim()
    || (element.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join("").trim()
    || (["BUTTON", "A", "SUMMARY"].includes(element.tagName) ? element.textContent.trim() || element.querySelector("img")?.alt : "");
  for (const element of document.querySelectorAll("a, button, input, select, textarea, summary, canvas, svg, [role=img], nav, [role=region]")) {
    if (shown(element) && !nameOf(element)) say("no name", element);
  }
  for (const image of document.images) if (!image.hasAttribute("alt")) say("no alt", image);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((one, i) => ids.indexOf(one) !== i))) problems.push(`id twice: ${id}`);
  if (!document.documentElement.lang) problems.push("no language");
  if (!document.title) problems.push("no title");
  if (document.querySelectorAll("main").length !== 1) problems.push("not one main");
  if (document.querySelectorAll("h1").length !== 1) problems.push("not one h1");
  const levels = [...document.querySelectorAll("h1, h2, h3")].filter(shown).map((heading) => Number(heading.tagName[1]));
  levels.forEach((level, i) => { if (i && level > levels[i - 1] + 1) problems.push(`heading ${level} after ${levels[i - 1]}`); });
  for (const element of document.querySelectorAll("button, select, input:not([type=file]), .models a")) {
    const box = element.getBoundingClientRect();
    const inText = element.classList.contains("plain") || ["checkbox"].includes(element.type);
    if (shown(element) && !inText && (box.width < 24 || box.height < 24)) say("too small to touch", element);
  }

  const parse = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(element) || element.closest("[disabled], .hidden-text")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parse(style.color)), light(ground(element))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < needed) say(`contrast ${contrast.toFixed(2)} of "${walker.currentNode.data.trim().slice(0, 20)}"`, element);
  }
  return [...new Set(problems)];
})()
