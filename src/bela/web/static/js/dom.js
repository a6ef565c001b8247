/** Build the page out of elements and texts; nothing here ever parses HTML. */

import { BASE } from "./api.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element: `h("button.quiet", { onclick, "aria-label": "Close" }, "text", child)`.
 * Strings and numbers become text; null, undefined and false are left out.
 */
export function h(spec, ...rest) {
  const [tag, ...classes] = spec.split(".");
  const node = document.createElement(tag || "div");
  if (classes.length) node.classList.add(...classes);
  const first = rest[0];
  if (first && typeof first === "object" && !(first instanceof Node) && !Array.isArray(first)) {
    set(node, rest.shift());
  }
  node.append(...nodes(rest));
  return node;
}

/** Set attributes, properties and listeners of an element. */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (["value", "checked", "disabled", "hidden", "selected", "open"].includes(name)) node[name] = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  return node;
}

/** Replace what an element holds. */
export function fill(node, ...children) {
  node.replaceChildren(...nodes(children));
  return node;
}

/** Replace what an element holds; whoever has the focus on something there keeps it, on what is called the same now. */
export function refill(node, ...children) {
  const held = node.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  fill(node, ...children);
  if (held === null) return node;
  const now = [...node.querySelectorAll("button, a, select, input")].find((one) => nameOf(one) === held);
  now?.focus({ preventScroll: true });
  return node;
}

function nameOf(node) {
  return node.getAttribute("aria-label") ?? node.textContent;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/** Make a part of a drawing: `s("text.tick", { x: 3, y: 4 }, "100 %")`. */
export function s(spec, attributes = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const node = document.createElementNS(SVG, tag);
  if (classes.length) node.classList.add(...classes);
  set(node, attributes);
  node.append(...nodes(children));
  return node;
}

/** One of the signs of icons.svg, hidden from screen readers: the text beside it says the same. */
export function icon(name) {
  return s("svg.icon", { "aria-hidden": "true" }, s("use", { href: `${BASE}/static/icons.svg#${name}` }));
}

/** A key as it is printed on a keyboard. */
export function keycap(key) {
  return h("kbd", keyName(key));
}

const KEY_NAMES = {
  " ": "Space",
  Backspace: "⌫",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
};

/** What a key is called. */
export function keyName(key) {
  if (!key) return "none";
  return KEY_NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** Say something to screen readers without showing it. */
export function announce(text) {
  const region = document.getElementById("announce");
  if (region) region.textContent = text;
}

/** Call a function once the browser has painted what was just changed. */
export function afterPaint(call) {
  requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = call;
    port2.postMessage(null);
  });
}

/** Call a function when there is nothing more urgent to do. */
export function whenIdle(call, timeout = 2000) {
  if ("requestIdleCallback" in window) requestIdleCallback(call, { timeout });
  else setTimeout(call, 200);
}
