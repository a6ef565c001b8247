/** The line chart of what was certain and what was expected after how many answers. Its colours are in the style sheet. */

import { fill, h, s } from "./dom.js";
import { count, isSomething, percent, percentFloor, plural } from "./format.js";

const HEIGHT = 140;
const MARGIN = { left: 48, right: 12, top: 12, bottom: 20 };

/** A chart in an element, whose points can be read off with the pointer, or with the arrow keys. */
export class LineChart {
  #points = [];
  #at = -1; // the point that is read off
  #readout = h("div.readout", { hidden: true });
  #cursor = s("line.cursor");
  #dot = s("circle.dot", { r: 3.5 });

  constructor(root) {
    this.root = root;
    const show = (event) => this.#read(this.#nearest(event.clientX - root.getBoundingClientRect().left));
    root.addEventListener("pointermove", show);
    root.addEventListener("pointerdown", show);
    root.addEventListener("pointerleave", () => document.activeElement !== root && this.#read(-1));
    root.addEventListener("focus", () => this.#at < 0 && this.#read(this.#points.length - 1));
    root.addEventListener("blur", () => this.#read(-1));
    root.addEventListener("keydown", (event) => this.#press(event));
  }

  /** Draw points `{answers, lower, expected}` in the order of their answers, and a line at the target if there is one. */
  draw(points, target) {
    const atEnd = this.#at === this.#points.length - 1;
    this.#points = points;
    this.width = this.root.clientWidth;
    const most = Math.max(1, points.at(-1).answers);
    const least = Math.min(points[0].answers, most - 1);
    this.x = (answers) =>
      MARGIN.left + ((answers - least) / (most - least)) * (this.width - MARGIN.left - MARGIN.right);
    this.y = (share) => HEIGHT - MARGIN.bottom - share * (HEIGHT - MARGIN.top - MARGIN.bottom);
    const { width, x, y } = this;
    const certain = path(points, (point) => [x(point.answers), y(point.lower)]);
    const expected = path(
      points.filter((point) => Number.isFinite(point.expected)),
      (point) => [x(point.answers), y(point.expected)],
    );
    const across = (share, kind) => s(kind, { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(share), y2: y(share) });
    const drawing = s(
      "svg",
      { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" },
      [0, 0.5, 1].map((share) => [
        across(share, "line.rule"),
        s("text.tick", { x: MARGIN.left - 6, y: y(share), "text-anchor": "end", dy: "0.35em" }, percent(share, 0)),
      ]),
      ticks(least, most).map((answers) =>
        s("text.tick", { x: x(answers), y: HEIGHT - 5, "text-anchor": anchor(x(answers), width) }, count(answers)),
      ),
      s("path.certain-area", { d: `${certain} L${x(most)},${y(0)} L${x(least)},${y(0)} Z` }),
      s("path.expected-line", { d: expected }),
      target === null ? null : across(target, "line.target-line"),
      s("path.certain-line", { d: certain }),
      this.#cursor,
      this.#dot,
    );
    fill(this.root, drawing, this.#readout);
    this.#read(this.#at < 0 ? -1 : atEnd ? points.length - 1 : Math.min(this.#at, points.length - 1));
  }

  #nearest(left) {
    const away = this.#points.map(({ answers }) => Math.abs(this.x(answers) - left));
    return away.indexOf(Math.min(...away));
  }

  #press(event) {
    const last = this.#points.length - 1;
    const to = { ArrowLeft: this.#at - 1, ArrowRight: this.#at + 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault(); // the arrows of the grid are not meant
    this.#read(Math.max(0, Math.min(last, to)));
  }

  /** Show what a point says; -1 shows none. */
  #read(at) {
    this.#at = at;
    const point = this.#points[at];
    const last = point ?? this.#points.at(-1);
    if (last) {
      const words = [isSomething(last.lower) ? `${percentFloor(last.lower)} certain` : "nothing certain yet"];
      if (Number.isFinite(last.expected)) words.push(`${percent(last.expected)} expected`);
      const after = `after ${plural(last.answers, "answer")}`;
      this.root.setAttribute("aria-valuemax", String(this.#points.length));
      this.root.setAttribute("aria-valuenow", String(this.#points.indexOf(last) + 1));
      this.root.setAttribute("aria-valuetext", `${words.join(", ")}, ${after}`);
      fill(this.#readout, h("strong", words[0]), words[1] ? h("span", words[1]) : null, h("span", after));
    }
    for (const part of [this.#cursor, this.#dot]) part.classList.toggle("on", Boolean(point));
    this.#readout.hidden = !point;
    if (!point) return;
    const [x, y] = [this.x(point.answers), this.y(point.lower)];
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: this.y(1), y2: this.y(0) })) {
      this.#cursor.setAttribute(name, value);
    }
    this.#dot.setAttribute("cx", x);
    this.#dot.setAttribute("cy", y);
    const left = x > this.width / 2 ? x - this.#readout.offsetWidth - 8 : x + 8;
    this.#readout.style.left = `${Math.max(0, left)}px`;
  }
}

function path(points, place) {
  return points.map((point, at) => `${at ? "L" : "M"}${place(point).map((value) => value.toFixed(1))}`).join(" ");
}

/** Some round numbers from the least to the most. */
function ticks(least, most) {
  const rough = (most - least) / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let at = Math.ceil(least / step) * step; at <= most; at += step) found.push(at);
  return found;
}

/** Numbers at the edges stay inside. */
function anchor(x, width) {
  return x > width - 24 ? "end" : "middle";
}
