/** Rows as tiles, to be looked through by keyboard and given another label: those of a leaf, or those that were found. */

import { fill, h } from "./dom.js";
import { labelText, percentFloor } from "./format.js";
import { state } from "./live.js";
import { Palette } from "./palette.js";
import { openRecord, sayCut, tileBody } from "./record.js";
import { addClass, flag, likelyClasses, relabel, session, undo } from "./session.js";

/** Where a label comes from, in words; nothing where its confidence says more. */
export const SOURCES = {
  oracle: "answered",
  given: "from the data",
  corrected: "corrected",
  unreadable: "cannot be read",
  unlabelled: "",
};
/** What somebody is still to say about a row that is shown without its label. */
const WAITS = {
  answer: "waits for an answer",
  opinion: "waits for your opinion",
  again: "will be asked again",
  others: "", // whether it waits is not told
};

export class Worklist {
  #tiles = [];
  #at = -1;

  /** `onward` goes on to the next row when one has got its label; `left` is called when Escape leaves the rows. */
  constructor({ title, onward = false, left = () => {} }) {
    Object.assign(this, { onward, left });
    this.rows = [];
    this.tiles = h("div.tiles", { role: "group", "aria-label": title });
    this.palette = new Palette({
      choose: (label) => this.choose(label),
      subject: () => this.rows[this.#at],
      likely: () => this.#likely,
    });
    this.palette.draw();
    this.bar = h("div.gallery-foot", { hidden: true }, this.palette.node);
  }

  /** What an answered row is looked for among has one order, as what was answered may be a draw; so has one that waits. */
  get #likely() {
    const row = this.rows[this.#at];
    return row && ["inferred", "prediction"].includes(row.source) ? likelyClasses(row.label) : [];
  }

  /** Take all rows off. */
  clear() {
    this.#select(-1);
    this.rows = [];
    this.#tiles = [];
    fill(this.tiles);
  }

  /** Show further rows. */
  add(rows) {
    const fresh = rows.map((row) => {
      this.rows.push(row);
      const at = this.#tiles.length;
      this.#tiles.push(this.#tile(row, at));
      this.#draw(at);
      return this.#tiles[at];
    });
    this.tiles.append(...fresh);
    sayCut(fresh);
  }

  /** Show what is known of rows by now, of those that are here. */
  renew(rows) {
    const now = new Map(rows.map((row) => [row.row, row]));
    this.rows.forEach((row, at) => {
      const fresh = now.get(row.row);
      if (!fresh) return;
      for (const name of ["label", "source", "probability", "waits", "flags"]) row[name] = fresh[name];
      this.#draw(at);
    });
  }

  /** Go to the first row; false where there is none. */
  begin() {
    if (this.#tiles.length) this.#select(0);
    return this.#tiles.length > 0;
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
      h("div.tile-flags", { dir: "auto" }),
      h("div.tile-label", { dir: "auto" }),
    );
  }

  #draw(at) {
    const { label, source, probability, name, waits, flags = [], skipped } = this.rows[at];
    const tile = this.#tiles[at];
    const sure = probability === null || probability === undefined ? "" : percentFloor(probability);
    const note = waits ? WAITS[waits] : source === "waiting" ? WAITS.answer : (SOURCES[source] ?? sure);
    const text = waits || source === "waiting" ? "label not shown" : labelText(label);
    fill(
      tile.querySelector(".tile-flags"),
      flags.map(({ comment, by }) => h("p", `${comment} `, h("span.note", by))),
    );
    fill(
      tile.querySelector(".tile-label"),
      h("span", text),
      note || skipped ? h("span.note", [note, skipped ? "skipped" : ""].filter(Boolean).join(", ")) : null,
    );
    tile.classList.toggle("selected", at === this.#at);
    tile.classList.toggle("exception", source === "corrected");
    tile.classList.toggle("known", source === "oracle" || source === "given");
    const said = flags.map(({ comment }) => `, flagged: ${comment}`).join("");
    tile.setAttribute("aria-label", `Row ${name}: ${text}${note ? `, ${note}` : ""}${said}`);
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
    this.palette.mark(this.rows[at].label);
    if (document.activeElement !== this.#tiles[at]) this.#tiles[at].focus();
  }

  key(event, meaning) {
    if (event.key === "Escape") {
      document.activeElement?.blur?.();
      this.#select(-1);
      this.left();
      return true;
    }
    if (event.key.startsWith("Arrow")) return this.#move(event.key);
    if (!meaning && this.#at >= 0 && this.palette.typedTo(event)) return true;
    if (!meaning) return false;
    if (meaning.label !== undefined) return (this.choose(meaning.label), true);
    const row = this.rows[this.#at];
    const actions = {
      undo: () => undo(),
      flag: () => row && this.#flag(row),
      open: () => row && openRecord(row, state.value),
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

  /** Say what the selected row is: an answer where it waits for one, else a correction. */
  async choose(label) {
    const at = this.#at;
    const row = this.rows[at];
    if (!row) return;
    this.palette.flash(label);
    if (!(await relabel(row, label)) || this.rows[at] !== row) return;
    const asked = row.waits || row.source === "waiting";
    if (asked) session.feed.finish(session.feed.items.filter((question) => question.row === row.row));
    row.label = label;
    row.source = asked ? "oracle" : ["oracle", "given"].includes(row.source) ? row.source : "corrected";
    row.waits = null;
    row.skipped = false;
    this.#draw(at);
    if (at !== this.#at) return;
    if (this.onward && at + 1 < this.rows.length) this.#select(at + 1);
    else this.palette.mark(label);
  }

  async #flag(row) {
    const comment = await flag(row);
    if (comment === null) return;
    row.flags = [...(row.flags ?? []), { comment, by: session.by }];
    this.#draw(this.rows.indexOf(row));
    this.#tiles[this.#at]?.focus();
  }

  async #add() {
    await addClass();
    this.palette.draw();
  }
}
