/** The page for taking the labels away: exports, the report, and when to stop. */

import { post } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { count, percentFloor, percentShort, plural } from "./format.js";
import { state, takeIn } from "./live.js";
import { complain, toast } from "./notes.js";
import { session } from "./session.js";

const FORMATS = [
  ["csv", "CSV", "Opens in any spreadsheet"],
  ["parquet", "Parquet", "For pandas, polars and Spark"],
  ["jsonl", "JSON lines", "One row a line"],
  ["hf", "Hugging Face", "A dataset folder"],
  ["label-studio", "Label Studio", "Answers as annotations, the rest as predictions"],
  ["snorkel", "Label matrix", "For weak supervision, as Snorkel takes it"],
];

export function mountReport(root) {
  const standing = h("section.card.summary");
  const made = h("p.made", { role: "status" });
  fill(
    root,
    h(
      "div.page",
      h("header.page-head", h("h1", { tabindex: "-1" }, "Export and report")),
      standing,
      h(
        "section",
        h("h2", "Take the labels away"),
        h(
          "p.lead",
          `The columns of your data in their order, with the label of each row, where it comes from and how sure it is.
            Beside it a certificate that can be checked.`,
        ),
        h(
          "div.formats",
          FORMATS.map(([format, name, text]) => exportButton(format, name, text, made)),
        ),
        made,
      ),
      h(
        "section",
        h("h2", "Report"),
        h(
          "p.lead",
          "One file that can be sent to a colleague: the certificate, charts, leaves, examples, and what was asked.",
        ),
        h("a.button", { href: "/api/report", download: "" }, icon("download"), "Download the report"),
      ),
      h("section", h("h2", "When to stop"), aimForm()),
    ),
  );
  const unwatch = state.watch(({ lower, confidence, n_rows: rows, target, answers, stop_reason: reason }) =>
    fill(
      standing,
      h("p.big", lower > 0 ? `≥ ${percentFloor(lower)}` : "Nothing certain yet"),
      h(
        "p",
        `of ${count(rows)} labels are right (${percentShort(confidence)} sure), after ${plural(answers, "answer")}.`,
      ),
      h(
        "p.help",
        reason === "target"
          ? "The target is reached."
          : target === null
            ? "There is no target: answer for as long as you like."
            : `The target is ${percentShort(target)}. You may export before it is reached.`,
      ),
    ),
  );
  return { leave: unwatch };
}

function exportButton(format, name, text, made) {
  const button = h(
    "button.format",
    {
      type: "button",
      onclick: async () => {
        button.disabled = true;
        made.textContent = `Writing ${name}…`;
        try {
          await session.outbox.settle();
          const { name: file, url } = await post("/api/exports", { format }, { timeout: 600000 });
          const link = h("a", { href: url, download: file }, file);
          fill(made, icon("check"), "Written: ", link);
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
    h("span", h("strong", name), h("span.help", text)),
  );
  return button;
}

function aimForm() {
  const { target, budget, n_rows: rows } = state.value;
  const share = h("input", {
    id: "aim-target",
    type: "number",
    min: "1",
    max: "100",
    step: "0.1",
    value: target === null ? "" : Number((target * 100).toFixed(2)),
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
      };
      takeIn((await post("/api/aim", body))?.state);
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
    h("div", h("label", { for: "aim-budget" }, "At most so many answers"), most),
    h("p.help", "Leave a field empty for no limit."),
    h("button", { type: "submit" }, "Change"),
  );
}
