/** The first minute: what will happen here, and which classes there are. Shown until there is one. */

import { get } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { plural } from "./format.js";
import { complain, toast } from "./notes.js";
import { PHASES, WHAT_HAPPENS } from "./phases.js";
import { makeClasses } from "./session.js";

const NAMED = 12; // classes that are named before they are added; of the others there is a number

/** The classes in a text that was typed or pasted: one a line or, where there is one line only, between commas. */
export function readClasses(text) {
  const lines = text.split(/[\n\r\t]+/).filter((line) => line.trim());
  const parts = lines.length === 1 ? lines[0].split(/[,;]+/) : lines;
  return [...new Set(parts.map((part) => part.trim().replace(/^"(.*)"$/, "$1")).filter(Boolean))];
}

export class FirstMinute {
  constructor() {
    this.field = h("textarea", {
      id: "first-classes",
      rows: 4,
      dir: "auto",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "positive\nnegative",
      "aria-describedby": "first-help",
      oninput: () => this.#draw(),
      onkeydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#begin(event);
        else if (event.key === "Escape") this.field.blur();
      },
    });
    this.found = h("p.help", { role: "status" });
    this.button = h("button.primary", { type: "submit" }, "Begin", h("kbd", "Ctrl+Enter"));
    this.sources = h("div.sources");
    this.node = h(
      "section.card.first-minute",
      { hidden: true },
      h(
        "form",
        { onsubmit: (event) => this.#begin(event) },
        h("h2", h("label", { for: "first-classes" }, "Which classes?")),
        this.field,
        h("p.help", { id: "first-help" }, "One a line, or with commas between them. More can be added at any time."),
        this.sources,
        h("div.row", this.button, this.found),
      ),
      h(
        "div.what-happens",
        h("p", WHAT_HAPPENS),
        h(
          "ol",
          PHASES.map(({ name, text }) => h("li", h("strong", name), h("span", text))),
        ),
      ),
    );
    this.#draw();
  }

  /** Show it, or take it away. */
  show(on) {
    if (this.node.hidden === !on) return;
    // A field that is hidden keeps the focus until the next frame, and the keys that are pressed by then.
    if (!on) this.field.blur();
    this.node.hidden = !on;
    if (!on) return;
    this.#load();
    // Where a keyboard would cover the page, nobody is made to type at once.
    if (matchMedia("(pointer: fine)").matches) requestAnimationFrame(() => this.field.focus({ preventScroll: true }));
  }

  /** Say what to do, to somebody who has pressed the key of a class that is not there. */
  remind() {
    toast("There are no classes yet: write their names here, then answer with their keys.", { stays: 4000 });
    this.field.focus();
  }

  async #load() {
    try {
      const sources = await get("/api/classes/sources");
      fill(
        this.sources,
        sources.length ? h("span.help", "Or take those of a column:") : null,
        sources.slice(0, 4).map(({ column, labels }) =>
          h(
            "button.small",
            { type: "button", title: labels.slice(0, 20).join(", "), onclick: () => this.#take(labels) },
            icon("plus"),
            h("span", { dir: "auto" }, `${column} (${labels.length})`),
          ),
        ),
      );
    } catch {
      fill(this.sources); // they can be typed all the same
    }
  }

  #take(labels) {
    this.field.value = [...new Set([...readClasses(this.field.value), ...labels])].join("\n");
    this.#draw();
    this.field.focus();
  }

  #draw() {
    const found = readClasses(this.field.value);
    this.button.disabled = !found.length;
    this.found.textContent = !found.length
      ? ""
      : found.length > NAMED
        ? plural(found.length, "class", "classes")
        : found.join(" · ");
  }

  async #begin(event) {
    event.preventDefault();
    const found = readClasses(this.field.value);
    if (!found.length || this.busy) return;
    this.busy = true;
    try {
      await makeClasses(found);
      this.field.value = "";
      this.#draw();
    } catch (error) {
      complain(error);
    } finally {
      this.busy = false;
    }
  }
}
