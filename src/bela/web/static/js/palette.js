/** The classes as buttons with their keys, and a way to find one among many. */

import { fill, h, icon, keycap, keyName } from "./dom.js";
import { labelKey, labelText } from "./format.js";
import { ask } from "./notes.js";
import { labels, session } from "./session.js";

const MANY = 16; // classes from which buttons become small

/** The focus stays on the row that a class is chosen for. */
function stay(event) {
  event.preventDefault();
}

export class Palette {
  #buttons = new Map();
  #drawn = "";

  /** `choose` is called with a label and the event that chose it; `add` opens the dialog for a new class. */
  constructor({ choose, add }) {
    this.choose = choose;
    this.add = add;
    this.node = h("div.palette", { role: "group", "aria-label": "Classes" });
  }

  /** Draw the buttons, if the classes or their keys have changed. */
  draw() {
    const classes = labels();
    session.keys.learn(classes);
    const now = JSON.stringify(classes.map((label) => [label, session.keys.ofClass(label)]));
    if (now === this.#drawn) return;
    this.#drawn = now;
    this.#buttons = new Map(classes.map((label) => [labelKey(label), this.#button(label)]));
    this.node.dataset.size = classes.length > MANY ? "small" : classes.length > 6 ? "medium" : "large";
    fill(this.node, [...this.#buttons.values()], this.#others(classes));
  }

  #button(label) {
    const key = session.keys.ofClass(label);
    return h(
      "button.class",
      {
        type: "button",
        "aria-keyshortcuts": key ? keyName(key) : null,
        onpointerdown: stay,
        onclick: (event) => this.choose(label, event),
      },
      // A class that is called what its key is called needs to be named only once.
      key === labelText(label) ? null : key ? keycap(key) : h("span.no-key"),
      h(
        key === labelText(label) ? "kbd.name" : "span.name",
        { dir: "auto", title: labelText(label).length > 18 ? labelText(label) : null },
        labelText(label),
      ),
    );
  }

  /** Where there is no class yet, one has to be named; where there are many, one has to be found. */
  #others(classes) {
    const other = (action, text, call) =>
      h(
        "button.class.add",
        { type: "button", onpointerdown: stay, onclick: call },
        keycap(session.keys.ofAction(action)),
        h("span.name", text),
      );
    return [
      classes.length ? null : other("add", "Name the first class", () => this.add()),
      classes.length > MANY ? other("find", "Find a class", () => this.find()) : null,
    ];
  }

  /** Let a button light up, so that a key press is seen. */
  flash(label) {
    const button = this.#buttons.get(labelKey(label));
    if (!button) return;
    button.classList.remove("flash");
    requestAnimationFrame(() => button.classList.add("flash"));
    setTimeout(() => button.classList.remove("flash"), 260);
  }

  /** Mark the class that is suggested or chosen. */
  mark(label) {
    for (const [key, button] of this.#buttons) {
      const marked = label !== null && label !== undefined && key === labelKey(label);
      button.classList.toggle("marked", marked);
    }
  }

  /** Find a class by typing a part of its name. */
  async find() {
    const label = await findClass("Find a class");
    if (label !== null) this.choose(label, { timeStamp: performance.now() });
  }
}

/** Let somebody choose a class by its name; null where they would not. */
export async function findClass(title, among = labels()) {
  const chosen = await ask(title, (close) => {
    const list = h("div.found", { role: "group", "aria-label": "Classes found" });
    const found = () => {
      const part = field.value.trim().toLowerCase();
      const start = (label) => (labelText(label).toLowerCase().startsWith(part) ? 0 : 1);
      return among.filter((label) => labelText(label).toLowerCase().includes(part)).sort((a, b) => start(a) - start(b));
    };
    const draw = () =>
      fill(
        list,
        found()
          .slice(0, 60)
          .map((label, at) =>
            h(
              "button.class",
              { type: "button", class: at ? "class" : "class first", onclick: () => close({ label }) },
              h("span.name", { dir: "auto" }, labelText(label)),
            ),
          ),
      );
    const field = h("input", {
      type: "search",
      id: "find",
      dir: "auto",
      autocomplete: "off",
      dataset: { first: "" },
      oninput: draw,
    });
    draw();
    const first = (event) => {
      event.preventDefault();
      const label = found()[0];
      if (label !== undefined) close({ label });
    };
    return h(
      "form",
      { onsubmit: first },
      h("label", { for: "find" }, "Part of its name; Enter takes the first"),
      h("div.search", icon("search"), field),
      list,
    );
  });
  return chosen === null ? null : chosen.label;
}
