/** The rows to ask about: leased from the server ahead of time, with their pictures loaded. */

import { beacon, imageUrl, post } from "./api.js";
import { state } from "./live.js";

const MOST = 100; // rows that the server gives at once
const RETRY = 700;
const IDLE = 3 * 60 * 1000; // rows of somebody who has left go back to the others, who may be waiting for them

/** What tells a question at hand from the others: one that is asked once more is another than it was the first time. */
export function keyOf({ id, again }) {
  return again ? `${id} again` : `${id}`;
}

/** Load the pictures of a row, so that it can be shown without waiting. */
export function loadPictures(question) {
  question.pictures ??= new Map(
    (question.images ?? []).map((column) => {
      const image = new Image();
      image.alt = "";
      image.decoding = "sync";
      image.src = imageUrl(question.row, column);
      const ready = image.decode().catch(() => {});
      return [column, { image, ready }];
    }),
  );
  return Promise.all([...question.pictures.values()].map(({ ready }) => ready));
}

export class Feed {
  #items = [];
  #done = new Set(); // answered here: the server may not know it yet
  #filling = null;
  #again = false;
  #timer = null;
  #renewal = null;
  #active = Date.now();
  #returned = false; // from out of sight, where rows may have gone to another tab or browser

  /** `changed` is called when rows have come or gone. `ahead` says how many rows to have besides the one shown. */
  constructor({ outbox, tabs, ahead, grid, changed }) {
    Object.assign(this, { outbox, tabs, ahead, grid, changed });
    this.empty = false; // the server had no row to give
    this.fetching = false;
    // Where rows have run out, whatever happens in the campaign may bring new ones.
    state.watch(() => this.empty && this.fill(true));
    for (const event of ["keydown", "pointerdown"]) {
      window.addEventListener(event, () => this.#stir(), { passive: true, capture: true });
    }
    window.addEventListener("pagehide", () => this.#leave());
    window.addEventListener("pageshow", (event) => event.persisted && this.fill());
    // Out of sight, rows may have gone to another tab: whoever comes back asks for them anew.
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState !== "visible") return;
      this.#returned = true;
      this.fill(true);
    });
  }

  /** The rows at hand, the next one first. */
  get items() {
    return this.#items;
  }

  get ids() {
    return this.#items.map(({ id }) => id);
  }

  /** Take rows off: they are answered, and not asked again. */
  finish(questions) {
    const keys = new Set(questions.map(keyOf));
    keys.forEach((key) => this.#done.add(key));
    this.#drop(keys);
  }

  /** Put rows at the front, as after an undo. */
  putBack(questions) {
    const keys = new Set(questions.map(keyOf));
    keys.forEach((key) => this.#done.delete(key));
    questions.forEach(loadPictures);
    this.#items = [...questions, ...this.#items.filter((question) => !keys.has(keyOf(question)))];
    this.changed();
  }

  /** Put a row first if it is at hand, as after a reload. */
  prefer(id) {
    const at = this.#items.findIndex((question) => question.id === id);
    if (at > 0) this.#items.unshift(...this.#items.splice(at, 1));
  }

  /** Give all rows back and begin anew, as when the grid is switched on. */
  async restart(grid) {
    const given = this.ids;
    this.grid = grid;
    this.#items = [];
    this.empty = false;
    this.changed();
    await this.#filling?.catch(() => {});
    this.#items = [];
    if (given.length) await post("/api/release", this.#release(given)).catch(() => {});
    return this.fill();
  }

  /** Get more rows if there are too few. */
  fill(anyway = false) {
    if (this.#filling) {
      this.#again = true;
      return this.#filling;
    }
    if (!anyway && this.#items.length > this.ahead()) return Promise.resolve();
    this.fetching = true;
    this.#filling = this.#lease()
      .catch(() => this.#later())
      .finally(() => {
        this.#filling = null;
        this.fetching = false;
        if (this.#again) {
          this.#again = false;
          this.fill();
        }
      });
    return this.#filling;
  }

  async #lease() {
    clearTimeout(this.#timer);
    // A grid is chosen to go with what somebody has already: first the rows just confirmed have to be off the table.
    if (this.grid) await this.outbox.settle();
    const before = new Set(this.#items.map(keyOf));
    // The server counts what is on its way among what this tab holds already.
    const n = Math.min(MOST, this.ahead() + 1 + this.outbox.length);
    const { grid, tabs } = this;
    const { questions, lease_seconds: seconds } = await post("/api/lease", { tab: tabs.id, was: tabs.was, n, grid });
    tabs.was = "";
    if (grid !== this.grid) return;
    const here = new Set([...before, ...this.#done, ...this.#items.map(keyOf)]);
    const fresh = questions.filter((question) => !here.has(keyOf(question)));
    fresh.forEach(loadPictures);
    // A row that was not given again is somebody else's by now; the first is on the screen and may stay, unless whoever
    // looks at it has just come back to it.
    const stays = this.#returned ? -1 : 0;
    this.#returned = false;
    const given = new Set(questions.map(keyOf));
    const lost = questions.length < n ? (key) => before.has(key) && !given.has(key) : () => false;
    this.#items = [...this.#items.filter((question, at) => at === stays || !lost(keyOf(question))), ...fresh];
    this.empty = this.#items.length === 0;
    this.#renewEvery(seconds / 3);
    this.changed();
    if (this.empty) this.#later();
  }

  #drop(keys) {
    this.#items = this.#items.filter((question) => !keys.has(keyOf(question)));
    this.fill();
    this.changed();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => document.visibilityState === "visible" && this.fill(true), RETRY);
  }

  /** Keep the rows for as long as somebody is there. */
  #renewEvery(seconds) {
    clearInterval(this.#renewal);
    this.#renewal = setInterval(() => {
      const here = document.visibilityState === "visible" && Date.now() - this.#active < IDLE;
      if (here && this.#items.length) this.fill(true);
    }, seconds * 1000);
  }

  #release(questions) {
    return { tab: this.tabs.id, questions };
  }

  #stir() {
    const slept = Date.now() - this.#active > IDLE;
    this.#active = Date.now();
    if (slept) this.fill(true);
  }

  #leave() {
    if (this.#items.length) beacon("/api/release", this.#release(this.ids));
    this.tabs.leave();
  }
}
