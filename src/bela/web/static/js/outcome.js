/** What is shown where there is no row to ask about: the target is reached, or others have all the rows. */

import { post } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { percentShort, plural, unbroken } from "./format.js";
import { online, state, takeIn } from "./live.js";
import { complain } from "./notes.js";
import { session } from "./session.js";

let goneOn = null; // the reason to stop that somebody has chosen to go on after
let drawn = "";

/** Whether somebody has to wait until there are classes to answer with, as only owners say which. */
export function needsClasses() {
  return !session.owner && !state.value.classes.length;
}

/** Whether there is a reason to stop that nobody has chosen to go on after. */
export function stopped() {
  const { stop_reason: reason } = state.value;
  if (!reason) goneOn = null;
  return Boolean(reason) && goneOn !== reason;
}

/** Draw what stands in the place of rows where none is shown; `more` says that there are some to go on with. */
export function inPlaceOfRows(root, { ready, more, empty }) {
  const { stop_reason: reason, lower, target, revising, answers, team } = state.value;
  const now = JSON.stringify([
    ready,
    more,
    empty,
    reason,
    goneOn,
    revising,
    answers > 0,
    needsClasses(),
    online.value,
    reason ? [lower, target] : 0,
  ]);
  if (now === drawn && root.firstChild) return;
  drawn = now;
  if (ready) fill(root);
  else if (reason) fill(root, reached(more));
  else if (!online.value) fill(root, card("cloud", "The server is away", "Your answers are safe in this browser."));
  else if (needsClasses()) fill(root, card("classes", "There are no classes yet", "The owner of the campaign says which there are."));
  else if (!empty) fill(root, h("p.loading", "Fetching rows…"));
  else if (!answers) fill(root, card("wait", "One moment", "The first rows are being chosen. They come by themselves."));
  else if (revising || !team)
    fill(root, card("wait", "One moment", "All rows are being labelled anew. The next ones come by themselves."));
  else
    fill(
      root,
      card(
        "people",
        "All rows that can be asked about are taken",
        "Others are answering them, or another page of yours has them. The next ones come by themselves.",
      ),
    );
}

function card(sign, title, text) {
  return h("section.card.notice", icon(sign), h("div", h("h2", title), h("p", text)));
}

function reached(more) {
  const { stop_reason: reason, target, answers, audit, claim: sentence } = state.value;
  const [title, text] = {
    target: [audit ? "Certified" : "Target reached", audit ? sentence : `${sentence} That took ${plural(answers, "answer")}.`],
    refuted: ["Refuted", sentence],
    budget: ["All answers that were planned are given", sentence],
    exhausted: ["Every row has been asked about", sentence],
  }[reason] ?? ["There is no need to go on", sentence];
  return h(
    "section.card.reached",
    { dataset: { reason } },
    icon(reason === "target" ? "check" : "info"),
    h(
      "div",
      h("h2", title),
      h("p", unbroken(text)),
      h(
        "div.row",
        session.owner ? h("a.button.primary", { href: "#/report" }, icon("download"), "Export the labels") : null,
        more
          ? h("button", { type: "button", onclick: () => goOn(reason) }, "Go on answering")
          : session.owner && reason === "target" && target < 0.999
            ? raise(target)
            : null,
        session.owner ? h("a.button", { href: "#/tree" }, "Look at the labels") : null,
      ),
    ),
  );
}

/** Offer the next higher target. */
function raise(target) {
  const next = [0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999].find((share) => share > target + 1e-9);
  return h("button", { type: "button", onclick: () => aim(next) }, `Go on to ${percentShort(next)}`);
}

async function aim(target) {
  try {
    takeIn(await post("/api/aim", { target, budget: state.value.budget }));
    await session.feed.fill(true);
  } catch (error) {
    complain(error);
  }
}

function goOn(reason) {
  goneOn = reason;
  session.changed?.();
}
