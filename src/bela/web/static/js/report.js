/** The page for taking the labels away: exports, the report, and when to stop. */

import { BASE, get, post } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { isSomething, percentFloor, percentShort, plural, unbroken } from "./format.js";
import { state, takeIn } from "./live.js";
import { complain, toast } from "./notes.js";
import { session } from "./session.js";

const SURE = new Set(["0.9", "0.95", "0.99"]); // shares for which the server finds the rows that are sure

/** Put the page into an element; with a `share`, only rows that are sure to it are exported. */
export function mountReport(root, [share]) {
  const sure = SURE.has(share) ? Number(share) : null;
  const summary = h("section.card.summary");
  const made = h("p.made", { role: "status" });
  const formats = h("div.formats");
  const hidden = h("input", { type: "checkbox" });
  const safe = h("input", { type: "checkbox" });
  const n = state.value.n_hidden;
  get("/api/exports")
    .then((known) =>
      fill(
        formats,
        known.map((format) => exportButton(format, { sure, hidden, safe }, made)),
      ),
    )
    .catch(complain);
  fill(
    root,
    h(
      "div.page",
      h("header.page-head", h("h1", { tabindex: "-1" }, "Export and report")),
      summary,
      h(
        "section",
        h("h2", "Take the labels away"),
        h(
          "p.lead",
          `The columns of your data in their order, with the label of each row, where it comes from, how sure it is, who
            answered and when, further opinions and flags. In the same file is the certificate, which can be checked.`,
        ),
        sure === null ? null : sureNote(sure),
        h(
          "div.row.export-options",
          n ? h("label.check", hidden, h("span", `With the hidden ${n === 1 ? "column" : `${n} columns`}`)) : null,
          h("label.check", safe, h("span", "In CSV and TSV, a ' before texts that a spreadsheet would run as formulas")),
        ),
        formats,
        made,
      ),
      h(
        "section",
        h("h2", "Report"),
        h(
          "p.lead",
          "One file that can be sent to a colleague: the certificate, charts, leaves, examples, and what was asked.",
        ),
        h("a.button", { href: `${BASE}/api/report`, download: "" }, icon("download"), "Download the report"),
      ),
      h("section", h("h2", "When to stop"), aimForm()),
    ),
  );
  const unwatch = state.watch(({ lower, claim, target, class_target: each, answers, audit, stop_reason: reason }) =>
    fill(
      summary,
      h("p.big", isSomething(lower) ? `≥ ${percentFloor(lower)}` : "Nothing yet"),
      h("p", unbroken(audit || !isSomething(lower) ? claim : `${claim} That took ${plural(answers, "answer")}.`)),
      audit && audit.details.map((line) => h("p", { dir: "auto" }, line)),
      h(
        "p.help",
        reason === "target"
          ? "The target is reached."
          : reason === "refuted"
            ? "The target is refuted."
          : target === null
            ? "There is no target: answer for as long as you like."
            : `The target is ${percentShort(target)}${
                each === null ? "" : `, and ${percentShort(each)} in each class`
              }. You may export before it is reached.`,
      ),
    ),
  );
  return { leave: unwatch };
}

function sureNote(share) {
  return h(
    "p.card.note-line",
    icon("info"),
    h(
      "span",
      `Only the rows of which at least ${percentShort(share)} are right: the labels of all others are left blank. `,
      h("a", { href: "#/report" }, "Export all labels instead"),
    ),
  );
}

function exportButton({ name, title, description }, { sure, hidden, safe }, made) {
  const button = h(
    "button.format",
    {
      type: "button",
      onclick: async () => {
        button.disabled = true;
        made.textContent = `Writing ${title}…`;
        try {
          await session.outbox.settle();
          const body = { format: name, sure, with_hidden: hidden.checked, excel_safe: safe.checked };
          const { name: file, url, notes } = await post("/api/exports", body, { timeout: 600000 });
          const link = h("a", { href: BASE + url, download: file }, file);
          fill(made, icon("check"), h("span", "Written: ", link, notes.map((note) => `. Note: ${note}`).join("")));
          link.click();
        } catch (error) {
          made.textContent = "";
          complain(error);
        } finally {
          button.disabled = false;
        }
      },
    },
    icon("download"),
    h("span", h("strong", title), h("span.help", description)),
  );
  return button;
}

function aimForm() {
  const { target, class_target: each, budget, n_rows: rows, audit } = state.value;
  const share = h("input", {
    id: "aim-target",
    type: "number",
    min: "1",
    max: "100",
    step: "0.1",
    value: target === null ? "" : Number((target * 100).toPrecision(10)),
  });
  const every = h("input", {
    id: "aim-class",
    type: "number",
    min: "1",
    max: "100",
    step: "0.1",
    value: each === null ? "" : Number((each * 100).toPrecision(10)),
  });
  const most = h("input", {
    id: "aim-budget",
    type: "number",
    min: "0",
    max: String(rows),
    step: "1",
    value: budget ?? "",
  });
  const save = async (event) => {
    event.preventDefault();
    try {
      const body = {
        target: share.value === "" ? null : Number(share.value) / 100,
        budget: most.value === "" ? null : Number(most.value),
        class_target: every.value === "" ? null : Number(every.value) / 100,
      };
      takeIn(await post("/api/aim", body));
      toast("Changed.", { kind: "done" });
      session.feed.fill(true);
    } catch (error) {
      complain(error);
    }
  };
  return h(
    "form.aim",
    { onsubmit: save },
    h("div", h("label", { for: "aim-target" }, "Target, per cent of labels certainly right"), share),
    audit ? null : h("div", h("label", { for: "aim-class" }, "The same for each class, per cent"), every),
    h("div", h("label", { for: "aim-budget" }, "At most so many answers"), most),
    h("p.help", "Leave a field empty for no limit."),
    h("button", { type: "submit" }, "Change"),
  );
}
