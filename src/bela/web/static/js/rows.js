/** The page of rows: find them by words, label, source, confidence, person or marks, and answer or correct them there. */

import { post } from "./api.js";
import { fill, h, icon, keycap } from "./dom.js";
import { count, labelKey, labelText, plural } from "./format.js";
import { state } from "./live.js";
import { complain } from "./notes.js";
import { fetchConfusions, labels, session } from "./session.js";
import { Worklist } from "./worklist.js";

const PAGE = 60;
const PATIENCE = 4000; // milliseconds that the page goes on looking by itself where there are very many rows
const LISTS = [
  ["", "All rows"],
  ["flagged", "Flagged rows"],
  ["skipped", "Skipped rows"],
];
const FROM = [
  ["", "Anywhere"],
  ["oracle", "An answer"],
  ["inferred", "The method"],
  ["prediction", "The method and a prediction"],
  ["corrected", "A correction"],
  ["given", "The data"],
  ["unlabelled", "Nowhere: no label yet"],
];

let kept = {}; // what was looked for last, by the names of the fields
let typing = false; // whether somebody came by the key, to type

/** Go to the page, to type what is looked for. */
export function openRows() {
  typing = true;
  if (location.hash.startsWith("#/rows")) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = "#/rows";
  return true;
}

/** Put the page into an element; a `list` opens one of those that have a name. */
export function mountRows(root, [list]) {
  if (LISTS.some(([name]) => name && name === list)) kept = { list };
  const page = new Rows();
  fill(root, page.node);
  fetchConfusions();
  session.corrected = () => page.again();
  page.search();
  if (typing) requestAnimationFrame(() => page.fields.text.focus());
  typing = false;
  return {
    key: (event, meaning) => page.key(event, meaning),
    leave: () => {
      page.ended = true;
      session.corrected = null;
    },
  };
}

class Rows {
  #asked = 0; // searches so far: what comes of an earlier one is left out
  #next = null;
  #looked = "";

  constructor() {
    this.list = new Worklist({ title: "Rows that were found", onward: true, left: () => this.fields.text.focus() });
    this.found = h("p.found-line", { role: "status" });
    this.button = h("button", { type: "button", hidden: true, onclick: () => this.more() }, "Go on");
    const key = session.keys.ofAction("rows");
    this.fields = {
      text: h("input", {
        id: "rows-text",
        type: "search",
        dir: "auto",
        maxlength: 400,
        autocomplete: "off",
        placeholder: 'such as: lost "my card"',
        value: kept.text ?? "",
        onkeydown: (event) => this.#typed(event),
      }),
      list: this.#choice("list", LISTS),
      label: this.#choice("label", [["", "Any"], ...labels().map((label) => [labelKey(label), labelText(label)])]),
      source: this.#choice("source", FROM),
      below: h("input", {
        id: "rows-below",
        type: "number",
        min: "0",
        max: "100",
        step: "any",
        value: kept.below ?? "",
        onchange: () => this.search(),
      }),
      person: this.#choice("person", [["", "Anybody"], ...state.value.people.map(({ name }) => [name, name])]),
    };
    const field = (name, text) => h("div", h("label", { for: `rows-${name}` }, text), this.fields[name]);
    this.node = h(
      "div.page.gallery.rows-page",
      h(
        "header.page-head",
        h("h1", { tabindex: "-1" }, "Rows"),
        h(
          "p.lead",
          `Find rows, and press the key of a class to say what one is. Those that wait for an answer are shown without their
            labels, and what you say is the answer.`,
        ),
      ),
      h(
        "form.rows-form",
        { role: "search", onsubmit: (event) => (event.preventDefault(), this.search().then(() => this.list.begin())) },
        h(
          "div.wide",
          h("label", { for: "rows-text" }, "Words in the row ", key ? keycap(key) : null),
          h(
            "div.words",
            h("div.search", icon("search"), this.fields.text),
            h("button.primary", { type: "submit" }, "Find", h("kbd", "Enter")),
          ),
        ),
        field("list", "Which"),
        field("label", "Label"),
        field("source", "Label comes from"),
        field("below", "Sure to less than, %"),
        field("person", "Answered by"),
      ),
      this.found,
      this.list.tiles,
      h("div.row.center", this.button),
      this.list.bar,
    );
  }

  #choice(name, options) {
    const known = options.some(([value]) => value === kept[name]);
    return h(
      "select",
      { id: `rows-${name}`, onchange: () => this.search() },
      options.map(([value, text]) => h("option", { value, selected: known && value === kept[name] }, text)),
    );
  }

  /** What is looked for, as the server takes it. */
  get #wanted() {
    const { text, list, label, source, below, person } = this.fields;
    return {
      text: text.value.trim(),
      labels: label.value === "" ? [] : [JSON.parse(label.value)],
      sources: source.value === "" ? [] : [source.value],
      below: below.value === "" ? null : Math.min(100, Math.max(0, Number(below.value))) / 100,
      person: person.value || null,
      flagged: list.value === "flagged",
      skipped: list.value === "skipped",
    };
  }

  /** Look anew. */
  async search() {
    kept = Object.fromEntries(Object.entries(this.fields).map(([name, field]) => [name, field.value]));
    this.#looked = JSON.stringify(this.#wanted);
    this.#asked += 1; // what is still on its way is not wanted any more
    this.#next = null;
    this.list.clear();
    await session.outbox.settle();
    await this.more();
  }

  /** Fetch further rows, for some seconds where many have to be looked through. */
  async more() {
    const mine = ++this.#asked;
    const until = performance.now() + PATIENCE;
    const enough = this.list.rows.length + PAGE;
    this.button.hidden = true;
    try {
      do {
        const limit = enough - this.list.rows.length;
        const now = await post("/api/rows/find", { ...JSON.parse(this.#looked), after: this.#next, limit });
        if (mine !== this.#asked || this.ended) return;
        this.#next = now.next;
        this.list.add(now.rows);
        this.#say(now);
      } while (this.#next && this.list.rows.length < enough && performance.now() < until);
      this.button.hidden = !this.#next;
    } catch (error) {
      this.found.textContent = error.message;
    }
  }

  /** Say how many there are, or among how many rows they were found. */
  #say({ next, n_looked: looked, n_found: total, by_doubt: byDoubt }) {
    const n = this.list.rows.length;
    const order = n < 2 ? "" : byDoubt ? ", the least certain first" : ", in the order of the data";
    const all = total ?? (next ? null : n);
    this.found.textContent =
      all === null
        ? `${plural(n, "row")} found among the first ${count(looked)} of ${count(state.value.n_rows)}${order}.`
        : !all
          ? "No row is like that."
          : n < all
            ? `${count(n)} of ${plural(all, "row")} found${order}.`
            : `${plural(all, "row")} found${order}.`;
  }

  /** Show what is known by now of the rows that are here, as after an undo. */
  async again() {
    try {
      const limit = Math.min(100, Math.max(1, this.list.rows.length));
      this.list.renew((await post("/api/rows/find", { ...JSON.parse(this.#looked), limit })).rows);
    } catch (error) {
      complain(error);
    }
  }

  #typed(event) {
    if (event.key !== "ArrowDown" || !this.list.begin()) return;
    event.preventDefault();
  }

  key(event, meaning) {
    if (meaning?.action === "rows") return (this.fields.text.focus(), this.fields.text.select(), true);
    return this.list.key(event, meaning);
  }
}
