/** What the number means, in plain words. */

import { h } from "./dom.js";
import { count, percent, percentFloor, percentShort, plural } from "./format.js";
import { state } from "./live.js";
import { ask } from "./notes.js";

/** The certificate in one sentence. */
export function certainly({ lower, confidence, n_rows: rows, kind }) {
  if (lower <= 0) return "The first answers teach the labelling. The number comes when it can be trusted.";
  const share = `${percentFloor(lower)} of all ${count(rows)} labels are right`;
  if (kind !== "anytime") return `The published bound says that ${share}. It is no guarantee.`;
  return `At least ${share} (${percentShort(confidence)} sure).`;
}

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

function whatItIs({ n_rows: rows }) {
  return `If you stopped now, each of the ${count(rows)} rows would have a label: your answer where you gave one, and
    else the label of the rows that it resembles.`;
}

function whatIsSure({ kind, lower, confidence }) {
  if (kind !== "anytime") {
    return `The number is the bound that was published with this method. It is seldom wrong, but nobody has proved it for
      questions that are chosen one after another.`;
  }
  return [
    `With ${percentShort(confidence)} confidence, at least `,
    h("strong", percentFloor(lower)),
    ` of these labels are what you would have answered yourself. This holds at every moment, so you may stop whenever
      the number is good enough for you.`,
  ];
}

function whatItRestsOn({ training, bounds }) {
  return `Whenever all rows are labelled anew, the labels are checked only by answers to rows that are drawn at random
    afterwards, so they cannot have been learned by heart. Up to now ${plural(bounds, "row")} were drawn at random, and
    ${plural(training, "row")} chosen because they teach the most. What is presumed on the page plays no part in the
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
