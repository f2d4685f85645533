// The lobby: ask for a game, see who is there and who waits.
import { element, ensureName, get, post } from "./page.js";

const form = document.getElementById("challenge");
const withWhom = document.getElementById("with");
const problem = document.getElementById("problem");
const seeks = document.getElementById("seeks");
const bots = document.getElementById("bots");
const rated = document.getElementById("rated-line");
let me = null;
// What somebody has chosen stays chosen.
let chosen = false;
withWhom.addEventListener("change", () => {
  chosen = true;
});

async function go(action) {
  problem.textContent = "";
  try {
    await ensureName();
    const { url } = await action();
    location.assign(url);
  } catch (error) {
    problem.textContent = error.message;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const data = new FormData(form);
  const target = data.get("with");
  const isUser = target.startsWith("user:");
  const clock = data.get("minutes") === "" ? {} : { "clock.limit": data.get("minutes"), "clock.increment": data.get("increment") };
  go(() =>
    post("/page/challenge", {
      with: isUser ? "user" : target,
      opponent: isUser ? target.slice(5) : undefined,
      variant: data.get("variant"),
      color: data.get("color"),
      rated: data.get("rated") ?? undefined,
      ...clock,
    }),
  );
});

document.getElementById("rename").addEventListener("click", async () => {
  problem.textContent = "";
  const given = prompt(me?.name ? "Log in with a token of your account:" : "Your name (or a token of your account):");
  if (!given) return;
  try {
    me = given.startsWith("hse_") ? await post("/page/login", { token: given }) : await post("/page/guest", { name: given });
  } catch (error) {
    problem.textContent = error.message;
  }
  refresh();
});

function showSeeks(list) {
  seeks.replaceChildren();
  for (const seek of list) {
    const item = element("li", "", seeks);
    const text = `${seek.name} (${seek.rating}): ${seek.variant}, ${seek.clock}, ${seek.rated ? "rated" : "casual"} `;
    element("span", "", item, text);
    if (me?.id === seek.account) {
      const button = element("button", "", item, "Withdraw");
      button.addEventListener("click", () => post(`/page/${seek.id}/withdraw`).finally(refresh));
    } else {
      const button = element("button", "", item, "Play");
      button.addEventListener("click", () => go(() => post(`/page/${seek.id}/join`)));
    }
  }
  document.getElementById("no-seeks").hidden = list.length > 0;
}

function showBots(list) {
  bots.replaceChildren();
  for (const bot of list) {
    const item = element("li", "", bots);
    const name = element("span", "", item);
    element("span", "title", name, "BOT ");
    element("span", "", name, bot.name);
    const button = element("button", "", item, "Challenge");
    button.addEventListener("click", () => {
      withWhom.value = `user:${bot.name}`;
      chosen = true;
      form.querySelector("button.main").focus();
    });
  }
  document.getElementById("no-bots").hidden = list.length > 0;
  const known = new Set([...withWhom.options].map((option) => option.value));
  const wanted = new Set(list.map((bot) => `user:${bot.name}`));
  for (const option of [...withWhom.options]) {
    if (option.value.startsWith("user:") && !wanted.has(option.value)) {
      // Whom somebody has chosen may be back in a moment, and the form must not change under his hand.
      if (option.selected && chosen) continue;
      option.remove();
    }
  }
  const first = ![...known].some((value) => value.startsWith("user:"));
  for (const bot of [...list].reverse()) {
    if (known.has(`user:${bot.name}`)) continue;
    const option = new Option(`the bot ${bot.name}`, `user:${bot.name}`);
    withWhom.prepend(option);
    // The form is ready to play a bot as soon as one is there.
    if (first && !chosen) withWhom.value = option.value;
  }
}

async function refresh() {
  try {
    const lobby = await get("/page/lobby");
    me = lobby.me;
    document.getElementById("me").textContent = me?.name ?? "a guest";
    document.getElementById("rename").textContent = me ? "Log in with a token" : "Choose a name";
    rated.hidden = !me || me.kind !== "human";
    showBots(lobby.bots);
    showSeeks(lobby.seeks);
  } catch {
    // The next round may be luckier.
  }
}

refresh();
setInterval(() => document.hidden || refresh(), 3000);
