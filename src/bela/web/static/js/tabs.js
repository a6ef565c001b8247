/** What the other tabs of this browser are doing, so that no two of them show the same row. */

const PATIENCE = 80; // milliseconds that other tabs have to answer in

/** The tabs of one person in one campaign, told apart by a name that each makes up. */
export class Tabs {
  #channel;
  #others = new Map();
  #held = () => [];

  constructor(scope) {
    this.id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
    this.#channel = new BroadcastChannel(`bela.${scope}`);
    this.#channel.onmessage = ({ data }) => this.#hear(data);
    this.onclash = () => {};
  }

  /** Find out who else is there. `held` returns the questions that this tab has. */
  async meet(held) {
    this.#held = held;
    this.#channel.postMessage({ kind: "hello", tab: this.id });
    await new Promise((done) => setTimeout(done, PATIENCE));
  }

  /** Tell the others what this tab has now. */
  tell() {
    this.#channel.postMessage({ kind: "held", tab: this.id, held: this.#held() });
  }

  /** Say goodbye when the page goes away. */
  leave() {
    this.#channel.postMessage({ kind: "bye", tab: this.id });
  }

  /** The names of the other tabs that are open. */
  get others() {
    return [...this.#others.keys()];
  }

  /** The questions that other tabs have. */
  get heldElsewhere() {
    return new Set([...this.#others.values()].flat());
  }

  #hear({ kind, tab, held }) {
    if (kind === "bye") this.#others.delete(tab);
    else if (kind === "hello") {
      this.#others.set(tab, []);
      this.tell();
    } else if (kind === "held") {
      this.#others.set(tab, held);
      // Both asked at the same moment: the older tab keeps the row.
      const mine = new Set(this.#held());
      const both = held.filter((id) => mine.has(id));
      if (both.length && tab < this.id) this.onclash(both);
    }
  }
}
