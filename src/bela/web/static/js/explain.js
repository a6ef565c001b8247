/** What the number means, in plain words. */

import { h } from "./dom.js";
import { count, percent, plural } from "./format.js";
import { state } from "./live.js";
import { ask } from "./notes.js";

/** Open the explanation. */
export function explain() {
  const paragraphs = [whatItIs, whatIsSure, whatItRestsOn, whatIsExpected, whatIsSkipped, whatItCannotKnow];
  return ask("What does this mean?", () =>
    h(
      "div.words",
      paragraphs.map((say) => say(state.value)).map((text) => text && h("p", text)),
    ),
  );
}

function whatItIs({ n_rows: rows, audit }) {
  if (audit) {
    return `Somebody or something has given each of the ${count(rows)} rows a label, which is under audit here. Rows are
      drawn at random and judged, until the target is certified or refuted.`;
  }
  return `If you stopped now, each of the ${count(rows)} rows would have a label: your answer where you gave one, and
    else the label of the rows that it resembles.`;
}

function whatIsSure({ claim, worth, audit }) {
  if (audit) return [h("strong", claim), ` ${audit.details.join(" ")} ${worth}`];
  return [h("strong", claim), ` Right means: what you would have answered yourself. ${worth}`];
}

function whatItRestsOn({ training, bounds, audit }) {
  if (audit) return null;
  return `Whenever all rows are labelled anew, the labels are checked only by answers to rows that are drawn at random
    afterwards, so they cannot have been learned by heart. Up to now ${plural(bounds, "row")} were drawn at random, and
    ${plural(training, "row")} chosen because they teach the most. What is suggested on the page plays no part in the
    number.`;
}

function whatIsExpected({ expected }) {
  if (expected === null) return null;
  return `“Right, as expected” is the model's own estimate, ${percent(expected)} now. It is usually closer to the truth,
    but it is only an estimate.`;
}

function whatIsSkipped({ skipped }) {
  return `Rows that were skipped${skipped ? ` (${count(skipped)} so far)` : ""} count as wrong in the number, so that
    leaving out the hard ones cannot make it look better. Where several people answered the same row, the first answer
    counts until the difference is settled.`;
}

function whatItCannotKnow() {
  return "The number is about agreement with the people who answer: it cannot know whether they are mistaken.";
}
