//! The only place with both vocabularies: the server's words to neutral ones, and commands to the server's words. Pure.

use std::time::Duration;

use crate::game::{
    ClockReading, Clocks, GameEnd, GameResult, GameRules, OfferKind, Player, PlayerKind,
    PlayerName, Rating, Termination, TimeControl,
};
use crate::lobby::{
    Challenge, ChallengeDirection, ChallengeId, ChallengeRefusal, ChallengeRequest, ColorChoice,
    DeclineReason, OfferedVariant,
};
use crate::rules::{
    CastlingMode, Color, Move, MoveKind, Piece, Position, PositionError, Role, Setup, Square,
    Variant,
};

use super::config::{FicsVariant, SeekConfig};
use super::wire::{
    GameEnded, Hand, InGameOffer, MatchOffer, RatingMark, Refusal, ResultToken, Side, Style12,
    WireClock,
};

/// A colour.
#[must_use]
pub fn color(side: Side) -> Color {
    match side {
        Side::White => Color::White,
        Side::Black => Color::Black,
    }
}

/// Rule set from the kind of game and the board it is loaded from. The board wins: some servers call every variant `wild`.
#[must_use]
pub fn variant(kind: &str, loaded_from: Option<&str>) -> OfferedVariant {
    let word = loaded_from.unwrap_or(kind).to_ascii_lowercase();
    let word = word
        .strip_suffix("/0")
        .filter(|head| *head != "wild")
        .unwrap_or(&word);
    let known = |variant, castling_mode| OfferedVariant::Known {
        variant,
        castling_mode,
    };
    match word {
        "blitz" | "standard" | "lightning" | "untimed" | "chess" => {
            known(Variant::Chess, CastlingMode::Standard)
        }
        "crazyhouse" | "zh" => known(Variant::Crazyhouse, CastlingMode::Standard),
        "suicide" => known(Variant::Suicide, CastlingMode::Standard),
        "losers" => known(Variant::Losers, CastlingMode::Standard),
        "atomic" => known(Variant::Atomic, CastlingMode::Standard),
        "wild/fr" | "fr" | "fischerandom" | "chess960" => {
            known(Variant::Chess, CastlingMode::Chess960)
        }
        "wild/0" | "wild/1" | "wild/2" | "wild/3" | "wild/4" | "wild/5" | "wild/8" | "wild/8a" => {
            known(Variant::Chess, CastlingMode::Standard)
        }
        other => OfferedVariant::Unknown(other.to_owned()),
    }
}

/// Which of our own words a kind of game is; `None` for what we do not play.
#[must_use]
pub fn kind_of_game(kind: &str, loaded_from: Option<&str>) -> Option<FicsVariant> {
    let OfferedVariant::Known {
        variant,
        castling_mode,
    } = variant(kind, loaded_from)
    else {
        return None;
    };
    Some(match (variant, castling_mode) {
        (Variant::Crazyhouse, _) => FicsVariant::Crazyhouse,
        (Variant::Suicide, _) => FicsVariant::Suicide,
        (Variant::Losers, _) => FicsVariant::Losers,
        (Variant::Atomic, _) => FicsVariant::Atomic,
        (_, CastlingMode::Chess960) => FicsVariant::FischerRandom,
        _ if loaded_from.unwrap_or(kind).starts_with("wild/") => FicsVariant::Wild,
        _ => FicsVariant::Standard,
    })
}

/// A rating.
#[must_use]
pub fn rating(mark: RatingMark) -> Option<Rating> {
    match mark {
        RatingMark::Points {
            points,
            provisional,
        } => Some(Rating {
            points: i32::from(points),
            provisional,
        }),
        RatingMark::None | RatingMark::Guest => None,
    }
}

