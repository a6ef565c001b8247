/** The small chart of what was certain after how many answers, drawn when there is time for it. */

import { get } from "./api.js";
import { whenIdle } from "./dom.js";
import { LineChart } from "./linechart.js";

const EVERY = 1500; // milliseconds between two drawings: answering comes first
const MOST = 600; // points

let points = null;
let chart = null;
let seen = -1;
let queued = false;
let drawnAt = 0;
let latest = null;

/** Add what is known now to the chart. */
export function drawHistory(root, news) {
  latest = news;
  if (points === null) {
    points = [];
    chart = new LineChart(root);
    whenIdle(() => load(root), 4000);
    window.addEventListener("resize", () => later(root, 200));
  }
  note(news);
  later(root, Math.max(0, EVERY - (performance.now() - drawnAt)));
}

async function load(root) {
  try {
    const old = await get("/api/history");
    const first = points.length ? points[0].answers : Infinity;
    points = [...old.filter(({ answers }) => answers < first), ...points];
  } catch {
    // the chart begins with what comes from now on
  }
  later(root, 0);
}

function note({ answers, lower, expected, seq }) {
  if (seq === seen) return;
  seen = seq;
  points = points.filter((point) => point.answers < answers); // an undo goes back
  points.push({ answers, lower, expected });
  if (points.length > MOST) points = points.filter((_, at) => at % 2 || at > MOST - 50);
}

function later(root, wait) {
  if (queued || document.visibilityState === "hidden") return;
  queued = true;
  const now = () => {
    queued = false;
    draw(root);
  };
  setTimeout(() => whenIdle(now, 4000), wait);
}

function draw(root) {
  const visible = root.parentElement?.offsetParent; // the chart itself is hidden for as long as it is empty
  if (!visible || points.length < 2) return;
  drawnAt = performance.now();
  root.classList.add("drawn");
  chart.draw(points, latest.target);
}
