/** The page of leaves: all rows as areas that share a label, as a map and as a table; a leaf opens as a gallery. */

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { count, labelText, percent, percentFloor, plural } from "./format.js";
import { mountGallery } from "./gallery.js";
import { state } from "./live.js";
import { CONFIG, colours, layout, onTheme, plotly } from "./plotly.js";
import { shareBar, table } from "./table.js";

const DRAWN = 400; // leaves in the map; smaller ones are summed up

/** Put the page into an element; `leaf` opens one leaf. */
export function mountTree(root, [leaf]) {
  if (leaf !== undefined) return mountGallery(root, Number(leaf));
  const map = h("div.treemap", { role: "img", "aria-label": "Map of the leaves; the table below says the same." });
  const list = h("div");
  const lead = h("p.lead", "Fetching the leaves…");
  fill(root, h("div.page", h("header.page-head", h("h1", { tabindex: "-1" }, "Leaves"), lead), map, list));
  let leaves = [];
  let revision = -1;

  const load = async () => {
    try {
      leaves = await get("/api/leaves");
    } catch (error) {
      lead.textContent = error.message;
      return;
    }
    if (!root.contains(map)) return;
    lead.textContent = leaves.length
      ? `Rows that look alike lie in one of ${plural(leaves.length, "leaf", "leaves")} and share its label, unless you
        answered otherwise. The larger an area, the more rows; the darker, the surer. Open one to see its rows, the
        least certain first.`
      : "There are no leaves yet: they come with the first answers.";
    map.hidden = !leaves.length;
    fill(list, leaves.length ? leafTable(leaves) : null);
    drawMap(map, leaves).catch(() => (map.hidden = true));
  };
  const unwatch = state.watch(({ n_revisions: now }) => {
    if (now !== revision) load();
    revision = now;
  });
  const redraw = () => drawMap(map, leaves).catch(() => {});
  const untheme = onTheme(redraw);
  return {
    leave: () => {
      unwatch();
      untheme();
      window.Plotly?.purge(map);
    },
  };
}

function leafTable(leaves) {
  return table(
    [
      {
        name: "label",
        text: "Label",
        head: true,
        value: ({ label }) => labelText(label),
        show: ({ leaf, label }) => h("a", { href: `#/tree/${leaf}`, dir: "auto" }, labelText(label)),
      },
      { name: "size", text: "Rows", number: true, value: ({ size }) => size, show: ({ size }) => count(size) },
      { name: "known", text: "Answered", number: true, value: ({ known }) => known, show: ({ known }) => count(known) },
      {
        name: "probability",
        text: "Right, as expected",
        value: ({ probability }) => probability,
        show: ({ probability: p }) => (p === null ? "—" : shareBar(p, percent(p))),
      },
      {
        name: "lower",
        text: "Certainly right",
        value: ({ lower }) => lower,
        show: ({ lower }) => (lower === null ? "—" : shareBar(lower, percentFloor(lower))),
      },
    ],
    leaves,
    { caption: "Leaves", sort: "size" },
  );
}

/** Draw leaves within their labels, as large as they have rows and as dark as they are sure. */
async function drawMap(node, leaves) {
  if (!leaves.length) return;
  const Plotly = await plotly();
  if (!node.isConnected) return;
  const c = colours();
  const sorted = [...leaves].sort((a, b) => b.size - a.size);
  const shown = sorted.slice(0, DRAWN);
  const labels = [...new Map(sorted.map(({ label }) => [JSON.stringify(label), label])).entries()];
  const rest = sorted.slice(DRAWN).reduce((sum, { size }) => sum + size, 0);
  const shade = shades(c);
  const data = [
    {
      type: "treemap",
      branchvalues: "remainder",
      ids: [...labels.map(([key]) => `label ${key}`), ...shown.map(({ leaf }) => `leaf ${leaf}`)],
      labels: [...labels.map(([, label]) => labelText(label)), ...shown.map(({ label }) => labelText(label))].map(
        escape,
      ),
      parents: [...labels.map(() => ""), ...shown.map(({ label }) => `label ${JSON.stringify(label)}`)],
      values: [...labels.map(() => 0), ...shown.map(({ size }) => size)],
      customdata: [
        ...labels.map(() => ""),
        ...shown.map(({ size, known, probability: p }) =>
          [plural(size, "row"), `${count(known)} answered`, `${percent(p)} right, as expected`].join("<br>"),
        ),
      ],
      texttemplate: [...labels.map(() => "<b>%{label}</b>"), ...shown.map(({ size }) => count(size))],
      textposition: "middle center",
      textfont: {
        size: 13,
        color: [...labels.map(() => c.ink), ...shown.map((leaf) => shade(leaf).ink)],
      },
      hovertemplate: "<b>%{label}</b><br>%{customdata}<extra></extra>",
      marker: {
        colors: [...labels.map(() => c.bg), ...shown.map((leaf) => shade(leaf).paper)],
        line: { width: 0 },
        pad: { t: 24, l: 0, r: 6, b: 6 },
        cornerradius: 5,
      },
      tiling: { pad: 2 },
      pathbar: { visible: false },
      root: { color: c.bg },
    },
  ];
  const uniformtext = { minsize: 11, mode: "hide" };
  await Plotly.react(node, data, layout({ height: 440, margin: { l: 0, r: 0, t: 0, b: 0 }, uniformtext }), CONFIG);
  node.removeAllListeners?.("plotly_treemapclick");
  node.on("plotly_treemapclick", ({ points }) => {
    const [kind, leaf] = String(points[0].id).split(" ");
    if (kind === "leaf") location.hash = `#/tree/${leaf}`;
    return kind !== "leaf"; // a label may be zoomed into
  });
  if (rest)
    node.setAttribute("aria-label", `Map of the ${DRAWN} largest leaves; ${plural(rest, "row")} are in smaller ones.`);
}

/** The colours of a leaf: the surer its labels, the darker; most are nearly sure, so small doubts are made to show. */
function shades(c) {
  const numbers = (colour) =>
    colour
      .match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number);
  const [pale, full] = [numbers(c["accent-soft"]), numbers(c.accent)];
  return ({ probability, lower }) => {
    const sure = Math.max(0, ((probability ?? lower ?? 0) - 0.5) * 2) ** 6;
    const paper = `rgb(${pale.map((from, at) => Math.round(from + (full[at] - from) * sure)).join(",")})`;
    return { paper, ink: sure > 0.5 ? c["on-accent"] : c.ink };
  };
}

/** Plotly reads a little HTML in its texts: what looks like a tag must not be one. */
function escape(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").slice(0, 60);
}
