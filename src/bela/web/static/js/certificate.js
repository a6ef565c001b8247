/** The panel that is always in sight: what is certain, how far the target is, how long it still takes. */

import { drawHistory } from "./history.js";
import { fill, h, icon } from "./dom.js";
import { count, duration, percent, percentFloor, percentShort, plural } from "./format.js";
import { state } from "./live.js";
import { ask } from "./notes.js";
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
    bar: h("div.bar", { role: "meter", "aria-label": "Share of labels that is certainly right", "aria-valuemin": "0", "aria-valuemax": "100" }),
    facts: h("dl.facts"),
    busy: h("p.busy", { role: "status" }),
    chart: h("div.chart", { role: "img", "aria-label": "Chart of the certified share by number of answers" }),
  }; // prettier-ignore
  parts.bar.append(parts.expected, parts.fill, parts.mark);
  const more = h("button.more.quiet", { type: "button", "aria-expanded": "false", "aria-controls": body.id,
    onclick: () => {
      more.setAttribute("aria-expanded", String(root.classList.toggle("expanded")));
      drawHistory(parts.chart, state.value);
    } },
    h("span", "Details"), icon("down")); // prettier-ignore
  fill(root,
    h("div.certificate-head", h("h2", "What is certain"), parts.number, more),
    h("div.bar-frame", parts.bar, parts.markText),
    h("div.certificate-body", body,
      parts.sentence, parts.busy, parts.facts, parts.chart,
      h("p.legend", h("span.key-certain", "certain"), h("span.key-expected", "expected"), h("span.key-target", "target")),
      h("button.link.explain", { type: "button", onclick: explain }, "What does this mean?"))); // prettier-ignore
  state.watch(draw);
}

function draw(news) {
  const { lower, target, expected, kind, stop_reason: reason } = news;
  const started = lower > 0;
  parts.number.textContent = started ? `≥ ${percentFloor(lower)}` : "Nothing yet";
  parts.sentence.textContent = sentence(news);
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
  parts.bar.setAttribute("aria-valuetext", `${percentFloor(lower)}${target === null ? "" : `, target ${percentShort(target)}`}`);
  parts.busy.textContent = news.revising ? "Labelling all rows anew…" : "";
  parts.busy.classList.toggle("on", Boolean(news.revising));
  fill(parts.facts, facts(news, kind));
  drawHistory(parts.chart, news);
}

function sentence({ lower, confidence, n_rows: rows, kind }) {
  if (lower <= 0) return "The first answers teach the labelling. The number comes when it can be trusted.";
  if (kind === "anytime") {
    return `At least ${percentFloor(lower)} of all ${count(rows)} labels are right (${percentShort(confidence)} sure).`;
  }
  return `The published bound says that ${percentFloor(lower)} of all ${count(rows)} labels are right. It is no guarantee.`;
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
  return rows.map(([name, value, note]) =>
    h("div", h("dt", name), h("dd", value, note ? h("span.note", note) : null)));  // prettier-ignore
}

function explain() {
  const { lower, confidence, n_rows: rows, training, bounds, kind, skipped, expected } = state.value;
  const sure = percentShort(confidence);
  ask("What does this mean?", () => h("div.words",
    h("p", `If you stopped now, each of the ${count(rows)} rows would have a label: your answer where you gave one, and else the label of the rows that it resembles.`),
    kind === "anytime"
      ? h("p", `With ${sure} confidence, at least `, h("strong", percentFloor(lower)), " of these labels are what you would have answered yourself. This holds at every moment, so you may stop whenever the number is good enough for you.")
      : h("p", "The number is the bound that was published with this method. It is seldom wrong, but nobody has proved it for questions that are chosen one after another."),
    h("p", `Whenever all rows are labelled anew, the labels are checked only by answers to rows that are drawn at random afterwards, so they cannot have been learned by heart. Up to now ${plural(bounds, "row")} were drawn at random, and ${plural(training, "row")} chosen because they teach the most. What is presumed on the page plays no part in the number.`),
    expected !== null && expected !== undefined ? h("p", `“Right, as expected” is the model's own estimate, ${percent(expected)} now. It is usually closer to the truth, but it is only an estimate.`) : null,
    h("p", `Rows that were skipped${skipped ? ` (${count(skipped)} so far)` : ""} count as wrong in the number, so that leaving out the hard ones cannot make it look better. Where several people answered the same row, the first answer counts until the difference is settled.`),
    h("p", "The number is about agreement with the people who answer: it cannot know whether they are mistaken."))); // prettier-ignore
}
