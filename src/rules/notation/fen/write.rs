//! From a [`Setup`] to text.

use std::fmt::Write as _;

use crate::rules::setup::Setup;
use crate::rules::types::{Color, Piece, Role, Square};
use crate::rules::variant::{CastlingMode, Variant};

/// Order of the letters in a pocket.
const POCKET_ORDER: [Role; 7] = [
    Role::Chancellor,
    Role::Archbishop,
    Role::Queen,
    Role::Rook,
    Role::Bishop,
    Role::Knight,
    Role::Pawn,
];

pub(super) fn write(setup: &Setup, variant: Variant, mode: CastlingMode) -> String {
    let files = variant.files();
    let mut text = String::with_capacity(100);
    write_board(setup, files, &mut text);
    if variant.has_drops() {
        write_pocket(setup, &mut text);
    }
    text.push(' ');
    text.push(setup.turn.char());
    text.push(' ');
    write_castling(setup, files, mode, &mut text);
    text.push(' ');
    match setup.en_passant {
        Some(square) => text.push_str(&square.name(files)),
        None => text.push('-'),
    }
    let mut append = |arguments: std::fmt::Arguments<'_>| {
        text.write_fmt(arguments).expect("a string takes all text")
    };
    if let Some([white, black]) = setup.checks_remaining {
        append(format_args!(" {white}+{black}"));
    }
    append(format_args!(" {} {}", setup.halfmoves, setup.fullmoves));
    text
}

fn write_board(setup: &Setup, files: u8, text: &mut String) {
    for rank in (0..8).rev() {
        let mut empty = 0;
        let flush = |empty: &mut u8, text: &mut String| {
            if *empty > 0 {
                text.push_str(&empty.to_string());
                *empty = 0;
            }
        };
        for file in 0..files {
            let square = Square::new(file, rank, files).index();
            match setup.board[square] {
                None => empty += 1,
                Some(piece) => {
                    flush(&mut empty, text);
                    text.push(piece.char());
                    if setup.promoted >> square & 1 != 0 {
                        text.push('~');
                    }
                }
            }
        }
        flush(&mut empty, text);
        if rank > 0 {
            text.push('/');
        }
    }
}

fn write_pocket(setup: &Setup, text: &mut String) {
    text.push('[');
    for color in Color::ALL {
        for role in POCKET_ORDER {
            let letter = Piece { color, role }.char();
            let count = setup.pockets[color.index()][role.index()];
            text.extend(std::iter::repeat_n(letter, count.into()));
        }
    }
    text.push(']');
}

fn write_castling(setup: &Setup, files: u8, mode: CastlingMode, text: &mut String) {
    let mut any = false;
    for (index, rook) in setup.castling_rooks.iter().enumerate() {
        let Some(rook) = *rook else { continue };
        any = true;
        let (color, lower_side) = (Color::ALL[index / 2], index % 2 == 1);
        let letter = if mode == CastlingMode::Standard
            && is_outermost(setup, rook, color, lower_side, files)
        {
            if lower_side { 'q' } else { 'k' }
        } else {
            char::from(b'a' + rook.file(files))
        };
        text.push(match color {
            Color::White => letter.to_ascii_uppercase(),
            Color::Black => letter,
        });
    }
    if !any {
        text.push('-');
    }
}

/// Whether no rook of the color stands farther out on the same rank, so that `K` or `Q` names this one.
fn is_outermost(setup: &Setup, rook: Square, color: Color, lower_side: bool, files: u8) -> bool {
    let own = Piece {
        color,
        role: Role::Rook,
    };
    let beyond = if lower_side {
        0..rook.file(files)
    } else {
        rook.file(files) + 1..files
    };
    beyond
        .into_iter()
        .all(|file| setup.board[Square::new(file, rook.rank(files), files).index()] != Some(own))
}
