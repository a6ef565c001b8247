/** The tabs of this browser that are open: the server gives each its own rows, and one sends what another left behind. */

const PATIENCE = 80; // milliseconds that other tabs have to answer in
const KEPT = "bela.tab";

/** This tab, and the others of one person in one campaign, told apart by a name that each makes up when it is loaded. */
export class Tabs {
  #channel;
  #others = new Set();

  constructor(scope) {
    this.id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
    // A tab that is loaded anew goes on with its rows. One that was duplicated has a copy of the name, but not the rows.
    const reloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
    this.was = reloaded ? (sessionStorage.getItem(KEPT) ?? "") : "";
    sessionStorage.setItem(KEPT, this.id);
    this.#channel = new BroadcastChannel(`bela.${scope}`);
    this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  /** Find out who else is there. */
  async meet() {
    this.#channel.postMessage({ kind: "hello", tab: this.id });
    await new Promise((done) => setTimeout(done, PATIENCE));
  }

  /** Say goodbye when the page goes away. */
  leave() {
    this.#channel.postMessage({ kind: "bye", tab: this.id });
  }

  /** The names of the other tabs that are open. */
  get others() {
    return [...this.#others];
  }

  #hear({ kind, tab }) {
    if (kind === "bye") this.#others.delete(tab);
    else this.#others.add(tab);
    if (kind === "hello") this.#channel.postMessage({ kind: "here", tab: this.id });
  }
}
