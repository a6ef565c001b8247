/** What is certified of parts of the rows: a column of the table of classes, and the rows that are sure. */

import { h, icon } from "./dom.js";
import { count, isSomething, labelKey, labelText, percentFloor, percentShort, plural, unbroken } from "./format.js";
import { shareBar } from "./table.js";

/** The column that says how many of the rows with a label are certainly right; none where nobody says. */
export function boundColumn(parts) {
  if (!parts) return [];
  const found = new Map(parts.classes.map(({ label, lower }) => [labelKey(label), lower]));
  const lower = ({ label }) => found.get(labelKey(label));
  return [
    {
      name: "lower",
      text: "Of these, right",
      value: (one) => lower(one) ?? -1, // no row has the label
      show: (one) => boundText(one, lower(one)),
    },
  ];
}

function boundText({ label }, lower) {
  if (lower === undefined) return "—";
  if (!isSomething(lower)) return h("span.missing", "nothing certain yet");
  const text = `at least ${percentFloor(lower)}`;
  const shown = shareBar(lower, text);
  shown.title = `At least ${percentFloor(lower)} of the rows labelled ‘${labelText(label)}’ are right.`;
  return shown;
}

/** What that column is worth, to stand under the table. */
export function boundWorth(parts) {
  return parts?.classes.length ? h("p.help", unbroken(parts.by_class_worth)) : null;
}

/** The card of sure rows, and what it is worth; `anew` works it out once more. */
export function sureCard({ answers, parts }, anew) {
  if (!parts) return null;
  const some = parts.sure.filter(({ n_inferred: n }) => n > 0);
  return h(
    "section.card.sure",
    h(
      "div.card-head",
      h("h2", "Sure rows"),
      h(
        "span.help",
        `After ${plural(answers, "answer")}. `,
        h("button.link", { type: "button", onclick: anew }, "Work it out anew"),
      ),
    ),
    some.length
      ? h("ul", some.map(sureLine))
      : h("p.none", "No rows are sure yet beyond those that were answered: it takes more draws."),
    some.length ? h("p.help", unbroken(parts.sure_worth)) : null,
  );
}

function sureLine({ share, n_rows: n, covered, claim }) {
  const which = covered >= 1 ? `all ${plural(n, "row")}` : `${plural(n, "row")} (${percentFloor(covered)})`;
  const least = percentShort(share);
  return h(
    "li",
    h("span", { title: claim }, "Of ", h("strong", which), " at least ", h("strong", least), " are right."),
    h(
      "a",
      { href: `#/report/${share}`, "aria-label": `Export them: the rows of which ${least} are right` },
      icon("download"),
      "Export them",
    ),
  );
}
