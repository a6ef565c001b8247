/** A map of the leaves within their labels: areas as large as they have rows and as dark as they are sure. */

import { fill, s } from "./dom.js";
import { count, labelKey, labelText, percent, plural } from "./format.js";

const DRAWN = 400; // leaves in the map; smaller ones are summed up
const HEIGHT = 440;
const HEAD = 24; // for the name of a label
const GAP = 2;
const NARROW = 30; // pixels that a number needs at least
const WIDTH_OF_A_LETTER = 7.5;

/**
 * Draw leaves `{leaf, label, size, known, probability, lower}`, those of the label with the key `alone`, if any. A
 * click on a leaf calls `open` with its number; one on the name of a label calls `zoom` with the key of the label to
 * show alone, or with null for all of them again.
 */
export function drawTreemap(root, leaves, { open, zoom, alone = null } = {}) {
  const sorted = [...leaves].sort((a, b) => b.size - a.size);
  const shown = sorted.slice(0, DRAWN).filter(({ label }) => alone === null || labelKey(label) === alone);
  const groups = [...Map.groupBy(shown, ({ label }) => labelKey(label))].map(([key, members]) => ({
    key,
    members,
    size: total(members),
  }));
  const width = root.clientWidth;
  const drawing = s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT });
  groups.sort((a, b) => b.size - a.size);
  for (const [group, box] of tile(groups, { x: 0, y: 0, width, height: HEIGHT })) {
    const head = box.height < 2 * HEAD ? 0 : HEAD; // of a rare label there would be nothing but its name
    if (head) drawing.append(heading(group, box, () => zoom(alone === null ? group.key : null)));
    const gap = Math.min(6, box.width / 2, box.height / 2);
    const inner = { x: box.x, y: box.y + head, width: box.width - gap, height: box.height - head - gap };
    for (const [leaf, area] of tile(group.members, inner)) drawing.append(leafArea(leaf, area, open));
  }
  fill(root, drawing);
  const rest = total(sorted.slice(DRAWN));
  if (rest)
    root.setAttribute("aria-label", `Map of the ${DRAWN} largest leaves; ${plural(rest, "row")} are in smaller ones.`);
}

function heading({ members, size }, { x, y, width }, zoom) {
  const name = labelText(members[0].label);
  const fits = Math.floor((width - 8) / WIDTH_OF_A_LETTER);
  const text = name.length <= fits ? name : fits > 2 ? `${name.slice(0, fits - 1)}…` : "";
  return s(
    "g.label-head",
    { onclick: zoom },
    s("title", {}, `${name}: ${plural(size, "row")}`),
    s("rect", { x, y, width: Math.max(0, width - 6), height: HEAD }),
    s("text", { x: x + 2, y: y + 16 }, text),
  );
}

/** The surer its labels, the darker a leaf; most are nearly sure, so small doubts are made to show. */
function leafArea(leaf, { x, y, width, height }, open) {
  const { label, size, known, probability, lower } = leaf;
  const sure = Math.max(0, ((probability ?? lower ?? 0) - 0.5) * 2) ** 6;
  const rect = s("rect", {
    x,
    y,
    width: Math.max(0, width - GAP),
    height: Math.max(0, height - GAP),
    rx: Math.min(5, width / 4, height / 4),
  });
  rect.style.fill = `color-mix(in srgb, var(--accent) ${(sure * 100).toFixed(1)}%, var(--accent-soft))`;
  const fits = width > Math.max(NARROW, count(size).length * WIDTH_OF_A_LETTER + 6) && height > 18;
  return s(
    sure > 0.6 ? "g.leaf.dark" : "g.leaf",
    { onclick: () => open(leaf.leaf) },
    s(
      "title",
      {},
      [labelText(label), plural(size, "row"), `${count(known)} answered`, `${percent(probability)} right, as expected`]
        .join("\n"),
    ),
    rect,
    fits ? s("text", { x: x + width / 2, y: y + height / 2, dy: "0.35em", "text-anchor": "middle" }, count(size)) : null,
  );
}

function total(items) {
  return items.reduce((sum, { size }) => sum + size, 0);
}

/** Cut a box into areas in proportion to the sizes of items, the largest first, each as square as can be. */
function* tile(items, box) {
  let { x, y, width, height } = box;
  let left = total(items);
  let at = 0;
  while (at < items.length && left > 0) {
    const short = Math.min(width, height);
    const scale = (width * height) / left; // pixels for one row
    let end = at + 1;
    while (end < items.length && worst(items, at, end + 1, scale, short) <= worst(items, at, end, scale, short)) end++;
    const strip = items.slice(at, end);
    const sum = total(strip);
    const depth = (sum * scale) / short;
    let along = 0;
    for (const item of strip) {
      const length = (item.size / sum) * short;
      yield width >= height
        ? [item, { x, y: y + along, width: depth, height: length }]
        : [item, { x: x + along, y, width: length, height: depth }];
      along += length;
    }
    if (width >= height) [x, width] = [x + depth, width - depth];
    else [y, height] = [y + depth, height - depth];
    left -= sum;
    at = end;
  }
}

/** How far the least square of some items would be from a square, were they put into one strip. */
function worst(items, from, to, scale, short) {
  const sum = total(items.slice(from, to)) * scale;
  const [most, least] = [items[from].size * scale, items[to - 1].size * scale];
  return Math.max((short ** 2 * most) / sum ** 2, sum ** 2 / (short ** 2 * least));
}
