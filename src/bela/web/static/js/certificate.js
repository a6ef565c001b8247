/** The panel that is always in sight: what is certain, how far the target is, how long it still takes. */

import { drawHistory } from "./history.js";
import { fill, h, icon } from "./dom.js";
import { certainly, explain } from "./explain.js";
import { count, duration, percent, percentFloor, percentShort, plural } from "./format.js";
import { state } from "./live.js";
import { pace } from "./session.js";

let parts = null;

/** Make the panel and keep it up to date. */
export function mountCertificate(root) {
  const body = { id: "certificate-body" };
  parts = {
    number: h("p.big"),
    sentence: h("p.sentence"),
    fill: h("div.bar-fill"),
    expected: h("div.bar-expected"),
    mark: h("div.bar-mark"),
    markText: h("span.bar-target"),
    bar: h("div.bar", {
      role: "meter",
      "aria-label": "Share of labels that is certainly right",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
    }),
    facts: h("dl.facts"),
    busy: h("p.busy", { role: "status" }),
    chart: h("div.chart", { role: "img", "aria-label": "Chart of the certified share by number of answers" }),
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
    h("div.certificate-head", h("h2", "What is certain"), parts.number, more),
    h("div.bar-frame", parts.bar, parts.markText),
    h(
      "div.certificate-body",
      body,
      parts.sentence,
      parts.busy,
      parts.facts,
      parts.chart,
      h(
        "p.legend",
        h("span.key-certain", "certain"),
        h("span.key-expected", "expected"),
        h("span.key-target", "target"),
      ),
      h("button.link.explain", { type: "button", onclick: explain }, "What does this mean?"),
    ),
  );
  state.watch(draw);
}

function draw(news) {
  const { lower, target, expected, kind, stop_reason: reason } = news;
  const started = lower > 0;
  parts.number.textContent = started ? `≥ ${percentFloor(lower)}` : "Nothing yet";
  parts.sentence.textContent = certainly(news);
  parts.fill.style.width = `${lower * 100}%`;
  parts.expected.style.width = `${(expected ?? 0) * 100}%`;
  parts.mark.hidden = target === null;
  parts.markText.hidden = target === null;
  if (target !== null) {
    parts.mark.style.left = `${target * 100}%`;
    parts.markText.textContent = `Target ${percentShort(target)}`;
  }
  parts.bar.classList.toggle("full", reason === "target");
  parts.bar.setAttribute("aria-valuenow", (lower * 100).toFixed(1));
  parts.bar.setAttribute(
    "aria-valuetext",
    `${percentFloor(lower)}${target === null ? "" : `, target ${percentShort(target)}`}`,
  );
  parts.busy.textContent = news.revising ? "Labelling all rows anew…" : "";
  parts.busy.classList.toggle("on", Boolean(news.revising));
  fill(parts.facts, facts(news, kind));
  drawHistory(parts.chart, news);
}

function facts(news) {
  const { answers, training, bounds, skipped, given, forecast, expected, budget, stop_reason: reason } = news;
  const rows = [];
  if (expected !== null && expected !== undefined && answers) rows.push(["Right, as expected", percent(expected)]);
  rows.push(["Answers", count(answers), `${count(training)} chosen, ${count(bounds)} random`]);
  if (reason) rows.push(["Still needed", reason === "target" ? "none" : "—"]);
  else if (forecast) {
    const range = forecast.high > forecast.low ? `between ${count(forecast.low)} and ${count(forecast.high)}` : null;
    rows.push(["Still needed", `about ${count(forecast.answers)}`, range]);
    const seconds = pace();
    if (seconds) {
      const each = `at ${seconds.toFixed(seconds < 10 ? 1 : 0)} s an answer`;
      rows.push(["Time left", duration(forecast.answers * seconds), each]);
    }
  } else rows.push(["Still needed", "not known yet"]);
  if (budget !== null && budget !== undefined) rows.push(["At most", plural(budget, "answer")]);
  if (skipped) rows.push(["Skipped", count(skipped)]);
  if (given) rows.push(["Known from the data", count(given)]);
  return rows.map(([name, value, note]) => h("div", h("dt", name), h("dd", value, note ? h("span.note", note) : null)));
}
