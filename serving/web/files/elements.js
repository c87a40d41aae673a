// Elements made in one call; text is always set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties and children; `class`, `for`, `aria-…` and `data-…` are attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "form" && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** The same for SVG. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

let lastId = 0;

/** A unique id for an element. */
export function newId(word) {
  lastId += 1;
  return `${word}-${lastId}`;
}

/** A button that copies a text and says so. */
export function copyButton(text, label = "Copy") {
  const button = make("button", { type: "button" }, label);
  button.addEventListener("click", async () => {
    const value = text();
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      copyBySelection(value); // plain HTTP from another machine has no clipboard
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

function copyBySelection(value) {
  const holder = make("textarea", { value, class: "hidden-text", "aria-hidden": "true" });
  document.body.append(holder);
  holder.select();
  document.execCommand("copy");
  holder.remove();
}

/** A file that the browser saves. */
export function download(name, body, type) {
  const address = URL.createObjectURL(new Blob([body], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A dtype and shape in the usual notation: float32 [?, 8, 8, 1]. */
export function describe(tensor) {
  if (tensor.shape === null) return `${tensor.dtype} […]`;
  return `${tensor.dtype} [${tensor.shape.map((size) => size ?? "?").join(", ")}]`;
}
