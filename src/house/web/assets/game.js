// The page of one game: waiting for it, playing it, watching it.
import { Board } from "./board.js";
import { clockText, element, ensureName, post } from "./page.js";
import { Review } from "./review.js";

const root = document.getElementById("game");
const id = root.dataset.id;
const at = (name) => document.getElementById(name);
const problem = at("problem");
let state = null;
let received = 0;
let flip = false;
let again = null;
const AGAIN_MS = 3000;
let source = null;
// The number of half-moves after which the position is shown; null: the present one.
let shown = null;

const board = new Board(at("board"), at("promotion"), (uci) => act(`/page/game/${id}/move/${encodeURIComponent(uci)}`));

async function act(path, form) {
  problem.textContent = "";
  try {
    const answer = await post(path, form);
    if (answer.url && answer.url !== location.pathname) location.assign(answer.url);
    return true;
  } catch (error) {
    problem.textContent = error.message;
    board.paint();
    return false;
  }
}

function bottomSide() {
  const black = state.color === "black" && !state.shared;
  return black !== flip ? "black" : "white";
}

function showPlayers() {
  const bottom = bottomSide();
  for (const [place, side] of [["bottom", bottom], ["top", bottom === "white" ? "black" : "white"]]) {
    const player = state.players[side === "white" ? 0 : 1];
    const row = at(place);
    const who = row.querySelector(".who");
    who.replaceChildren();
    const light = element("span", player.here ? "here" : "away", who, player.here ? "● " : "○ ");
    light.title = player.here ? "is here" : "is away";
    if (player.title) element("span", "title", who, `${player.title} `);
    element("span", "", who, player.name);
    element("small", "", who, ` ${player.rating}`);
    if (typeof player.diff === "number") element("small", "diff", who, ` ${player.diff >= 0 ? "+" : ""}${player.diff}`);
    row.dataset.side = side;
    row.classList.toggle("ticking", state.ticking && !state.over && state.turn === side);
    row.classList.toggle("turn", !state.over && state.turn === side);
  }
  tick();
}

function tick() {
  if (!state) return;
  for (const place of ["top", "bottom"]) {
    const row = at(place);
    const side = row.dataset.side;
    if (!side) continue;
    const { clock } = state.players[side === "white" ? 0 : 1];
    const running = state.ticking && !state.over && state.turn === side;
    row.querySelector(".time").textContent = clock === null ? "" : clockText(running ? clock - (performance.now() - received) : clock);
  }
}

const review = new Review(id, at("review"), look, showReview, (message) => {
  problem.textContent = message;
});

// How many moves of the engine's line are shown as arrows.
const ARROWS = 3;

// `12.` or `12…` before the move after so many half-moves.
function numberOf(ply) {
  const number = state.first + ply;
  return `${Math.floor(number / 2) + 1}${number % 2 === 0 ? "." : "…"} `;
}

function shownPly() {
  return shown ?? state.moves.length;
}

function arrows() {
  return state.over ? (review.opinion(shownPly())?.arrows ?? []).slice(0, ARROWS) : [];
}

