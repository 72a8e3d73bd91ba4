// Requests to the service. The cookie goes along by itself; what changes something also carries a
// header that only this page can know.

export class Refused extends Error {
  constructor(status, text, wait) {
    super(text);
    this.status = status;
    this.wait = wait;
  }
}

let csrf = "";

export async function ask(path, { method = "GET", body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Fanwise-CSRF"] = csrf;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method, headers, signal, credentials: "same-origin", cache: "no-store",
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  let found = null;
  try { found = text ? JSON.parse(text) : null; } catch { found = null; }
  if (answer.ok) return found;
  const wait = Number(answer.headers.get("Retry-After")) || 0;
  throw new Refused(answer.status, found?.detail ?? `The service answered ${answer.status}.`, wait);
}

// Ask again while as many questions are being answered as may be.
export async function askPatiently(path, options, tries = 8) {
  for (let left = tries; ; left -= 1) {
    try {
      return await ask(path, options);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 429 || left <= 1) throw error;
      await new Promise((go) => setTimeout(go, 1000 * Math.max(0.5, error.wait)));
    }
  }
}

export async function whoAmI() {
  const found = await ask("/api/v1/session");
  csrf = found.csrf;
  return found;
}

export async function signIn(how) {
  const found = await ask("/api/v1/session", { method: "POST", body: how });
  csrf = found.csrf;
  return found;
}

export async function signOut() {
  await ask("/api/v1/session", { method: "DELETE" });
  csrf = "";
}

// With slashes encoded too: browsers would resolve the dots of a name such as a/../b.
export const named = encodeURIComponent;

// What was asked for first may be answered last: only the newest answer counts.
export function onlyNewest(act) {
  let newest = 0;
  return async (...given) => {
    const mine = ++newest;
    const isNewest = () => mine === newest;
    await act(isNewest, ...given);
  };
}
