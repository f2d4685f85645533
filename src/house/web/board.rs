//! A position as an SVG picture: a pure function of what is on the board.

use std::fmt::Write as _;

use crate::rules::{Color, Piece, Position, Role, Square};

use super::escape::escape;
use super::pieces::{symbol_id, symbols};

/// Size of a square in units of the picture.
const CELL: i32 = 100;
/// Height of a strip with a name and a clock.
const NAME_STRIP: i32 = 64;
/// Height of a strip with a pocket.
const POCKET_STRIP: i32 = 92;
/// Size of a piece in a pocket.
const POCKET_PIECE: i32 = 80;

/// How a position is shown.
#[derive(Debug, Clone, Default)]
pub struct BoardView {
    /// Whether Black sits at the bottom.
    pub flipped: bool,
    /// Squares of the last move; a drop has only one.
    pub last_move: Vec<Square>,
    /// Names and clocks of White and Black, if they are shown.
    pub players: Option<[PlayerStrip; 2]>,
    /// Whether the picture stands alone: it then carries the drawings and colours itself.
    pub standalone: bool,
    /// What the picture shows, for those who cannot see it.
    pub label: String,
    /// Whether squares and pieces carry their names, for scripts that let people move them.
    pub interactive: bool,
}

/// Name and clock of a player.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlayerStrip {
    /// Name, with title and rating as wanted. Any text; it is escaped.
    pub name: String,
    /// Clock as text.
    pub clock: String,
    /// Whether it is running.
    pub running: bool,
}

/// Colours of a picture that stands alone; a page brings its own.
const STANDALONE_STYLE: &str = "\
.bg{fill:#faf7f2}.sq-l{fill:#e9dcc3}.sq-d{fill:#a9825a}.last{fill:#d9b53f;opacity:.55}\
.check{fill:#d23b2e;opacity:.6}.pw{fill:#fff;stroke:#1d1d1d;stroke-width:3.6;stroke-linejoin:round}\
.pb{fill:#2b2b2b;stroke:#0b0b0b;stroke-width:3.6;stroke-linejoin:round}\
.line{fill:none;stroke-linecap:round}.pw .mark{fill:#1d1d1d;stroke:none}\
.pb .mark{fill:#fff;stroke:none}.pb .line{stroke:#e8e8e8}\
.promoted{fill:#2f6fb3;stroke:#fff;stroke-width:3}.coord{font:600 20px sans-serif}\
.coord.on-l{fill:#a9825a}.coord.on-d{fill:#e9dcc3}.pocket{fill:#d8d2c6}.gone{opacity:.22}\
.count{fill:#fff;font:700 26px sans-serif;text-anchor:middle}.count-bg{fill:#2f6fb3}\
.name{font:600 34px sans-serif;fill:#222}\
.clock{font:600 36px monospace;fill:#222;text-anchor:end}.clock.on{fill:#b3261e}";

/// Draws a position.
///
/// The picture is text in UTF-8 with no scripts, no inline styles on elements and no
/// references outside itself, apart from the piece symbols that the page holds
/// (unless [`BoardView::standalone`]).
pub fn board_svg(position: &Position, view: &BoardView) -> String {
    Picture::new(position, view).draw()
}

struct Picture<'a> {
    position: &'a Position,
    view: &'a BoardView,
    files: i32,
    /// Upper edge of the board itself.
    top: i32,
    out: String,
}

