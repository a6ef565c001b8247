/** The classes as buttons with their keys, and a way to find one among many. */

import { fill, h, keycap, keyName, set } from "./dom.js";
import { findClass, groups } from "./finding.js";
import { labelKey, labelText } from "./format.js";
import { toast } from "./notes.js";
import { labels, session } from "./session.js";

export const MANY = 16; // classes from which buttons become small

/** The focus stays on the row that a class is chosen for. */
function stay(event) {
  event.preventDefault();
}

export class Palette {
  #buttons = new Map();
  #drawn = "";
  #marked = null; // the button that is

  /**
   * `choose` is called with a label and the event that chose it, `subject` returns what that is for: a row, or some.
   * `likely` returns the classes that come first where one is looked for; the buttons have one order for all rows, as have
   * all classes where a row is answered blind.
   */
  constructor({ choose, subject, likely = () => [] }) {
    Object.assign(this, { choose, subject, likely });
    this.node = h("div.palette", { role: "group", "aria-label": "Classes" });
  }

  /** Draw the buttons, if the classes or their keys have changed. */
  draw() {
    const classes = labels();
    const names = classes.map(labelKey).join("\n"); // not each with its key: there may be a thousand, and a row a second
    if (`${session.keys.version} ${names}` === this.#drawn) return;
    session.keys.learn(classes);
    this.#drawn = `${session.keys.version} ${names}`;
    this.#marked = null;
    this.#buttons = new Map(classes.map((label) => [labelKey(label), this.#button(label)]));
    this.node.dataset.size = classes.length > MANY ? "small" : classes.length > 6 ? "medium" : "large";
    fill(this.node, this.#others(classes), this.#grouped(classes));
  }

  /** Buttons, under the names of their groups where there are many of them. */
  #grouped(classes) {
    const buttons = (some) => some.map((label) => this.#buttons.get(labelKey(label)));
    const shorten = (label, name) => {
      const [button, text] = [this.#buttons.get(labelKey(label)), labelText(label)];
      const short = name && text.startsWith(name) ? text.slice(name.length).replace(/^[\s/:>|.]+/, "") : "";
      if (!short) return;
      set(button, { "aria-label": text, title: text });
      button.querySelector(".name").textContent = short;
    };
    const found = classes.length > MANY ? groups(classes) : [];
    if (found.length < 2) return buttons(classes);
    for (const [name, some] of found) some.forEach((label) => shorten(label, name));
    return found.map(([name, some]) =>
      h(
        "div.class-group",
        { role: "group", "aria-label": name || "Others" },
        h("h3", { dir: "auto" }, name || "Others"),
        h("div", buttons(some)),
      ),
    );
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

  /** Where there are many, one has to be found. */
  #others(classes) {
    const other = (action, text, call) =>
      h(
        "button.class.add",
        { type: "button", onpointerdown: stay, onclick: call },
        keycap(session.keys.ofAction(action)),
        h("span.name", text),
      );
    return [
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
    const button = label === null || label === undefined ? null : this.#buttons.get(labelKey(label));
    if (button === this.#marked) return;
    this.#marked?.classList.remove("marked");
    button?.classList.add("marked");
    this.#marked = button ?? null;
  }

  /** Where not all classes have a key, a letter that means nothing else begins the name of one. */
  typedTo(event) {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey || !/^\p{L}$/u.test(key)) return false;
    if (labels().every((label) => session.keys.ofClass(label))) return false;
    this.find(key);
    return true;
  }

  /** Find a class by typing parts of its name, the first of which may be typed already. */
  async find(typed = "") {
    const subject = this.subject();
    const label = await findClass("Find a class", { typed, first: this.likely() });
    if (label === null) return;
    if (this.subject() === subject) this.choose(label, { timeStamp: performance.now() });
    else toast("That row is not here any more: nothing was answered.", { kind: "error" });
  }
}
