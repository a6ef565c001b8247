/** The page for answering: one row or a grid, the classes, and what else can be done with a row. */

import { fill, h, icon, keycap } from "./dom.js";
import { labelText } from "./format.js";
import { FirstMinute } from "./firstminute.js";
import { Grid } from "./grid.js";
import { online, state } from "./live.js";
import { SKIPPING } from "./keys.js";
import { keep, recall } from "./memory.js";
import { Palette } from "./palette.js";
import { WRONG, addClass, labels, likelyClasses, session, switchGrid, undo } from "./session.js";
import { Single } from "./single.js";
import { inPlaceOfRows, needsClasses, stopped } from "./outcome.js";

const ONE_BY_ONE =
  "Some rows are drawn at random to measure the labels; these are answered one by one, without a suggestion.";
const JUDGED = "The rows of an audit are drawn at random to measure the labels; these are judged one by one.";

let frame = null;

/** Put the answering page into an element; it is made once and kept, so that coming back shows the same row. */
export function mountAnswer(root) {
  frame ??= new Answering();
  return frame.mount(root);
}

class Answering {
  constructor() {
    this.palette = new Palette({
      choose: (label, event) => this.mode.choose(label, event),
      subject: () => this.mode.subject,
      likely: () => (this.mode === this.grid ? likelyClasses(this.grid.suggested) : []),
    });
    this.single = new Single(this.palette);
    this.grid = new Grid(this.palette);
    session.changed = () => this.draw();
    this.title = h("h1.row-name", { tabindex: "-1", dir: "auto" });
    this.place = h("div.place");
    this.last = h("p.last");
    this.tools = h("div.tools-row");
    this.outcome = h("div.outcome");
    this.first = new FirstMinute();
    this.singly = h("p.singly", { hidden: true });
    this.node = h(
      "div.answering",
      h("div.answer-head", this.title, this.#switches()),
      this.outcome,
      this.first.node,
      this.singly,
      this.place,
      h("div.answer-foot", this.palette.node, h("div.under", this.tools, this.last)),
    );
    // What was clicked does not keep the focus, so that Space and Enter go on to mean what they mean here.
    this.node.addEventListener("click", (event) => event.detail && event.target.closest("button, input")?.blur());
    this.#loadBlind();
  }

  /** Whether there is a row to answer; when there is a reason to stop, not until somebody wants to go on. */
  get ready() {
    return this.mode.ready && !stopped() && !needsClasses();
  }

  /** Grids are for rows to learn from. Whoever likes them gets draws one by one, until there are rows for a grid. */
  get mode() {
    const [first] = session.feed.items;
    if (first) this.alone = !first.grid;
    return session.grid && !this.alone ? this.grid : this.single;
  }

  mount(root) {
    fill(root, this.node);
    this.mode.forget();
    this.#place();
    session.keys.changed = () => this.#redrawKeys();
    const unwatch = [state.watch(() => this.draw()), online.watch(() => this.draw())];
    session.feed.fill();
    return { key: (event, meaning) => this.key(event, meaning), leave: () => unwatch.forEach((end) => end()) };
  }

  draw() {
    if (!this.node.isConnected) return;
    this.palette.draw();
    this.#show(this.mode);
    const ready = this.ready;
    if (ready) this.mode.draw();
    this.title.textContent = ready ? this.mode.title : state.value.stop_reason ? "" : "One moment";
    this.title.hidden = !this.title.textContent;
    this.node.classList.toggle("idle", !ready);
    this.node.dataset.ahead = session.feed.items.length;
    this.place.hidden = !ready;
    this.blindLabel.hidden = !this.#suggesting;
    if (!this.#suggesting) this.blindBox.blur(); // nobody sees what has the focus then
    this.singly.hidden = !(ready && session.grid && this.mode === this.single);
    this.singly.textContent = state.value.audit ? JUDGED : ONE_BY_ONE;
    this.first.show(ready && !labels().length);
    this.node.classList.toggle("beginning", !this.first.node.hidden);
    inPlaceOfRows(this.outcome, { ready, more: this.mode.ready, empty: session.feed.empty });
    this.#drawTools();
  }

  /** Do what a key means; true if it meant something here. */
  key(event, meaning) {
    if (event.key.startsWith("Arrow") || event.key === "Escape") return this.mode.move(event.key);
    if (event.key === "Enter") return this.ready && this.mode.confirm(event);
    if (!meaning && /^[\p{L}\p{N}]$/u.test(event.key) && !this.first.node.hidden) return (this.first.remind(), true);
    if (!meaning && this.ready && this.palette.typedTo(event)) return true;
    if (!meaning) return false;
    if (meaning.label !== undefined) this.ready && this.mode.choose(meaning.label, event);
    else return this.#act(meaning.action, event);
    return true;
  }

  #act(action, event) {
    const actions = {
      right: () => this.ready && this.mode.confirm(event),
      wrong: () => this.ready && this.mode.reject(event),
      skip: () => this.ready && this.mode.skip(event),
      undo: () => this.#undo(),
      flag: () => this.ready && this.mode.flag(),
      open: () => this.ready && this.mode.open?.(),
      grid: () => this.#switch(!session.grid),
      add: () => this.#add(),
      find: () => this.palette.find(),
      blind: () => this.#setBlind(!session.blind),
    };
    actions[action]?.();
    return action in actions;
  }

  #undo() {
    if (!this.mode.takeBack()) undo().then(() => this.draw());
  }