impl<'a> Picture<'a> {
    fn new(position: &'a Position, view: &'a BoardView) -> Picture<'a> {
        let mut picture = Picture {
            position,
            view,
            files: i32::from(position.files()),
            top: 0,
            out: String::with_capacity(16 * 1024),
        };
        picture.top = picture.strip_height();
        picture
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _infallible = self.out.write_fmt(text);
    }

    fn has_pockets(&self) -> bool {
        self.position.variant().has_drops()
    }

    /// Height of what stands above the board, and of what stands below it.
    fn strip_height(&self) -> i32 {
        let names = if self.view.players.is_some() {
            NAME_STRIP
        } else {
            0
        };
        names + if self.has_pockets() { POCKET_STRIP } else { 0 }
    }

    fn draw(mut self) -> String {
        let (width, height) = (self.files * CELL, 8 * CELL + 2 * self.top);
        let label = escape(&self.view.label);
        self.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="board" viewBox="0 0 {width} {height}" role="img" aria-label="{label}""#
        ));
        if self.view.interactive {
            let (files, top, flipped) = (self.files, self.top, self.view.flipped);
            self.put(format_args!(
                r#" data-files="{files}" data-top="{top}" data-flipped="{flipped}""#
            ));
        }
        self.out.push('>');
        if self.view.standalone {
            self.put(format_args!(
                r#"<style>{STANDALONE_STYLE}</style><defs>{}</defs><rect class="bg" width="{width}" height="{height}"/>"#,
                symbols()
            ));
        }
        self.squares();
        self.marks();
        self.pieces();
        let bottom = if self.view.flipped {
            Color::Black
        } else {
            Color::White
        };
        self.strips(bottom, true);
        self.strips(!bottom, false);
        self.out.push_str("</svg>");
        self.out
    }

    /// Upper left corner of a square.
    fn corner(&self, square: Square) -> (i32, i32) {
        let files = self.position.files();
        let (file, rank) = (i32::from(square.file(files)), i32::from(square.rank(files)));
        let (column, row) = if self.view.flipped {
            (self.files - 1 - file, rank)
        } else {
            (file, 7 - rank)
        };
        (column * CELL, self.top + row * CELL)
    }

    fn all_squares(&self) -> impl Iterator<Item = Square> + use<> {
        let files = self.position.files();
        (0..8).flat_map(move |rank| (0..files).map(move |file| Square::new(file, rank, files)))
    }

    fn is_light(&self, square: Square) -> bool {
        let files = self.position.files();
        (square.file(files) + square.rank(files)) % 2 == 1
    }

    fn squares(&mut self) {
        let width = self.files * CELL;
        let top = self.top;
        // One dark sheet and the light squares on it: half as many elements.
        self.put(format_args!(
            r#"<rect class="sq-d" y="{top}" width="{width}" height="{}"/><path class="sq-l" d=""#,
            8 * CELL
        ));
        for square in self.all_squares() {
            if self.is_light(square) {
                let (x, y) = self.corner(square);
                self.put(format_args!("M{x} {y}h{CELL}v{CELL}h-{CELL}z"));
            }
        }
        self.out.push_str("\"/>");
        self.coordinates();
    }

    fn coordinates(&mut self) {
        let files = self.position.files();
        let (bottom_rank, right_file) = if self.view.flipped {
            (7, 0)
        } else {
            (0, files - 1)
        };
        for file in 0..files {
            let square = Square::new(file, bottom_rank, files);
            let (x, y) = self.corner(square);
            let on = if self.is_light(square) {
                "on-l"
            } else {
                "on-d"
            };
            let letter = char::from(b'a' + file);
            self.put(format_args!(
                r#"<text class="coord {on}" x="{}" y="{}">{letter}</text>"#,
                x + 6,
                y + CELL - 7
            ));
        }
        for rank in 0..8 {
            let square = Square::new(right_file, rank, files);
            let (x, y) = self.corner(square);
            let on = if self.is_light(square) {
                "on-l"
            } else {
                "on-d"
            };
            self.put(format_args!(
                r#"<text class="coord {on}" x="{}" y="{}">{}</text>"#,
                x + CELL - 17,
                y + 22,
                rank + 1
            ));
        }
    }

    fn marks(&mut self) {
        for square in &self.view.last_move {
            let (x, y) = self.corner(*square);
            self.put(format_args!(
                r#"<rect class="last" x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>"#
            ));
        }
        if self.position.in_check() {
            for square in self.position.squares_of(self.position.turn(), Role::King) {
                let (x, y) = self.corner(square);
                let (cx, cy) = (x + CELL / 2, y + CELL / 2);
                self.put(format_args!(
                    r#"<circle class="check" cx="{cx}" cy="{cy}" r="{}"/>"#,
                    CELL / 2 - 2
                ));
            }
        }
    }

    fn pieces(&mut self) {
        for square in self.all_squares() {
            let Some(piece) = self.position.piece_at(square) else {
                continue;
            };
            let (x, y) = self.corner(square);
            let id = symbol_id(piece);
            let name = if self.view.interactive {
                let square = square.name(self.position.files());
                format!(r#" data-s="{square}" data-c="{}""#, piece.color.char())
            } else {
                String::new()
            };
            self.put(format_args!(
                r##"<use href="#{id}"{name} x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>"##
            ));
            if self.position.is_promoted(square) {
                self.put(format_args!(
                    r#"<circle class="promoted" cx="{}" cy="{}" r="9"/>"#,
                    x + CELL - 15,
                    y + CELL - 15
                ));
            }
        }
    }

    /// Pocket next to the board, name and clock outside of it.
    fn strips(&mut self, color: Color, below: bool) {
        let board_end = self.top + 8 * CELL;
        let mut y = if below { board_end } else { 0 };
        let name_y = if below {
            board_end + self.strip_height() - NAME_STRIP
        } else {
            0
        };
        if self.view.players.is_some() && !below {
            y += NAME_STRIP;
        }
        if self.has_pockets() {
            self.pocket(color, y);
        }
        if let Some(players) = &self.view.players {
            let strip = players[color.index()].clone();
            self.name(&strip, name_y);
        }
    }

    fn pocket(&mut self, color: Color, y: i32) {
        let width = self.files * CELL;
        self.put(format_args!(
            r#"<rect class="pocket" y="{}" width="{width}" height="{}" rx="10"/>"#,
            y + 3,
            POCKET_STRIP - 6
        ));
        let roles = self.position.variant().roles();
        let roles: Vec<Role> = roles.iter().copied().filter(|r| *r != Role::King).collect();
        for (place, role) in (0..).zip(roles) {
            let count = self.position.pocket(color, role);
            let (x, y) = (14 + place * (POCKET_PIECE + 14), y + 6);
            let id = symbol_id(Piece { color, role });
            let class = if count == 0 { r#" class="gone""# } else { "" };
            let name = if self.view.interactive && count > 0 {
                format!(r#" data-r="{}" data-c="{}""#, role.upper_char(), color.char())
            } else {
                String::new()
            };
            self.put(format_args!(
                r##"<use href="#{id}"{class}{name} x="{x}" y="{y}" width="{POCKET_PIECE}" height="{POCKET_PIECE}"/>"##
            ));
            if count > 0 {
                let (cx, cy) = (x + POCKET_PIECE - 8, y + POCKET_PIECE - 18);
                self.put(format_args!(
                    r#"<circle class="count-bg" cx="{cx}" cy="{cy}" r="18"/><text class="count" x="{cx}" y="{}">{count}</text>"#,
                    cy + 9
                ));
            }
        }
    }

    fn name(&mut self, strip: &PlayerStrip, y: i32) {
        let right = self.files * CELL - 12;
        let on = if strip.running { " on" } else { "" };
        let (name, clock) = (escape(&strip.name), escape(&strip.clock));
        self.put(format_args!(
            r#"<text class="name" x="12" y="{0}">{name}</text><text class="clock{on}" x="{right}" y="{0}">{clock}</text>"#,
            y + 44
        ));
    }
}
