//! When a game ends, as the house and the servers see it.
//!
//! Positions know mate, stalemate and the rules of their variant; everything that depends on who runs the game is a
//! value of [`Adjudication`]: how often a position may come back, whether fifty quiet moves draw, what material is too
//! little, how long a game may be, and what a player has to claim.

use super::ending::{EndReason, Ending};
use super::history::History;
use super::material::{MaterialRule, can_win, is_dead};
use super::position::Position;
use super::types::Color;
use super::variant::Variant;

/// When a repeated position matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition {
    /// The third occurrence draws by itself.
    pub third_draws: bool,
    /// ... but not if the move that brought it about was a drop; then it can only be claimed.
    pub not_by_drop: bool,
    /// The fifth occurrence draws by itself.
    pub fifth_draws: bool,
    /// Only occurrences since the last capture, pawn move or drop count.
    pub since_progress: bool,
}

/// What fifty moves of both sides without capture or pawn move mean (a hundred half-moves).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FiftyMoves {
    /// The game is drawn.
    Draw,
    /// A player may claim the draw.
    Claim,
}

/// The greatest length of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthLimit {
    /// A game that goes on after this many half-moves is drawn. Counted by the move number, so a game from a set-up
    /// position begins at that position's number.
    pub plies: u32,
    /// The limit exists only where pieces are dropped, because nothing else ends such a game.
    pub drop_games_only: bool,
}

/// Something a player may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Claim {
    /// A draw, because the position occurred three times or more.
    Threefold,
    /// A draw, because of fifty quiet moves.
    FiftyMoves,
}

impl Claim {
    /// The word for it in machine-readable output.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Threefold => "threefold",
            Self::FiftyMoves => "fifty",
        }
    }
}

/// What holds for a game at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The game is over, and why.
    pub ending: Option<Ending>,
    /// What may be claimed; empty when the game is over.
    pub claims: Vec<Claim>,
}

/// Who ends a game, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjudication {
    /// Name for the command line and the logs.
    pub name: &'static str,
    /// Repeated positions.
    pub repetition: Repetition,
    /// Fifty moves in games without drops.
    pub fifty: FiftyMoves,
    /// Fifty moves in games with drops; `None` if they mean nothing there.
    pub fifty_with_drops: Option<FiftyMoves>,
    /// The greatest length of a game.
    pub limit: Option<LengthLimit>,
    /// How material is counted.
    pub material: MaterialRule,
}

/// Half-moves of the fifty-move rule.
const FIFTY_MOVES_PLIES: u32 = 100;

impl Adjudication {
    /// The rules of the two games this project was made for; the house plays by them. Stalemate, threefold repetition,
    /// fifty moves and dead material draw by themselves; with drops there are no fifty moves and no dead material, but a
    /// draw after 600 half-moves.
    pub const SEED: Self = Self {
        name: "seed",
        repetition: Repetition {
            third_draws: true,
            not_by_drop: false,
            fifth_draws: true,
            since_progress: false,
        },
        fifty: FiftyMoves::Draw,
        fifty_with_drops: None,
        limit: Some(LengthLimit {
            plies: 600,
            drop_games_only: true,
        }),
        material: MaterialRule::Lichess,
    };

    /// Lichess, in a game of a bot: the third occurrence draws by itself unless a drop brought it about.
    pub const LICHESS: Self = Self {
        name: "lichess",
        repetition: Repetition {
            third_draws: true,
            not_by_drop: true,
            fifth_draws: true,
            since_progress: false,
        },
        fifty: FiftyMoves::Draw,
        fifty_with_drops: None,
        limit: Some(LengthLimit {
            plies: 600,
            drop_games_only: false,
        }),
        material: MaterialRule::Lichess,
    };

    /// PyChess, in a game of a bot: repetition and fifty moves draw by themselves in every variant, and the length limit
    /// is passed, not reached, when it draws.
    pub const PYCHESS: Self = Self {
        name: "pychess",
        repetition: Repetition {
            third_draws: true,
            not_by_drop: false,
            fifth_draws: true,
            since_progress: false,
        },
        fifty: FiftyMoves::Draw,
        fifty_with_drops: Some(FiftyMoves::Draw),
        limit: Some(LengthLimit {
            plies: 601,
            drop_games_only: false,
        }),
        material: MaterialRule::FairyStockfish,
    };

