/** The page of people: who answers, how far they agree, and the rows that they see differently. */

import { get } from "./api.js";
import { fill, h, icon, refill } from "./dom.js";
import { ago, count, labelText, plural } from "./format.js";
import { state } from "./live.js";
import { showRecord } from "./record.js";
import { labels, session, settle, undo } from "./session.js";
import { table } from "./table.js";
import { teamPanel } from "./team.js";

export function mountPeople(root) {
  const team = teamPanel();
  const list = h("div");
  const agreement = h("div.figures");
  const open = h("div.maybe");
  fill(
    root,
    h(
      "div.page",
      h(
        "header.page-head",
        h("h1", { tabindex: "-1" }, "People"),
        h("p.lead", "The certificate rests on the first answer to each row, unless a difference was settled here."),
      ),
      team.node,
      h("h2", "Who answers"),
      list,
      agreement,
      open,
      h("p", h("a", { href: "#/rows/flagged" }, "Rows that somebody flagged")),
    ),
  );
  let seen = -1;
  let loads = 0;

  async function load() {
    const mine = ++loads;
    try {
      const [people, differences] = await Promise.all([get("/api/people"), get("/api/disagreements"), team.load()]);
      if (!root.contains(list) || mine !== loads) return; // what was asked for later is newer
      refill(list, peopleTable(people.people ?? state.value.people));
      fill(agreement, figures(people.agreement ?? people));
      refill(open, disagreements(differences.rows ?? differences, load));
    } catch (error) {
      fill(list, h("p.error", error.message));
    }
  }
  const unwatch = state.watch(({ seq }) => {
    if (seen >= 0 && seq - seen <= 20) return;
    seen = seq;
    load();
  });
  session.corrected = load;
  return {
    key: (_, meaning) => meaning?.action === "undo" && (undo(), true),
    leave: () => {
      unwatch();
      session.corrected = null;
    },
  };
}

function peopleTable(people) {
  if (!people.length) return h("p", "Nobody has answered yet.");
  return table(
    [
      {
        name: "name",
        text: "Name",
        head: true,
        value: ({ name }) => name,
        show: ({ name }) => h("span", { dir: "auto" }, name, name === session.by ? h("span.tag", "you") : null),
      },
      {
        name: "answers",
        text: "Answers",
        number: true,
        value: ({ answers }) => answers,
        show: ({ answers }) => count(answers),
      },
      {
        name: "pace",
        text: "A minute",
        number: true,
        value: ({ per_minute: n }) => n ?? 0,
        show: ({ per_minute: n }) => (n ? n.toFixed(1) : "—"),
      },
      { name: "last", text: "Last answer", value: ({ last }) => last ?? 0, show: ({ last }) => ago(last) },
    ],
    people,
    { caption: "People", sort: "answers" },
  );
}

/** Agreement beyond chance, with a word for what the number means. */
function figures(found) {
  const named = [
    ["krippendorff", "Krippendorff's alpha", "All people, whoever answered what"],
    ["fleiss", "Fleiss' kappa", "Rows that the same number of people answered"],
    ["cohen", "Cohen's kappa", "Two people"],
  ];
  const rows = named.filter(([key]) => typeof found?.[key] === "number");
  const shared = found?.n_shared ?? found?.shared ?? found?.rows;
  if (!rows.length) {
    return h(
      "p.card.note-line",
      icon("info"),
      h("span", "How far people agree is known once several have answered the same rows."),
    );
  }
  return rows.map(([key, title, text]) =>
    h(
      "section.card.figure",
      h("h2", title),
      h("p.big", found[key].toFixed(2)),
      h("p", judge(found[key])),
      h("p.help", text, typeof shared === "number" ? `, over ${plural(shared, "row")}` : ""),
    ),
  );
}

function judge(value) {
  if (value >= 0.8) return "Strong agreement";
  if (value >= 0.6) return "Fair agreement: look at the differences";
  if (value >= 0.2) return "Weak agreement: the guidelines may need work";
  return "Hardly more than chance";
}

function disagreements(rows, load) {
  if (!rows.length) return null;
  const decide = async (row, label) => (await settle(row, label)) && load();
  const item = (row) =>
    h(
      "li.card.difference",
      h("div.difference-row", showRecord({ images: [], record: {}, ...row }, { ...state.value, compact: true })),
      h(
        "div",
        h("h3", `Row ${row.name ?? row.row}`),
        h(
          "ul.opinions",
          row.opinions.map(({ by, label }) => h("li", h("strong", { dir: "auto" }, labelText(label)), ` says ${by}`)),
        ),
        h("div.row", { role: "group", "aria-label": "Settle it" }, settleButtons(row, decide)),
      ),
    );
  return h("section", h("h2", `${plural(rows.length, "row")} seen differently`), h("ul.plain", rows.map(item)));
}

/** Those labels that somebody gave, first; any other from a list. */
function settleButtons(row, decide) {
  const given = [...new Map(row.opinions.map(({ label }) => [JSON.stringify(label), label])).values()];
  const others = labels().filter((label) => !given.some((one) => one === label));
  const choice = h(
    "select",
    { "aria-label": "Another class", onchange: () => decide(row, others[choice.selectedIndex - 1]) },
    h("option", "Another class…"),
    others.map((label) => h("option", labelText(label))),
  );
  return [
    given.map((label) => h("button.primary", { type: "button", onclick: () => decide(row, label) }, labelText(label))),
    others.length ? choice : null,
  ];
}
