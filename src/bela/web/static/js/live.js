/** The state of the campaign as the server last told it, and whether the server is there. */

import { BASE, get } from "./api.js";

const HIDDEN = 5000; // milliseconds that a tab goes on listening after it is covered by another
const SILENCE = 40000; // the server speaks at least every 15 s; after this the line counts as dead

/** A value that others can watch. */
export class Watched {
  #watchers = new Set();

  constructor(value) {
    this.value = value;
  }

  set(value) {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const watcher of [...this.#watchers]) watcher(value);
  }

  /** Call with every new value, and at once if there is one; returns what ends it. */
  watch(watcher) {
    this.#watchers.add(watcher);
    if (this.value !== null && this.value !== undefined) watcher(this.value);
    return () => this.#watchers.delete(watcher);
  }
}

export const state = new Watched(null);
export const online = new Watched(true);

/** Take in a state that came with an answer or an event; one that is older than what is known is left out. */
export function takeIn(news) {
  if (!news?.campaign) return;
  const known = state.value;
  if (known && known.campaign === news.campaign && news.seq < known.seq) return;
  state.set(news);
}

let events = null;
let retry = 0;
let heard = 0;
let tab = "";

/** Follow the server's events for as long as the page is open; by that the server knows that the tab is in sight. */
export function follow(name = tab) {
  tab = name;
  events?.close();
  heard = Date.now();
  events = new EventSource(`${BASE}/api/events?tab=${encodeURIComponent(tab)}`);
  events.addEventListener("state", (event) => {
    heard = Date.now();
    retry = 0;
    online.set(true);
    takeIn(JSON.parse(event.data));
  });
  events.onopen = () => {
    heard = Date.now();
    retry = 0;
    online.set(true);
  };
  events.onerror = () => {
    online.set(false);
    if (events.readyState === EventSource.CLOSED) {
      retry = Math.min(retry + 1, 5);
      setTimeout(follow, 500 * 2 ** retry);
      refresh().catch(() => {}); // which says why, where this page is not let in any more
    }
  };
}

/** Ask for the state once. */
export async function refresh() {
  takeIn(await get("/api/state"));
  online.set(true);
}

// A browser has six connections to a server, so a tab that nobody looks at lets its own go; and a laptop that slept has
// one that looks open and is not.
let letGo = null;
document.addEventListener("visibilitychange", () => {
  clearTimeout(letGo);
  if (!events) return;
  if (document.visibilityState === "hidden") letGo = setTimeout(() => events.close(), HIDDEN);
  else if (events.readyState === EventSource.CLOSED || Date.now() - heard > SILENCE) {
    follow();
    refresh().catch(() => {});
  }
});
window.addEventListener("online", () => events && follow());
