/** Talk to the server: every error becomes one sentence that can be shown. */

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
}

/** Send a request and return what comes back. */
async function call(method, path, body, { timeout = 20000 } = {}) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeout);
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      signal: controller.signal,
    });
    const answer = response.status === 204 ? null : await response.json();
    if (response.ok) return answer;
    const error = answer?.error ?? {};
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
  navigator.sendBeacon?.(path, new Blob([JSON.stringify(body)], { type: "application/json" }));
}

/** Where the picture of a row is. */
export function imageUrl(row, column) {
  return `/api/rows/${row}/images/${encodeURIComponent(column)}`;
}
