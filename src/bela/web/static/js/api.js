/** Talk to the server: every error becomes one sentence that can be shown. */

const SHUT_OUT = new Set(["token", "revoked", "person"]); // kinds of errors that no other request would fare better with

/** Something the server refused, or could not be asked. `status` is 0 where there was no answer. */
export class ApiError extends Error {
  constructor(message, { kind = "away", status = 0 } = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
  }

  /** Whether asking again later may help. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** Whether this page is not let in, or not any more. */
  get shutOut() {
    return SHUT_OUT.has(this.kind);
  }
}

/** The path that the page is below, without a slash at its end: a proxy may have put it somewhere. */
export const BASE = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

let person = null;
let told = () => {};

/**
 * Say who this page belongs to: the server refuses its requests when the browser has become somebody else's meanwhile.
 * `shutOut` is called with the sentence that the server says when it does not let this page in, and with "" when it does.
 */
export function belongTo(id, shutOut) {
  person = id;
  told = shutOut;
}

/** Send a request and return what comes back. */
async function call(method, path, body, { timeout = 20000 } = {}) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeout);
  let response;
  try {
    response = await fetch(BASE + path, {
      method,
      headers: {
        ...(person === null ? {} : { "X-Bela-Person": person }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      signal: controller.signal,
    });
    const answer = response.status === 204 ? null : await response.json();
    if (response.ok) {
      told("");
      return answer;
    }
    const error = answer?.error ?? {};
    if (SHUT_OUT.has(error.kind)) told(error.message);
    throw new ApiError(error.message ?? `The server said ${response.status}.`, {
      kind: error.kind ?? "unknown",
      status: response.status,
    });
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (response && !response.ok) {
      throw new ApiError(`The server said ${response.status}.`, { kind: "unknown", status: response.status });
    }
    throw new ApiError("The server does not answer.");
  } finally {
    clearTimeout(timer);
  }
}

export const get = (path, options) => call("GET", path, undefined, options);
export const post = (path, body, options) => call("POST", path, body, options);
export const put = (path, body, options) => call("PUT", path, body, options);

/** Tell the server something while the page goes away. */
export function beacon(path, body) {
  navigator.sendBeacon?.(BASE + path, new Blob([JSON.stringify(body)], { type: "application/json" }));
}

/** Where the picture of a row is. */
export function imageUrl(row, column) {
  return `${BASE}/api/rows/${row}/images/${encodeURIComponent(column)}`;
}
