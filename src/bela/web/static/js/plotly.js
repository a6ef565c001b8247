/** Charts by Plotly, which comes with its Python package: loaded when first needed, in the colours of the page. */

let loading = null;

/** Load Plotly; the same promise for everybody. */
export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/vendor/plotly.min.js";
    script.async = true;
    const restore = withoutStyles();
    script.onload = () => {
      restore();
      resolve(window.Plotly);
    };
    script.onerror = () => {
      restore();
      loading = null;
      reject(new Error("The charts cannot be loaded."));
    };
    document.head.append(script);
  });
  return loading;
}

/**
 * While it is loaded, Plotly writes a style sheet for its maps into the page. There are none here, and the security
 * policy forbids it: let it write into something that means nothing.
 */
function withoutStyles() {
  const create = document.createElement.bind(document);
  document.createElement = (tag, options) => create(tag === "style" ? "template" : tag, options);
  return () => delete document.createElement;
}

/** The colours of the page as they are now, light or dark. */
export function colours() {
  const probe = document.createElement("span");
  probe.className = "visually-hidden";
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const found = Object.fromEntries(
    ["ink", "soft", "line", "bg", "surface", "accent", "on-accent", "accent-soft", "accent-faint"].map((name) => [
      name,
      read(name),
    ]),
  );
  probe.remove();
  return found;
}

/** What all charts have in common. */
export function layout(more = {}) {
  const c = colours();
  const axis = { gridcolor: c.line, zerolinecolor: c.line, linecolor: c.line, tickcolor: c.line, fixedrange: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 11, color: c.soft },
    margin: { l: 40, r: 8, t: 8, b: 32 },
    showlegend: false,
    hoverlabel: { bgcolor: c.surface, bordercolor: c.line, font: { color: c.ink, size: 12 } },
    ...more,
    xaxis: { ...axis, ...more.xaxis },
    yaxis: { ...axis, ...more.yaxis },
  };
}

export const CONFIG = { displayModeBar: false, responsive: true, doubleClick: false };

/** Draw again when the page turns light or dark; returns what ends it. */
export function onTheme(draw) {
  const media = window.matchMedia("(prefers-color-scheme: dark)");
  const seen = new MutationObserver(draw);
  seen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  media.addEventListener("change", draw);
  return () => {
    seen.disconnect();
    media.removeEventListener("change", draw);
  };
}
