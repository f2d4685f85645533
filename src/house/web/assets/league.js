// The league's table: fetched anew while it is played.
const PAUSE_MS = 3000;

async function refresh() {
  if (document.hidden) return;
  try {
    const response = await fetch("/league", { credentials: "same-origin" });
    if (!response.ok) return;
    // The page comes from this house, with every name escaped, as the one that is shown.
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("main");
    const main = document.querySelector("main");
    if (fresh && fresh.innerHTML !== main.innerHTML) main.replaceWith(fresh);
  } catch {
    // The next round may be luckier.
  }
}

setInterval(() => document.querySelector("main")?.dataset.over === "true" || refresh(), PAUSE_MS);