/// A player from what a line tells.
#[must_use]
pub fn player(name: &str, mark: RatingMark, computer: bool) -> Player {
    let kind = if computer {
        PlayerKind::Bot
    } else if mark == RatingMark::Guest || is_guest_name(name) {
        PlayerKind::Guest
    } else {
        PlayerKind::Human
    };
    Player {
        name: PlayerName::new(name),
        kind,
        rating: rating(mark),
    }
}

/// Names that servers give to guests: `Guest` and four capitals.
fn is_guest_name(name: &str) -> bool {
    name.strip_prefix("Guest")
        .is_some_and(|rest| rest.len() == 4 && rest.bytes().all(|b| b.is_ascii_uppercase()))
}

/// Agreement on time from minutes and seconds; nothing at all is untimed.
#[must_use]
pub fn time_control(clock: Option<WireClock>) -> TimeControl {
    match clock {
        Some(WireClock {
            minutes: 0,
            increment_seconds: 0,
        })
        | None => TimeControl::Unlimited,
        Some(clock) => TimeControl::clock(
            u64::from(clock.minutes) * 60,
            u64::from(clock.increment_seconds),
        ),
    }
}

/// What is known around a match offer beside its sentence.
#[derive(Debug, Clone, Copy)]
pub struct OfferContext<'a> {
    /// Our own name.
    pub own: &'a str,
    /// The other player carries the computer mark.
    pub computer: bool,
    /// Rated games are closed to us (no computer mark although it is required, or a guest).
    pub rated_closed: bool,
    /// What we were approved for.
    pub kinds: &'a [FicsVariant],
    /// The account's setting.
    pub noescape: bool,
}

/// A match offer in neutral words; `None` if we are neither of the two players.
#[must_use]
pub fn challenge(
    id: ChallengeId,
    offer: &MatchOffer,
    context: OfferContext<'_>,
) -> Option<Challenge> {
    let direction = if offer.opponent.eq_ignore_ascii_case(context.own) {
        ChallengeDirection::Incoming
    } else if offer.challenger.eq_ignore_ascii_case(context.own) {
        ChallengeDirection::Outgoing
    } else {
        return None;
    };
    let incoming = direction == ChallengeDirection::Incoming;
    let (name, mark) = if incoming {
        (&offer.challenger, offer.challenger_rating)
    } else {
        (&offer.opponent, offer.opponent_rating)
    };
    let own_side = match offer.challenger_side {
        Some(Side::White) => Some(if incoming { Side::Black } else { Side::White }),
        Some(Side::Black) => Some(if incoming { Side::White } else { Side::Black }),
        None => None,
    };
    let offered = variant(&offer.kind, offer.loaded_from.as_deref());
    let approved = kind_of_game(&offer.kind, offer.loaded_from.as_deref())
        .is_some_and(|kind| context.kinds.contains(&kind));
    let offered = match offered {
        OfferedVariant::Known { .. } if !approved && !offer.adjourned => OfferedVariant::Unknown(
            offer
                .loaded_from
                .clone()
                .unwrap_or_else(|| offer.kind.clone()),
        ),
        other => other,
    };
    // Odds name White's clock first where a colour is given, else the challenger's; either way both must be equal for us.
    let odds = offer.odds_clock.filter(|odds| Some(*odds) != offer.clock);
    Some(Challenge {
        id,
        direction,
        opponent: player(name, mark, context.computer),
        variant: offered,
        initial_fen: None,
        time_control: time_control(offer.clock),
        opponent_time_control: odds.map(|odds| time_control(Some(odds))),
        rated: offer.rated,
        color: match own_side {
            Some(Side::White) => ColorChoice::White,
            Some(Side::Black) => ColorChoice::Black,
            None => ColorChoice::Random,
        },
        rules: GameRules {
            no_escape: context.noescape,
            ..GameRules::default()
        },
        rematch_of: None,
        resumes_adjourned: offer.adjourned,
        playable: !(offer.rated && context.rated_closed && !offer.adjourned),
        replayed: false,
    })
}

