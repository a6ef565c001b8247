/** One person at work: what they answer, take back, flag and correct, and how fast they are. */

import { get, post } from "./api.js";
import { announce, keyName } from "./dom.js";
import { count, labelKey, labelText, median } from "./format.js";
import { Feed, keyOf } from "./feed.js";
import { Keys } from "./keys.js";
import { Watched, state, takeIn } from "./live.js";
import { keep, recall } from "./memory.js";
import { askText, complain, toast } from "./notes.js";
import { Outbox } from "./outbox.js";
import { Tabs } from "./tabs.js";

const PAUSE = 60; // seconds without an answer after which somebody was away
const REMEMBERED = 40; // answers that the pace is taken from
const ROWS_AHEAD = 7;
const LIKELY = 9; // classes that come before all others where one is looked for

export const waiting = new Watched(0); // answers that the server does not have yet
export const WRONG = Symbol("wrong"); // in place of a label: the one under audit is wrong, whatever is right
export const session = { by: "me", owner: true, grid: false, scope: "", last: null, undoing: 0 };

let ordered = { of: null, labels: [] }; // the classes that were last told, as they are shown
let steps = []; // the questions that each step has answered, so that a grid is undone as a whole; [null] for all else
let taking = Promise.resolve(); // back, all that was to be taken back so far
let closeOffer = () => {};
let since = 0;
let confusions = [];
let used = []; // classes that were given last
const recent = new Map();

/** Begin to work in a campaign, as somebody whom the server knows. */
export async function begin({ id, name: by, role, campaign: number }) {
  const { campaign, n_rows: rows } = state.value;
  Object.assign(session, { id, by, owner: role === "owner" });
  session.scope = `${campaign}/${rows}`;
  session.grid = recall(`grid.${session.scope}`, false);
  session.pace = recall(`pace.${session.scope}.${by}`, []);
  session.keys = new Keys(session.scope, { audit: Boolean(state.value.audit), owner: session.owner });
  const tabs = new Tabs(session.scope);
  session.outbox = new Outbox(session.scope, tabs, { by, campaign: number, refused, changed: (n) => waiting.set(n) });
  session.feed = new Feed({
    outbox: session.outbox,
    tabs,
    grid: session.grid,
    ahead: () => (session.grid ? gridSize() - 1 : ROWS_AHEAD),
    changed: () => session.changed?.(),
  });
  await tabs.meet();
  session.outbox.adopt();
  setInterval(() => session.outbox.adopt(), 30000);
}

/** How many rows a grid has: as many as can be taken in at a glance, fewer where they have to be read. */
export function gridSize() {
  const read = !Object.values(state.value.kinds).includes("image");
  return (window.innerWidth < 600 ? 12 : 24) / (read ? 2 : 1);
}

/** The labels of the classes, in the order of the campaign; numbers in their own order. */
export function labels() {
  const { classes } = state.value;
  if (classes === ordered.of) return [...ordered.labels]; // a thousand are looked through with every row
  const found = classes.map(({ label }) => label);
  const numbers = found.every((label) => String(label).trim() !== "" && Number.isFinite(Number(label)));
  ordered = { of: classes, labels: numbers ? found.sort((a, b) => Number(a) - Number(b)) : found };
  return [...ordered.labels];
}

/** Fetch what was taken for what so far, before somebody looks for a class: they are not kept waiting. */
export async function fetchConfusions() {
  if (!session.owner) return; // they tell what others have answered
  confusions = (await get("/api/classes").catch(() => ({ confusions }))).confusions;
}

/**
 * Classes that come first where somebody looks for another than `label`: that one, what it was taken for before, and what
 * was answered last. For rows of grids and galleries only; of what was predicted, rows drawn at random tell nothing here.
 */
export function likelyClasses(label) {
  const taken = confusions
    .filter(({ role, predicted }) => role === "training" && labelKey(predicted) === labelKey(label))
    .sort((a, b) => b.n - a.n)
    .map(({ answered }) => answered);
  const present = new Map(labels().map((one) => [labelKey(one), one]));
  const keys = [label, ...taken, ...used].map(labelKey);
  return [...new Set(keys)].filter((key) => present.has(key)).map((key) => present.get(key)).slice(0, LIKELY);
}

/** Note that a row is on the screen from now on. */
export function shown() {
  since = performance.now();
}

/** Give answers: pairs of a question and a label, null to skip, or WRONG. They leave at once and are kept until they arrive. */
export function answer(pairs) {
  if (!pairs.length) return;
  closeOffer();
  for (const [question] of pairs) remember(question);
  session.outbox.add(
    pairs.map(([{ id, row, second, again, seen = false }, said]) => {
      const wrong = said === WRONG;
      return { question: id, row, label: wrong ? null : said, second, again, wrong, suggested: seen };
    }),
  );
  steps.push(pairs.map(([{ id }]) => id));
  notePace((performance.now() - since) / 1000 / pairs.length, pairs.length);
  const [question, label] = pairs.at(-1);
  if (label !== null && label !== WRONG) used = [label, ...used.filter((one) => one !== label)].slice(0, LIKELY);
  session.last = pairs.length === 1 ? { question, label } : { n: pairs.length };
  session.feed.finish(pairs.map(([one]) => one));
}

