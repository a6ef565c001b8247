/** Short notes at the edge of the page, with a way back where there is one; and dialogs. */

import { h, icon } from "./dom.js";

const STAYS = 6000;

/** Show a note; `undo` is called if its button is pressed. */
export function toast(text, { undo = null, kind = "info", stays = STAYS } = {}) {
  const region = document.getElementById("toasts");
  let timer;
  const close = () => {
    clearTimeout(timer);
    note.remove();
  };
  const note = h(
    "div.toast",
    { dataset: { kind } },
    icon(kind === "error" ? "warning" : kind === "done" ? "check" : "info"),
    h("p", { dir: "auto" }, text),
    undo ? h("button.link", { type: "button", onclick: () => (close(), undo()) }, "Undo") : null,
    h("button.quiet.small", { type: "button", "aria-label": "Close this note", onclick: close }, icon("close")),
  );
  const start = () => (timer = setTimeout(close, kind === "error" ? stays * 2 : stays));
  note.addEventListener("pointerenter", () => clearTimeout(timer));
  note.addEventListener("pointerleave", start);
  note.addEventListener("focusin", () => clearTimeout(timer));
  note.addEventListener("focusout", start);
  while (region.children.length >= 3) region.firstElementChild.remove();
  region.append(note);
  start();
  return close;
}

/** Show an error in words. */
export function complain(error) {
  toast(error.message, { kind: "error" });
}

/**
 * Open a dialog and wait until it is closed; returns what `close` was called with, null where it was dismissed.
 * `build` gets that function and returns what the dialog holds.
 */
export function ask(title, build, { wide = false, side = false } = {}) {
  return new Promise((resolve) => {
    let answer = null;
    const close = (value = null) => {
      answer = value;
      dialog.close();
    };
    const heading = h("h2", { id: `dialog-${Date.now()}` }, title);
    const dialog = h(
      side ? "dialog.side" : wide ? "dialog.wide" : "dialog",
      { "aria-labelledby": heading.id },
      h(
        "header",
        heading,
        h("button.quiet", { type: "button", "aria-label": "Close", onclick: () => close() }, icon("close")),
      ),
      h("div.dialog-body", build(close)),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    // A click beside the dialog closes it.
    dialog.addEventListener("pointerdown", (event) => event.target === dialog && close());
    document.body.append(dialog);
    dialog.showModal();
    const first =
      dialog.querySelector("[data-first]") ?? dialog.querySelector(".dialog-body button, .dialog-body input");
    first?.focus();
    if (first?.dataset.first === "end") first.setSelectionRange(first.value.length, first.value.length);
    else first?.select?.(); // what is there already is replaced by typing
  });
}

/** In a text, where Enter begins a line, Ctrl+Enter sends it. */
function submit(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

/** Ask for one line or one text; null where nothing was given. `problem` says what is wrong with it, or null. */
export function askText(
  title,
  { label, help, value = "", long = false, button = "Save", most = 200, problem, optional = true } = {},
) {
  return ask(title, (close) => {
    const field = h(long ? "textarea" : "input", {
      id: "asked",
      value,
      maxlength: most,
      dir: "auto",
      autocomplete: "off",
      dataset: { first: "" },
      ...(long ? { rows: 4, onkeydown: submit } : { type: "text" }),
      "aria-describedby": "asked-help",
    });
    const wrong = h("p.error", { role: "alert" });
    const done = (event) => {
      event.preventDefault();
      const text = field.value.trim();
      const trouble = text ? problem?.(text) : "Write something first.";
      if (trouble) wrong.textContent = trouble;
      else close(text);
    };
    return h(
      "form",
      { onsubmit: done },
      h("label", { for: "asked" }, label),
      field,
      help ? h("p.help", { id: "asked-help" }, help) : null,
      wrong,
      h(
        "div.row.end",
        optional ? h("button", { type: "button", onclick: () => close() }, "Cancel") : null,
        h("button.primary", { type: "submit" }, button, long ? h("kbd", "Ctrl+Enter") : null),
      ),
    );
  });
}

/** Ask whether something is meant. */
export function confirmed(title, text, button) {
  return ask(title, (close) => [
    h("p", text),
    h(
      "div.row.end",
      h("button", { type: "button", onclick: () => close(false) }, "Cancel"),
      h("button.primary", { type: "button", dataset: { first: "" }, onclick: () => close(true) }, button),
    ),
  ]);
}
