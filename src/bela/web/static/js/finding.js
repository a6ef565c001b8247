/** Finding one class among many: by parts of its words, from a list that goes with the arrow keys. */

import { fill, h, icon, keycap } from "./dom.js";
import { count, labelKey, labelText } from "./format.js";
import { state } from "./live.js";
import { ask } from "./notes.js";
import { labels } from "./session.js";

const LISTED = 60; // classes in the list; whoever wants another types more of its name
const NUMBERED = 9; // of them that have a key
const SEPARATORS = ["/", "::", ">", "|", ":", "."];
const BETWEEN = /[^\p{L}\p{N}]+/u;

/** The classes that a text finds, the best first: every part of it begins a word, stands in the name, or is spread over it. */
export function matches(text, among) {
  const parts = text.toLowerCase().split(BETWEEN).filter(Boolean);
  if (!parts.length) return text.trim() ? among.filter((label) => labelText(label).includes(text.trim())) : among;
  const scored = among.map((label) => [label, distance(parts, labelText(label).toLowerCase())]);
  return scored
    .filter(([, far]) => far !== null)
    .sort(([, a], [, b]) => a - b)
    .map(([label]) => label);
}

/** How far a name is from what was typed, null where it is something else; the parts in their order count as nearer. */
function distance(parts, name) {
  const words = name.split(BETWEEN).filter(Boolean);
  let far = words.length / 100; // of two that have it all, the shorter one
  let before = -1;
  for (const part of parts) {
    const at = words.findIndex((word, place) => place > before && word.startsWith(part));
    const anywhere = at < 0 ? words.findIndex((word) => word.startsWith(part)) : at;
    if (at >= 0) before = at;
    else if (anywhere >= 0) far += 1;
    else if (name.includes(part)) far += 2;
    else if (part.length > 2 && isSpread(part, name)) far += 4;
    else return null;
    if (anywhere >= 0 && words[anywhere] !== part) far += 0.1;
  }
  return far;
}

function isSpread(part, name) {
  let from = 0;
  for (const letter of part) {
    from = name.indexOf(letter, from) + 1;
    if (!from) return false;
  }
  return true;
}

/**
 * The classes in groups `[name, labels]`: those that were given with them, or by what stands before a separator; one
 * group without a name where there are none.
 */
export function groups(among) {
  const named = new Map(state.value.classes.filter(({ group }) => group).map((one) => [labelKey(one.label), one.group]));
  if (named.size) {
    const found = new Map();
    for (const label of among) {
      const name = named.get(labelKey(label)) ?? "";
      found.set(name, [...(found.get(name) ?? []), label]);
    }
    return [...found];
  }
  for (const separator of SEPARATORS) {
    const found = new Map();
    for (const label of among) {
      const [head, ...rest] = labelText(label).split(separator);
      const name = rest.length && head.trim() ? head.trim() : "";
      found.set(name, [...(found.get(name) ?? []), label]);
    }
    const alone = found.get("")?.length ?? 0;
    if (found.size > 1 && found.size <= among.length / 2 && alone <= among.length / 5) return [...found];
  }
  return [["", among]];
}

/**
 * Let somebody choose a class by its name; null where they would not. `typed` is what they have typed already, `first`
 * are classes to begin with: nothing that depends on the row, where that is to be answered blind.
 */
export async function findClass(title, { among = labels(), typed = "", first = [] } = {}) {
  const shelf = new Set(first.map(labelKey));
  const ordered = [...first, ...among.filter((label) => !shelf.has(labelKey(label)))];
  const numbered = !among.some((label) => /\d/.test(labelText(label))); // or a digit is a part of a name
  const chosen = await ask(title, (close) => {
    let found = [];
    let at = 0;
    const list = h("div.found", { role: "listbox", id: "found", "aria-label": "Classes found" });
    const more = h("p.help", { role: "status" });
    const mark = (to) => {
      at = Math.max(0, Math.min(to, list.children.length - 1));
      [...list.children].forEach((option, place) => {
        option.setAttribute("aria-selected", String(place === at));
        option.classList.toggle("first", place === at);
      });
      const option = list.children[at];
      if (option) field.setAttribute("aria-activedescendant", option.id);
      else field.removeAttribute("aria-activedescendant");
      option?.scrollIntoView({ block: "nearest" });
    };
    const draw = () => {
      found = matches(field.value, ordered);
      fill(
        list,
        found.slice(0, LISTED).map((label, place) =>
          h(
            "div.class.option",
            { role: "option", id: `found-${place}`, onclick: () => close({ label }) },
            numbered && place < NUMBERED ? keycap(String(place + 1)) : h("span.no-key"),
            h("span.name", { dir: "auto" }, labelText(label)),
          ),
        ),
      );
      const left = found.length - LISTED;
      more.textContent = !found.length
        ? "No class is called like that."
        : left > 0
          ? `And ${count(left)} more: type a part of the name.`
          : "";
      mark(0);
    };
    const take = (place) => found[place] !== undefined && close({ label: found[place] });
    const press = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
      if (step) mark(at + step);
      else if (numbered && /^[1-9]$/.test(event.key) && !event.ctrlKey && !event.altKey) take(Number(event.key) - 1);
      else return;
      event.preventDefault();
    };
    const field = h("input", {
      type: "text", // Escape closes the dialog, and does not only empty the field
      id: "find",
      dir: "auto",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "found",
      "aria-autocomplete": "list",
      autocomplete: "off",
      value: typed,
      dataset: { first: "end" },
      oninput: draw,
      onkeydown: press,
    });
    draw();
    const enter = (event) => {
      event.preventDefault();
      take(at);
    };
    return h(
      "form",
      { onsubmit: enter },
      h("label", { for: "find" }, "Parts of its name; arrows choose, Enter takes it"),
      h("div.search", icon("search"), field),
      list,
      more,
    );
  });
  return chosen === null ? null : chosen.label;
}
