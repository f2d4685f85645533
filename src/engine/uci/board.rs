//! The answer to `d`: the position for people.

use crate::rules::{Position, Square};

/// Board from White's side, then what else belongs to the position.
pub(super) fn drawing(position: &Position) -> Vec<String> {
    let variant = position.variant();
    let files = variant.files();
    let rule = format!(" +{}", "---+".repeat(usize::from(files)));
    let mut lines = vec![String::new(), rule.clone()];
    for rank in (0..8).rev() {
        let mut row = String::from(" |");
        for file in 0..files {
            let square = Square::new(file, rank, files);
            let piece = position.piece_at(square).map_or(' ', |piece| piece.char());
            let mark = if position.is_promoted(square) {
                '~'
            } else {
                ' '
            };
            row.push(' ');
            row.push(piece);
            row.push(mark);
            row.push('|');
        }
        lines.push(format!("{row} {}", rank + 1));
        lines.push(rule.clone());
    }
    let letters: String = ('a'..='j')
        .take(usize::from(files))
        .map(|file| format!("   {file}"))
        .collect();
    lines.push(letters);
    lines.push(String::new());
    lines.push(format!("Variant: {}", variant.uci_name()));
    lines.push(format!("Fen: {}", position.fen()));
    lines.push(format!("Key: {:016X}", position.key()));
    lines.push(format!(
        "Check: {}",
        if position.in_check() { "yes" } else { "no" }
    ));
    lines.push(format!("Legal moves: {}", position.legal_moves().len()));
    lines
}
