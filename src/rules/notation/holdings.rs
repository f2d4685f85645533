//! Pieces in hand as servers and GUIs send them: `[PNN] [BPP]`.
//!
//! FICS sends `<b1> game 12 white [PNN] black [BPP] <- BQ`, XBoard's protocol `holding [PNN] [BPP] BQ`. Both write capital
//! letters for both sides and White's hand first; what follows the second bracket names the piece that was just received.

use crate::rules::types::{Color, Piece, Role};

/// The hands of both sides, and the piece that was just received if the text names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// Counts by color and role index, as in [`Setup::pockets`](crate::rules::Setup::pockets).
    pub hands: [[u8; 8]; 2],
    /// Who received what.
    pub received: Option<Piece>,
}

impl Holdings {
    /// Reads the two hands out of a line of either protocol, whatever stands before them.
    ///
    /// `None` if there are not two brackets with letters of pieces.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once('[')?;
        let (white, rest) = rest.split_once(']')?;
        let (_, rest) = rest.split_once('[')?;
        let (black, rest) = rest.split_once(']')?;
        let received = rest.trim().trim_start_matches("<-").trim();
        let received = match received.as_bytes() {
            [] => None,
            [color, role] => {
                let color = match color.to_ascii_uppercase() {
                    b'W' => Color::White,
                    b'B' => Color::Black,
                    _ => return None,
                };
                let role = hand_role(char::from(*role))?;
                Some(Piece { color, role })
            }
            _ => return None,
        };
        Some(Self {
            hands: [parse_hand(white)?, parse_hand(black)?],
            received,
        })
    }
}

fn hand_role(letter: char) -> Option<Role> {
    Role::from_char(letter).filter(|&role| role != Role::King)
}

fn parse_hand(letters: &str) -> Option<[u8; 8]> {
    let mut hand = [0_u8; 8];
    for letter in letters.trim().chars() {
        let count = &mut hand[hand_role(letter)?.index()];
        *count = count.checked_add(1)?;
    }
    Some(hand)
}
