/**
 * Answers on their way to the server, in order. They are kept in the browser until the server has them on disk, so that
 * a reload, a lost connection or a server that was killed loses none. Giving an answer twice is harmless there.
 */

import { ApiError, post } from "./api.js";
import { forget, keep, names, recall } from "./memory.js";
import { online, takeIn } from "./live.js";

const AT_ONCE = 50;
const LONGEST_WAIT = 8000;

export class Outbox {
  #entries = [];
  #sending = 0; // how many of the first entries are under way
  #singly = 0; // how many to send one at a time, so that one bad answer does not hold up the others
  #failures = 0;
  #pumping = null;
  #wake = () => {};
  #doubtful = new Set(); // questions whose answer was taken back here, and may have arrived all the same

  /**
   * `by` is who answers here, and `campaign` the number of the campaign: the browser may keep answers of others, and for
   * others. `refused` is called with what the server would not take, and `changed` whenever the length changes.
   */
  constructor(scope, tabs, { by, campaign, refused, changed }) {
    this.prefix = `outbox.${scope}.`;
    Object.assign(this, { tabs, by, campaign });
    this.refused = refused;
    this.changed = changed;
    this.away = false;
    online.watch((there) => there && this.#wake());
    window.addEventListener("online", () => this.#wake());
    window.addEventListener("pageshow", (event) => event.persisted && this.#recall());
  }

  get length() {
    return this.#entries.length;
  }

  /** Whether the answer to the same question is on its way. */
  has({ question, again = false }) {
    return this.#entries.some((entry) => entry.question === question && Boolean(entry.again) === again);
  }

  /** Take over what tabs of the same person that are gone have left behind: nobody sends what somebody else has said. */
  adopt() {
    const living = new Set([...this.tabs.others, this.tabs.id].map((tab) => this.prefix + tab));
    const mine = ({ by, campaign = this.campaign }) => by === this.by && campaign === this.campaign;
    const left = names(this.prefix).filter((name) => !living.has(name) && recall(name, []).every(mine));
    const found = left.flatMap((name) => recall(name, [])).sort((a, b) => a.at - b.at);
    if (!found.length) return;
    this.#entries.push(...found.filter((entry) => !this.has(entry)));
    this.#save();
    left.forEach(forget);
    this.#pump();
  }

  /** Put answers on their way: `{question, row, label, second, again, wrong, suggested}`, label null to skip. */
  add(entries) {
    const { by, campaign } = this;
    this.#entries.push(...entries.map((entry) => ({ ...entry, by, campaign, at: Date.now() })));
    this.#save();
    this.#pump();
  }

  /** Take back the last answer if it is not under way; null if it is, or if there is none. */
  takeBack() {
    if (this.#entries.length <= this.#sending) return null;
    const entry = this.#entries.pop();
    if (entry.tried) this.#doubtful.add(entry.question);
    this.#save();
    return entry;
  }

  /** Wait until everything has arrived; an ApiError if the server is away. */
  async settle() {
    while (this.#entries.length) {
      if (this.away) throw new ApiError("The server does not answer. Try again when it is back.");
      await Promise.race([this.#pumping, new Promise((done) => setTimeout(done, 50))]);
    }
  }

  #save() {
    if (this.#entries.length) keep(this.prefix + this.tabs.id, this.#entries);
    else forget(this.prefix + this.tabs.id);
    this.changed(this.#entries.length);
  }

  /** Another tab may have sent what this one had while it was asleep. */
  #recall() {
    this.#entries = recall(this.prefix + this.tabs.id, []);
    this.changed(this.#entries.length);
    this.#pump();
  }

  #pump() {
    this.#pumping ??= this.#sendAll().finally(() => (this.#pumping = null));
  }

  async #sendAll() {
    while (this.#entries.length) {
      const batch = this.#nextBatch();
      this.#sending = batch.length;
      try {
        await this.#send(batch);
        this.#failures = 0;
        this.#singly = Math.max(0, this.#singly - batch.length);
        this.away = false;
        online.set(true);
      } catch (error) {
        this.#sending = 0;
        if (error.passing || error.shutOut || error.status === 403) await this.#waitAWhile();
        else if (batch.length > 1) this.#singly = batch.length;
        else {
          this.#drop(1);
          this.refused([{ question: batch[0].question, message: error.message }]);
        }
      }
    }
  }

  #nextBatch() {
    return this.#entries.slice(0, this.#singly ? 1 : AT_ONCE);
  }

  async #send(batch) {
    for (const entry of batch) entry.tried = true;
    const answers = batch.map(({ question, label, second, again, wrong, suggested }) => ({
      question,
      label,
      ...(second ? { second } : {}),
      ...(again ? { again } : {}),
      ...(wrong ? { wrong } : {}),
      ...(suggested ? { suggested } : {}),
    }));
    const { refused, state } = await post("/api/answers", { answers });
    this.#drop(batch.length);
    takeIn(state);
    const real = [];
    for (const refusal of refused) {
      const entry = batch.find(({ question }) => question === refusal.question);
      if (!(entry && (await this.#mend(entry)))) real.push(refusal);
    }
    if (real.length) this.refused(real);
  }

  /** The first answer had arrived although it was taken back here: let the second one stand. */
  async #mend({ question, row, label, again }) {
    if (!this.#doubtful.delete(question)) return false;
    if (again) return true; // nothing rests on it
    if (label === null) return false;
    try {
      takeIn(await post("/api/relabel", { row, label }));
      return true;
    } catch {
      return false;
    }
  }

  async #waitAWhile() {
    this.#failures += 1;
    this.away = true;
    online.set(false);
    this.changed(this.#entries.length);
    await new Promise((done) => {
      this.#wake = done;
      setTimeout(done, Math.min(LONGEST_WAIT, 250 * 2 ** this.#failures));
    });
  }

  #drop(n) {
    this.#entries.splice(0, n);
    this.#sending = 0;
    this.#save();
  }
}
