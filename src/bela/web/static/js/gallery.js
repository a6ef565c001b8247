/** The rows of a leaf, the least certain first: look through them, and correct labels. */

import { get } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { count, labelText, percentFloor } from "./format.js";
import { state } from "./live.js";
import { Palette } from "./palette.js";
import { complain } from "./notes.js";
import { openRecord, sayCut, tileBody } from "./record.js";
import { addClass, fetchConfusions, flag, likelyClasses, relabel, session, undo } from "./session.js";

const PAGE = 60;
const SOURCES = { oracle: "answered", given: "from the data", corrected: "corrected", inferred: "" };

export function mountGallery(root, leaf) {
  const gallery = new Gallery(leaf);
  fill(root, gallery.node);
  gallery.more();
  fetchConfusions();
  session.corrected = () => gallery.again();
  return { key: (event, meaning) => gallery.key(event, meaning), leave: () => (session.corrected = null) };
}

class Gallery {
  #rows = [];
  #tiles = [];
  #at = -1;

  constructor(leaf) {
    this.leaf = leaf;
    this.title = h("h1", { tabindex: "-1" }, `Leaf ${count(leaf)}`);
    this.lead = h(
      "p.lead",
      `A leaf is a part of the data whose rows look alike and share a label. The least certain come first. Select a row and
        give it another label if it is wrong.`,
    );
    this.tiles = h("div.tiles", { role: "group", "aria-label": "Rows of this leaf" });
    this.button = h("button", { type: "button", onclick: () => this.more() }, "Show more rows");
    this.palette = new Palette({
      choose: (label) => this.choose(label),
      likely: () => this.#likely,
    });
    this.palette.draw();
    this.bar = h("div.gallery-foot", { hidden: true }, this.palette.node);
    this.node = h(
      "div.page.gallery",
      h("header.page-head", h("a.back", { href: "#/tree" }, icon("back"), "All leaves"), this.title, this.lead),
      this.tiles,
      h("div.row.center", this.button),
      this.bar,
    );
  }

  /** What an answered row is looked for among has one order, as what was answered may be a draw. */
  get #likely() {
    const row = this.#rows[this.#at];
    return row && row.source === "inferred" ? likelyClasses(row.label) : [];
  }

  /** Fetch further rows. */
  async more() {
    try {
      const path = `/api/leaves/${this.leaf}/rows?offset=${this.#rows.length}&limit=${PAGE}`;
      const rows = await get(path);
      const found = Array.isArray(rows) ? rows : rows.rows;
      this.button.hidden = found.length < PAGE;
      if (!this.#rows.length && found.length) this.title.textContent = `Leaf: ${labelText(mainLabel(found))}`;
      for (const row of found) {
        this.#rows.push(row);
        this.#tiles.push(this.#tile(row, this.#tiles.length));
        this.#draw(this.#tiles.length - 1);
      }
      this.tiles.append(...this.#tiles.slice(-found.length || this.#tiles.length));
      sayCut(this.#tiles.slice(-found.length || this.#tiles.length));
      if (!this.#rows.length)
        this.lead.textContent = "There are no rows in this leaf any more: the labels were made anew.";
    } catch (error) {
      this.button.hidden = true;
      this.lead.textContent = error.message;
    }
  }

  /** Fetch anew what is shown, as after an undo. */
  async again() {
    const n = this.#rows.length;
    try {
      const rows = await get(`/api/leaves/${this.leaf}/rows?offset=0&limit=${Math.min(100, n)}`);
      const now = new Map((Array.isArray(rows) ? rows : rows.rows).map((row) => [row.row, row]));
      this.#rows.forEach((row, at) => {
        const fresh = now.get(row.row);
        if (!fresh) return;
        Object.assign(row, { label: fresh.label, source: fresh.source, probability: fresh.probability });
        this.#draw(at);
      });
    } catch (error) {
      complain(error);
    }
  }

  #tile(row, at) {
    return h(
      "div.tile",
      {
        role: "button",
        tabindex: at ? "-1" : "0",
        onclick: () => this.#select(at),
        onfocus: () => this.#select(at),
      },
      tileBody(row, state.value),
      h("div.tile-label", { dir: "auto" }),
    );
  }

  #draw(at) {
    const { label, source, probability, name } = this.#rows[at];
    const tile = this.#tiles[at];
    const note =
      SOURCES[source] || (probability === null || probability === undefined ? "" : percentFloor(probability));
    fill(tile.querySelector(".tile-label"), h("span", labelText(label)), note ? h("span.note", note) : null);
    tile.classList.toggle("selected", at === this.#at);
    tile.classList.toggle("exception", source === "corrected");
    tile.classList.toggle("known", source === "oracle" || source === "given");
    tile.setAttribute("aria-label", `Row ${name}: ${labelText(label)}${note ? `, ${note}` : ""}`);
  }

  #select(at) {
    const before = this.#at;
    if (before === at) return;
    this.#at = at;
    for (const one of [before, at]) {
      if (!this.#tiles[one]) continue;
      this.#tiles[one].tabIndex = one === at ? 0 : -1;
      this.#draw(one);
    }
    this.bar.hidden = at < 0;
    if (at < 0) return;
    this.palette.mark(this.#rows[at].label);
    if (document.activeElement !== this.#tiles[at]) this.#tiles[at].focus();
  }

  key(event, meaning) {
    if (event.key === "Escape") {
      document.activeElement?.blur?.();
      this.#select(-1);
      return true;
    }
    if (event.key.startsWith("Arrow")) return this.#move(event.key);
    if (!meaning && this.#at >= 0 && this.palette.typedTo(event)) return true;
    if (!meaning || event.repeat) return false;
    if (meaning.label !== undefined) return (this.choose(meaning.label), true);
    const actions = {
      undo: () => undo(),
      flag: () => this.#rows[this.#at] && flag(this.#rows[this.#at]),
      open: () => this.#rows[this.#at] && openRecord(this.#rows[this.#at], state.value),
      add: () => this.#add(),
      find: () => this.palette.find(),
    };
    actions[meaning.action]?.();
    return meaning.action in actions;
  }

  #move(key) {
    const across = getComputedStyle(this.tiles).gridTemplateColumns.split(" ").length;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[key];
    const to = this.#at < 0 ? 0 : this.#at + step;
    if (to >= 0 && to < this.#tiles.length) this.#select(to);
    return true;
  }

  async choose(label) {
    const at = this.#at;
    const row = this.#rows[at];
    if (!row) return;
    this.palette.flash(label);
    if (!(await relabel(row, label))) return;
    row.label = label;
    row.source = row.source === "oracle" || row.source === "given" ? row.source : "corrected";
    this.#draw(at);
    if (at === this.#at) this.palette.mark(label);
  }

  async #add() {
    await addClass();
    this.palette.draw();
  }
}

function mainLabel(rows) {
  const inferred = rows.find(({ source }) => source === "inferred") ?? rows[0];
  return inferred.label;
}
