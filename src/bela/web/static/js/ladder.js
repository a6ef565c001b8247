/** How far it is to some shares of right labels; one that can be reached becomes the target with a click. */

import { post } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { count, percentShort, plural } from "./format.js";
import { state, takeIn } from "./live.js";
import { complain, toast } from "./notes.js";
import { session } from "./session.js";

/** Draw the ladder of a state anew if it says anything new; whoever has the focus on a share keeps it there. */
export function drawLadder(root, { ladder: rungs, target, stop_reason: reason, advice }) {
  const now = JSON.stringify([rungs, target, reason, advice]);
  if (root.dataset.shows === now) return;
  root.dataset.shows = now;
  const held = root.contains(document.activeElement) ? document.activeElement.dataset.share : null;
  fill(root, rungs?.length ? steps(rungs, target, session.owner && (!reason || reason === "target"), advice) : null);
  if (held) root.querySelector(`[data-share="${held}"]`)?.focus({ preventScroll: true });
}

function steps(rungs, target, open, advice) {
  const title = h("h3", "How far is it to …");
  const more = session.owner && advice ? h("p.hint", advice) : null;
  const { prospect } = rungs[0];
  const alike = rungs.every((rung) => !rung.forecast && rung.prospect === prospect && prospect !== "reached");
  if (alike) {
    const shares = `${percentShort(rungs[0].share)} to ${percentShort(rungs.at(-1).share)}`;
    return [title, h("ul", h("li", h("span", shares), h("span.way.closed", prospect))), more];
  }
  const hint = open && rungs.some(({ forecast }) => forecast) ? "Choose a share to make it the target." : null;
  return [
    title,
    h(
      "ul",
      rungs.map((rung) => h("li", share(rung, target, open), way(rung, target))),
    ),
    hint && h("p.hint", hint),
    more,
  ];
}

function isTarget(share, target) {
  return target !== null && Math.abs(target - share) < 1e-9;
}

function share({ share: value, forecast }, target, open) {
  const name = percentShort(value);
  if (!forecast || !open) return h("span.share", name);
  const chosen = isTarget(value, target);
  const title = chosen ? `${name} is the target` : `Stop when ${name} are certified`;
  return h(
    "button.share",
    {
      type: "button",
      title,
      "aria-label": title,
      "aria-pressed": String(chosen),
      dataset: { share: String(value) },
      onclick: () => chosen || aim(value),
    },
    name,
  );
}

function way({ share: value, prospect, forecast }, target) {
  const note = isTarget(value, target) ? "the target" : null;
  if (prospect === "reached") return h("span.way.done", icon("check"), note ? `${prospect}, ${note}` : prospect);
  if (!forecast) return h("span.way.closed", prospect, note && h("span.note", note));
  const { answers, low, high } = forecast;
  const range = high > low ? `between ${count(low)} and ${count(high)}` : null;
  return h("span.way", `about ${plural(answers, "answer")}`, range && h("span.note", range), note && h("span.note", note));
}

async function aim(target) {
  try {
    takeIn(await post("/api/aim", { target, budget: state.value.budget }));
    toast(`The target is ${percentShort(target)} now.`, { kind: "done" });
    session.feed.fill(true); // there may be something to ask again
  } catch (error) {
    complain(error);
  }
}
