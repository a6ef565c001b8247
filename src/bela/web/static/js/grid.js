/** Many rows of one suggested label at once: mark the exceptions, confirm the rest with one key. */

import { afterPaint, announce, fill, h, icon } from "./dom.js";
import { count, labelKey, labelText, plural } from "./format.js";
import { state } from "./live.js";
import { toast } from "./notes.js";
import { openRecord, sayCut, tileBody } from "./record.js";
import { WRONG, answer, fetchConfusions, flag, gridSize, offerUndo, session, shown } from "./session.js";

const SKIP = Symbol("skip");
const PAGE = 0.9; // of what is in sight, by which Enter goes on to rows that were not
const EDGE = 16; // pixels of a tile that may be out of sight
const GUESS = 0.5; // mean probability below which a suggested label is not worth showing

export class Grid {
  #group = []; // questions on the screen
  #held = new Set(); // ids of all that were at hand when these were put there
  #given = new Map(); // question id -> label, SKIP or WRONG
  #order = []; // marks in the order in which they were made, each an id with what it had before, for undo
  #at = -1;
  #tiles = [];
  #began = null;
  #seenTo = 0; // how far down the tiles have been in sight

  constructor(palette) {
    this.palette = palette;
    this.tiles = h("div.tiles", { role: "group", "aria-label": "Rows" });
    this.line = h("p.grid-line");
    this.button = h("button.primary.confirm", { type: "button", onclick: (event) => this.confirm(event) });
    this.frame = h("div.tiles-frame", { onscroll: () => this.#drawLine() }, this.tiles);
    this.node = h("div.gridding", h("div.grid-head", this.line, this.button), this.frame);
    window.addEventListener("resize", () => this.node.isConnected && this.#fit());
  }

  /** Rows at hand; those that were just confirmed stay on the screen, faded, until the next ones come. */
  get ready() {
    return session.feed.items.length > 0 || (this.#group.length > 0 && session.feed.fetching);
  }

  /** Whether the rows on the screen are confirmed, and only wait for the next. */
  get #over() {
    return this.tiles.classList.contains("over");
  }

  get title() {
    return state.value.audit ? "Rows with the same label" : "Rows that look alike";
  }

  get focused() {
    return this.#group[this.#at] ?? null;
  }

  /** What a class is chosen for: the row that is selected, or all of this group. */
  get subject() {
    return this.focused ?? this.#group[0];
  }

  /** The label that all are suggested to have; null where it is hidden, or no better than a guess. */
  get suggested() {
    const label = this.#group[0]?.suggested;
    const sure = this.#group.reduce((sum, { probability }) => sum + (probability ?? 1), 0) / this.#group.length;
    return session.blind || label === undefined || sure < GUESS ? null : label;
  }

  /** Show a group, unless one is on the screen: rows that come meanwhile wait for the next. */
  draw() {
    const held = new Set(session.feed.ids);
    this.tiles.classList.toggle("over", !held.size);
    if (!held.size) return;
    const still = this.#group.filter(({ id }) => held.has(id));
    // What comes first, and was not there before, has been brought back by an undo.
    if (!still.length || !this.#held.has(session.feed.ids[0])) this.#begin();
    else if (still.length < this.#group.length) this.#shrink(still);
    this.#drawLine();
  }

  forget() {
    this.#group = [];
  }

  #begin() {
    const items = session.feed.items.filter(({ grid }) => grid);
    const key = items.length ? labelKey(items[0].suggested) : "";
    this.#held = new Set(session.feed.ids);
    this.#put(items.filter(({ suggested }) => labelKey(suggested) === key).slice(0, gridSize()));
    this.frame.scrollTop = 0;
    this.#seenTo = 0;
    requestAnimationFrame(() => this.#fit()); // when they have their places
    if (this.suggested !== null) this.#group.forEach((question) => (question.seen = true));
    if (!this.#group.length) return;
    fetchConfusions();
    shown();
    this.#measure();
  }

  /** Some rows went to somebody else: the others stay as they are, and none comes that nobody has looked at. */
  #shrink(still) {
    const [selected, n] = [this.focused, this.#group.length - still.length];
    this.#put(still);
    if (selected && still.includes(selected)) this.#select(still.indexOf(selected));
    toast(`${plural(n, "row")} of this grid ${n === 1 ? "is" : "are"} somebody else's by now.`, { stays: 4000 });
  }

  #put(group) {
    this.#group = group;
    // Marks of rows that are still here, and of rows that an undo brought back, stay.
    this.#order = this.#order.filter(({ id }) => group.some((question) => question.id === id));
    this.#at = -1;
    this.#tiles = group.map((question, at) => this.#tile(question, at));
    fill(this.tiles, this.#tiles);
    group.forEach((_, at) => this.#drawTile(at));
  }

  #tile(question, at) {
    return h(
      "div.tile",
      // Not a button of the browser's own: Enter and Space mean the whole grid and a skip.
      { role: "button", tabindex: at ? "-1" : "0", onclick: () => this.#select(at), onfocus: () => this.#select(at) },
      tileBody(question, state.value),
      h("div.tile-label", { dir: "auto" }),
    );
  }

  #fit() {
    sayCut(this.#tiles);
    this.#drawLine();
  }

  /** How many rows have never been in sight: nobody can confirm those. */
  get #unseen() {
    const { scrollTop, clientHeight, scrollHeight } = this.frame;
    this.#seenTo = Math.max(this.#seenTo, scrollTop + clientHeight);
    if (this.#seenTo >= scrollHeight - EDGE) return 0;
    const top = this.frame.getBoundingClientRect().top - scrollTop;
    return this.#tiles.filter((tile) => tile.getBoundingClientRect().bottom - top > this.#seenTo + EDGE).length;
  }

  #labelOf({ id }) {
    return this.#given.has(id) ? this.#given.get(id) : this.suggested;
  }

  #drawTile(at) {
    const question = this.#group[at];
    const tile = this.#tiles[at];
    const label = this.#labelOf(question);
    const marked = this.#given.has(question.id);
    tile.classList.toggle("exception", marked && label !== SKIP);
    tile.classList.toggle("skipped", label === SKIP);
    tile.classList.toggle("selected", at === this.#at);
    const text = label === SKIP ? "skipped" : label === WRONG ? "wrong" : label === null ? "no label yet" : labelText(label);
    fill(tile.querySelector(".tile-label"), text);
    tile.setAttribute("aria-label", `Row ${question.name}: ${text}${marked ? ", chosen" : ""}`);
  }

  #drawLine() {
    const n = this.#group.length;
    if (!n) return;
    const open = this.#group.filter((question) => this.#labelOf(question) === null).length;
    const marked = this.#group.filter(({ id }) => this.#given.has(id)).length;
    fill(
      this.line,
      this.suggested === null
        ? ["Give each of these rows its label; a class chosen with none selected goes to all that have none."]
        : [
            "Are these all ",
            h("strong", { dir: "auto" }, labelText(this.suggested)),
            "? Select the exceptions and give each its label.",
          ],
    );
    const unseen = open ? 0 : this.#unseen;
    fill(
      this.button,
      icon(unseen ? "down" : "check"),
      unseen
        ? `${plural(unseen, "row")} further down`
        : open
        ? `${count(open)} without a label`
        : marked && this.suggested !== null
          ? `Confirm ${count(n)}, ${plural(marked, "exception")}`
          : `Confirm all ${count(n)}`,
      h("kbd", "Enter"),
    );
    this.button.disabled = open > 0;
  }

  #select(at) {
    const before = this.#at;
    this.#at = at;
    for (const one of [before, at]) if (this.#tiles[one]) this.#drawTile(one);
    if (before >= 0 && this.#tiles[before]) this.#tiles[before].tabIndex = -1;
    if (this.#tiles[at]) {
      this.#tiles[at].tabIndex = 0;
      if (document.activeElement !== this.#tiles[at]) this.#tiles[at].focus();
      const label = this.#labelOf(this.#group[at]);
      this.palette.mark(label === SKIP || label === WRONG ? null : label);
    } else this.palette.mark(null);
  }

  #mark(at, label) {
    const { id } = this.#group[at];
    const before = this.#given.get(id);
    const now = typeof label !== "symbol" && labelKey(label) === labelKey(this.suggested) ? undefined : label;
    if (now === before) return;
    this.#order.push({ id, before });
    this.#set(id, now);
    this.#drawTile(at);
  }

  #set(id, label) {
    if (label === undefined) this.#given.delete(id);
    else this.#given.set(id, label);
  }

  choose(label) {
    if (!this.#group.length || this.#over) return;
    if (this.#at >= 0) this.#mark(this.#at, label);
    else if (this.suggested === null) {
      this.#group.forEach((question, at) => this.#labelOf(question) === null && this.#mark(at, label));
    } else return this.#selects();
    this.palette.flash(label);
    this.palette.mark(this.#at >= 0 ? label : null);
    announce(`${this.#at >= 0 ? `Row ${this.#group[this.#at].name}` : "All others"}: ${labelText(label)}`);
    this.#drawLine();
  }

  skip() {
    this.#toggle(SKIP);
  }

  /** Say that the label of the selected row is wrong, and not what is right. */
  reject() {
    if (state.value.audit) this.#toggle(WRONG);
  }

  #toggle(what) {
    if (this.#over || !this.#selects()) return;
    const { id } = this.#group[this.#at];
    const before = this.#given.get(id);
    this.#order.push({ id, before });
    this.#set(id, before === what ? undefined : what);
    this.#drawTile(this.#at);
    this.#drawLine();
  }

  flag() {
    if (this.#selects()) flag(this.focused);
  }

  open() {
    if (this.#selects()) openRecord(this.focused, state.value);
  }

  /** Whether a row is selected; whoever wants something that needs one is told where none is. */
  #selects() {
    if (this.#at < 0) toast("Select a row first, with a click or an arrow key.", { stays: 2500 });
    return this.#at >= 0;
  }

  /** Go from tile to tile. */
  move(key) {
    if (!this.#tiles.length) return false;
    if (key === "Escape") {
      document.activeElement?.blur?.();
      this.#select(-1);
      return true;
    }
    const across = getComputedStyle(this.tiles).gridTemplateColumns.split(" ").length;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[key];
    if (!step) return false;
    const to = this.#at < 0 ? 0 : this.#at + step;
    if (to >= 0 && to < this.#tiles.length) this.#select(to);
    return true;
  }

  /** Give all rows their labels. */
  confirm(event) {
    if (!this.#group.length || this.#over || session.undoing) return true;
    if (this.button.disabled) return (toast("Give each row a label first: some have none."), true);
    if (this.#unseen) {
      this.frame.scrollBy({ top: this.frame.clientHeight * PAGE });
      this.#drawLine();
      announce(this.#unseen ? `${plural(this.#unseen, "row")} further down.` : "All rows were in sight.");
      return true;
    }
    this.#began = event.timeStamp;
    const pairs = this.#group.map((question) => {
      const label = this.#labelOf(question);
      return [question, label === SKIP ? null : label];
    });
    const n = pairs.length;
    answer(pairs);
    announce(`${plural(n, "row")} answered.`);
    offerUndo(`${plural(n, "row")} answered.`);
    if (this.#tiles.includes(document.activeElement)) document.activeElement.blur();
    return true;
  }

  /** Take back the last mark before anything that was sent; the marks of rows that are confirmed were sent. */
  takeBack() {
    if (this.#over) return false;
    const { id, before } = this.#order.pop() ?? {};
    if (id === undefined) return false;
    this.#set(id, before);
    const at = this.#group.findIndex((question) => question.id === id);
    if (at >= 0) this.#drawTile(at);
    this.#drawLine();
    return true;
  }

  async #measure() {
    const began = this.#began;
    this.#began = null;
    const pictures = this.#group.flatMap(({ pictures: all }) => [...all.values()]);
    await Promise.all(pictures.map(({ image, ready }) => (image.complete ? null : ready)));
    afterPaint(() => {
      if (began !== null) performance.measure("bela:next-grid", { start: began, end: performance.now() });
      else performance.mark("bela:first-row");
    });
  }
}
