/** The panel that is always in sight: what is certain, how far the target is, how long it still takes. */

import { drawHistory } from "./history.js";
import { fill, h, icon } from "./dom.js";
import { explain } from "./explain.js";
import {
  amount,
  count,
  duration,
  isSomething,
  percent,
  percentBound,
  percentCeil,
  percentFloor,
  percentShort,
  plural,
  unbroken,
} from "./format.js";
import { drawLadder } from "./ladder.js";
import { state } from "./live.js";
import { drawPhases, WHAT_HAPPENS } from "./phases.js";
import { pace } from "./session.js";

let parts = null;

/** Make the panel and keep it up to date. */
export function mountCertificate(root) {
  const body = { id: "certificate-body" };
  parts = {
    title: h("h2"),
    number: h("p.big"),
    sentence: h("p.sentence"),
    phases: h("ol.phases", { "aria-label": "Phases" }),
    fill: h("div.bar-fill"),
    expected: h("div.bar-expected"),
    mark: h("div.bar-mark"),
    markText: h("span.bar-target"),
    bar: h("div.bar", {
      role: "meter",
      "aria-label": "Share of labels that is right, at least",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
    }),
    facts: h("dl.facts"),
    ladder: h("div.ladder"),
    busy: h("p.busy", { role: "status" }),
    chart: h("div.chart", {
      role: "slider", // the arrow keys go along it
      tabindex: "0",
      "aria-label": "Chart of the share by number of answers",
      "aria-valuemin": "1",
    }),
  };
  parts.bar.append(parts.expected, parts.fill, parts.mark);
  const more = h(
    "button.more.quiet",
    {
      type: "button",
      "aria-expanded": "false",
      "aria-controls": body.id,
      onclick: () => {
        more.setAttribute("aria-expanded", String(root.classList.toggle("expanded")));
        drawHistory(parts.chart, state.value);
      },
    },
    h("span", "Details"),
    icon("down"),
  );
  fill(
    root,
    h("div.certificate-head", parts.title, parts.number, more),
    h("div.bar-frame", parts.bar, parts.markText),
    h(
      "div.certificate-body",
      body,
      parts.phases,
      parts.sentence,
      parts.busy,
      parts.facts,
      parts.ladder,
      parts.chart,
      h(
        "p.legend",
        h("span.key-certain", "at least"),
        h("span.key-expected", "expected"),
        h("span.key-target", "target"),
      ),
      h("button.link.explain", { type: "button", onclick: explain }, "What does this mean?"),
    ),
  );
  state.watch(draw);
}

function draw(news) {
  const { lower, target, expected, word, stop_reason: reason } = news;
  const started = isSomething(lower);
  parts.number.textContent = started ? `≥ ${percentFloor(lower)}` : news.withheld ? "—" : "Nothing yet";
  parts.title.textContent = `What is ${word}`;
  const begins = !started && !news.answers && !reason && !news.audit; // then there is nothing to say of the labels
  parts.sentence.textContent = begins ? WHAT_HAPPENS : unbroken(news.claim);
  parts.fill.style.width = `${lower * 100}%`;
  parts.expected.style.width = `${(expected ?? 0) * 100}%`;
  parts.mark.hidden = target === null;
  parts.markText.hidden = target === null;
  if (target !== null) {
    parts.mark.style.left = `${target * 100}%`;
    parts.markText.textContent = `Target ${percentShort(target)}`;
  }
  parts.bar.classList.toggle("full", reason === "target");
  parts.bar.setAttribute("aria-valuenow", percentBound(lower));
  parts.bar.setAttribute(
    "aria-valuetext",
    `${percentFloor(lower)}${target === null ? "" : `, target ${percentShort(target)}`}`,
  );
  parts.busy.textContent = news.revising ? "Labelling all rows anew…" : "";
  parts.busy.classList.toggle("on", Boolean(news.revising));
  drawPhases(parts.phases, news);
  fill(parts.facts, facts(news));
  drawLadder(parts.ladder, news);
  drawHistory(parts.chart, news);
}

function facts(news) {
  const { answers, training, bounds, skipped, given, helped, forecast, expected, target, budget, audit } = news;
  const reason = news.stop_reason;
  const rows = [];
  if (expected !== null && expected !== undefined && answers) rows.push(["Right, as expected", percent(expected)]);
  const roles = audit ? null : `${count(training)} chosen, ${count(bounds)} random`;
  const spoken = helped || news.helper_cost; // one that could tell nothing has its price too
  rows.push([spoken ? "You answered" : "Answers", count(answers), roles]);
  if (spoken) rows.push(["The helper", count(helped), news.helper_cost ? `for ${amount(news.helper_cost)}` : null]);
  if (reason) rows.push(["Still needed", reason === "target" ? "none" : "—"]);
  else if (forecast) {
    const range = forecast.high > forecast.low ? `between ${count(forecast.low)} and ${count(forecast.high)}` : null;
    rows.push(["Still needed", `about ${count(forecast.answers)}`, range]);
    const seconds = pace();
    if (seconds) {
      const each = `at ${seconds.toFixed(seconds < 10 ? 1 : 0)} s an answer`;
      rows.push(["Time left", duration(forecast.answers * seconds), each]);
    }
  } else if (!audit && target !== null) rows.push(["Still needed", "not known yet"]);
  if (budget !== null && budget !== undefined) rows.push(["Budget", plural(budget, "answer")]);
  if (audit) rows.push(["At most", percentCeil(audit.upper), "of the labels are right"]);
  if (audit) rows.push(["Mistakes found", count(audit.n_mistakes)]);
  if (audit?.n_mistakes) rows.push(["Once corrected", `≥ ${percentFloor(audit.corrected)}`]);
  if (skipped) rows.push(["Skipped", count(skipped)]);
  if (given) rows.push(["Known from the data", count(given)]);
  return rows.map(([name, value, note]) => h("div", h("dt", name), h("dd", value, note ? h("span.note", note) : null)));
}