function remember(question) {
  recent.set(keyOf(question), question);
  if (recent.size > 400) recent.delete(recent.keys().next().value);
}

function notePace(seconds, n) {
  if (seconds > PAUSE) return;
  for (let i = 0; i < Math.min(n, REMEMBERED); i++) session.pace.push(seconds);
  session.pace = session.pace.slice(-REMEMBERED);
  keep(`pace.${session.scope}.${session.by}`, session.pace);
}

/** Seconds that this person takes for an answer, null where nobody can tell yet. */
export function pace() {
  if (session.pace?.length >= 5) return median(session.pace);
  return state.value?.pace_seconds ?? null;
}

/**
 * Take back the last thing that was done; whoever wants that twice gets it, one after the other. Until it is done, nothing
 * is answered: what is on the screen is about to change, and an answer that came in between would be taken back instead.
 */
export function undo() {
  session.undoing += 1;
  taking = taking.catch(() => {}).then(takeBack).finally(() => (session.undoing -= 1));
  return taking;
}

async function takeBack() {
  closeOffer();
  const back = [];
  let other = null;
  const step = steps.at(-1) ?? [null];
  try {
    while (step.length) {
      const entry = session.outbox.takeBack();
      if (entry) {
        step.pop();
        const question = recent.get(keyOf({ id: entry.question, again: entry.again }));
        if (question) back.unshift(question);
        continue;
      }
      await session.outbox.settle();
      if (!step.length) break; // the server would not take it
      const { undone, question, state: news } = await post("/api/undo", {
        tab: session.feed.tabs.id,
        grid: session.grid,
      });
      step.pop(); // if the next one fails, another try takes back the rest, and nothing before it
      takeIn(news);
      if (question) back.unshift(recent.get(keyOf(question)) ?? question);
      else other = undone;
    }
  } catch (error) {
    if (error.status === 409) steps = [];
    complain(error);
  } finally {
    steps = steps.filter((one) => one.length);
  }
  session.last = null;
  if (back.length) {
    session.feed.putBack(back);
    announce(`Taken back: row ${back[0].name}`);
  } else if (other) {
    toast(other.row === null ? "Taken back." : `Row ${count(other.row)} is as it was before.`, { kind: "done" });
  }
  session.corrected?.();
}

/** Offer to take back what was just done. */
export function offerUndo(text) {
  closeOffer();
  closeOffer = toast(text, { kind: "done", undo: () => undo() });
}

/** What the server would not take is said, and never lost in silence; there is nothing of it to take back. */
function refused(refusals) {
  for (const { question } of refusals) {
    const step = steps.findLast((one) => one.includes(question));
    step?.splice(step.indexOf(question), 1);
  }
  steps = steps.filter((step) => step.length);
  const more = refusals.length > 1 ? ` (and ${refusals.length - 1} more)` : "";
  toast(`An answer was not taken: ${refusals[0].message}${more}`, { kind: "error" });
  session.feed?.fill();
}

/** Put a row aside with a comment; returns that, null where nothing was flagged. */
export async function flag(question) {
  const comment = await askText(`Flag row ${question.name}`, {
    label: "What should somebody look at later?",
    long: true,
    most: 2000,
    button: "Flag it",
  });
  if (comment === null) return null;
  try {
    await session.outbox.settle();
    takeIn(await post("/api/flags", { row: question.row, comment }));
    steps.push([null]);
    offerUndo(`Row ${question.name} is flagged.`);
    return comment;
  } catch (error) {
    complain(error);
    return null;
  }
}

/** Say what a row is, in a gallery. */
export function relabel(row, label) {
  return decide("/api/relabel", row, label, `Row ${row.name} is ${labelText(label)} now.`);
}

/** Say what a row is that people see differently. */
export function settle(row, label) {
  return decide("/api/settle", row, label, `Row ${row.name} is settled: ${labelText(label)}.`);
}

async function decide(path, { row }, label, text) {
  try {
    await session.outbox.settle();
    takeIn(await post(path, { row, label }));
    steps.push([null]);
    offerUndo(text);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

/** Make a new class; no row is answered by that. */
export async function addClass() {
  const problem = (text) => (labels().some((label) => labelText(label) === text) ? "There is such a class." : null);
  const name = await askText("New class", {
    label: "Name of the class",
    button: "Add it",
    problem,
    help: "Rows labelled so far stay as they are.",
  });
  if (name === null) return;
  try {
    await makeClasses([name]);
    session.keys.learn(labels());
    const made = labels().find((label) => labelText(label) === name);
    const key = made === undefined ? "" : session.keys.ofClass(made);
    toast(key ? `There is a class ${name} now. Its key is ${keyName(key)}.` : `There is a class ${name} now.`, {
      kind: "done",
    });
  } catch (error) {
    complain(error);
  }
}

/** Make classes of these names. */
export async function makeClasses(names) {
  await session.outbox.settle();
  takeIn(await post("/api/classes/new", { labels: names }));
}

/** Rename or merge classes. */
export async function changeClasses(body) {
  await session.outbox.settle();
  takeIn(await post("/api/classes", body));
}

/** Remember which way of answering somebody likes. */
export async function switchGrid(grid) {
  session.grid = grid;
  keep(`grid.${session.scope}`, grid);
  await session.feed.restart(grid);
}