/// Why our match was not offered, in neutral words.
#[must_use]
pub fn refusal(refusal: Refusal, words: &str) -> ChallengeRefusal {
    let words = words.to_owned();
    match refusal {
        Refusal::Unwilling | Refusal::AdjournedGame => ChallengeRefusal::Opponent {
            words,
            retry_after: None,
        },
        Refusal::Busy => ChallengeRefusal::Opponent {
            words,
            retry_after: Some(Duration::from_secs(300)),
        },
        Refusal::Absent => ChallengeRefusal::Opponent {
            words,
            retry_after: Some(Duration::from_secs(1800)),
        },
        Refusal::BadRequest => ChallengeRefusal::BadRequest { words },
    }
}

/// How a game ended. The winner comes from the result token alone: the name in the words is the loser's in some of them
/// and the winner's in others.
#[must_use]
pub fn game_end(ended: &GameEnded) -> GameEnd {
    let result = match ended.result {
        ResultToken::WhiteWins => GameResult::Decisive {
            winner: Color::White,
        },
        ResultToken::BlackWins => GameResult::Decisive {
            winner: Color::Black,
        },
        ResultToken::Draw => GameResult::Draw,
        ResultToken::None => GameResult::NoResult,
    };
    let words = ended.reason.to_ascii_lowercase();
    let says = |part: &str| words.contains(part);
    let termination = if result == GameResult::NoResult {
        if says("adjourn") {
            Termination::Adjourned
        } else if says("abort") || says("too few moves") {
            Termination::Aborted
        } else {
            Termination::Unknown
        }
    } else if says("adjudicat") {
        Termination::Adjudicated
    } else if result == GameResult::Draw {
        if says("no material") || says("mating material") {
            Termination::InsufficientMaterial
        } else if says("stalemate") {
            Termination::Stalemate
        } else if says("ran out of time") {
            Termination::OutOfTime
        } else if says("drawn") {
            Termination::Draw
        } else {
            Termination::Unknown
        }
    } else if says("checkmated") {
        Termination::Mate
    } else if says("resign") {
        Termination::Resignation
    } else if says("on time") {
        Termination::OutOfTime
    } else if says("disconnection") {
        Termination::Abandoned
    } else if says("exploded") || says("material") || says("partner won") || says("wins by") {
        Termination::VariantEnd
    } else {
        Termination::Unknown
    };
    GameEnd {
        result,
        termination,
        words: ended.reason.clone(),
    }
}

/// Both banks.
#[must_use]
pub fn clocks(board: &Style12) -> Clocks {
    Clocks {
        white: board.white_clock,
        black: board.black_clock,
        reading: ClockReading::WhenSent,
    }
}

/// An offer made in a game.
#[must_use]
pub fn offer_kind(offer: InGameOffer) -> OfferKind {
    match offer {
        InGameOffer::Draw => OfferKind::Draw,
        InGameOffer::Abort => OfferKind::Abort,
        InGameOffer::Adjourn => OfferKind::Adjourn,
        InGameOffer::Takeback(_) => OfferKind::Takeback,
    }
}

/// Where castling rooks started in a game of Fischer random chess, by file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RookFiles {
    /// On the short side.
    pub short: u8,
    /// On the long side.
    pub long: u8,
}

