/** The small chart of what was certain after how many answers, drawn when there is time for it. */

import { get } from "./api.js";
import { whenIdle } from "./dom.js";
import { count } from "./format.js";
import { CONFIG, colours, layout, onTheme, plotly } from "./plotly.js";

const EVERY = 1500; // milliseconds between two drawings: answering comes first
const MOST = 600; // points

let points = null;
let seen = -1;
let queued = false;
let drawnAt = 0;
let latest = null;

/** Add what is known now to the chart. */
export function drawHistory(root, news) {
  latest = news;
  if (points === null) {
    points = [];
    whenIdle(() => load(root), 4000);
    onTheme(() => later(root, 0));
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
  setTimeout(() => whenIdle(() => draw(root).finally(() => (queued = false)), 4000), wait);
}

async function draw(root) {
  const visible = root.parentElement?.offsetParent; // the chart itself is hidden for as long as it is empty
  if (!visible || points.length < 2) return;
  const Plotly = await plotly().catch(() => null);
  if (!Plotly) return;
  drawnAt = performance.now();
  root.classList.add("drawn");
  const c = colours();
  const x = points.map(({ answers }) => answers);
  const line = (name, key, style) => ({
    x,
    y: points.map((point) => point[key]),
    name,
    type: "scatter",
    mode: "lines",
    hovertemplate: `%{y:.1%} ${name}<br>%{x} answers<extra></extra>`,
    ...style,
  });
  const { target } = latest;
  const data = [
    line("expected", "expected", { line: { color: c.soft, width: 1.2, dash: "dot" } }),
    line("certain", "lower", { line: { color: c.accent, width: 2 }, fill: "tozeroy", fillcolor: c["accent-faint"] }),
  ];
  const shapes =
    target === null
      ? []
      : [
          {
            type: "line",
            xref: "paper",
            x0: 0,
            x1: 1,
            y0: target,
            y1: target,
            line: { color: c.ink, width: 1, dash: "dash" },
          },
        ];
  const drawing = layout({
    height: 140,
    margin: { l: 36, r: 6, t: 6, b: 20 },
    xaxis: { nticks: 5, showgrid: false },
    yaxis: { range: [0, 1.02], tickformat: ".0%", tickvals: [0, 0.5, 1] },
    shapes,
  });
  await Plotly.react(root, data, drawing, CONFIG);
  root.setAttribute(
    "aria-label",
    `Chart: after ${count(latest.answers)} answers ${Math.floor(latest.lower * 1000) / 10} per cent is certain.`,
  );
}