  async #add() {
    if (!session.owner) return;
    await addClass();
    this.palette.draw();
  }

  async #switch(grid) {
    this.mode.forget();
    this.alone = false; // until it is known what comes
    const done = switchGrid(grid);
    this.#loadBlind();
    this.#place();
    await done;
    this.draw();
  }

  /** Put a way of answering on the page, if it is not there. */
  #show(mode) {
    if (this.place.firstChild === mode.node) return;
    mode.forget();
    fill(this.place, mode.node);
    this.node.dataset.mode = mode === this.grid ? "grid" : "single";
    this.palette.mark(null);
  }

  #place() {
    this.place.replaceChildren();
    this.oneButton.setAttribute("aria-pressed", String(!session.grid));
    this.gridButton.setAttribute("aria-pressed", String(session.grid));
    this.draw();
  }

  /** Alone, a row is shown without what is suggested: nobody is led. Grids and audits are all about what is said. */
  #loadBlind() {
    session.blind = recall(`blind.${this.#way}`, this.#way === "single");
    this.blindBox.checked = !session.blind;
  }

  /** Single rows come without a suggestion, so that nothing tells what they are asked for; but see --suggest-draws. */
  get #suggesting() {
    return this.mode === this.grid || Boolean(state.value.audit) || state.value.suggest_draws;
  }

  get #way() {
    return session.grid ? "grid" : state.value.audit ? "audit" : "single";
  }

  #setBlind(blind) {
    if (!this.#suggesting) return;
    session.blind = blind;
    this.blindBox.checked = !blind;
    keep(`blind.${this.#way}`, blind);
    this.mode.forget();
    this.draw();
  }

  #switches() {
    this.oneButton = h(
      "button",
      { type: "button", onclick: () => session.grid && this.#switch(false) },
      icon("one"),
      h("span", "One", h("span.wordy", " row")),
    );
    this.gridButton = h(
      "button",
      { type: "button", onclick: () => session.grid || this.#switch(true) },
      icon("grid"),
      "Grid",
    );
    this.blindBox = h("input", { type: "checkbox", onchange: () => this.#setBlind(!this.blindBox.checked) });
    const shows = state.value.audit ? "to be judged" : "suggested";
    this.blindLabel = h("label.check", this.blindBox, h("span", h("span.wordy", "Show what is "), shows));
    return h(
      "div.switches",
      this.blindLabel,
      h("div.segments", { role: "group", "aria-label": "Way of answering" }, this.oneButton, this.gridButton),
    );
  }

  #redrawKeys() {
    this.palette.draw();
    this.#drawTools(true);
  }

  #drawTools(anyway = false) {
    if (anyway || !this.tools.firstChild) {
      const tool = (action, sign, text, title = null) =>
        h(
          "button.tool",
          {
            type: "button",
            title,
            dataset: { action },
            onclick: (event) => this.#act(action, event),
          },
          icon(sign),
          h("span", text),
          session.keys.ofAction(action) ? keycap(session.keys.ofAction(action)) : null,
        );
      fill(
        this.tools,
        tool("skip", "skip", "Skip", SKIPPING),
        tool("undo", "undo", "Undo"),
        tool("flag", "flag", "Flag"),
        session.owner ? tool("add", "plus", "New class") : null,
      );
    }
    const { last } = session;
    fill(
      this.last,
      !last
        ? null
        : last.n
          ? `Last: ${last.n} rows of a grid`
          : last.label === null
            ? `Last: row ${last.question.name} skipped`
            : last.label === WRONG
              ? `Last: the label of row ${last.question.name} is wrong`
            : [`Last: row ${last.question.name} is `, h("strong", { dir: "auto" }, labelText(last.label))],
    );
  }
}
