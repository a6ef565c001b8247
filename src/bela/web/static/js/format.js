/** Numbers, shares, times and labels in plain words. */

const NBSP = "\u00a0";
const WHOLE = new Intl.NumberFormat("en-GB");

export function count(n) {
  return WHOLE.format(n);
}

/** "1 answer", "2 answers". */
export function plural(n, one, many = `${one}s`) {
  return `${count(n)}${NBSP}${n === 1 ? one : many}`;
}

/** What something has cost, in whatever money: two digits that mean something, however small. */
export function amount(cost) {
  return new Intl.NumberFormat("en-GB", { maximumSignificantDigits: cost < 1 ? 2 : 6 }).format(cost);
}

/** A share in per cent. */
export function percent(share, digits = 1) {
  return `${(share * 100).toFixed(digits)}${NBSP}%`;
}

/**
 * A bound in per cent, never better than it is, as the server writes it: a lower one is rounded down, an upper one up.
 * What is compared is what is written: 0.29 means 29 in a hundred, whatever its binary digits say.
 */
export function percentBound(share, up = false) {
  const digits = share >= 0.99 ? 2 : 1;
  let steps = Math.round(share * 100 * 10 ** digits);
  const rounded = Number(`${steps}e-${digits + 2}`);
  if (up ? rounded < share : rounded > share) steps += up ? 1 : -1;
  return (steps / 10 ** digits).toFixed(digits);
}

/** A lower bound in per cent, with its sign. */
export function percentFloor(share) {
  return `${percentBound(share)}${NBSP}%`;
}

/** Whether a lower bound is more than the 0.0 % that it would be written as. */
export function isSomething(lower) {
  return Number(percentBound(lower)) > 0;
}

/** An upper bound in per cent, with its sign. */
export function percentCeil(share) {
  return `${percentBound(share, true)}${NBSP}%`;
}

/** A share in per cent with no more digits than it needs, for settings such as a target. */
export function percentShort(share) {
  return `${Number((share * 100).toPrecision(10))}${NBSP}%`;
}

/** A sentence whose numbers stay with their signs when it wraps. */
export function unbroken(text) {
  return text.replaceAll(/(\d) %/g, `$1${NBSP}%`);
}

/** "about 12 minutes". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "unknown";
  if (seconds < 45) return "less than a minute";
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `about ${plural(Math.max(1, minutes), "minute")}`;
  const hours = seconds / 3600;
  if (hours < 10) return `about ${hours.toFixed(1).replace(/\.0$/, "")}${NBSP}${hours < 1.05 ? "hour" : "hours"}`;
  return `about ${plural(Math.round(hours), "hour")}`;
}

/** How long ago a moment was, given in seconds since 1970. */
export function ago(at) {
  if (at === null || at === undefined) return "not yet";
  const seconds = Math.max(0, Date.now() / 1000 - at);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${plural(Math.round(seconds / 60), "minute")} ago`;
  if (seconds < 86400) return `${plural(Math.round(seconds / 3600), "hour")} ago`;
  return `${plural(Math.round(seconds / 86400), "day")} ago`;
}

/** A label as a person reads it. */
export function labelText(label) {
  if (label === null || label === undefined) return "none";
  const text = String(label);
  return text.trim() === "" ? `“${text}”` : text;
}

/** What tells labels apart: the number 1 and the text "1" are two labels. */
export function labelKey(label) {
  return JSON.stringify(label);
}

/** Middle value. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
