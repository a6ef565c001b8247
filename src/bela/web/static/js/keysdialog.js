/** The dialog that shows all keys and lets them be changed. */

import { fill, h, keycap, keyName } from "./dom.js";
import { labelText, plural } from "./format.js";
import { ask } from "./notes.js";
import { MANY } from "./palette.js";
import { labels, session } from "./session.js";

const FIXED = [
  ["←", "→", "↑", "↓", "Go from row to row in a grid or a gallery"],
  ["Enter", "Confirm the grid"],
  ["Esc", "Close a dialog, or select nothing"],
];

/** Open the dialog. */
export function openKeys() {
  return ask(
    "Keys",
    () => {
      const body = h("div.keys-body");
      draw(body);
      return body;
    },
    { wide: true },
  );
}

function draw(body) {
  const { keys } = session;
  const keyed = labels().length > MANY ? labels().filter((label) => keys.ofClass(label)) : labels();
  const others = labels().length - keyed.length;
  fill(
    body,
    h(
      "p.help",
      { role: "status" },
      "Press a key's button, then the key that you would like instead. It is remembered in this browser.",
    ),
    h(
      "div.key-columns",
      h(
        "section",
        h("h3", "Classes"),
        h(
          "ul.plain.key-list",
          keyed.map((label) => line(body, { label }, keys.ofClass(label), labelText(label))),
        ),
        others
          ? h("p.help", `${plural(others, "class has", "classes have")} no key: type a part of a name to find one.`)
          : null,
      ),
      h(
        "section",
        h("h3", "Everything else"),
        h(
          "ul.plain.key-list",
          keys.actions.map((one) => line(body, { action: one.name }, keys.ofAction(one.name), one.text, one)),
          FIXED.map((row) =>
            h(
              "li",
              h(
                "span.key-pair",
                row.slice(0, -1).map((key) => h("kbd", key)),
              ),
              h("span", row.at(-1)),
            ),
          ),
        ),
      ),
    ),
    h(
      "div.row.end",
      h("button", { type: "button", onclick: () => (keys.reset(labels()), draw(body)) }, "Back to the usual keys"),
    ),
  );
}

function line(body, what, key, text, { fixed = [], help = "" } = {}) {
  const button = h(
    "button.key",
    {
      type: "button",
      "aria-label": `${text}: ${keyName(key)}. Change the key`,
      onclick: () => listen(body, button, what),
    },
    keycap(key),
  );
  return h(
    "li",
    h(
      "span.key-pair",
      button,
      fixed.map((one) => h("kbd", one)),
    ),
    h("span", { dir: "auto" }, text, help ? h("small.help", help) : null),
  );
}

/** Wait for the key that is wanted. */
function listen(body, button, what) {
  fill(button, h("kbd.listening", "press a key"));
  const help = body.querySelector("[role=status]");
  const heard = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    window.removeEventListener("keydown", heard, true);
    if (event.key !== "Escape" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      if (!session.keys.assign(what, event.key)) {
        help.textContent = `${keyName(event.key)} cannot be used: it has a meaning of its own.`;
        window.addEventListener("keydown", heard, true);
        return;
      }
    }
    draw(body);
  };
  window.addEventListener("keydown", heard, true);
}