/// A board as an unchecked position.
///
/// Castling flags are kept only where a FEN can tell our rules that castling: in the standard mode with the king on the
/// e-file and a rook in the corner. (In wild/0 and wild/1 a king on the d-file castles in a way of its own. We do not use
/// it, and when the opponent does, the board after it is taken as it comes.) In Fischer random chess the flags do not tell
/// which rook they mean; `rooks` does, and without it the outermost is meant.
#[must_use]
pub fn setup(
    board: &Style12,
    hands: Option<(&Hand, &Hand)>,
    mode: CastlingMode,
    rooks: Option<RookFiles>,
) -> Setup {
    let files = u8::try_from(board.ranks[0].len()).unwrap_or(8);
    let mut setup = Setup {
        turn: color(board.turn),
        halfmoves: board.halfmoves.min(1000),
        fullmoves: board.move_number.min(10_000),
        ..Setup::default()
    };
    for (row, rank) in board.ranks.iter().zip((0..8u8).rev()) {
        for (letter, file) in row.chars().zip(0..files) {
            if let Some(slot) = setup.board.get_mut(Square::new(file, rank, files).index()) {
                *slot = Piece::from_char(letter);
            }
        }
    }
    if let Some((white, black)) = hands {
        for (color, hand) in [(Color::White, white), (Color::Black, black)] {
            for role in hand.0.chars().filter_map(Role::from_char) {
                setup.pockets[color.index()][role.index()] += 1;
            }
        }
    }
    for (index, flag) in board.castling.iter().enumerate() {
        if *flag {
            let color = if index < 2 {
                Color::White
            } else {
                Color::Black
            };
            let short = index % 2 == 0;
            setup.castling_rooks[index] = castling_rook(&setup, color, short, files, mode, rooks);
        }
    }
    setup.en_passant = board
        .double_push_file
        .filter(|file| *file < files)
        .and_then(|file| en_passant_square(&setup, file, files));
    setup
}

/// The rook that a castling flag means.
fn castling_rook(
    setup: &Setup,
    color: Color,
    short: bool,
    files: u8,
    mode: CastlingMode,
    rooks: Option<RookFiles>,
) -> Option<Square> {
    let back_rank = if color == Color::White { 0 } else { 7 };
    let holds = |file: u8, role: Role| {
        setup.board[Square::new(file, back_rank, files).index()] == Some(Piece { color, role })
    };
    let king = (0..files).find(|file| holds(*file, Role::King))?;
    let file = match (mode, rooks) {
        (CastlingMode::Standard, _) => (king == 4).then_some(if short { files - 1 } else { 0 })?,
        (CastlingMode::Chess960, Some(rooks)) => {
            if short {
                rooks.short
            } else {
                rooks.long
            }
        }
        (CastlingMode::Chess960, None) if short => (king + 1..files)
            .rev()
            .find(|file| holds(*file, Role::Rook))?,
        (CastlingMode::Chess960, None) => (0..king).find(|file| holds(*file, Role::Rook))?,
    };
    (file < files && holds(file, Role::Rook)).then(|| Square::new(file, back_rank, files))
}

/// The square behind a pawn that has just made a double step, if a pawn stands beside it that could take it.
fn en_passant_square(setup: &Setup, file: u8, files: u8) -> Option<Square> {
    let (pushed_rank, target_rank) = if setup.turn == Color::White {
        (4, 5)
    } else {
        (3, 2)
    };
    let pawn = |file: u8, color: Color| {
        setup.board[Square::new(file, pushed_rank, files).index()]
            == Some(Piece {
                color,
                role: Role::Pawn,
            })
    };
    let beside = [
        file.checked_sub(1),
        Some(file + 1).filter(|file| *file < files),
    ];
    let can_take = beside
        .into_iter()
        .flatten()
        .any(|file| pawn(file, setup.turn));
    (pawn(file, !setup.turn) && can_take).then(|| Square::new(file, target_rank, files))
}

/// A board as a playable position. The field for en passant is only believed if our rules allow it.
///
/// # Errors
/// [`PositionError`] when the board is none of this variant.
pub fn position(
    board: &Style12,
    hands: Option<(&Hand, &Hand)>,
    variant: Variant,
    mode: CastlingMode,
    rooks: Option<RookFiles>,
) -> Result<Position, PositionError> {
    let mut setup = setup(board, hands, mode, rooks);
    if setup.en_passant.is_some()
        && let Ok(position) = Position::new(&setup, variant, mode)
    {
        return Ok(position);
    }
    setup.en_passant = None;
    Position::new(&setup, variant, mode)
}

