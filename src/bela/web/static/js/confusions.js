/** What the labelling foretold against what was answered: as a map, and in words. */

import { h } from "./dom.js";
import { count, labelKey, labelText, plural } from "./format.js";
import { CONFIG, colours, layout, plotly } from "./plotly.js";
import { labels } from "./session.js";

const MOST = 40; // classes in the map

/** Add up confusions over roles: `{foretold, answered, n}`. */
export function sum(confusions) {
  const sums = new Map();
  for (const { foretold, answered, n } of confusions) {
    const key = `${labelKey(foretold)} ${labelKey(answered)}`;
    const pair = sums.get(key) ?? { foretold, answered, n: 0 };
    pair.n += n;
    sums.set(key, pair);
  }
  return [...sums.values()];
}

/** The most common confusions as sentences. */
export function confusionList(pairs) {
  const wrong = pairs
    .filter(({ foretold, answered }) => labelKey(foretold) !== labelKey(answered))
    .sort((a, b) => b.n - a.n);
  const total = pairs.reduce((all, { n }) => all + n, 0);
  const missed = wrong.reduce((all, { n }) => all + n, 0);
  if (!wrong.length)
    return h("p", total ? `All ${plural(total, "answer")} were as foretold.` : "Nothing was foretold yet.");
  return [
    h("p", `${count(total - missed)} of ${plural(total, "answer")} were as foretold. The most common others:`),
    h(
      "ol",
      wrong
        .slice(0, 8)
        .map(({ foretold, answered, n }) =>
          h(
            "li",
            h("strong", { dir: "auto" }, labelText(foretold)),
            " was foretold, ",
            h("strong", { dir: "auto" }, labelText(answered)),
            ` answered: ${plural(n, "time")}`,
          ),
        ),
    ),
  ];
}

/** Draw the map of confusions; nothing where there are fewer than two classes. */
export async function drawHeat(node, pairs) {
  const often = new Map();
  for (const { foretold, answered, n } of pairs) {
    for (const label of [foretold, answered]) often.set(labelKey(label), (often.get(labelKey(label)) ?? 0) + n);
  }
  node.hidden = often.size < 2;
  if (node.hidden) return;
  const Plotly = await plotly();
  const order = labels().filter((label) => often.has(labelKey(label)));
  const shown =
    order.length <= MOST ? order : order.sort((a, b) => often.get(labelKey(b)) - often.get(labelKey(a))).slice(0, MOST);
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
  const data = [
    {
      type: "heatmap",
      x: places,
      y: places,
      z: z.map((row) => row.map((n) => Math.sqrt(n))), // rare confusions are seen beside common hits
      customdata: z,
      text: z.map((row) => row.map((n) => (n ? count(n) : ""))),
      texttemplate: shown.length <= 16 ? "%{text}" : "",
      colorscale: [
        [0, c.surface],
        [1, c.accent],
      ],
      showscale: false,
      xgap: 2,
      ygap: 2,
      hovertemplate: "%{customdata} times<extra></extra>",
    },
  ];
  const size = Math.max(260, Math.min(560, 80 + shown.length * 30));
  await Plotly.react(
    node,
    data,
    layout({
      height: size,
      margin: { l: 60, r: 8, t: 8, b: 60 },
      xaxis: { ...side, title: { text: "foretold" } },
      yaxis: { ...side, title: { text: "answered" }, autorange: "reversed" },
    }),
    CONFIG,
  );
}
