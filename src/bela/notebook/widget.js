/**
 * The widget in a notebook: one row, the classes with their keys, what is certain. What it shows comes from the model's
 * `state`; what somebody does is sent as a message, and the next state says that it is on disk. All texts are set as
 * text, so that nothing in the data can act on the page.
 */

const KEYS = [..."123456789abcdefghijklmnopqrstuvwxyz"];
const FEW = 24; // classes that have keys of their own; of more, one is found by its name
const SHOWN = 60; // of many classes, in the list

function h(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** The key of each class: its own name where that is a key, else the next that is free. */
export function keysOf(classes) {
  const keys = new Map(classes.filter((label) => KEYS.includes(label.toLowerCase())).map((l) => [l, l.toLowerCase()]));
  const taken = new Set(keys.values());
  const free = KEYS.filter((key) => !taken.has(key));
  for (const label of classes) if (!keys.has(label) && free.length) keys.set(label, free.shift());
  return keys;
}

/** The classes of which some word begins with each of the parts, in their own order. */
export function find(classes, text) {
  const parts = text.toLowerCase().split(/[\s_/.-]+/).filter(Boolean);
  const fits = (label) => {
    const words = label.toLowerCase().split(/[\s_/.-]+/);
    return parts.every((part) => words.some((word) => word.startsWith(part)) || label.toLowerCase().includes(part));
  };
  return classes.filter(fits);
}

function render({ model, el }) {
  let number = 0;
  let waiting = null; // the number of the message that is under way
  let chosen = 0; // in the list of many classes
  const head = h("div", { class: "bela-head" });
  const row = h("div", { class: "bela-row", tabindex: "-1" });
  const note = h("div", { class: "bela-note", role: "status", "aria-live": "polite" });
  const search = h("input", { class: "bela-search", type: "text", "aria-label": "Find a class", placeholder: "Find a class" });
  const list = h("div", { class: "bela-classes", role: "group", "aria-label": "Classes" });
  const foot = h("div", { class: "bela-foot" });
  // JupyterLab leaves keys alone below an element with this attribute, and so do we outside of it.
  const root = h(
    "div",
    { class: "bela-widget", tabindex: "0", role: "application", "aria-label": "Label rows", "data-lm-suppress-shortcuts": "true" },
    head,
    row,
    note,
    search,
    list,
    foot,
  );

  function send(action, more = {}) {
    if (waiting !== null) return; // one thing after the other: nothing is answered that is not on the screen
    waiting = ++number;
    root.setAttribute("aria-busy", "true");
    model.send({ action, number, ...more });
  }
  const state = () => model.get("state");
  const answer = (label) => state().question && send("answer", { question: state().question.id, label });
  const skip = () => state().question && send("skip", { question: state().question.id });
  const undo = () => state().can_undo && send("undo");
  function addClass() {
    const text = search.value.trim();
    if (!text) return search.focus();
    search.value = "";
    send("add class", { label: text });
  }

  function draw() {
    const now = state();
    if (now.number === waiting) {
      waiting = null;
      root.removeAttribute("aria-busy");
    }
    note.textContent = now.error ?? "";
    note.classList.toggle("bela-error", Boolean(now.error));
    if (now.claim === undefined) return;
    head.replaceChildren(...drawHead(now));
    drawRow(now);
    drawClasses();
    foot.replaceChildren(
      h("button", { type: "button", onclick: skip, disabled: !now.question }, "Skip (Space)"),
      h("button", { type: "button", onclick: undo, disabled: !now.can_undo }, "Undo (Backspace)"),
      h("button", { type: "button", onclick: addClass }, "New class (+)"),
    );
  }

  function drawHead(now) {
    const along = (share) => `${100 * share}%`;
    const bar = h("div", { class: "bela-bar", role: "img", "aria-label": now.claim });
    const filled = h("div", { class: "bela-filled" });
    filled.style.width = along(now.lower);
    bar.append(filled);
    if (now.target !== null) {
      const aim = h("div", { class: "bela-target" });
      aim.style.left = along(now.target);
      bar.append(aim);
    }
    const counts = [`${now.answers.toLocaleString()} answers`];
    if (now.left) counts.push(`about ${now.left.toLocaleString()} more`);
    if (now.skipped) counts.push(`${now.skipped.toLocaleString()} skipped`);
    return [h("div", { class: "bela-claim", title: now.worth }, now.claim), bar, h("div", { class: "bela-counts" }, counts.join(" · "))];
  }

  let drawn = null;
  function drawRow(now) {
    const question = now.question;
    const key = question ? `${question.id}` : `end ${now.stopped}`;
    if (key === drawn) return;
    drawn = key;
    chosen = 0;
    search.value = "";
    if (!question) {
      row.replaceChildren(h("p", { class: "bela-end" }, now.stopped ?? "There is nothing to ask for now."));
      return;
    }
    const pictures = question.images.map((image) =>
      image.error
        ? h("p", { class: "bela-error" }, image.error)
        : h("figure", {}, h("img", { src: image.source, alt: `Row ${question.row}` }), image.file ? h("figcaption", { dir: "auto" }, image.file) : null),
    );
    const alone = question.values.length === 1;
    const values = alone
      ? [h("div", { class: "bela-text", dir: "auto" }, question.values[0].value)]
      : question.values.length
        ? [h("dl", {}, question.values.map(({ name, value }) => [h("dt", { dir: "auto" }, name), h("dd", { dir: "auto" }, value)]))]
        : [];
    const hidden = question.left_out.length ? [h("p", { class: "bela-counts" }, `Not shown: ${question.left_out.join(", ")}`)] : [];
    row.replaceChildren(h("div", { class: "bela-counts" }, `Row ${question.row}`), ...pictures, ...values, ...hidden);
    row.scrollTop = 0;
  }

  const many = () => state().classes.length > FEW;
  const found = () => find(state().classes, search.value);
  function drawClasses() {
    const keys = many() ? new Map() : keysOf(state().classes);
    const classes = many() ? found() : state().classes;
    chosen = Math.max(0, Math.min(chosen, Math.min(classes.length, SHOWN) - 1));
    list.replaceChildren(
      ...classes.slice(0, SHOWN).map((label, at) =>
        h(
          "button",
          { type: "button", class: many() && at === chosen ? "bela-chosen" : null, onclick: () => answer(label) },
          keys.has(label) ? h("kbd", {}, keys.get(label)) : null,
          h("span", { dir: "auto" }, label),
        ),
      ),
      classes.length > SHOWN ? h("span", { class: "bela-counts" }, `and ${classes.length - SHOWN} more`) : "",
    );
    search.placeholder = many() ? `Find one of ${state().classes.length} classes` : "A new class";
  }

  function press(event) {
    if (event.ctrlKey && event.key === "z") event.key === "z" && undo();
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (!keyOfPage(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Do what a key means; whether it means anything. */
  function keyOfPage(event) {
    const typing = event.target === search;
    const { key } = event;
    if (typing) return keyWhileTyping(key);
    if (event.target.closest("button") && (key === "Enter" || key === " ")) return false;
    if (key === " ") skip();
    else if (key === "Backspace") undo();
    else if (key === "+") search.focus();
    else if (key === "/") search.focus();
    else if (many() && key.length === 1) {
      search.focus();
      search.value += key;
      chosen = 0;
      drawClasses();
    } else if (!many() && key.length === 1) {
      const meant = [...keysOf(state().classes)].find(([, its]) => its === key.toLowerCase());
      if (meant) answer(meant[0]);
      else if (!state().classes.length) note.textContent = "There are no classes yet: press + and write the first.";
    } else return false;
    return true;
  }

  function keyWhileTyping(key) {
    const classes = found().slice(0, SHOWN);
    if (key === "Escape") {
      search.value = "";
      root.focus();
    } else if (key === "Enter") {
      if (many() && classes.length) answer(classes[chosen]);
      else addClass();
      root.focus();
      return true;
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      chosen += key === "ArrowDown" ? 1 : -1;
    } else return false;
    drawClasses();
    return true;
  }

  search.addEventListener("input", () => ((chosen = 0), drawClasses()));
  root.addEventListener("keydown", press);
  model.on("change:state", draw);
  el.append(root);
  draw();
  return () => model.off("change:state", draw);
}

export default { render };