/// Where the rooks of a first position of Fischer random chess stand: beside White's king.
#[must_use]
pub fn rook_files(board: &Style12) -> Option<RookFiles> {
    let rank = &board.ranks[7];
    let king = rank.find('K')?;
    let long = rank[..king].rfind('R')?;
    let short = king + rank[king..].find('R')?;
    Some(RookFiles {
        short: u8::try_from(short).ok()?,
        long: u8::try_from(long).ok()?,
    })
}

/// Whether a position has the pieces, the side to move and (if given) the hands of a board.
#[must_use]
pub fn same_placement(position: &Position, board: &Style12, hands: Option<(&Hand, &Hand)>) -> bool {
    if position.turn() != color(board.turn) {
        return false;
    }
    let files = position.variant().files();
    let ranks_agree = board.ranks.iter().zip((0..8u8).rev()).all(|(row, rank)| {
        row.len() == usize::from(files)
            && row.bytes().zip(0..files).all(|(byte, file)| {
                let piece = position.piece_at(Square::new(file, rank, files));
                match piece {
                    None => byte == b'-',
                    Some(piece) => char::from(byte) == piece.char(),
                }
            })
    });
    ranks_agree
        && hands.is_none_or(|(white, black)| {
            same_hand(position, Color::White, white) && same_hand(position, Color::Black, black)
        })
}

fn same_hand(position: &Position, color: Color, hand: &Hand) -> bool {
    let counted = |role: Role| hand.0.chars().filter(|c| *c == role.upper_char()).count();
    let roles = [
        Role::Pawn,
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Queen,
    ];
    roles
        .iter()
        .all(|role| usize::from(position.pocket(color, *role)) == counted(*role))
}

/// The legal move that leads from a position to a board, if there is one.
///
/// The move's own text is tried first; should it not read, every legal move is tried. Hands are compared when given.
#[must_use]
pub fn move_to(
    position: &Position,
    board: &Style12,
    hands: Option<(&Hand, &Hand)>,
) -> Option<(Move, Position)> {
    let leads_there = |candidate: Move| {
        let mut after = position.clone();
        after.play(candidate).ok()?;
        same_placement(&after, board, hands).then_some((candidate, after))
    };
    let named = board
        .last_san
        .as_deref()
        .and_then(|san| position.parse_san(san).ok());
    named
        .and_then(leads_there)
        .or_else(|| position.legal_moves().iter().copied().find_map(leads_there))
}

/// Plies from the first position to a board, by its move number; the greatest number there is for a senseless one.
#[must_use]
pub fn ply(board: &Style12) -> u32 {
    let moves = board.move_number.max(1) - 1;
    moves
        .saturating_mul(2)
        .saturating_add(u32::from(board.turn == Side::Black))
}

/// A move in the form that every server takes: coordinates, `=q`, `o-o`, `P@e6`.
#[must_use]
pub fn move_text(position: &Position, m: Move) -> String {
    let files = position.variant().files();
    match position.kind(m) {
        MoveKind::Normal {
            from,
            to,
            promotion,
        } => {
            let promotion = promotion
                .map(|role| format!("={}", role.char()))
                .unwrap_or_default();
            format!("{}{}{promotion}", from.name(files), to.name(files))
        }
        MoveKind::EnPassant { from, to } => format!("{}{}", from.name(files), to.name(files)),
        MoveKind::Castle { king, rook } => {
            if rook.file(files) > king.file(files) {
                "o-o".to_owned()
            } else {
                "o-o-o".to_owned()
            }
        }
        MoveKind::Drop { role, to } => format!("{}@{}", role.upper_char(), to.name(files)),
    }
}

