/** Which key does what: actions, and a key for each class that stays with it. */

import { labelKey, labelText } from "./format.js";
import { keep, recall } from "./memory.js";

/** What a skip means for the certificate. */
export const SKIPPING =
  "A row that was drawn at random counts as wrong if it is skipped. Where rows cannot be told, let that be a class.";

/** Everything a key can do besides giving a class. `fixed` keys work whatever else is chosen; some are for audits, or for owners. */
const ACTIONS = [
  { name: "right", text: "The label is right", key: "y", fixed: ["Enter"], audit: true },
  { name: "wrong", text: "The label is wrong", key: "n", audit: true },
  { name: "skip", text: "Skip this row", key: " ", help: SKIPPING },
  { name: "undo", text: "Undo", key: "Backspace", fixed: ["Ctrl+Z"] },
  { name: "flag", text: "Flag this row with a comment", key: "f" },
  { name: "grid", text: "Switch between one row and the grid", key: "g" },
  { name: "open", text: "Open the selected row of a grid or gallery in full", key: "." },
  { name: "add", text: "New class", key: "+", owner: true },
  { name: "find", text: "Find a class by its name", key: "/" },
  { name: "rows", text: "Find rows", key: "," },
  { name: "blind", text: "Show or hide what is suggested", key: "" },
  { name: "guidelines", text: "Guidelines", key: "" },
  { name: "keys", text: "Show the keys", key: "h", fixed: ["?"] },
];

const CLASS_KEYS = [..."123456789abcdefghijklmnopqrstuvwxyz"];
const DIGITS = 9;
const NEVER = new Set([
  "Tab",
  "Escape",
  "Enter",
  "Shift",
  "Control",
  "Alt",
  "Meta",
  "CapsLock",
  "Dead",
  "?",
  "ArrowLeft",
  "ArrowRight",
  "ArrowUp",
  "ArrowDown",
  "Unidentified",
  "Process",
]);

/** The keys of one campaign, as remembered by this browser. */
export class Keys {
  #actions;
  #classes; // label key -> keyboard key, in the order in which they were given out

  constructor(scope, { audit = false, owner = true } = {}) {
    this.scope = scope;
    this.actions = ACTIONS.filter((action) => (audit || !action.audit) && (owner || !action.owner));
    const kept = recall("keys", {});
    this.#actions = Object.fromEntries(this.actions.map(({ name, key }) => [name, kept[name] ?? key]));
    // Keys of the page may have been changed in another campaign: they come first, and classes get others.
    const held = Object.values(this.#actions);
    const given = recall(`classkeys.${scope}`, []);
    this.#classes = new Map(given.filter(([, key]) => !held.some((taken) => same(taken, key))));
    this.changed = () => {};
    this.version = 0; // grows when a key changes
  }

  /** Give each class a key of its own: its name if that is a single free key, else 1 to 9, then letters. */
  learn(labels) {
    const present = new Set(labels.map(labelKey));
    const fresh = labels.filter((label) => !this.#classes.has(labelKey(label)));
    const gone = [...this.#classes.keys()].filter((name) => !present.has(name));
    if (!fresh.length && !gone.length) return;
    const left = gone.map((name) => this.#classes.get(name));
    gone.forEach((name) => this.#classes.delete(name));
    if (fresh.length === 1 && gone.length === 1) this.#classes.set(labelKey(fresh.pop()), left[0]); // renamed
    const taken = new Set([...Object.values(this.#actions), "?", ...this.#classes.values()]);
    const free = (key) => !taken.has(key) && !taken.has(swapCase(key));
    const names = new Set(labels.map(labelText));
    // Where there are more classes than keys, letters begin the name of one that is looked for.
    const usual = CLASS_KEYS.filter((key) => free(key) || this.#holds(key));
    const keys = labels.length > usual.length ? CLASS_KEYS.slice(0, DIGITS) : CLASS_KEYS;
    const others = keys.filter((key) => !names.has(key)); // a class that is called "3" may come to have the 3
    for (const label of fresh) {
      const name = labelText(label);
      const own = [...name].length === 1 ? [name, name.toLowerCase()] : [];
      const key = [...own, ...others, ...keys].find(free) ?? "";
      this.#classes.set(labelKey(label), key);
      if (key) taken.add(key);
    }
    this.#save();
  }

  #holds(key) {
    return [...this.#classes.values()].includes(key);
  }

  /** The key of a class, "" where there are more classes than keys. */
  ofClass(label) {
    return this.#classes.get(labelKey(label)) ?? "";
  }

  ofAction(name) {
    return this.#actions[name] ?? "";
  }

  /** What a key press means: `{action}`, `{label}` or null. */
  find(event, labels) {
    const typed = event.getModifierState?.("AltGraph"); // what it makes is a character like any other
    if (event.isComposing || (event.altKey && !typed)) return null;
    if ((event.ctrlKey && !typed) || event.metaKey) {
      return event.key.toLowerCase() === "z" && !event.shiftKey ? { action: "undo" } : null;
    }
    if (event.key === "?") return { action: "keys" };
    for (const key of [event.key, swapCase(event.key)]) {
      // Caps Lock makes no difference, unless both letters are in use.
      const label = labels.find((one) => this.ofClass(one) === key && key);
      if (label !== undefined) return { label };
      const action = this.actions.find(({ name }) => this.#actions[name] === key && key);
      if (action) return { action: action.name };
    }
    return null;
  }

  /** Give a key to an action or a class; whoever had it gets the other's old key. False where it cannot be given. */
  assign({ action, label }, key) {
    if (NEVER.has(key) || key.length > 12) return false;
    const old = action ? this.#actions[action] : this.ofClass(label);
    const mine = action ? `a:${action}` : `c:${labelKey(label)}`;
    for (const [name, taken] of Object.entries(this.#actions)) {
      if (same(taken, key) && `a:${name}` !== mine) this.#actions[name] = old;
    }
    for (const [name, taken] of this.#classes) {
      if (same(taken, key) && `c:${name}` !== mine) this.#classes.set(name, old);
    }
    if (action) this.#actions[action] = key;
    else this.#classes.set(labelKey(label), key);
    this.#save();
    return true;
  }

  /** Go back to the keys that everybody begins with. */
  reset(labels) {
    this.#actions = Object.fromEntries(this.actions.map(({ name, key }) => [name, key]));
    this.#classes = new Map();
    this.learn(labels);
    this.#save();
  }

  #save() {
    this.version += 1;
    keep("keys", { ...recall("keys", {}), ...this.#actions });
    keep(`classkeys.${this.scope}`, [...this.#classes]);
    this.changed();
  }
}

function same(a, b) {
  return a !== "" && (a === b || swapCase(a) === b);
}

function swapCase(key) {
  if (key.length !== 1) return key;
  return key === key.toLowerCase() ? key.toUpperCase() : key.toLowerCase();
}
