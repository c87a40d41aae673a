// Requests to the server, with the API key if there is one.

const PLACE = "pinnace-api-key";
let askForKey = null;
let asking = null;

/** The function that asks the user for a key; it resolves to one. */
export function onMissingKey(ask) {
  askForKey = ask;
}

export function hasKey() {
  return Boolean(sessionStorage.getItem(PLACE));
}

export function forgetKey() {
  sessionStorage.removeItem(PLACE);
}

/** A response; asks for a key and retries if the server requires one. */
export async function ask(path, options = {}) {
  for (let refused = false; ; refused = true) {
    const key = sessionStorage.getItem(PLACE);
    const headers = { ...options.headers };
    if (key) headers["X-API-Key"] = key;
    const response = await fetch(path, { ...options, headers });
    if (response.status !== 401 || !askForKey) return response;
    if (key === sessionStorage.getItem(PLACE)) {
      asking ??= askForKey(refused || key ? "That key is not valid." : "").finally(() => { asking = null; });
      sessionStorage.setItem(PLACE, await asking);
    }
  }
}

/** The JSON of a reply. */
export async function askJson(path) {
  const response = await ask(path, { cache: "no-store" });
  if (!response.ok) throw new Error(await problemOf(response));
  return response.json();
}

/** The error message of a response. */
export async function problemOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `HTTP ${response.status}`;
  }
}

/** JSON as the server writes it: it may contain NaN and Infinity, which JSON.parse refuses. */
export function parseReply(text) {
  const tokens = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;
  return JSON.parse(text.replace(tokens, (token) => (token[0] === '"' ? token : `"${token}"`)));
}
