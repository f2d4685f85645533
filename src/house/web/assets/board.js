// A board that people move: click, drag, touch; promotion; premoves. The server draws it, this file lets it be touched.
import { element } from "./page.js";

const SVG = "http://www.w3.org/2000/svg";
const CELL = 100;
const NAMES = { q: "queen", r: "rook", b: "bishop", n: "knight", a: "archbishop", c: "chancellor", k: "king" };

export class Board {
  // `move(uci)` is called with what the hand has done; it may return a promise.
  constructor(place, promotion, move) {
    this.place = place;
    this.promotion = promotion;
    this.move = move;
    this.state = null;
    this.selected = null;
    this.premove = null;
    this.drag = null;
    this.arrows = [];
    // An earlier position is shown: nothing can be moved in it.
    this.past = false;
    place.addEventListener("pointerdown", (event) => this.down(event));
    place.addEventListener("pointermove", (event) => this.moved(event));
    place.addEventListener("pointerup", (event) => this.up(event));
    place.addEventListener("pointercancel", () => this.cancelDrag());
    place.addEventListener("contextmenu", (event) => {
      if (!this.premove && !this.selected) return;
      event.preventDefault();
      this.premove = null;
      this.select(null);
    });
  }

  get svg() {
    return this.place.querySelector("svg.board");
  }

  get files() {
    return Number(this.svg.dataset.files);
  }

  set(state) {
    const before = this.state;
    this.state = state;
    if (this.past) {
      if (state.over) this.premove = null;
      return;
    }
    this.cancelDrag();
    // The picture is made by the server from the position alone; its only text is escaped there.
    this.place.innerHTML = state.svg;
    if (before && before.moves.length !== state.moves.length) this.closePromotion();
    if (state.over) this.premove = null;
    if (this.selected && !this.pieceAt(this.selected)) this.selected = null;
    this.paint();
    this.tryPremove();
  }

  // Shows an earlier position.
  lookBack(svg, arrows) {
    this.cancelDrag();
    this.closePromotion();
    this.past = true;
    this.selected = null;
    this.premove = null;
    this.arrows = arrows;
    this.place.innerHTML = svg;
    this.paint();
  }

  // Back to the present.
  present(arrows) {
    this.arrows = arrows;
    if (this.past) {
      this.past = false;
      this.set(this.state);
    } else {
      this.paint();
    }
  }

  // The side that this viewer moves, as in the piece's data.
  get mine() {
    if (!this.state?.color || this.state.over || this.past) return null;
    return this.state.shared ? this.state.turn[0] : this.state.color[0];
  }

  get myTurn() {
    return this.mine !== null && this.state.turn[0] === this.mine;
  }

  pieceAt(from) {
    const owner = `[data-c="${this.mine}"]`;
    if (from.endsWith("@")) return this.svg.querySelector(`use[data-r="${from[0]}"]${owner}`);
    return this.svg.querySelector(`use[data-s="${from}"]${owner}`);
  }

  // What lies under a point of the screen: a square, a pocket place of the own side, or nothing.
  at(event) {
    const matrix = this.svg.getScreenCTM();
    if (!matrix) return null;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const top = Number(this.svg.dataset.top);
    let file = Math.floor(point.x / CELL);
    let rank = 7 - Math.floor((point.y - top) / CELL);
    if (file >= 0 && file < this.files && rank >= 0 && rank < 8) {
      if (this.svg.dataset.flipped === "true") [file, rank] = [this.files - 1 - file, 7 - rank];
      return String.fromCharCode(97 + file) + (rank + 1);
    }
    for (const use of this.svg.querySelectorAll(`use[data-r][data-c="${this.mine}"]`)) {
      const box = use.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
      if (inside) return `${use.dataset.r}@`;
    }
    return null;
  }

  down(event) {
    if (!this.mine || event.button > 0) return;
    const target = this.at(event);
    if (!target) return;
    if (this.selected && target !== this.selected && this.attempt(this.selected, target)) {
      event.preventDefault();
      return;
    }
    const piece = this.pieceAt(target);
    if (!piece) {
      this.select(null);
      return;
    }
    event.preventDefault();
    const again = this.selected === target;
    this.select(target);
    this.place.setPointerCapture(event.pointerId);
    this.drag = { from: target, piece, again, moved: false, x: event.clientX, y: event.clientY, home: this.homeOf(piece) };
  }

