/** The page of classes: how many answers and labels each has, which are taken for another, which are rare. */

import { get } from "./api.js";
import { boundColumn, boundWorth, sureCard } from "./certain.js";
import { confusionList, drawHeat, sum } from "./confusions.js";
import { fill, h, icon, refill } from "./dom.js";
import { count, labelKey, labelText } from "./format.js";
import { state } from "./live.js";
import { ask, askText, complain, toast } from "./notes.js";
import { findClass } from "./finding.js";
import { addClass, changeClasses, labels } from "./session.js";
import { shareBar, table } from "./table.js";

const FEW = 12; // classes with few answers that are named; the table has the counts of all

export function mountClasses(root) {
  const list = h("div.class-list");
  const heat = h("div.heat", {
    role: "img",
    "aria-label": "Map of confusions; the list beside it names the most common.",
  });
  const words = h("div.confusions");
  const rare = h("div.maybe");
  const sure = h("div.maybe", { "aria-live": "polite" });
  const roles = h("div.segments", { role: "group", "aria-label": "Answers that are counted" });
  const frame = h(
    "section.card",
    h("div.card-head", h("h2", "Taken for another"), roles),
    h("p.help", "What the labelling predicted, against what was answered."),
    h("div.heat-row", heat, words),
  );
  fill(
    root,
    h(
      "div.page",
      h(
        "header.page-head.with-action",
        h("h1", { tabindex: "-1" }, "Classes"),
        h("button.primary", { type: "button", onclick: () => addClass().then(load) }, icon("plus"), "New class"),
      ),
      rare,
      list,
      sure,
      frame,
    ),
  );

  let found = null;
  let parts = null;
  let role = "all";
  let seen = "";
  let asked = 0;
  let certified = null; // the classes of which it was asked
  const redraw = () => {
    if (!found || !root.contains(heat)) return;
    const kinds = ["all", ...new Set(found.confusions.map((confusion) => confusion.role))];
    fill(
      roles,
      kinds.length > 2
        ? kinds.map((kind) =>
            h(
              "button",
              { type: "button", "aria-pressed": String(kind === role), onclick: () => ((role = kind), redraw()) },
              { all: "All answers", training: "Rows chosen", bounds: "Rows drawn at random" }[kind] ?? kind,
            ),
          )
        : null,
    );
    const pairs = sum(found.confusions.filter((confusion) => role === "all" || confusion.role === role));
    frame.hidden = !found.confusions.length;
    drawHeat(heat, pairs);
    fill(words, confusionList(pairs));
  };
  async function load() {
    try {
      found = await get("/api/classes");
    } catch (error) {
      fill(list, h("p.error", error.message));
      return;
    }
    if (!root.contains(list)) return;
    const names = found.rare ?? [];
    fill(
      rare,
      names.length
        ? h(
            "p.card.note-line",
            icon("info"),
            h(
              "span",
              "Few answers so far, so little is known about: ",
              names.slice(0, FEW).map((label, at) => [
                at ? ", " : "",
                h("strong", { dir: "auto" }, labelText(label?.label ?? label)),
              ]),
              names.length > FEW ? ` and ${count(names.length - FEW)} more.` : ".",
            ),
          )
        : null,
    );
    drawList();
    redraw();
  }
  const drawList = () => found && refill(list, classTable(found.classes, parts, load), boundWorth(parts));
  // Seldom, as it takes a while: when the page is opened, when there are other classes, and when somebody asks.
  async function certify() {
    const mine = ++asked;
    try {
      const now = await get("/api/parts", { timeout: 120000 });
      if (mine !== asked || !root.contains(sure)) return;
      parts = now.parts;
      fill(sure, sureCard(now, certify));
      drawList();
    } catch (error) {
      if (mine === asked) fill(sure, h("p.error", error.message));
    }
  }
  const unwatch = state.watch(({ classes, answers }) => {
    const names = JSON.stringify(classes.map(({ label }) => label));
    const now = `${names} ${Math.floor(answers / 10)}`;
    if (now !== seen) load();
    seen = now;
    if (names !== certified) certify();
    certified = names;
  });
  return { leave: unwatch };
}

