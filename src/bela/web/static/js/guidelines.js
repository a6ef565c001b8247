/** The guidelines beside the rows: read by all, written by anybody, in Markdown. */

import { get, put } from "./api.js";
import { fill, h } from "./dom.js";
import { ask, complain, toast } from "./notes.js";
import { session } from "./session.js";

const ALLOWED = new Set([
  "P",
  "H1",
  "H2",
  "H3",
  "H4",
  "H5",
  "H6",
  "UL",
  "OL",
  "LI",
  "EM",
  "STRONG",
  "CODE",
  "PRE",
  "A",
  "BLOCKQUOTE",
  "HR",
  "BR",
  "TABLE",
  "THEAD",
  "TBODY",
  "TR",
  "TH",
  "TD",
  "S",
  "DEL",
]);

const TO_WRITE =
  "There are no guidelines yet. Write down what belongs to which class, and what to do with odd rows.";

/** Open the pane. */
export function openGuidelines() {
  return ask(
    "Guidelines",
    () => {
      const body = h("div.guidelines", h("p", "Fetching…"));
      load(body);
      return body;
    },
    { side: true },
  );
}

async function load(body) {
  try {
    read(body, await get("/api/guidelines"));
  } catch (error) {
    fill(body, h("p.error", error.message));
  }
}

function read(body, { markdown, html }) {
  fill(
    body,
    markdown.trim()
      ? h("div.prose.markdown", { dir: "auto" }, clean(html))
      : h("p", session.owner ? TO_WRITE : "There are no guidelines yet."),
    session.owner ? h("div.row", h("button", { type: "button", onclick: () => write(body, markdown) }, "Edit")) : null,
  );
}

function write(body, markdown) {
  const field = h("textarea", { id: "guidelines-text", rows: 18, value: markdown, dir: "auto", maxlength: 100000 });
  const save = async (event) => {
    event.preventDefault();
    try {
      const answer = await put("/api/guidelines", { markdown: field.value });
      toast("The guidelines are saved.", { kind: "done" });
      if (answer?.html !== undefined) read(body, answer);
      else await load(body);
    } catch (error) {
      complain(error);
    }
  };
  fill(
    body,
    h(
      "form",
      { onsubmit: save },
      h("label", { for: "guidelines-text" }, "Guidelines, in Markdown"),
      field,
      h(
        "div.row.end",
        h("button", { type: "button", onclick: () => load(body) }, "Cancel"),
        h("button.primary", { type: "submit" }, "Save"),
      ),
    ),
  );
  field.focus();
}

/** Take over nothing but harmless elements: the server has made the HTML, and still this page trusts no HTML. */
function clean(html) {
  const parsed = new DOMParser().parseFromString(html ?? "", "text/html");
  return [...parsed.body.childNodes].map(copy);
}

function copy(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  const children = [...node.childNodes].map(copy);
  if (!ALLOWED.has(node.tagName)) return children;
  const made = h(node.tagName.toLowerCase(), {}, children);
  const href = node.getAttribute("href") ?? "";
  if (node.tagName === "A" && /^(https?:|mailto:)/i.test(href)) {
    made.setAttribute("href", href);
    made.setAttribute("target", "_blank");
    made.setAttribute("rel", "noopener noreferrer");
  }
  return made;
}
