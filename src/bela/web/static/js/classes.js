/** The page of classes: how many answers and labels each has, which are taken for another, which are rare. */

import { get } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { count, labelKey, labelText, plural } from "./format.js";
import { state } from "./live.js";
import { ask, askText, complain, toast } from "./notes.js";
import { findClass } from "./palette.js";
import { CONFIG, colours, layout, onTheme, plotly } from "./plotly.js";
import { addClass, changeClasses, labels } from "./session.js";
import { shareBar, table } from "./table.js";

const MOST = 40; // classes in the map of confusions

export function mountClasses(root) {
  const list = h("div");
  const heat = h("div.heat", { role: "img", "aria-label": "Map of confusions; the list beside it names the most common." });
  const words = h("div.confusions");
  const rare = h("div.maybe");
  const roles = h("div.segments", { role: "group", "aria-label": "Answers that are counted" });
  const frame = h("section.card", h("div.card-head", h("h2", "Taken for another"), roles),
    h("p.help", "What the labelling foretold, against what was answered."), h("div.heat-row", heat, words)); // prettier-ignore
  fill(root, h("div.page",
    h("header.page-head.with-action", h("h1", { tabindex: "-1" }, "Classes"),
      h("button.primary", { type: "button", onclick: () => addClass().then(load) }, icon("plus"), "New class")),
    rare, list, frame)); // prettier-ignore

  let found = null;
  let role = "all";
  let seen = "";
  const redraw = () => {
    if (!found || !root.contains(heat)) return;
    const kinds = ["all", ...new Set(found.confusions.map((confusion) => confusion.role))];
    fill(roles, kinds.length > 2 ? kinds.map((kind) =>
      h("button", { type: "button", "aria-pressed": String(kind === role), onclick: () => ((role = kind), redraw()) },
        { all: "All answers", training: "Rows chosen", bounds: "Rows drawn at random" }[kind] ?? kind)) : null); // prettier-ignore
    const pairs = sum(found.confusions.filter((confusion) => role === "all" || confusion.role === role));
    frame.hidden = !found.confusions.length;
    drawHeat(heat, pairs).catch(() => (heat.hidden = true));
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
    fill(rare, names.length ? h("p.card.note-line", icon("info"), h("span", "Few answers so far, so little is known about: ",
      names.map((label, at) => [at ? ", " : "", h("strong", { dir: "auto" }, labelText(label?.label ?? label))]), ".")) : null); // prettier-ignore
    fill(list, classTable(found.classes, load));
    redraw();
  }
  const unwatch = state.watch(({ classes, answers }) => {
    const now = JSON.stringify([classes.map(({ label }) => label), Math.floor(answers / 10)]);
    if (now !== seen) load();
    seen = now;
  });
  const untheme = onTheme(redraw);
  return {
    leave: () => {
      unwatch();
      untheme();
      window.Plotly?.purge(heat);
    },
  };
}

function classTable(classes, load) {
  const total = Math.max(1, ...classes.map(({ n_labels: n }) => n ?? 0));
  return table(
    [
      { name: "label", text: "Class", head: true, value: ({ label }) => labelText(label),
        show: ({ label }) => h("span", { dir: "auto" }, labelText(label)) },
      { name: "answers", text: "Answers", number: true, value: ({ n_answers: n }) => n, show: ({ n_answers: n }) => count(n) },
      { name: "labels", text: "Rows labelled so", value: ({ n_labels: n }) => n ?? 0,
        show: ({ n_labels: n }) => (n === null || n === undefined ? "—" : shareBar(n / total, count(n))) },
      { name: "act", sorts: false, show: ({ label }) => h("div.row.end",
        h("button.small", { type: "button", "aria-label": `Rename ${labelText(label)}`, onclick: () => rename(label, load) }, "Rename"),
        h("button.small", { type: "button", "aria-label": `Merge ${labelText(label)} into another class`, onclick: () => merge(label, load) }, "Merge")) },
    ],
    labels().map((label) => classes.find((one) => labelKey(one.label) === labelKey(label))).filter(Boolean),
    { caption: "Classes", most: 300 },
  ); // prettier-ignore
}

async function rename(label, load) {
  const to = await askText(`Rename ${labelText(label)}`, { label: "New name", value: labelText(label), button: "Rename" });
  if (to === null || to === labelText(label)) return;
  await change({ action: "rename", label, to }, `${labelText(label)} is called ${to} now.`, load);
}