// Shows the position after so many half-moves; the last one is the present.
async function look(ply) {
  if (!state) return;
  const last = state.moves.length;
  const wanted = Math.max(0, Math.min(ply, last));
  shown = wanted === last ? null : wanted;
  const live = shown === null;
  root.dataset.shown = String(wanted);
  let words = state.words;
  if (live) {
    board.present(arrows());
  } else {
    let picture;
    try {
      picture = await review.picture(state.moves, wanted, bottomSide());
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    // Somebody may have gone on while the picture was fetched.
    if (shown !== wanted) return;
    board.lookBack(picture.svg, arrows());
    words = picture.words;
  }
  at("words").textContent = words;
  at("now").hidden = live || state.over;
  const move = wanted > 0 ? `${numberOf(wanted - 1)}${state.moves[wanted - 1]}` : "The start";
  const opinion = state.over ? review.opinion(wanted) : null;
  const mark = opinion?.mark ? `, ${opinion.mark}` : "";
  at("said").textContent = `${move}${mark}${opinion ? `, ${opinion.value}` : ""}.`;
  markMoves();
  review.show(wanted, state.moves, numberOf);
}

function showReview() {
  if (!state) return;
  board.arrows = arrows();
  board.paint();
  markMoves();
  review.show(shownPly(), state.moves, numberOf);
}

// Which move is shown, and which were marked by the engine.
function markMoves() {
  const list = at("moves");
  const here = shownPly() - 1;
  for (const move of list.querySelectorAll("[data-ply]")) {
    const ply = Number(move.dataset.ply);
    move.classList.toggle("latest", ply === here);
    if (ply === here) move.setAttribute("aria-current", "true");
    else move.removeAttribute("aria-current");
    const opinion = state.over ? review.opinion(ply + 1) : null;
    const [glyph, value] = [move.querySelector(".glyph"), move.querySelector(".value")];
    glyph.textContent = opinion?.glyph ?? "";
    glyph.className = `glyph ${opinion?.mark ?? ""}`;
    value.textContent = opinion?.value ?? "";
  }
  const current = list.querySelector(".latest");
  if (current) {
    const [top, bottom] = [current.offsetTop - list.offsetTop, current.offsetTop - list.offsetTop + current.offsetHeight];
    if (top < list.scrollTop || bottom > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
  } else {
    list.scrollTop = 0;
  }
}

function showMoves() {
  const list = at("moves");
  const listed = list.querySelectorAll("[data-ply]").length;
  if (listed > state.moves.length) list.replaceChildren();
  for (let ply = list.querySelectorAll("[data-ply]").length; ply < state.moves.length; ply += 1) {
    const number = state.first + ply;
    if (number % 2 === 0 || ply === 0) {
      const row = element("li", "", list);
      element("span", "number", row, `${Math.floor(number / 2) + 1}.`);
      if (number % 2 === 1) element("span", "", row, "…");
    }
    const move = element("button", "move", list.lastElementChild);
    move.type = "button";
    move.dataset.ply = String(ply);
    element("span", "san", move, state.moves[ply]);
    element("span", "glyph", move);
    element("span", "value", move);
    move.addEventListener("click", () => look(ply + 1));
  }
  if (shown !== null && shown >= state.moves.length) shown = null;
  markMoves();
}

function button(parent, text, action, className) {
  const made = element("button", className ?? "", parent, text);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

function showButtons() {
  const place = at("buttons");
  place.replaceChildren();
  const can = state.can;
  const command = (name) => () => act(`/page/game/${id}/${name}`);
  const other = state.color === "white" ? "black" : "white";
  if (!state.shared && state.draw === other) {
    element("span", "", place, "Your opponent offers a draw. ");
    button(place, "Accept", command("draw-yes"));
    button(place, "Decline", command("draw-no"));
  } else if (can.draw) {
    button(place, state.shared ? "Draw agreed" : "Offer a draw", command("draw-yes"));
  } else if (state.draw === state.color && state.draw) {
    element("span", "quiet", place, "You have offered a draw. ");
  }
  if (!state.shared && state.takeback === other) {
    element("span", "", place, "Your opponent wants to take back. ");
    button(place, "Allow", command("takeback-yes"));
    button(place, "No", command("takeback-no"));
  } else if (can.takeback) {
    button(place, "Take back", command("takeback-yes"));
  }
  if (can.claim) {
    button(place, "Claim the win", command("claim-victory"));
    button(place, "Claim a draw", command("claim-draw"));
  }
  if (can.abort) button(place, "Abort", command("abort"));
  if (can.resign) button(place, "Resign", () => confirm("Resign this game?") && act(`/page/game/${id}/resign`));
  if (state.over && state.next) {
    button(place, "To the next game", () => location.assign(`/${state.next}`), "main");
  } else if (can.rematch) {
    const asked = state.rematch === other && !state.shared;
    button(place, asked ? "Accept the rematch" : "Rematch", command("rematch"), asked ? "main" : "");
    if (state.rematch === state.color && state.rematch) element("span", "quiet", place, " You have asked for a rematch.");
  }
}

function showChat() {
  const place = at("chat");
  place.replaceChildren();
  for (const { user, text } of state.chat) {
    const line = element("p", user ? "" : "system", place);
    if (user) element("strong", "", line, `${user}: `);
    element("span", "", line, text);
  }
  place.scrollTop = place.scrollHeight;
}

function announce(before) {
  if (state.over && !before?.over) {
    at("said").textContent = state.end ?? "The game is over.";
  } else if (!before || before.moves.length !== state.moves.length) {
    const last = state.moves.at(-1);
    const turn = state.turn === "white" ? "White" : "Black";
    at("said").textContent = last ? `${last}. ${turn} to move${state.check ? ", in check" : ""}.` : `${turn} to move.`;
  }
}

function show(next) {
  const before = state;
  state = next;
  received = performance.now();
  root.dataset.side = state.color ?? "";
  root.dataset.ply = String(state.moves.length);
  root.dataset.over = String(state.over);
  at("waiting").hidden = true;
  at("steps").hidden = false;
  at("typed").hidden = !state.color || state.over;
  board.set(state);
  showPlayers();
  showMoves();
  showButtons();
  showChat();
  at("end").textContent = state.end ?? "";
  announce(before);
  if (shown === null) {
    root.dataset.shown = String(state.moves.length);
    at("words").textContent = state.words;
    if (board.past) board.present([]);
  }
  // The end of the game, or of its analysis, is new to the review.
  if (state.over && (!before?.over || before.analysed !== state.analysed)) review.refresh();
  if (state.next && before?.over && !before.next && state.rematch) location.assign(`/${state.next}`);
}

function showWaiting(waiting) {
  const place = at("waiting");
  place.hidden = false;
  at("typed").hidden = true;
  place.replaceChildren();
  const what = `${waiting.variant}, ${waiting.clock}, ${waiting.rated ? "rated" : "casual"}`;
  if (waiting.status === "declined") {
    element("p", "", place, `${waiting.dest} does not want to play: ${waiting.reason ?? ""}`);
  } else if (waiting.status === "canceled") {
    element("p", "", place, "This challenge was withdrawn.");
  } else if (waiting.mine) {
    const whom = { challenge: `Waiting for ${waiting.dest}`, link: "Send this address to a friend:", seek: "Waiting for somebody to come" };
    element("p", "", place, `${whom[waiting.kind]} (${what})`);
    if (waiting.kind === "link") {
      const address = element("input", "address", place);
      address.readOnly = true;
      address.value = location.href;
      address.setAttribute("aria-label", "Address of the game");
      address.addEventListener("focus", () => address.select());
    }
    button(place, "Withdraw", async () => (await act(`/page/${id}/withdraw`)) && location.assign("/"));
  } else if (waiting.open_to_me) {
    element("p", "", place, `${waiting.challenger} asks for a game: ${what}`);
    button(
      place,
      "Play",
      async () => {
        await ensureName().catch(() => {});
        if (await act(`/page/${id}/join`)) open();
      },
      "main",
    );
  } else {
    element("p", "", place, `${waiting.challenger} waits for ${waiting.dest ?? "somebody"} (${what}).`);
  }
  const back = element("a", "", element("p", "", place), "Back to the lobby");
  back.href = "/";
}

function open() {
  source?.close();
  source = new EventSource(`/page/game/${id}/stream${flip ? "?flip=1" : ""}`);
  // A browser tries again by itself unless the answer was a refusal; then it is done here.
  source.addEventListener("open", () => {
    at("net").textContent = "";
  });
  source.addEventListener("error", () => {
    at("net").textContent = "The connection is lost; trying again …";
    if (source.readyState !== EventSource.CLOSED) return;
    clearTimeout(again);
    again = setTimeout(open, AGAIN_MS);
  });
  source.addEventListener("state", (event) => show(JSON.parse(event.data)));
  source.addEventListener("waiting", (event) => showWaiting(JSON.parse(event.data)));
  source.addEventListener("moved", (event) => location.replace(JSON.parse(event.data).url));
  source.addEventListener("gone", () => {
    if (!state) at("waiting").replaceChildren(element("p", "", null, "This offer is no longer open."));
    at("waiting").hidden = Boolean(state);
  });
}

at("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = event.target.elements.move;
  const uci = board.typed(input.value);
  if (!uci) {
    problem.textContent = `${input.value} is no legal move here.`;
    return;
  }
  input.value = "";
  board.play(uci);
});

at("say").addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = event.target.elements.text;
  if (!input.value.trim()) return;
  await ensureName().catch(() => {});
  if (await act(`/page/game/${id}/chat`, { text: input.value })) input.value = "";
});

at("flip").addEventListener("click", () => {
  flip = !flip;
  open();
  if (shown !== null) look(shown);
});

for (const [name, target] of [["first", () => 0], ["back", () => shownPly() - 1], ["forward", () => shownPly() + 1], ["last", () => Infinity]]) {
  at(name).addEventListener("click", () => look(target()));
}
at("now").addEventListener("click", () => look(Infinity));

document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
  if (event.key === "Escape") {
    board.closePromotion();
    board.premove = null;
    board.select(null);
  } else if (!typing && !event.altKey && state && { ArrowLeft: 1, ArrowRight: 1, Home: 1, End: 1 }[event.key]) {
    event.preventDefault();
    look({ ArrowLeft: shownPly() - 1, ArrowRight: shownPly() + 1, Home: 0, End: Infinity }[event.key]);
  } else if (!typing && event.key === "f" && !event.ctrlKey && !event.metaKey) {
    at("flip").click();
  } else if (!typing && /^[a-zA-Z0-9]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    at("typed").elements.move.focus();
  }
});

setInterval(tick, 100);
open();
