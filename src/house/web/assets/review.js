// Looking back at a game: earlier positions, and what the engine thought of them.
import { element, ensureName, get, post } from "./page.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const HEIGHT = 120;
const POLL_MS = 600;
const KNOWN_PICTURES = 1200;

function shape(tag, attributes, parent) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent?.append(made);
  return made;
}

export class Review {
  // `look(ply)` is called when somebody points at a position in the graph; `changed()` when there is more to show.
  constructor(id, place, look, changed, fail) {
    this.id = id;
    this.place = place;
    this.look = look;
    this.changed = changed;
    this.fail = fail;
    this.pictures = new Map();
    this.analysis = null;
    this.timer = null;
  }

  // The picture of an earlier position. Moves that are taken back make it another one.
  async picture(moves, ply, side) {
    const key = `${side} ${moves.slice(0, ply).join(" ")}`;
    if (!this.pictures.has(key)) {
      if (this.pictures.size > KNOWN_PICTURES) this.pictures.clear();
      this.pictures.set(key, await get(`/page/game/${this.id}/at/${ply}?side=${side}`));
    }
    return this.pictures.get(key);
  }

  opinion(ply) {
    return this.analysis?.positions?.[ply] ?? null;
  }

  // Fetches what is known, and goes on while there is more to come.
  async refresh() {
    clearTimeout(this.timer);
    try {
      this.analysis = await get(`/page/game/${this.id}/analysis`);
    } catch {
      // The next round may be luckier.
    }
    this.follow();
  }

  async ask() {
    try {
      await ensureName();
      this.analysis = await post(`/page/game/${this.id}/analysis`);
      this.follow();
    } catch (error) {
      this.fail(error.message);
    }
  }

  follow() {
    clearTimeout(this.timer);
    const { state } = this.analysis ?? {};
    if (state === "waiting" || state === "running") this.timer = setTimeout(() => this.refresh(), POLL_MS);
    this.changed();
  }

  // Draws button, graph, sums and the words about one position.
  show(ply, moves, number) {
    const { place, analysis } = this;
    place.replaceChildren();
    const state = analysis?.state ?? "none";
    place.dataset.state = state;
    place.hidden = state === "none";
    if (state === "offered" || state === "failed") {
      if (state === "failed") element("p", "problem", place, `The analysis failed: ${analysis.reason}`);
      const button = element("button", "", place, "Analyse the game");
      button.type = "button";
      button.addEventListener("click", () => this.ask());
      return;
    }
    if (state === "waiting") {
      element("p", "quiet", place, "The engine looks at other games first …");
      return;
    }
    if (state !== "running" && state !== "done") return;
    if (state === "running") element("p", "quiet", place, `The engine is at work: ${analysis.done} of ${analysis.of} positions …`);
    this.graph(ply);
    this.words(ply, moves, number);
    if (state === "done") this.sums();
  }

  graph(ply) {
    const { positions } = this.analysis;
    const svg = shape("svg", { class: "graph", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" }, this.place);
    svg.setAttribute("aria-label", "White's chances over the game");
    const x = (at) => (positions.length < 2 ? 0 : (at * WIDTH) / (positions.length - 1));
    const y = (chances) => HEIGHT - chances * HEIGHT;
    shape("rect", { class: "graph-black", width: WIDTH, height: HEIGHT }, svg);
    const known = positions.map((opinion, at) => ({ opinion, at })).filter(({ opinion }) => opinion);
    if (known.length > 0) {
      const points = known.map(({ opinion, at }) => `${x(at)} ${y(opinion.chances)}`);
      const [first, last] = [known[0].at, known.at(-1).at];
      shape("path", { class: "graph-white", d: `M${x(first)} ${HEIGHT}L${points.join("L")}L${x(last)} ${HEIGHT}z` }, svg);
    }
    shape("line", { class: "graph-even", x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 }, svg);
    for (const { opinion, at } of known) {
      if (opinion.mark) shape("ellipse", { class: `graph-mark ${opinion.mark}`, cx: x(at), cy: y(opinion.chances), rx: 8, ry: 5 }, svg);
    }
    shape("line", { class: "graph-here", x1: x(ply), x2: x(ply), y1: 0, y2: HEIGHT }, svg);
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const part = (event.clientX - box.left) / box.width;
      this.look(Math.round(part * (positions.length - 1)));
    });
  }

  words(ply, moves, number) {
    const line = element("p", "verdict", this.place);
    const opinion = this.opinion(ply);
    const before = this.opinion(ply - 1);
    if (!opinion) return;
    element("strong", "", line, `${opinion.value} `);
    if (opinion.mark) {
      const better = before?.line?.length ? ` Better was ${before.line[0]}.` : "";
      element("span", opinion.mark, line, `${number(ply - 1)}${moves[ply - 1]}${opinion.glyph} ${opinion.mark}.${better} `);
    }
    if (opinion.line.length > 0) element("span", "quiet", line, `Best from here: ${opinion.line.join(" ")}`);
  }

  sums() {
    const plural = { inaccuracy: "inaccuracies", mistake: "mistakes", blunder: "blunders" };
    const list = element("p", "sums", this.place);
    for (const [side, name] of [["white", "White"], ["black", "Black"]]) {
      const counts = this.analysis.sums[side];
      const words = ["blunder", "mistake", "inaccuracy"].map((mark) => `${counts[mark]} ${counts[mark] === 1 ? mark : plural[mark]}`);
      element("span", "", list, `${name}: ${words.join(", ")}. `);
    }
    element("span", "quiet", list, `Analysed by ${this.analysis.by}.`);
  }
}
