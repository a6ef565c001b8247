/** What the browser remembers from one visit to the next; a full or forbidden store only forgets. */

/** Return what was kept under a name. */
export function recall(name, otherwise = null) {
  try {
    const text = localStorage.getItem(`bela.${name}`);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Keep a value under a name; false where the browser would not. */
export function keep(name, value) {
  try {
    localStorage.setItem(`bela.${name}`, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Forget a name. */
export function forget(name) {
  try {
    localStorage.removeItem(`bela.${name}`);
  } catch {
    // nothing was kept
  }
}

/** The names kept that begin like this. */
export function names(prefix) {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(`bela.${prefix}`))
      .map((name) => name.slice("bela.".length));
  } catch {
    return [];
  }
}
