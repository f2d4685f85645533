//! Drawings of the pieces: our own, plain enough to be told apart at thirty pixels.
//!
//! Every piece is drawn in a box of 100 by 100 as an SVG `symbol`; a page holds the
//! symbols once and every board refers to them. The archbishop is a knight under a
//! bishop's mitre, the chancellor a knight under a rook's battlements.

use std::fmt::Write as _;

use crate::rules::{Color, Piece, Role};

/// Foot of every piece.
const FOOT: &str = r#"<path d="M24 91v-8q0-4 5-4h42q5 0 5 4v8z"/>"#;

const PAWN: &str = concat!(
    r#"<path d="M34 79c8-10 11-17 11-27h10c0 10 3 17 11 27z"/>"#,
    r#"<path d="M35 46h30v7H35z"/>"#,
    r#"<circle cx="50" cy="33" r="14.5"/>"#,
);

const KNIGHT: &str = concat!(
    r#"<path d="M33 79c-1-15 8-21 15-32-5 5-10 6-14 9-6 4-13-2-10-9 5-9 8-19 17-25l1-12 10 9c18 3 27 19 26 37 0 9-3 15-3 23z"/>"#,
    r#"<circle class="mark" cx="46" cy="33" r="3.2"/>"#,
    r#"<path class="line" d="M55 29c9 5 12 17 10 33"/>"#,
);

const BISHOP: &str = concat!(
    r#"<path d="M35 79c2-5 6-9 7-14h16c1 5 5 9 7 14z"/>"#,
    r#"<path d="M50 20c17 12 20 28 10 41H40c-10-13-7-29 10-41z"/>"#,
    r#"<path d="M34 59h32v7H34z"/>"#,
    r#"<circle cx="50" cy="15" r="6"/>"#,
    r#"<path class="line" d="M57 31 47 46"/>"#,
);

const ROOK: &str = concat!(
    r#"<path d="M33 79l5-9V43h24v27l5 9z"/>"#,
    r#"<path d="M28 20h11v8h6v-8h10v8h6v-8h11v18l-8 7H36l-8-7z"/>"#,
    r#"<path class="line" d="M38 68h24M36 45h28"/>"#,
);

const QUEEN: &str = concat!(
    r#"<path d="M32 79l-3-14-11-32 18 17 3-26 11 24 11-24 3 26 18-17-11 32-3 14z"/>"#,
    r#"<circle cx="18" cy="29" r="5.5"/><circle cx="39" cy="20" r="5.5"/>"#,
    r#"<circle cx="61" cy="20" r="5.5"/><circle cx="82" cy="29" r="5.5"/>"#,
    r#"<path class="line" d="M31 69q19-6 38 0"/>"#,
);

const KING: &str = concat!(
    r#"<path d="M46 8h8v7h7v7h-7v10h-8V22h-7v-7h7z"/>"#,
    r#"<path d="M34 79c-1-12-15-17-15-31 0-15 19-19 31-9 12-10 31-6 31 9 0 14-14 19-15 31z"/>"#,
    r#"<path class="line" d="M50 40v26M34 69q16-6 32 0"/>"#,
);

/// Head of the knight, smaller and lower, to carry something on top.
const LOW_HEAD: &str = concat!(
    r#"<path d="M35 79c-1-11 6-16 12-24-5 4-8 5-11 7-6 3-11-2-9-7 4-7 6-13 12-18h19c12 4 18 16 17 28 0 6-2 9-2 14z"/>"#,
    r#"<circle class="mark" cx="44" cy="47" r="3"/>"#,
    r#"<path class="line" d="M57 45c7 5 8 12 7 22"/>"#,
);

const MITRE: &str = concat!(
    r#"<path d="M50 11c15 8 17 18 10 28H40c-7-10-5-20 10-28z"/>"#,
    r#"<circle cx="50" cy="8" r="4.5"/>"#,
    // The collar parts head and mitre in the black piece, whose outline does not.
    r#"<path class="line" d="M55 18l-7 11M40 39h20"/>"#,
);

const BATTLEMENTS: &str = concat!(
    r#"<path d="M27 10h11v8h7v-8h10v8h7v-8h11v21l-8 8H35l-8-8z"/>"#,
    r#"<path class="line" d="M34 32h32"/>"#,
);

/// Name of the symbol of a piece, as in `<use href="#p-wn"/>`.
pub fn symbol_id(piece: Piece) -> String {
    format!("p-{}{}", piece.color.char(), piece.role.char())
}

/// The drawing of a role, without colours.
fn drawing(role: Role) -> String {
    match role {
        Role::Pawn => PAWN.to_owned(),
        Role::Knight => KNIGHT.to_owned(),
        Role::Bishop => BISHOP.to_owned(),
        Role::Rook => ROOK.to_owned(),
        Role::Queen => QUEEN.to_owned(),
        Role::King => KING.to_owned(),
        Role::Archbishop => format!("{LOW_HEAD}{MITRE}"),
        Role::Chancellor => format!("{LOW_HEAD}{BATTLEMENTS}"),
    }
}

/// All symbols, to be put once into a page (in an `svg` of no size) or into each standalone picture.
pub fn symbols() -> String {
    let mut out = String::with_capacity(12_000);
    for color in Color::ALL {
        for role in Role::ALL {
            let piece = Piece { color, role };
            let side = match color {
                Color::White => "pw",
                Color::Black => "pb",
            };
            // Writing to a string cannot fail.
            let _infallible = write!(
                out,
                r#"<symbol id="{}" viewBox="0 0 100 100"><g class="{side}">{}{FOOT}</g></symbol>"#,
                symbol_id(piece),
                drawing(role),
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_has_a_symbol_of_its_own() {
        let all = symbols();
        let mut drawings = std::collections::BTreeSet::new();
        for role in Role::ALL {
            drawings.insert(drawing(role));
            for color in Color::ALL {
                let id = format!("id=\"{}\"", symbol_id(Piece { color, role }));
                assert_eq!(all.matches(&id).count(), 1, "{id}");
            }
        }
        assert_eq!(drawings.len(), Role::ALL.len());
        assert!(
            !all.contains("style="),
            "the content policy forbids inline styles"
        );
    }
}