/// A match offer. The kind of game comes last, where one family of servers wants it.
///
/// # Errors
/// [`ChallengeRefusal::BadRequest`] for what an ICS cannot offer.
pub fn match_command(
    request: &ChallengeRequest,
    numbered_offers: bool,
) -> Result<String, ChallengeRefusal> {
    let bad = |words: &str| ChallengeRefusal::BadRequest {
        words: words.to_owned(),
    };
    let kind = match (request.variant, request.castling_mode) {
        (Variant::Chess, CastlingMode::Standard) => FicsVariant::Standard,
        (Variant::Chess, CastlingMode::Chess960) => FicsVariant::FischerRandom,
        (Variant::Crazyhouse, CastlingMode::Standard) => FicsVariant::Crazyhouse,
        (Variant::Suicide, CastlingMode::Standard) => FicsVariant::Suicide,
        (Variant::Losers, CastlingMode::Standard) => FicsVariant::Losers,
        (Variant::Atomic, CastlingMode::Standard) => FicsVariant::Atomic,
        _ => return Err(bad("this server has no such variant")),
    };
    let (minutes, increment) = match request.time_control {
        TimeControl::Clock { initial, increment }
            if initial.as_secs().is_multiple_of(60) && initial.subsec_nanos() == 0 =>
        {
            (initial.as_secs() / 60, increment.as_secs())
        }
        TimeControl::Clock { .. } => return Err(bad("this server knows whole minutes only")),
        TimeControl::Unlimited => (0, 0),
        TimeControl::Correspondence { .. } => {
            return Err(bad("this server has no correspondence games"));
        }
    };
    let mut words = vec![
        "match".to_owned(),
        request.opponent.as_str().to_owned(),
        minutes.to_string(),
        increment.to_string(),
    ];
    words.push(if request.rated { "r" } else { "u" }.to_owned());
    match request.color {
        ColorChoice::White => words.push("w".to_owned()),
        ColorChoice::Black => words.push("b".to_owned()),
        ColorChoice::Random => {}
    }
    let kind = kind.word(numbered_offers);
    if !kind.is_empty() {
        words.push(kind.to_owned());
    }
    Ok(words.join(" "))
}

/// A seek; always manual, so that nobody starts a game without our consent.
#[must_use]
pub fn seek_command(seek: &SeekConfig) -> String {
    let rated = if seek.rated { "r" } else { "u" };
    let kind = seek.variant.word(true);
    let space = if kind.is_empty() { "" } else { " " };
    format!(
        "seek {} {} {rated}{space}{kind} m",
        seek.minutes, seek.increment_s
    )
}

/// Our answer to an offer in a game: by number where the server numbers offers, else by its kind.
#[must_use]
pub fn answer_command(offer: OfferKind, number: Option<u32>, accept: bool) -> String {
    let verb = if accept { "accept" } else { "decline" };
    if let Some(number) = number {
        return format!("{verb} {number}");
    }
    let kind = match offer {
        OfferKind::Draw => "draw",
        OfferKind::Takeback => "takeback",
        OfferKind::Abort => "abort",
        OfferKind::Adjourn => "adjourn",
    };
    format!("{verb} t {kind}")
}

/// What a challenger is told; one short line.
#[must_use]
pub fn decline_words(reason: DeclineReason) -> &'static str {
    match reason {
        DeclineReason::Generic => "Sorry, I cannot take this challenge.",
        DeclineReason::Later => "Sorry, I am busy right now; please try again later.",
        DeclineReason::TooFast => "Sorry, this is too fast for me; please give more time.",
        DeclineReason::TooSlow => "Sorry, this is too long for me; please choose less time.",
        DeclineReason::TimeControl => "Sorry, I do not play with this clock.",
        DeclineReason::RatedOnly => "Sorry, I play this only rated.",
        DeclineReason::CasualOnly => "Sorry, I play this only unrated.",
        DeclineReason::StandardOnly => "Sorry, I play standard chess only.",
        DeclineReason::Variant => "Sorry, I do not play this variant.",
        DeclineReason::NoBots => "Sorry, I do not play against computers.",
        DeclineReason::BotsOnly => "Sorry, I play against computers only.",
    }
}
