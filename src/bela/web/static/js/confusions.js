/** What the labelling predicted against what was answered: as a map, and in words. */

import { fill, h, s } from "./dom.js";
import { count, labelKey, labelText, plural } from "./format.js";
import { labels } from "./session.js";

const MOST = 40; // classes in the map
const [SMALLEST, LARGEST] = [12, 34]; // pixels of a class
const LETTER = 6.5; // pixels, about

/** Add up confusions over roles: `{predicted, answered, n}`. */
export function sum(confusions) {
  const sums = new Map();
  for (const { predicted, answered, n } of confusions) {
    const key = `${labelKey(predicted)} ${labelKey(answered)}`;
    const pair = sums.get(key) ?? { predicted, answered, n: 0 };
    pair.n += n;
    sums.set(key, pair);
  }
  return [...sums.values()];
}

/** The most common confusions as sentences. */
export function confusionList(pairs) {
  const wrong = pairs
    .filter(({ predicted, answered }) => labelKey(predicted) !== labelKey(answered))
    .sort((a, b) => b.n - a.n);
  const total = pairs.reduce((all, { n }) => all + n, 0);
  const missed = wrong.reduce((all, { n }) => all + n, 0);
  if (!wrong.length)
    return h("p", total ? `All ${plural(total, "answer")} were as predicted.` : "Nothing was predicted yet.");
  return [
    h("p", `${count(total - missed)} of ${plural(total, "answer")} were as predicted. The most common others:`),
    h(
      "ol",
      wrong
        .slice(0, 8)
        .map(({ predicted, answered, n }) =>
          h(
            "li",
            h("strong", { dir: "auto" }, labelText(predicted)),
            " was predicted, ",
            h("strong", { dir: "auto" }, labelText(answered)),
            ` answered: ${plural(n, "time")}`,
          ),
        ),
    ),
  ];
}

/** Draw the map of confusions; nothing where there are fewer than two classes. */
export function drawHeat(node, pairs) {
  const often = new Map();
  for (const { predicted, answered, n } of pairs) {
    for (const label of [predicted, answered]) often.set(labelKey(label), (often.get(labelKey(label)) ?? 0) + n);
  }
  node.hidden = often.size < 2;
  if (node.hidden) return;
  const order = labels().filter((label) => often.has(labelKey(label)));
  const shown =
    order.length <= MOST ? order : order.sort((a, b) => often.get(labelKey(b)) - often.get(labelKey(a))).slice(0, MOST);
  const at = new Map(shown.map((label, place) => [labelKey(label), place]));
  const names = shown.map((label) => cut(labelText(label)));
  const margin = 30 + LETTER * Math.max(...names.map((name) => name.length));
  const size = Math.max(SMALLEST, Math.min(LARGEST, (560 - margin) / shown.length));
  const side = margin + size * shown.length + 2;
  const place = (index) => margin + (index + 0.5) * size;
  const middle = (margin + side) / 2;
  const most = Math.max(...pairs.map(({ n }) => n));
  const cells = pairs.map((pair) => [pair, at.get(labelKey(pair.answered)), at.get(labelKey(pair.predicted))]);
  fill(
    node,
    s(
      "svg",
      { viewBox: `0 0 ${side} ${side}`, width: side },
      s("text.axis", { x: middle, y: 12, "text-anchor": "middle" }, "predicted"),
      s("text.axis", { transform: `translate(10 ${middle}) rotate(-90)`, "text-anchor": "middle" }, "answered"),
      names.map((name, index) => [
        s("text", { x: margin - 6, y: place(index), dy: "0.35em", "text-anchor": "end" }, name),
        s("text", { transform: `translate(${place(index)} ${margin - 6}) rotate(-90)`, dy: "0.35em" }, name),
      ]),
      s("rect.empty", { x: margin, y: margin, width: size * shown.length, height: size * shown.length }),
      cells
        .filter(([, row, column]) => row !== undefined && column !== undefined)
        .map(([pair, row, column]) => cell(pair, { x: place(column), y: place(row), size, most })),
    ),
  );
}

/** A square, the darker the more; by the root, so that rare confusions are seen beside common hits. */
function cell({ predicted, answered, n }, { x, y, size, most }) {
  const dark = Math.sqrt(n / most);
  const rect = s("rect", { x: x - size / 2 + 1, y: y - size / 2 + 1, width: size - 2, height: size - 2, rx: 2 });
  rect.style.fill = `color-mix(in srgb, var(--accent) ${(dark * 100).toFixed(1)}%, var(--surface))`;
  const words = `${labelText(predicted)} predicted, ${labelText(answered)} answered: ${plural(n, "time")}`;
  const fits = size >= LETTER * count(n).length + 6;
  return s(
    dark > 0.65 ? "g.dark" : "g",
    {},
    s("title", {}, words),
    rect,
    fits ? s("text", { x, y, dy: "0.35em", "text-anchor": "middle" }, count(n)) : null,
  );
}

function cut(name) {
  return name.length > 18 ? `${name.slice(0, 17)}…` : name;
}
