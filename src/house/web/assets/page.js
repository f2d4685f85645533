// What all pages share: requests, names, clocks.

export async function post(path, form) {
  const body = new URLSearchParams();
  for (const [key, value] of Object.entries(form ?? {})) {
    if (value !== undefined && value !== null) body.set(key, value);
  }
  let response;
  try {
    response = await fetch(path, { method: "POST", body, credentials: "same-origin" });
  } catch {
    throw new Error("The house cannot be reached.");
  }
  const text = await response.text();
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = {};
  }
  if (!response.ok) throw new Error(words(json.error) ?? `Refused (${response.status})`);
  return json;
}

function words(error) {
  if (typeof error === "string") return error;
  if (!error) return undefined;
  return Object.entries(error)
    .map(([field, messages]) => (field === "global" ? `${messages}` : `${field}: ${messages}`))
    .join("; ");
}

export async function get(path) {
  const response = await fetch(path, { credentials: "same-origin" });
  if (!response.ok) throw new Error(`Refused (${response.status})`);
  return response.json();
}

// A guest gets a name when he first does something.
export async function ensureName() {
  const me = await get("/page/me");
  return me.name ? me : post("/page/guest");
}

export function clockText(ms) {
  const tenths = Math.floor(Math.max(ms, 0) / 100);
  const seconds = Math.floor(tenths / 10);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (h > 0) return `${h}:${two(m)}:${two(s)}`;
  return seconds < 10 ? `${m}:${two(s)}.${tenths % 10}` : `${m}:${two(s)}`;
}

export function element(tag, className, parent, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
}