async function merge(label, load) {
  const others = labels().filter((other) => labelKey(other) !== labelKey(label));
  const into = await findClass(`Merge ${labelText(label)} into which class?`, others);
  if (into === null) return;
  const [from, to] = [labelText(label), labelText(into)];
  const sure = await ask(`Merge ${from} into ${to}?`, (close) => [
    h("p", `All answers and labels that say ${from} will say ${to}. The certificate is worked out anew, as if they had been one class from the start. This cannot be taken back here.`),
    h("div.row.end", h("button", { type: "button", onclick: () => close(false) }, "Cancel"),
      h("button.primary", { type: "button", dataset: { first: "" }, onclick: () => close(true) }, "Merge")),
  ]); // prettier-ignore
  if (sure) await change({ action: "merge", label, to: into }, `${from} is part of ${to} now.`, load);
}

async function change(body, text, load) {
  try {
    await changeClasses(body);
    toast(text, { kind: "done" });
    await load();
  } catch (error) {
    complain(error);
  }
}

/** Add up confusions over roles: `{foretold, answered, n}`. */
function sum(confusions) {
  const sums = new Map();
  for (const { foretold, answered, n } of confusions) {
    const key = `${labelKey(foretold)} ${labelKey(answered)}`;
    const pair = sums.get(key) ?? { foretold, answered, n: 0 };
    pair.n += n;
    sums.set(key, pair);
  }
  return [...sums.values()];
}

function confusionList(pairs) {
  const wrong = pairs.filter(({ foretold, answered }) => labelKey(foretold) !== labelKey(answered)).sort((a, b) => b.n - a.n);
  const total = pairs.reduce((all, { n }) => all + n, 0);
  const missed = wrong.reduce((all, { n }) => all + n, 0);
  if (!wrong.length) return h("p", total ? `All ${plural(total, "answer")} were as foretold.` : "Nothing was foretold yet.");
  return [
    h("p", `${count(total - missed)} of ${plural(total, "answer")} were as foretold. The most common others:`),
    h("ol", wrong.slice(0, 8).map(({ foretold, answered, n }) =>
      h("li", h("strong", { dir: "auto" }, labelText(foretold)), " was foretold, ", h("strong", { dir: "auto" }, labelText(answered)), ` answered: ${plural(n, "time")}`))),
  ]; // prettier-ignore
}

async function drawHeat(node, pairs) {
  const often = new Map();
  for (const { foretold, answered, n } of pairs) {
    for (const label of [foretold, answered]) often.set(labelKey(label), (often.get(labelKey(label)) ?? 0) + n);
  }
  node.hidden = often.size < 2;
  if (node.hidden) return;
  const Plotly = await plotly();
  const order = labels().filter((label) => often.has(labelKey(label)));
  const shown = order.length <= MOST ? order : order.sort((a, b) => often.get(labelKey(b)) - often.get(labelKey(a))).slice(0, MOST);
  const at = new Map(shown.map((label, place) => [labelKey(label), place]));
  const z = shown.map(() => shown.map(() => 0));
  for (const { foretold, answered, n } of pairs) {
    const [i, j] = [at.get(labelKey(answered)), at.get(labelKey(foretold))];
    if (i !== undefined && j !== undefined) z[i][j] += n;
  }
  const c = colours();
  const names = shown.map((label) => labelText(label).replaceAll("&", "&amp;").replaceAll("<", "&lt;").slice(0, 18));
  const places = shown.map((_, place) => place);
  const side = { tickvals: places, ticktext: names, showgrid: false, zeroline: false, automargin: true };
  const data = [{
    type: "heatmap", x: places, y: places,
    z: z.map((row) => row.map((n) => Math.sqrt(n))), // rare confusions are seen beside common hits
    customdata: z, text: z.map((row) => row.map((n) => (n ? count(n) : ""))),
    texttemplate: shown.length <= 16 ? "%{text}" : "",
    colorscale: [[0, c.surface], [1, c.accent]], showscale: false, xgap: 2, ygap: 2,
    hovertemplate: "%{customdata} times<extra></extra>",
  }]; // prettier-ignore
  const size = Math.max(260, Math.min(560, 80 + shown.length * 30));
  await Plotly.react(node, data, layout({
    height: size, margin: { l: 60, r: 8, t: 8, b: 60 },
    xaxis: { ...side, title: { text: "foretold" } },
    yaxis: { ...side, title: { text: "answered" }, autorange: "reversed" },
  }), CONFIG); // prettier-ignore
}