    /// FICS: draws are claimed, and every capture, pawn move or drop begins the count of repetitions anew. Whether fifty
    /// moves may be claimed in a game with drops is not known; it is taken that they may not.
    pub const FICS: Self = Self {
        name: "fics",
        repetition: Repetition {
            third_draws: false,
            not_by_drop: false,
            fifth_draws: false,
            since_progress: true,
        },
        fifty: FiftyMoves::Claim,
        fifty_with_drops: None,
        limit: None,
        material: MaterialRule::Fics,
    };

    /// All of them, the seed rules first.
    pub const ALL: [Self; 4] = [Self::SEED, Self::LICHESS, Self::PYCHESS, Self::FICS];

    /// The adjudication of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|adjudication| adjudication.name == name)
    }

    /// Whether the game is over, and if not, what may be claimed.
    ///
    /// What ends on the board comes first: a mate on the last half-move allowed, or on the hundredth quiet one, is a
    /// mate.
    #[must_use]
    pub fn verdict(&self, history: &History) -> Verdict {
        let ending = self.ending(history);
        Verdict {
            ending,
            claims: if ending.is_some() {
                Vec::new()
            } else {
                self.claims(history)
            },
        }
    }

    fn ending(&self, history: &History) -> Option<Ending> {
        let position = history.position();
        if let Some(ending) = position.ending() {
            return Some(ending);
        }
        if is_dead(position, self.material) {
            return Some(Ending::draw(dead_reason(position.variant())));
        }
        let times = self.times(history);
        if self.repetition.fifth_draws && times >= 5 {
            return Some(Ending::draw(EndReason::Fivefold));
        }
        let by_drop = history.last_move().is_some_and(|m| m.is_drop());
        if self.repetition.third_draws && times >= 3 && !(self.repetition.not_by_drop && by_drop) {
            return Some(Ending::draw(EndReason::Threefold));
        }
        if position.halfmoves() >= FIFTY_MOVES_PLIES
            && self.fifty_in(position.variant()) == Some(FiftyMoves::Draw)
        {
            return Some(Ending::draw(EndReason::FiftyMoves));
        }
        let limit = self
            .limit
            .filter(|limit| position.variant().has_drops() || !limit.drop_games_only)?;
        (position.ply() >= limit.plies).then(|| Ending::draw(EndReason::MoveLimit))
    }

    fn claims(&self, history: &History) -> Vec<Claim> {
        let mut claims = Vec::new();
        if self.times(history) >= 3 {
            claims.push(Claim::Threefold);
        }
        let position = history.position();
        if position.halfmoves() >= FIFTY_MOVES_PLIES && self.fifty_in(position.variant()).is_some()
        {
            claims.push(Claim::FiftyMoves);
        }
        claims
    }

    fn times(&self, history: &History) -> usize {
        if self.repetition.since_progress {
            history.repetitions_since_progress()
        } else {
            history.repetitions()
        }
    }

    const fn fifty_in(&self, variant: Variant) -> Option<FiftyMoves> {
        if variant.has_drops() {
            self.fifty_with_drops
        } else {
            Some(self.fifty)
        }
    }

    /// The end of a game in which `flagged` has no time left: lost, or drawn if the other side could never win.
    #[must_use]
    pub fn flag(&self, position: &Position, flagged: Color) -> Ending {
        if can_win(position, !flagged, self.material) {
            Ending::win(!flagged, EndReason::TimeForfeit)
        } else {
            Ending::draw(EndReason::TimeoutWithoutMatingMaterial)
        }
    }
}

/// What a draw by material is called in a variant.
const fn dead_reason(variant: Variant) -> EndReason {
    match variant {
        Variant::Antichess | Variant::Suicide => EndReason::OppositeBishops,
        _ => EndReason::InsufficientMaterial,
    }
}
