/** Tables that can be sorted by their columns. */

import { fill, h, icon } from "./dom.js";

/**
 * Make a table. A column is `{name, text, value, show, number}`: `value` gives what to sort by, `show` what to show.
 * `act` may return what stands at the end of each row.
 */
export function table(columns, rows, { caption, sort = null, down = true, most = 200 } = {}) {
  const body = h("tbody");
  const heads = new Map();
  let by = sort;
  let falling = down;
  let limit = most;

  const draw = () => {
    const column = columns.find(({ name }) => name === by);
    const sorted = column
      ? [...rows].sort((a, b) => compare(column.value(a), column.value(b)) * (falling ? -1 : 1))
      : rows;
    fill(
      body,
      sorted.slice(0, limit).map((row) =>
        h(
          "tr",
          columns.map(({ show, value, number, head }) =>
            h(
              head ? "th" : "td",
              { class: number ? "number" : null, scope: head ? "row" : null },
              show ? show(row) : value(row),
            ),
          ),
        ),
      ),
    );
    for (const [name, cell] of heads) {
      cell.setAttribute("aria-sort", name !== by ? "none" : falling ? "descending" : "ascending");
    }
    more.hidden = rows.length <= limit;
    more.textContent = `Show all ${rows.length}`;
  };
  const sortBy = (name) => {
    falling = name === by ? !falling : true;
    by = name;
    draw();
  };
  const more = h("button", { type: "button", onclick: () => ((limit = Infinity), draw()) });
  const head = columns.map(({ name, text, value, number, sorts = true }) => {
    if (!sorts) return h("td");
    const cell = h(
      "th",
      { scope: "col", class: number ? "number" : null },
      value ? h("button.quiet.sort", { type: "button", onclick: () => sortBy(name) }, text, icon("down")) : text,
    );
    heads.set(name, cell);
    return cell;
  });
  const node = h(
    "div.table-frame",
    h("table", caption ? h("caption.visually-hidden", caption) : null, h("thead", h("tr", head)), body),
    more,
  );
  draw();
  return node;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

/** A share as a small bar with its number. */
export function shareBar(share, text) {
  const bar = h("span.mini-fill");
  bar.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span.mini", h("span.mini-track", bar), h("span", text));
}
