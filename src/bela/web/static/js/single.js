/** One row at a time, large. */

import { afterPaint, announce, fill, h, icon, keycap } from "./dom.js";
import { labelText, percent } from "./format.js";
import { state } from "./live.js";
import { describe, furtherDown, showRecord } from "./record.js";
import { toast } from "./notes.js";
import { WRONG, answer, flag, session, shown } from "./session.js";

export class Single {
  #question = null;
  #began = null; // when the key was pressed that asked for the next row

  constructor(palette) {
    this.palette = palette;
    const onscroll = () => this.#drawFurther();
    this.stage = h("div.stage", { tabindex: "0", role: "region", "aria-label": "The row", onscroll });
    this.further = h("p.further", { hidden: true, "aria-hidden": "true" }); // a screen reader is told all of the row
    this.suggested = h("p.suggested");
    this.node = h("div.single", h("div.stage-frame", this.stage, this.further), this.suggested);
    window.addEventListener("resize", onscroll);
  }

  /** Rows at hand. */
  get ready() {
    return session.feed.items.length > 0;
  }

  /** What this way of answering is called above the row. */
  get title() {
    return this.#question ? `Row ${this.#question.name}` : "The next row";
  }

  /** What a class is chosen for. */
  get subject() {
    return this.#question;
  }

  /** Show the first row at hand, if it is not on the screen already. */
  draw() {
    const question = session.feed.items[0];
    if (!question) {
      this.#question = null;
      return;
    }
    this.#drawSuggested(question);
    if (question === this.#question && this.stage.firstChild) return;
    this.#question = question;
    fill(this.stage, showRecord(question, state.value));
    this.stage.scrollTop = 0;
    requestAnimationFrame(() => this.#drawFurther());
    sessionStorage.setItem("bela.shown", String(question.id));
    shown();
    this.#measure(question);
  }

  /** Say what of the row is further down, as not every system shows scroll bars. */
  #drawFurther() {
    const names = this.node.isConnected ? furtherDown(this.stage) : null;
    this.further.hidden = names === null;
    if (names) fill(this.further, h("span", names.length ? `further down: ${names.join(", ")}` : "there is more"), keycap("↓"));
  }

  /** Everything has to be drawn anew, as after coming back from another page. */
  forget() {
    this.#question = null;
  }

  choose(label, event) {
    if (!this.#question || session.undoing) return;
    this.#began = event.timeStamp;
    const question = this.#question;
    this.palette.flash(label);
    announce(`${labelText(label)}. Next row.`);
    answer([[question, label]]);
  }

  skip(event) {
    if (!this.#question || session.undoing) return;
    this.#began = event.timeStamp;
    announce("Skipped. Next row.");
    answer([[this.#question, null]]);
  }

  flag() {
    if (this.#question) flag(this.#question);
  }

  move(key) {
    const by = { ArrowDown: 60, ArrowUp: -60 }[key];
    if (by) this.stage.scrollBy({ top: by });
    return Boolean(by);
  }

  /** Say that the label under audit is right, if there is one in sight. */
  confirm(event) {
    if (!this.#audited) return false;
    if (!event.repeat) this.choose(this.#question.suggested, event);
    return true;
  }

  /** Say that the label under audit is wrong, and not what is right. */
  reject(event) {
    if (!this.#audited || session.undoing) return;
    if (this.#question.second) {
      toast("Somebody has answered this row: give the label that you think is right.", { stays: 2500 });
      return;
    }
    this.#began = event.timeStamp;
    announce("Wrong. Next row.");
    answer([[this.#question, WRONG]]);
  }

  get #audited() {
    return Boolean(this.#question && state.value.audit && !session.blind && !this.#question.again);
  }

  takeBack() {
    return false;
  }

  #drawSuggested(question) {
    const { suggested, probability, second } = question;
    const visible = !session.blind && suggested !== null && suggested !== undefined;
    if (visible) question.seen = true; // also if it is hidden again: whoever answers has seen it
    this.palette.mark(visible ? suggested : null);
    if (state.value.audit) {
      this.#drawAudited(suggested, second, visible);
      return;
    }
    const sure = probability === null || probability === undefined ? "" : ` (${percent(probability, 0)} likely)`;
    fill(
      this.suggested,
      second ? h("span.tag", "A second opinion") : null,
      visible ? ["Suggested: ", h("strong", { dir: "auto" }, labelText(suggested)), sure] : null,
    );
  }

  /** Show the label under audit, and ask whether it is right. */
  #drawAudited(label, second, visible) {
    const now = JSON.stringify([label, second, visible, session.keys.ofAction("wrong")]);
    if (this.suggested.dataset.drawn === now) return;
    this.suggested.dataset.drawn = now;
    const verdict = (name, text, sign, key, call) =>
      h("button.verdict", { type: "button", dataset: { verdict: name }, onclick: call }, icon(sign), text, keycap(key));
    fill(
      this.suggested,
      second ? h("span.tag", "A second opinion") : null,
      visible
        ? [
            h("span", `${state.value.audit.column}: `, h("strong", { dir: "auto" }, labelText(label))),
            verdict("right", "Right", "check", "Enter", (event) => this.confirm(event)),
            second
              ? null
              : verdict("wrong", "Wrong", "warning", session.keys.ofAction("wrong"), (event) => this.reject(event)),
          ]
        : null,
    );
  }

  /** Measure from the key press until the row with its pictures is on the screen; tests and benchmarks read it. */
  async #measure(question) {
    const began = this.#began;
    this.#began = null;
    await Promise.all([...question.pictures.values()].map(({ image, ready }) => (image.complete ? null : ready)));
    afterPaint(() => {
      if (began !== null) performance.measure("bela:next-row", { start: began, end: performance.now() });
      else performance.mark("bela:first-row");
      announceRow(question);
    });
  }
}

function announceRow(question) {
  const words = describe(question, state.value.shown);
  announce(`Row ${question.name}. ${words}`);
}
