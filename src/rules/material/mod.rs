//! Who can still win: "insufficient material", by variant, by side, and by the reading of each server.
//!
//! A side *can win* when some series of legal moves, however foolish, ends with its win. Servers approximate that by
//! counting pieces, and they count differently; [`MaterialRule`] says whose count is meant. Two sides that cannot win
//! are a draw at once; a side whose opponent runs out of time wins only if it could have won on the board.

mod census;
mod horde;

use super::position::Position;
use super::types::{Color, Role};
use super::variant::Variant;
use census::{Census, Shade};

/// Whose way of counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MaterialRule {
    /// Lichess's, which asks for a help-mate with what is on the board. On ten files archbishop and chancellor mate.
    Lichess,
    /// That of Fairy-Stockfish, which PyChess asks: any second piece on the board may help.
    FairyStockfish,
    /// FICS's: only the side's own pieces count.
    Fics,
}

/// Whether `color` could still win by some series of legal moves.
#[must_use]
pub fn can_win(position: &Position, color: Color, rule: MaterialRule) -> bool {
    let variant = position.variant();
    match variant {
        // Pieces never leave the game, and the center or the eighth rank can be reached by a bare king.
        Variant::Crazyhouse
        | Variant::Capahouse
        | Variant::KingOfTheHill
        | Variant::RacingKings
        // Every loss of a piece helps its owner.
        | Variant::Losers => true,
        Variant::Chess | Variant::Capablanca => {
            let census = Census::of(position);
            match rule {
                MaterialRule::Lichess => can_mate(&census, color),
                MaterialRule::FairyStockfish => can_mate_with_any_help(&census, color),
                MaterialRule::Fics => can_mate_alone(&census, color),
            }
        }
        // A bare king gives no check; any other piece does.
        Variant::ThreeCheck => !Census::of(position).is_bare(color),
        Variant::Antichess | Variant::Suicide => rule == MaterialRule::FairyStockfish || can_lose_all(position, color),
        Variant::Atomic => {
            let census = Census::of(position);
            match rule {
                MaterialRule::FairyStockfish => census.count(!color, Role::King) == 0 || !census.is_bare(color),
                _ => can_explode(&census, color),
            }
        }
        Variant::Horde => rule != MaterialRule::Lichess || horde::can_win(&Census::of(position), color),
    }
}

/// Whether neither side can win any more.
#[must_use]
pub fn is_dead(position: &Position, rule: MaterialRule) -> bool {
    Color::ALL
        .into_iter()
        .all(|color| !can_win(position, color, rule))
}

/// Roles that mate a bare king with the help of their own king alone, or become such a role.
const MATING: [Role; 5] = [
    Role::Pawn,
    Role::Rook,
    Role::Queen,
    Role::Archbishop,
    Role::Chancellor,
];

/// Orthodox chess and Capablanca: a help-mate must exist.
fn can_mate(census: &Census, color: Color) -> bool {
    if census.any(color, &MATING) {
        return true;
    }
    let knights = census.count(color, Role::Knight);
    if knights > 0 {
        // A lone knight needs an enemy piece that takes a flight square and cannot take the knight: not a queen.
        return census.pieces(color) > 1
            || census.any(
                !color,
                &[
                    Role::Pawn,
                    Role::Knight,
                    Role::Bishop,
                    Role::Rook,
                    Role::Archbishop,
                    Role::Chancellor,
                ],
            );
    }
    if census.count(color, Role::Bishop) > 0 {
        // Bishops of one square color need a piece that stands on the other one for them.
        let blockers = [Role::Pawn, Role::Knight, Role::Archbishop, Role::Chancellor];
        return census.bishops_on_both_shades() || census.any(!color, &blockers);
    }
    false
}

/// The same as Fairy-Stockfish counts: a minor piece mates if anything else is on the board, whosever it is.
fn can_mate_with_any_help(census: &Census, color: Color) -> bool {
    if census.any(color, &MATING) {
        return true;
    }
    if census.count(color, Role::Knight) > 0 {
        return census.pieces(color) + census.pieces(!color) > 1;
    }
    if census.count(color, Role::Bishop) > 0 {
        return census.bishops_on_both_shades() || census.has_other_than_bishops();
    }
    false
}

/// The same as FICS counts: two minor pieces that are not bishops of one square color, or anything stronger.
fn can_mate_alone(census: &Census, color: Color) -> bool {
    if census.any(color, &MATING) {
        return true;
    }
    let light = census.bishops(color, Shade::Light);
    let dark = census.bishops(color, Shade::Dark);
    let knights = census.count(color, Role::Knight);
    (light > 0 && dark > 0) || (light + dark > 0 && knights > 0) || knights > 1
}

/// Atomic: the other king must be mated or blown up.
fn can_explode(census: &Census, color: Color) -> bool {
    if census.count(!color, Role::King) == 0 {
        return true;
    }
    if census.is_bare(color) {
        return false;
    }
    if !census.is_bare(!color) {
        // A piece of their own may be taken beside their king, unless only bishops are left that never meet.
        return !(census.only_bishops() && census.bishops_never_meet());
    }
    if census.any(color, &[Role::Queen, Role::Pawn]) {
        return true;
    }
    // Against a bare king one minor piece or rook is too little, and so are two knights.
    let (knights, others) = (
        census.count(color, Role::Knight),
        census.count(color, Role::Bishop) + census.count(color, Role::Rook),
    );
    knights + others > 1 && (others > 0 || knights > 2)
}

/// Antichess and suicide: whether the side's pieces can all be taken.
fn can_lose_all(position: &Position, color: Color) -> bool {
    let census = Census::of(position);
    if census.total(color) == 0 {
        return true;
    }
    if census.total(!color) == 0 {
        return false;
    }
    if census.only_bishops_of_all() {
        // A bishop is safe if no enemy bishop walks on its squares.
        let safe =
            |shade: Shade| census.bishops(color, shade) > 0 && census.bishops(!color, shade) == 0;
        return !safe(Shade::Light) && !safe(Shade::Dark);
    }
    if census.only_lone_knights() {
        // A knight changes its square's color with every move, so who may ever take whom is settled by parity: with
        // White's and Black's knight on squares of one color, the side to move is the one that gets taken.
        let alike = census.lone_knights_alike();
        return alike == (position.turn() == color);
    }
    !census::is_bishop_and_pawn_fortress(position)
}
