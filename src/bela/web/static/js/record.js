/** Show a row: its pictures, its texts, its values. Everything in it is set as text, never as HTML. */

import { fill, h, keycap } from "./dom.js";
import { count } from "./format.js";
import { loadPictures } from "./feed.js";
import { ask } from "./notes.js";
import { session } from "./session.js";

const LONG = 160; // characters from which a value is read as a text
const SHARP = 160; // pixels up to which a picture is enlarged without blurring
const EDGE = 26; // pixels below a row that hold nothing
const ENLARGED = 1.4; // times its size that a larger picture is shown at, at most

/** Return what shows a row; `compact` is for tiles. */
export function showRecord(question, { shown, kinds, left_out: leftOut, compact = false }) {
  loadPictures(question);
  const pictures = [...question.pictures].map(([column, { image, ready }]) =>
    showPicture(column, image, ready, question.files?.[column]),
  );
  const columns = (shown?.length ? shown : Object.keys(question.record)).filter(
    (column) => column in question.record && !question.images?.includes(column),
  );
  const texts = columns.filter((column) => isText(question.record[column], kinds?.[column]));
  const values = columns.filter((column) => !texts.includes(column));
  // Beside a picture, file names and other values only matter to those who look for them.
  const parts = [
    pictures.length ? h("div.pictures", { dataset: { n: pictures.length } }, pictures) : null,
    texts.map((column) => showText(column, question.record[column], texts.length + values.length > 1, compact)),
    values.length && !(compact && pictures.length) ? showValues(question.record, values, compact) : null,
    !compact && leftOut?.length ? h("p.left-out", `Not shown: ${leftOut.join(", ")}`) : null,
  ];
  const kind = pictures.length ? "picture" : texts.length ? "text" : "values";
  return h("div.record", { dataset: { kind } }, parts);
}

/** The part of a tile that holds its row; what does not fit is said, and opens with a click. */
export function tileBody(question, state) {
  return [
    h("div.tile-body", showRecord(question, { ...state, compact: true })),
    h("div.tile-more", { hidden: true, onclick: () => openRecord(question, state) }),
  ];
}

/** Say of tiles on the screen what of their rows is not in sight. */
export function sayCut(tiles) {
  const cut = tiles.map((tile) => {
    const body = tile.querySelector(".tile-body");
    const end = body.getBoundingClientRect().bottom;
    const texts = [...body.querySelectorAll(".prose")].some((one) => one.scrollHeight > one.clientHeight + 2);
    const names = [...body.querySelectorAll("dt, h3.column")].filter((one) => one.getBoundingClientRect().bottom > end + 1);
    const last = [...body.querySelectorAll("dd")].some((one) => one.getBoundingClientRect().bottom > end + 1);
    return texts || names.length || last ? names.map((one) => one.textContent) : null;
  });
  tiles.forEach((tile, at) => {
    const more = tile.querySelector(".tile-more");
    more.hidden = cut[at] === null;
    tile.querySelector(".tile-body").classList.toggle("cut", !more.hidden);
    if (cut[at] === null) return;
    const key = session.keys.ofAction("open");
    fill(more, h("span", cut[at].length ? `not in sight: ${cut[at].join(", ")}` : "there is more"), key ? keycap(key) : null);
  });
}

/** The columns of a row that are further down than what can be seen of it; null where the end of it is in sight. */
export function furtherDown(stage) {
  const { scrollTop, clientHeight, scrollHeight } = stage;
  if (scrollTop + clientHeight >= scrollHeight - EDGE) return null;
  const end = stage.getBoundingClientRect().bottom - EDGE; // the note that says so stands below
  const names = [...stage.querySelectorAll("dt, h3.column")].filter((one) => one.getBoundingClientRect().bottom > end);
  return names.map((one) => one.textContent);
}

/** Open a row in full. */
export function openRecord(question, state) {
  // With pictures of its own, as an element cannot be in two places.
  return ask(`Row ${question.name}`, () => h("div.opened", showRecord({ ...question, pictures: null }, state)), {
    wide: true,
  });
}

/** A row in a few words, for those who cannot see it. */
export function describe(question, shown) {
  const columns = shown?.length ? shown : Object.keys(question.record);
  const words = columns
    .filter((column) => column in question.record && !question.images?.includes(column))
    .map((column) => `${column}: ${plain(question.record[column]).slice(0, 200)}`);
  return words.join("; ").slice(0, 400);
}

function showPicture(column, image, ready, file) {
  const frame = h("div.picture", image);
  const whole = file ? h("figure.filed", frame, h("figcaption", { dir: "auto", title: file }, file)) : frame;
  image.alt = image.alt || `Picture of this row, ${column}`;
  const settle = () => {
    const size = Math.max(image.naturalWidth, image.naturalHeight);
    if (!size) frame.replaceChildren(h("p.missing", "This picture cannot be shown."));
    image.classList.toggle("sharp", size <= SHARP);
    const most = Math.max(320, size * ENLARGED);
    image.style.setProperty("--most", `${Math.round(most)}px`);
  };
  if (image.complete && image.naturalWidth) settle();
  else ready.then(settle);
  return whole;
}

function isText(value, kind) {
  return typeof value === "string" && (kind === "text" || value.length > LONG || value.includes("\n"));
}

function showText(column, text, named, compact) {
  // A long one can be scrolled by keyboard too; a tile is a button already, and holds nothing to be reached.
  const reached = !compact && text.length > 1200 ? { tabindex: "0", role: "group", "aria-label": column } : {};
  return h(
    "section.text",
    named ? h("h3.column", { dir: "auto" }, column) : null,
    h("div.prose", { dir: "auto", ...reached }, compact ? text.slice(0, LONG * 12) : text),
  );
}

function showValues(record, columns, compact) {
  const show = compact ? (value) => plain(value).slice(0, LONG) : showValue;
  return h(
    "dl.values",
    columns.map((column) => [h("dt", { dir: "auto" }, column), h("dd", { dir: "auto" }, show(record[column]))]),
  );
}

function showValue(value) {
  if (value === null || value === undefined || value === "") return h("span.missing", "nothing");
  if (Array.isArray(value) && value.length > 12 && value.every((item) => typeof item === "number")) {
    return h("details", h("summary", `${count(value.length)} numbers`), h("code", value.slice(0, 400).join(", ")));
  }
  if (typeof value === "object") return h("pre", { tabindex: "0" }, JSON.stringify(value, null, 2));
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

/** A value as one line. */
function plain(value) {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
