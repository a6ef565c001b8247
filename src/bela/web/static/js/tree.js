/** The page of leaves: all rows as areas that share a label, as a map and as a table; a leaf opens as a gallery. */

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { count, labelKey, labelText, percent, percentFloor, plural } from "./format.js";
import { mountGallery } from "./gallery.js";
import { state } from "./live.js";
import { shareBar, table } from "./table.js";
import { drawTreemap } from "./treemap.js";

/** Put the page into an element; `leaf` opens one leaf. */
export function mountTree(root, [leaf]) {
  if (leaf !== undefined) return mountGallery(root, Number(leaf));
  const map = h("div.treemap", { role: "img", "aria-label": "Map of the leaves; the table below says the same." });
  const list = h("div");
  const lead = h("p.lead", "Fetching the leaves…");
  fill(root, h("div.page", h("header.page-head", h("h1", { tabindex: "-1" }, "Leaves"), lead), map, list));
  let leaves = [];
  let revision = -1;
  let alone = null; // the key of the only label shown: stays when leaves are fetched anew

  const load = async () => {
    let fetched;
    const wanted = revision;
    try {
      fetched = await get("/api/leaves");
    } catch (error) {
      lead.textContent = error.message;
      return;
    }
    if (!root.contains(map) || wanted !== revision) return; // a newer revision is on its way
    leaves = fetched;
    if (!leaves.some(({ label }) => labelKey(label) === alone)) alone = null;
    lead.textContent = leaves.length
      ? `Rows that look alike lie in one of ${plural(leaves.length, "leaf", "leaves")} and share its label, unless you
        answered otherwise. The larger an area, the more rows; the darker, the surer. Open one to see its rows, the
        least certain first.`
      : "There are no leaves yet: they come with the first answers.";
    map.hidden = !leaves.length;
    fill(list, leaves.length ? leafTable(leaves) : null);
    redraw();
  };
  const redraw = () => {
    if (!leaves.length) return;
    drawTreemap(map, leaves, {
      alone,
      open: (number) => (location.hash = `#/tree/${number}`),
      zoom: (key) => {
        alone = key;
        redraw();
      },
    });
  };
  const unwatch = state.watch(({ n_revisions: now }) => {
    if (now === revision) return;
    revision = now;
    load();
  });
  window.addEventListener("resize", redraw);
  return {
    leave: () => {
      unwatch();
      window.removeEventListener("resize", redraw);
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
