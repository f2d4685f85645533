// Live boards: one EventSource for all games; the server sends finished pictures, clocks tick here.
const games = document.getElementById("games");
const none = document.getElementById("none");
const said = document.getElementById("said");
const only = games.dataset.only;
const boards = new Map();

function clockText(ms) {
  const tenths = Math.floor(Math.max(ms, 0) / 100);
  const seconds = Math.floor(tenths / 10);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (h > 0) return `${h}:${two(m)}:${two(s)}`;
  return seconds < 10 ? `${m}:${two(s)}.${tenths % 10}` : `${m}:${two(s)}`;
}

function element(tag, className, parent) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  parent.append(made);
  return made;
}

function build(id) {
  const figure = document.createElement("figure");
  figure.className = "game";
  figure.dataset.id = id;
  const link = element("a", "", figure);
  link.href = `/${id}`;
  element("figcaption", "", link);
  const side = (name) => {
    const player = element("div", "player", link);
    player.dataset.side = name;
    element("span", "who", player);
    element("span", "time", player);
  };
  side("Black");
  element("div", "svg", link);
  side("White");
  element("p", "end", figure);
  return figure;
}

function show(board) {
  if (only && board.id !== only) return;
  let figure = games.querySelector(`figure[data-id="${board.id}"]`);
  if (!figure) {
    figure = build(board.id);
    games.prepend(figure);
  }
  figure.querySelector("figcaption").textContent = board.title;
  // The picture is made by the server from the position alone; names in it are escaped there.
  figure.querySelector(".svg").innerHTML = board.svg;
  figure.querySelector(".end").textContent = board.end ?? "";
  ["White", "Black"].forEach((side, i) => {
    const player = figure.querySelector(`.player[data-side="${side}"]`);
    const data = board.players[i];
    const who = player.querySelector(".who");
    // The name comes escaped for HTML; title and rating are the server's own words.
    const title = data.title ? `<span class="title">${data.title}</span> ` : "";
    who.innerHTML = `${title}${data.name} <small>${data.rating}</small>`;
    player.classList.toggle("ticking", board.ticking && board.turn === side.toLowerCase());
  });
  boards.set(board.id, { board, at: performance.now(), figure });
  if (only && board.last) said.textContent = board.end ?? board.last;
  tick();
}

function remove(id) {
  if (only) return;
  boards.get(id)?.figure.remove();
  boards.delete(id);
  empty();
}

function empty() {
  if (none) none.hidden = games.children.length > 0;
}

function tick() {
  const now = performance.now();
  for (const { board, at, figure } of boards.values()) {
    ["White", "Black"].forEach((side, i) => {
      const clock = board.players[i].clock;
      if (clock === null) return;
      const running = board.ticking && board.turn === side.toLowerCase();
      const left = running ? clock - (now - at) : clock;
      figure.querySelector(`.player[data-side="${side}"] .time`).textContent = clockText(left);
    });
  }
}

const source = new EventSource("/live");
source.addEventListener("all", (event) => {
  const all = JSON.parse(event.data);
  const shown = new Set(all.map((board) => board.id));
  if (!only) {
    for (const figure of [...games.children]) {
      if (!shown.has(figure.dataset.id)) figure.remove();
    }
    for (const id of [...boards.keys()]) if (!shown.has(id)) boards.delete(id);
  }
  all.reverse().forEach(show);
  empty();
});
source.addEventListener("game", (event) => {
  show(JSON.parse(event.data));
  empty();
});
source.addEventListener("gone", (event) => remove(JSON.parse(event.data)));
setInterval(tick, 100);
empty();
