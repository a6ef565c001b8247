/** How far a campaign has come, in three words. All of it follows from numbers that are in sight anyway. */

import { fill, h } from "./dom.js";

export const WHAT_HAPPENS = "You answer some rows, BELA labels the rest, and says how good the labels are.";

export const PHASES = [
  { name: "Looking around", text: "the first answers, from all over the data" },
  { name: "Learning", text: "answers from which all other rows get their labels" },
  { name: "Certifying", text: "the labels look good enough, and answers show that they are" },
];

/** The place of the phase that a campaign is in; -1 where there is nothing left to do, or no phases. */
export function phaseOf({ n_revisions: revisions, expected, lower, target, stop_reason: reason, audit }) {
  if (reason || audit) return -1;
  if (!revisions) return 0;
  return target !== null && Math.max(expected ?? 0, lower) >= target ? 2 : 1;
}

/** Draw the phases, the present one marked. */
export function drawPhases(root, news) {
  const now = phaseOf(news);
  if (root.dataset.now === String(now)) return;
  root.dataset.now = String(now);
  root.hidden = now < 0;
  fill(
    root,
    PHASES.map(({ name, text }, at) =>
      h("li", { "aria-current": at === now ? "step" : null, class: at < now ? "past" : null, title: text }, name),
    ),
  );
}