  homeOf(piece) {
    return { x: piece.getAttribute("x"), y: piece.getAttribute("y"), width: piece.getAttribute("width") };
  }

  moved(event) {
    const { drag } = this;
    if (!drag) return;
    const far = Math.hypot(event.clientX - drag.x, event.clientY - drag.y);
    if (!drag.moved && far < 6) return;
    if (!drag.moved) {
      drag.moved = true;
      if (drag.from.endsWith("@")) {
        // One piece of the pocket leaves it; the others stay.
        drag.piece = this.svg.appendChild(drag.piece.cloneNode());
        drag.copy = true;
      } else {
        this.svg.append(drag.piece);
      }
      drag.piece.classList.add("dragged");
    }
    const matrix = this.svg.getScreenCTM();
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    drag.piece.setAttribute("x", point.x - CELL / 2);
    drag.piece.setAttribute("y", point.y - CELL / 2);
    drag.piece.setAttribute("width", CELL);
    drag.piece.setAttribute("height", CELL);
  }

  up(event) {
    const { drag } = this;
    if (!drag) return;
    const target = this.at(event);
    const { from, moved, again } = drag;
    this.cancelDrag();
    if (moved) {
      if (!target || target === from || !this.attempt(from, target)) this.select(null);
    } else if (again) {
      this.select(null);
    }
  }

  cancelDrag() {
    const { drag } = this;
    this.drag = null;
    if (!drag?.moved) return;
    if (drag.copy) {
      drag.piece.remove();
      return;
    }
    drag.piece.classList.remove("dragged");
    drag.piece.setAttribute("x", drag.home.x);
    drag.piece.setAttribute("y", drag.home.y);
  }

  select(from) {
    this.selected = from;
    this.paint();
  }

  movesFrom(from) {
    return this.state.legal.filter((m) => m.f === from);
  }

  // Tries to move; says whether the touch was used up.
  attempt(from, to) {
    if (!this.myTurn) {
      if (to.endsWith("@") || this.pieceAt(to)) return false;
      this.premove = { from, to };
      this.select(null);
      return true;
    }
    const fitting = this.movesFrom(from).filter((m) => m.t.includes(to));
    if (fitting.length === 0) return false;
    this.select(null);
    if (fitting.length === 1) this.play(fitting[0].u);
    else this.ask(fitting);
    return true;
  }

  play(uci) {
    this.closePromotion();
    this.move(uci);
  }

  // Several moves between the same squares: promotions.
  ask(moves) {
    const order = "qcarbnk";
    const sorted = [...moves].sort((a, b) => order.indexOf(a.p) - order.indexOf(b.p));
    this.promotion.replaceChildren();
    for (const move of sorted) {
      const button = element("button", "", this.promotion);
      button.type = "button";
      button.dataset.role = move.p ?? "";
      button.setAttribute("aria-label", NAMES[move.p] ?? move.s);
      button.title = NAMES[move.p] ?? move.s;
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("viewBox", "0 0 100 100");
      const use = document.createElementNS(SVG, "use");
      use.setAttribute("href", `#p-${this.mine}${move.p}`);
      svg.append(use);
      button.append(svg);
      button.addEventListener("click", () => this.play(move.u));
    }
    const cancel = element("button", "", this.promotion, "×");
    cancel.type = "button";
    cancel.setAttribute("aria-label", "Take the pawn back");
    cancel.addEventListener("click", () => this.closePromotion());
    this.promotion.hidden = false;
    this.promotion.querySelector("button").focus();
  }

  closePromotion() {
    this.promotion.hidden = true;
    this.promotion.replaceChildren();
  }

  tryPremove() {
    const { premove } = this;
    if (!premove || !this.myTurn) return;
    this.premove = null;
    const fitting = this.movesFrom(premove.from).filter((m) => m.t.includes(premove.to));
    const queen = fitting.find((m) => m.p === "q");
    const chosen = fitting.length === 1 ? fitting[0] : queen;
    this.paint();
    if (chosen) this.play(chosen.u);
  }