function classTable(classes, parts, load) {
  const total = Math.max(1, ...classes.map(({ n_labels: n }) => n ?? 0));
  return table(
    [
      {
        name: "label",
        text: "Class",
        head: true,
        value: ({ label }) => labelText(label),
        show: ({ label }) => h("span", { dir: "auto" }, labelText(label)),
      },
      {
        name: "answers",
        text: "Answers",
        number: true,
        value: ({ n_answers: n }) => n,
        show: ({ n_answers: n }) => count(n),
      },
      {
        name: "labels",
        text: "Rows labelled so",
        value: ({ n_labels: n }) => n ?? 0,
        show: ({ n_labels: n }) => (n === null || n === undefined ? "—" : shareBar(n / total, count(n))),
      },
      ...boundColumn(parts),
      {
        name: "act",
        sorts: false,
        show: ({ label, n_answers: n }) =>
          h(
            "div.row.end",
            h(
              "button.small",
              { type: "button", "aria-label": `Rename ${labelText(label)}`, onclick: () => rename(label, load) },
              "Rename",
            ),
            h(
              "button.small",
              {
                type: "button",
                "aria-label": `Merge ${labelText(label)} into another class`,
                onclick: () => merge(label, load),
              },
              "Merge",
            ),
            h(
              "button.small",
              {
                type: "button",
                "aria-label": `Delete ${labelText(label)}`,
                disabled: classes.length < 2,
                onclick: () => remove(label, n, load),
              },
              "Delete",
            ),
          ),
      },
    ],
    labels()
      .map((label) => classes.find((one) => labelKey(one.label) === labelKey(label)))
      .filter(Boolean),
    { caption: "Classes", most: 300 },
  );
}

async function rename(label, load) {
  const to = await askText(`Rename ${labelText(label)}`, {
    label: "New name",
    value: labelText(label),
    button: "Rename",
  });
  if (to === null || to === labelText(label)) return;
  await change({ action: "rename", label, to }, `${labelText(label)} is called ${to} now.`, load);
}

async function merge(label, load) {
  const others = labels().filter((other) => labelKey(other) !== labelKey(label));
  const into = await findClass(`Merge ${labelText(label)} into which class?`, { among: others });
  if (into === null) return;
  const [from, to] = [labelText(label), labelText(into)];
  const sure = await ask(`Merge ${from} into ${to}?`, (close) => [
    h(
      "p",
      `All answers and labels that say ${from} will say ${to}. The certificate is worked out anew, as if they had been
        one class from the start. This cannot be taken back here.`,
    ),
    h(
      "div.row.end",
      h("button", { type: "button", onclick: () => close(false) }, "Cancel"),
      h("button.primary", { type: "button", dataset: { first: "" }, onclick: () => close(true) }, "Merge"),
    ),
  ]);
  if (sure) await change({ action: "merge", label, to: into }, `${from} is part of ${to} now.`, load);
}

async function remove(label, answers, load) {
  const name = labelText(label);
  const sure = await ask(`Delete ${name}?`, (close) => [
    h(
      "p",
      answers
        ? `${count(answers)} ${answers === 1 ? "answer says" : "answers say"} ${name}: ${
            answers === 1 ? "that row" : "these rows"
          } will be asked again. `
        : `No answer says ${name}. `,
      `What is certain stays so, but rows that are labelled ${name} count as wrong until all rows are labelled anew.`,
    ),
    h(
      "div.row.end",
      h("button", { type: "button", dataset: { first: "" }, onclick: () => close(false) }, "Cancel"),
      h("button.primary", { type: "button", onclick: () => close(true) }, "Delete"),
    ),
  ]);
  if (!sure) return;
  const back = () => change({ action: "restore", label }, `${name} is a class again.`, load);
  await change({ action: "delete", label }, `${name} is deleted.`, load, back);
}

async function change(body, text, load, undo = null) {
  try {
    await changeClasses(body);
    toast(text, { kind: "done", undo });
    await load();
  } catch (error) {
    complain(error);
  }
}