  centre(square) {
    let file = square.charCodeAt(0) - 97;
    let rank = Number(square[1]) - 1;
    if (this.svg.dataset.flipped === "true") [file, rank] = [this.files - 1 - file, 7 - rank];
    return [file * CELL + CELL / 2, Number(this.svg.dataset.top) + (7 - rank) * CELL + CELL / 2];
  }

  make(tag, attributes) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  cell(square, className) {
    const [x, y] = this.centre(square);
    return this.make("rect", { class: className, x: x - CELL / 2, y: y - CELL / 2, width: CELL, height: CELL });
  }

  // An arrow for a move of a line; `rank` 0 is the next move. A drop is shown as its piece in a ring.
  arrow({ from, to, side }, rank) {
    const group = this.make("g", { class: `arrow rank-${Math.min(rank, 2)} ${side === "w" ? "of-white" : "of-black"}` });
    const [x2, y2] = this.centre(to);
    if (from.endsWith("@")) {
      group.append(this.make("circle", { class: "arrow-ring", cx: x2, cy: y2, r: 42 }));
      group.append(this.make("use", { href: `#p-${side}${from[0].toLowerCase()}`, x: x2 - 32, y: y2 - 32, width: 64, height: 64 }));
      return group;
    }
    const [x1, y1] = this.centre(from);
    const length = Math.hypot(x2 - x1, y2 - y1);
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [neckX, neckY] = [x2 - dx * 44, y2 - dy * 44];
    group.append(this.make("line", { class: "arrow-line", x1: x1 + dx * 20, y1: y1 + dy * 20, x2: neckX, y2: neckY }));
    const corner = (part) => `${neckX - dy * part} ${neckY + dx * part}`;
    group.append(this.make("path", { class: "arrow-head", d: `M${x2 - dx * 8} ${y2 - dy * 8}L${corner(26)}L${corner(-26)}z` }));
    return group;
  }

  // Selection, legal squares, premove and arrows, over what the server has drawn.
  paint() {
    const { svg } = this;
    if (!svg) return;
    svg.querySelectorAll(".touch").forEach((old) => old.remove());
    const under = this.make("g", { class: "touch" });
    const over = this.make("g", { class: "touch over" });
    const premove = this.premove;
    if (premove) {
      for (const square of [premove.from, premove.to]) {
        if (!square.endsWith("@")) under.append(this.cell(square, "premove"));
      }
    }
    svg.querySelectorAll("use.picked").forEach((old) => old.classList.remove("picked"));
    if (this.selected && this.mine) {
      if (this.selected.endsWith("@")) this.pieceAt(this.selected)?.classList.add("picked");
      else under.append(this.cell(this.selected, "chosen"));
      const taken = (square) => svg.querySelector(`use[data-s="${square}"]`);
      const targets = new Set(this.movesFrom(this.selected).flatMap((m) => m.t));
      for (const square of targets) {
        const [cx, cy] = this.centre(square);
        const ring = taken(square);
        over.append(this.make("circle", { class: ring ? "ring" : "dot", cx, cy, r: ring ? 44 : 15, "data-to": square }));
      }
    }
    // The last arrow first, so that the move to play lies on top.
    for (const [rank, arrow] of [...this.arrows.entries()].reverse()) over.append(this.arrow(arrow, rank));
    const first = svg.querySelector("use");
    svg.insertBefore(under, first);
    svg.append(over);
  }

  // What somebody typed: as people write it, or as machines do.
  typed(text) {
    const plain = (s) => s.replace(/[+#x=]/g, "").replace(/^[oO0]-[oO0](-[oO0])?/, (c) => c.replace(/[o0]/g, "O"));
    const wanted = text.trim();
    const exact = this.state.legal.find((m) => m.u === wanted || m.s === wanted || m.u.toLowerCase() === wanted.toLowerCase());
    if (exact) return exact.u;
    const alike = this.state.legal.filter((m) => plain(m.s) === plain(wanted));
    if (alike.length === 1) return alike[0].u;
    const squares = wanted.toLowerCase().match(/^([a-j][1-8])([a-j][1-8])$/);
    if (!squares) return null;
    const between = this.state.legal.filter((m) => m.f === squares[1] && m.t.includes(squares[2]));
    return between.length === 1 ? between[0].u : null;
  }
}
