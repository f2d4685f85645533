//! The game being played: from the announcement to its end line.
//!
//! A board of a variant with drops is complete only with the holdings that follow it. A game that goes on after an
//! adjournment is announced when the server's move list is in, or a second later without it.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::game::{
    ChatLine, ChatRoom, CommandFailure, CommandKind, GameCommand, GameEvent, GameId, GameRules,
    GameSource, GameStart, GameState, OfferKind, Offers, Player, PlayerKind, PlayerName, Status,
};
use crate::lobby::{ChallengeId, OfferedVariant};
use crate::platform::{AccountEvent, GameNotice};
use crate::rules::Color;

use super::super::config::CHAT_CHARS_MAX;
use super::super::outbound::{Lane, chat_lines};
use super::super::translate;
use super::super::wire::{
    Channel, GameEnded, GameInfo, GameOpened, Hand, Holdings, InGameOffer, MatchOffer, MoveRow,
    Pending, PendingKind, RatingMark, Relation, ServerLine, Speech, Style12, WireClock,
};
use super::track::{Step, Track};
use super::{Output, Protocol};

/// How long a resumed game waits for its move list before it is announced without.
const LIST_WAIT: Duration = Duration::from_secs(1);
/// A full state asked for is answered with what we have after this long.
const RESYNC_WAIT: Duration = Duration::from_secs(3);
/// A move that shows nowhere after this long is reported as unanswered.
const ECHO_WAIT: Duration = Duration::from_secs(15);
/// Least time between two calls of the opponent's flag.
const FLAG_GAP: Duration = Duration::from_secs(2);
/// A game that we cannot play is aborted at once and resigned after this long.
const UNPLAYABLE_WAIT: Duration = Duration::from_secs(20);
/// Move lists asked for in one game because a board was not understood.
const LISTS_MAX: u32 = 8;
/// Rows kept of one move list.
const ROWS_MAX: usize = 2000;
/// Boards of a finished game are ignored for this long.
const FINISHED_MEMORY: Duration = Duration::from_secs(30);

/// A game that was on when the connection was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostGame {
    pub(super) id: GameId,
    pub(super) opponent: String,
    pub(super) color: Color,
}

/// What the lines before the first board told.
#[derive(Debug, Clone)]
struct Opening {
    game: u32,
    white: String,
    black: String,
    ratings: Option<(RatingMark, RatingMark)>,
    unregistered: (bool, bool),
    kind: String,
    loaded_from: Option<String>,
    rated: bool,
    continued: bool,
    no_escape: bool,
}

/// A move of ours on its way.
#[derive(Debug, Clone)]
struct SentMove {
    ply: usize,
    text: String,
    at: Instant,
}

/// What the opponent or we offered, with the server's numbers.
#[derive(Debug, Clone, Default)]
struct OpenOffers {
    offers: Offers,
    numbers: Vec<(u32, OfferKind)>,
}

#[derive(Debug)]
struct Running {
    id: GameId,
    opening: Opening,
    color: Color,
    challenge: Option<ChallengeId>,
    variant: OfferedVariant,
    track: Option<Track>,
    /// A board that waits for its holdings.
    held: Option<(Box<Style12>, Instant)>,
    hands: Option<(Hand, Hand)>,
    board: Option<Box<Style12>>,
    announced: bool,
    list: Option<ListRequest>,
    lists_asked: u32,
    open: OpenOffers,
    sent: Option<SentMove>,
    resync_until: Option<Instant>,
    flag_after: Option<Instant>,
    unplayable_until: Option<Instant>,
}

/// A move list being read.
#[derive(Debug)]
struct ListRequest {
    until: Instant,
    ours: bool,
    rows: Vec<MoveRow>,
}

/// A game that is over; for a while its boards may still come, and its opponent may be spoken to.
#[derive(Debug)]
struct Finished {
    id: GameId,
    game: u32,
    white: String,
    black: String,
    until: Instant,
}

/// The game of the account, if any; an ICS plays one at a time.
#[derive(Debug, Default)]
pub(super) struct Games {
    serial: u64,
    opening: Option<Opening>,
    running: Option<Running>,
    lost: Option<LostGame>,
    /// The last finished game.
    finished: Option<Finished>,
    seek_matched: bool,
}

impl Games {
    pub(super) fn is_playing(&self) -> bool {
        self.running.is_some() || self.opening.is_some()
    }

    /// The connection is gone; remembers the running game and gives it out once.
    pub(super) fn connection_lost(&mut self) -> Option<LostGame> {
        self.opening = None;
        let running = self.running.take()?;
        let opponent = running.opponent_name().to_owned();
        self.lost = Some(LostGame {
            id: running.id,
            opponent,
            color: running.color,
        });
        self.lost.clone().filter(|_| running.announced)
    }

    pub(super) fn lost(&self) -> Option<&LostGame> {
        self.lost.as_ref()
    }

    pub(super) fn take_lost(&mut self) -> Option<LostGame> {
        self.lost.take()
    }

    pub(super) fn notice(&self) -> Option<GameNotice> {
        self.running
            .as_ref()
            .filter(|running| running.announced)
            .map(Running::notice)
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        let running = self.running.as_ref()?;
        let sent = running.sent.as_ref().map(|sent| sent.at + ECHO_WAIT);
        [
            running.held.as_ref().map(|(_, until)| *until),
            running.list.as_ref().map(|list| list.until),
            running.resync_until,
            running.unplayable_until,
            sent,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Running {
    fn opponent_name(&self) -> &str {
        match self.color {
            Color::White => &self.opening.black,
            Color::Black => &self.opening.white,
        }
    }

    fn opponent(&self) -> Player {
        let (white, black) = self
            .opening
            .ratings
            .unwrap_or((RatingMark::None, RatingMark::None));
        let (mark, unregistered) = match self.color {
            Color::White => (black, self.opening.unregistered.1),
            Color::Black => (white, self.opening.unregistered.0),
        };
        translate::player(
            self.opponent_name(),
            if unregistered {
                RatingMark::Guest
            } else {
                mark
            },
            false,
        )
    }

    fn source(&self, seek_matched: bool) -> GameSource {
        if self.opening.continued {
            GameSource::Resumed
        } else if self.challenge.is_some() {
            GameSource::Challenge
        } else if seek_matched {
            GameSource::Seek
        } else {
            GameSource::Other
        }
    }

    fn notice(&self) -> GameNotice {
        let clocks = self.board.as_ref().map(|board| translate::clocks(board));
        GameNotice {
            id: self.id.clone(),
            challenge: self.challenge.clone(),
            color: Some(self.color),
            opponent: Some(self.opponent()),
            source: self.source(false),
            our_turn: self
                .track
                .as_ref()
                .map(|track| track.position().turn() == self.color),
            our_time: clocks.map(|clocks| clocks.of(self.color)),
            playable: self.track.is_some(),
        }
    }

    fn state(&self) -> Option<GameState> {
        let track = self.track.as_ref()?;
        let board = self.board.as_ref()?;
        let timed = self.time_control_clock().is_some();
        Some(GameState {
            base_fen: track.base_fen(),
            moves: track.uci().to_vec(),
            clocks: timed.then(|| translate::clocks(board)),
            offers: self.open.offers,
            status: Status::Running,
            move_within: None,
        })
    }

    fn time_control_clock(&self) -> Option<WireClock> {
        let board = self.board.as_ref()?;
        let clock = WireClock {
            minutes: board.initial_minutes,
            increment_seconds: board.increment_seconds,
        };
        (clock.minutes > 0 || clock.increment_seconds > 0).then_some(clock)
    }

    fn needs_hands(&self) -> bool {
        matches!(self.variant, OfferedVariant::Known { variant, .. } if variant.has_drops())
    }

    fn is(&self, game: u32) -> bool {
        self.opening.game == game
    }
}

impl Protocol {
    /// Lines about games. Gives back what concerns something else.
    pub(super) fn game_line(&mut self, line: ServerLine, now: Instant) -> Option<ServerLine> {
        match line {
            ServerLine::Creating(offer) => self.creating(*offer),
            ServerLine::GameOpened(opened) => self.game_opened(opened),
            ServerLine::GameInfo(info) => self.game_info(&info),
            ServerLine::DisconnectionForfeits(game) => self.no_escape(game),
            ServerLine::Board(board) => self.board(board, now),
            ServerLine::Holdings(holdings) => self.holdings(holdings, now),
            ServerLine::GameEnded(ended) => self.game_ended(&ended, now),
            ServerLine::MoveListPlayers { white, black } => self.list_begins(&white, &black, now),
            ServerLine::MoveRow(row) => self.list_row(row),
            ServerLine::MoveListEnd => self.list_ends(now),
            ServerLine::InGameOffer { by, offer } => self.offer_in_words(&by, offer),
            ServerLine::InGameOfferGone {
                by,
                offer,
                withdrawn,
            } => self.offer_gone_in_words(&by, offer, withdrawn),
            ServerLine::OpponentGone(name) => self.opponent_gone(&name),
            ServerLine::IllegalMove(text) => self.move_refused("illegal move", text.as_deref()),
            ServerLine::NotYourMove => self.move_refused("it is not our move", None),
            ServerLine::SeekMatched => {
                self.games.seek_matched = true;
                return Some(ServerLine::SeekMatched);
            }
            ServerLine::TimeAdded
            | ServerLine::NotPlaying
            | ServerLine::FlagTooEarly
            | ServerLine::RatingUnchanged
            | ServerLine::RatingChanged { .. } => {}
            other => return Some(other),
        }
        None
    }

    fn color_of(&self, white: &str, black: &str) -> Option<Color> {
        if self.is_own(white) {
            Some(Color::White)
        } else if self.is_own(black) {
            Some(Color::Black)
        } else {
            None
        }
    }

    /// `Creating: ...`: the ratings; the line in braces follows.
    fn creating(&mut self, offer: MatchOffer) {
        if self.games.running.is_some()
            || self.color_of(&offer.challenger, &offer.opponent).is_none()
        {
            return;
        }
        self.games.opening = Some(Opening {
            game: 0,
            white: offer.challenger,
            black: offer.opponent,
            ratings: Some((offer.challenger_rating, offer.opponent_rating)),
            unregistered: (false, false),
            kind: offer.kind,
            loaded_from: offer.loaded_from,
            rated: offer.rated,
            continued: false,
            no_escape: false,
        });
    }

    fn game_opened(&mut self, opened: GameOpened) {
        // Other people's games are announced in the same words.
        if self.games.running.is_some() || self.color_of(&opened.white, &opened.black).is_none() {
            return;
        }
        let before = self
            .games
            .opening
            .take()
            .filter(|before| before.white == opened.white && before.black == opened.black);
        // One server announces a resumed variant twice, first as `wild`: the more telling word stays.
        let kind = match &before {
            Some(before) if opened.kind == "wild" && before.kind != "wild" => before.kind.clone(),
            _ => opened.kind,
        };
        self.games.opening = Some(Opening {
            game: opened.game,
            white: opened.white,
            black: opened.black,
            ratings: before.as_ref().and_then(|before| before.ratings),
            unregistered: before
                .as_ref()
                .map_or((false, false), |before| before.unregistered),
            loaded_from: before
                .as_ref()
                .and_then(|before| before.loaded_from.clone()),
            kind,
            rated: opened.rated,
            continued: opened.continued || before.is_some_and(|before| before.continued),
            no_escape: false,
        });
    }

    fn game_info(&mut self, info: &GameInfo) {
        let running = self
            .games
            .running
            .as_mut()
            .filter(|running| !running.announced)
            .map(|running| &mut running.opening);
        let Some(opening) = self
            .games
            .opening
            .as_mut()
            .or(running)
            .filter(|opening| opening.game == info.game)
        else {
            return;
        };
        if let Some(kind) = info.kind.as_ref().filter(|kind| *kind != "wild") {
            opening.kind.clone_from(kind);
        }
        if let Some(rated) = info.rated {
            opening.rated = rated;
        }
        if let Some(unregistered) = info.unregistered {
            opening.unregistered = unregistered;
        }
        if opening.ratings.is_none() {
            opening.ratings = info.ratings;
        }
        opening.no_escape |= info.no_escape.unwrap_or(false);
    }

    fn no_escape(&mut self, game: u32) {
        let running = self
            .games
            .running
            .as_mut()
            .map(|running| &mut running.opening);
        if let Some(opening) = self
            .games
            .opening
            .as_mut()
            .or(running)
            .filter(|opening| opening.game == game)
        {
            opening.no_escape = true;
        }
        info!(game, "a lost connection will lose this game");
    }

    fn board(&mut self, board: Box<Style12>, now: Instant) {
        if board.relation == Relation::InitialPosition {
            if let Some(track) = self
                .games
                .running
                .as_mut()
                .filter(|running| running.is(board.game))
                .and_then(|running| running.track.as_mut())
            {
                track.learn_first(&board);
            }
            return;
        }
        if !board.relation.is_playing() {
            return;
        }
        if self.games.running.is_none() {
            if !self.open_game(&board, now) {
                return;
            }
        } else if !self
            .games
            .running
            .as_ref()
            .is_some_and(|running| running.is(board.game))
        {
            debug!(game = board.game, "a board of another game while one is on");
            return;
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if !running.needs_hands() {
            self.complete_board(board, now);
            return;
        }
        let until = now + Duration::from_millis(self.config.holdings_wait_ms);
        // A board that still waits when the next one comes will not get its holdings any more.
        if let Some((unfinished, _)) = running.held.replace((board, until)) {
            running.hands = None;
            self.complete_board(unfinished, now);
        }
    }

    fn holdings(&mut self, holdings: Holdings, now: Instant) {
        let Some(running) = self
            .games
            .running
            .as_mut()
            .filter(|running| running.is(holdings.game))
        else {
            return;
        };
        // A line that tells an arrival precedes its board; after a resume the whole past comes in such lines.
        if holdings.arrival.is_some() {
            return;
        }
        let hands = (holdings.white, holdings.black);
        if let Some((board, _)) = running.held.take() {
            running.hands = Some(hands);
            self.complete_board(board, now);
        } else if running.needs_hands()
            && running.hands.as_ref() != Some(&hands)
            && let Some(board) = running.board.clone()
        {
            // Late holdings: they correct what we counted ourselves.
            running.hands = Some(hands);
            self.complete_board(board, now);
        }
    }

    /// Makes a game of what the opening lines told, with its first board at hand. False if the board belongs to no game.
    fn open_game(&mut self, board: &Style12, now: Instant) -> bool {
        let late = |finished: &Finished| {
            finished.game == board.game
                && finished.white == board.white
                && finished.black == board.black
                && now < finished.until
        };
        let Some(color) = self.color_of(&board.white, &board.black) else {
            return false;
        };
        let opening = match self.games.opening.take() {
            Some(opening) if opening.white == board.white && opening.black == board.black => {
                Opening {
                    game: board.game,
                    ..opening
                }
            }
            _ if self.games.finished.as_ref().is_some_and(late) => return false,
            _ => {
                warn!(
                    game = board.game,
                    "a board of ours in a game that was not announced"
                );
                let first = board.move_number == 1 && board.last_san.is_none();
                Opening {
                    game: board.game,
                    white: board.white.clone(),
                    black: board.black.clone(),
                    ratings: None,
                    unregistered: (false, false),
                    kind: "chess".to_owned(),
                    loaded_from: None,
                    rated: false,
                    continued: !first,
                    no_escape: false,
                }
            }
        };
        self.games.serial += 1;
        let id = GameId::new(format!(
            "{}-{}-{}-{}-{}",
            self.connected_unix_s, self.games.serial, opening.game, opening.white, opening.black
        ));
        let opponent = match color {
            Color::White => opening.black.clone(),
            Color::Black => opening.white.clone(),
        };
        let challenge = self.lobby.accepted_with(&opponent);
        self.offers_void(&opponent);
        self.seeks_void();
        let variant = translate::variant(&opening.kind, opening.loaded_from.as_deref());
        self.games.running = Some(Running {
            id,
            opening,
            color,
            challenge,
            variant,
            track: None,
            held: None,
            hands: None,
            board: None,
            announced: false,
            list: None,
            lists_asked: 0,
            open: OpenOffers::default(),
            sent: None,
            resync_until: None,
            flag_after: None,
            unplayable_until: None,
        });
        true
    }

    /// Takes a board with its holdings.
    fn complete_board(&mut self, board: Box<Style12>, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let hands = running
            .hands
            .as_ref()
            .map(|(white, black)| (white, black))
            .filter(|_| running.needs_hands());
        let OfferedVariant::Known {
            variant,
            castling_mode,
        } = running.variant
        else {
            running.board = Some(board);
            self.announce_unplayable(now);
            return;
        };
        let no_hands = (Hand::default(), Hand::default());
        let outcome = match &mut running.track {
            Some(track) => track.board(&board, hands).map(|step| (step, false)),
            none => {
                let from_start = !running.opening.continued
                    && board.move_number == 1
                    && board.last_san.is_none();
                let hands = hands.or(variant.has_drops().then_some((&no_hands.0, &no_hands.1)));
                Track::new(&board, hands, variant, castling_mode, from_start).map(|track| {
                    *none = Some(track);
                    (Step::Rebased, true)
                })
            }
        };
        running.board = Some(board);
        let (step, first) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                warn!(%error, game = %running.id, "a board that our rules refuse");
                if running.track.is_none() {
                    self.announce_unplayable(now);
                }
                return;
            }
        };
        self.stepped(step, first, now);
    }

    /// A board was understood: tell, or ask for the moves that explain it.
    fn stepped(&mut self, step: Step, first: bool, now: Instant) {
        let numbered = self.numbered_offers;
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let Some(track) = &running.track else { return };
        match step {
            Step::Moved => {
                let mover = !track.position().turn();
                let echoed = running
                    .sent
                    .take_if(|sent| sent.ply + 1 == track.len() && mover == running.color);
                // Without numbered offers nothing else tells that a move declined what was offered to the mover.
                if !numbered {
                    clear_offers_to(&mut running.open.offers, mover);
                }
                if let Some(sent) = echoed {
                    let event = GameEvent::Accepted {
                        command: CommandKind::Play { ply: sent.ply },
                        took: now.duration_since(sent.at),
                    };
                    let id = running.id.clone();
                    self.outputs.push_back(Output::Game { id, event });
                }
            }
            Step::TakenBack | Step::Rebased => {
                running.sent = None;
                running.open.offers.takeback = None;
                self.outbound.clear_moves();
            }
            Step::Repeated => {}
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let whole = running.track.as_ref().is_some_and(Track::is_whole);
        if step == Step::Rebased && !whole && running.lists_asked < LISTS_MAX {
            running.lists_asked += 1;
            running.list = Some(ListRequest {
                until: now + LIST_WAIT,
                ours: true,
                rows: Vec::new(),
            });
            self.outbound.push(Lane::Control, "moves");
            if first {
                // Announced with the list, or without it when it does not come.
                return;
            }
        }
        self.announce_or_tell();
    }

    fn announce_or_tell(&mut self) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if running.announced {
            let full = running.resync_until.take().is_some();
            self.tell_state(full);
            return;
        }
        running.announced = true;
        let mut notice = running.notice();
        notice.source = running.source(self.games.seek_matched);
        self.games.seek_matched = false;
        self.outputs
            .push_back(Output::Account(AccountEvent::GameStarted(notice)));
        self.tell_state(true);
    }

    fn tell_state(&mut self, full: bool) {
        let Some(running) = &self.games.running else {
            return;
        };
        let id = running.id.clone();
        let event = if full {
            self.full_state(&id)
        } else {
            running.state().map(GameEvent::State)
        };
        if let Some(event) = event {
            self.outputs.push_back(Output::Game { id, event });
        }
    }

    /// The whole state of a running game, for a link that is just opened or asked anew.
    #[must_use]
    pub fn full_state(&self, id: &GameId) -> Option<GameEvent> {
        let running = self
            .games
            .running
            .as_ref()
            .filter(|running| running.id == *id && running.announced)?;
        let OfferedVariant::Known {
            variant,
            castling_mode,
        } = running.variant
        else {
            return None;
        };
        let (white, black) = running
            .opening
            .ratings
            .unwrap_or((RatingMark::None, RatingMark::None));
        let own_mark = if running.color == Color::White {
            white
        } else {
            black
        };
        let us = Player {
            name: PlayerName::new(self.own.handle.clone()),
            kind: if self.own.unregistered {
                PlayerKind::Guest
            } else if self.own.computer {
                PlayerKind::Bot
            } else {
                PlayerKind::Human
            },
            rating: translate::rating(own_mark),
        };
        let mut opponent = running.opponent();
        if self.is_computer(running.opponent_name()) {
            opponent.kind = PlayerKind::Bot;
        }
        let start = GameStart {
            id: id.clone(),
            variant,
            castling_mode,
            initial_fen: running.track.as_ref()?.initial_fen(),
            color: running.color,
            us,
            opponent,
            time_control: translate::time_control(running.time_control_clock()),
            rated: running.opening.rated,
            rules: GameRules {
                no_escape: running.opening.no_escape,
                ..GameRules::default()
            },
            source: running.source(false),
        };
        Some(GameEvent::Full {
            start: Box::new(start),
            state: running.state()?,
        })
    }

    /// A game of a kind that we do not know: leave it, because nothing else can.
    fn announce_unplayable(&mut self, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if running.announced {
            return;
        }
        warn!(game = %running.id, kind = running.opening.kind, "a game of a kind that we do not play started; leaving it");
        running.announced = true;
        running.unplayable_until = Some(now + UNPLAYABLE_WAIT);
        let notice = running.notice();
        self.outputs
            .push_back(Output::Account(AccountEvent::GameStarted(notice)));
        self.outbound.push(Lane::Control, "abort");
    }

    fn game_ended(&mut self, ended: &GameEnded, now: Instant) {
        let is_ours = |opening: &Opening| {
            opening.game == ended.game
                && opening.white == ended.white
                && opening.black == ended.black
        };
        if self.games.opening.as_ref().is_some_and(is_ours) {
            self.games.opening = None;
        }
        let Some(running) = self
            .games
            .running
            .take_if(|running| is_ours(&running.opening))
        else {
            return;
        };
        let end = translate::game_end(ended);
        self.games.finished = Some(Finished {
            id: running.id.clone(),
            game: ended.game,
            white: ended.white.clone(),
            black: ended.black.clone(),
            until: now + FINISHED_MEMORY,
        });
        self.outbound.clear_moves();
        if end.termination == crate::game::Termination::Adjourned {
            self.note_adjourned(running.opponent_name());
        }
        if running.announced {
            self.outputs.push_back(Output::Game {
                id: running.id.clone(),
                event: GameEvent::Ended(end.clone()),
            });
        }
        self.outputs
            .push_back(Output::Account(AccountEvent::GameFinished {
                id: running.id,
                end: Some(end),
            }));
        self.seeks_after_game(now);
    }

    fn list_begins(&mut self, white: &str, black: &str, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let ours = running.opening.white == white && running.opening.black == black;
        match &mut running.list {
            Some(list) => {
                list.ours = ours;
                list.rows.clear();
            }
            None => {
                running.list = Some(ListRequest {
                    until: now + LIST_WAIT,
                    ours,
                    rows: Vec::new(),
                })
            }
        }
    }

    fn list_row(&mut self, row: MoveRow) {
        if let Some(list) = self
            .games
            .running
            .as_mut()
            .and_then(|running| running.list.as_mut())
            && list.ours
            && list.rows.len() < ROWS_MAX
        {
            list.rows.push(row);
        }
    }

    fn list_ends(&mut self, _now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let Some(list) = running.list.take() else {
            return;
        };
        let adopted = list.ours
            && running
                .track
                .as_mut()
                .is_some_and(|track| !track.is_whole() && track.adopt(&list.rows));
        if !running.announced {
            self.announce_or_tell();
        } else if adopted {
            self.tell_state(false);
        }
    }

    fn offer_in_words(&mut self, by: &str, offer: InGameOffer) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if !running.opponent_name().eq_ignore_ascii_case(by) {
            return;
        }
        let theirs = !running.color;
        // Where offers are numbered the numbered line follows and counts; telling both would show one offer twice.
        if !self.numbered_offers {
            set_offer(
                &mut running.open.offers,
                translate::offer_kind(offer),
                Some(theirs),
            );
            self.tell_if_announced();
        }
    }

    fn offer_gone_in_words(&mut self, by: &str, offer: InGameOffer, withdrawn: bool) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if self.numbered_offers || !running.opponent_name().eq_ignore_ascii_case(by) {
            return;
        }
        let maker = if withdrawn {
            !running.color
        } else {
            running.color
        };
        if offer_maker(&running.open.offers, translate::offer_kind(offer)) == Some(maker) {
            set_offer(&mut running.open.offers, translate::offer_kind(offer), None);
            self.tell_if_announced();
        }
    }

    /// A numbered offer in the game, by the opponent or by us.
    pub(super) fn game_offer(&mut self, pending: &Pending, ours: bool) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if !running.opponent_name().eq_ignore_ascii_case(&pending.with) {
            return;
        }
        let kind = match pending.kind {
            PendingKind::Draw => OfferKind::Draw,
            PendingKind::Abort => OfferKind::Abort,
            PendingKind::Adjourn => OfferKind::Adjourn,
            PendingKind::Takeback(_) => OfferKind::Takeback,
            _ => return,
        };
        let maker = if ours { running.color } else { !running.color };
        running
            .open
            .numbers
            .retain(|(number, open)| *number != pending.number && *open != kind);
        running.open.numbers.push((pending.number, kind));
        set_offer(&mut running.open.offers, kind, Some(maker));
        self.tell_if_announced();
    }

    pub(super) fn game_offer_gone(&mut self, number: u32) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let Some(index) = running
            .open
            .numbers
            .iter()
            .position(|(open, _)| *open == number)
        else {
            return;
        };
        let (_, kind) = running.open.numbers.remove(index);
        set_offer(&mut running.open.offers, kind, None);
        self.tell_if_announced();
    }

    fn tell_if_announced(&mut self) {
        if self
            .games
            .running
            .as_ref()
            .is_some_and(|running| running.announced)
        {
            self.tell_state(false);
        }
    }

    fn opponent_gone(&mut self, name: &str) {
        let Some(running) = self.games.running.as_ref().filter(|running| {
            running.announced && running.opponent_name().eq_ignore_ascii_case(name)
        }) else {
            return;
        };
        let event = GameEvent::OpponentLeft { claimable_in: None };
        self.outputs.push_back(Output::Game {
            id: running.id.clone(),
            event,
        });
    }

    /// The server refuses the move that we sent last.
    fn move_refused(&mut self, words: &str, text: Option<&str>) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        let is_it =
            |sent: &mut SentMove| text.is_none_or(|text| text.eq_ignore_ascii_case(&sent.text));
        let Some(sent) = running.sent.take_if(is_it) else {
            return;
        };
        warn!(game = %running.id, text = sent.text, words, "the server refuses our move");
        let failure = CommandFailure::Refused {
            words: format!("{words}: {}", sent.text),
        };
        let event = GameEvent::Failed {
            command: CommandKind::Play { ply: sent.ply },
            failure,
        };
        self.outputs.push_back(Output::Game {
            id: running.id.clone(),
            event,
        });
    }

    /// A word that the server does not know; it may be a move that came after its game's end.
    pub(super) fn unknown_word(&mut self, word: &str, _now: Instant) {
        let is_move = self
            .games
            .running
            .as_ref()
            .and_then(|running| running.sent.as_ref())
            .is_some_and(|sent| sent.text.eq_ignore_ascii_case(word));
        if is_move {
            self.move_refused("the server does not read the move", Some(word));
        } else {
            debug!(word, "a word that the server does not know");
        }
    }

    /// Takes chat of the game and gives true if it was.
    pub(super) fn game_speech(&mut self, speech: &Speech) -> bool {
        let Some(running) = self
            .games
            .running
            .as_ref()
            .filter(|running| running.announced)
        else {
            return false;
        };
        let from_opponent = running.opponent_name().eq_ignore_ascii_case(&speech.from);
        let from_us = self.is_own(&speech.from);
        let here = speech.game.is_none_or(|game| running.is(game));
        let room = match speech.channel {
            Channel::Say | Channel::Tell if from_opponent => ChatRoom::Players,
            Channel::Kibitz if here => ChatRoom::Players,
            Channel::Whisper if here && (from_us || from_opponent) => ChatRoom::Spectators,
            _ => return false,
        };
        let line = ChatLine {
            from: PlayerName::new(speech.from.clone()),
            from_server: false,
            room,
            text: speech.text.clone(),
        };
        self.outputs.push_back(Output::Game {
            id: running.id.clone(),
            event: GameEvent::Chatted(line),
        });
        // An owner who plays us may also give commands by tell.
        !(speech.channel == Channel::Tell
            && self
                .config
                .owners
                .iter()
                .any(|owner| owner.eq_ignore_ascii_case(&speech.from)))
    }

    /// Carries out a command in a game. For a game that is over only a word to the last opponent is.
    pub fn game_command(&mut self, id: &GameId, command: GameCommand, now: Instant) {
        if let GameCommand::Say {
            room: ChatRoom::Players,
            text,
        } = &command
            && self.games.running.is_none()
            && self
                .games
                .finished
                .as_ref()
                .is_some_and(|finished| finished.id == *id && now < finished.until)
        {
            for line in chat_lines(text, CHAT_CHARS_MAX, 2) {
                self.outbound.push(Lane::Chat, &format!("say {line}"));
            }
            return;
        }
        let Some(running) = self
            .games
            .running
            .as_mut()
            .filter(|running| running.id == *id)
        else {
            debug!(game = %id, command = ?command.kind(), "a command for a game that is not on");
            return;
        };
        match command {
            GameCommand::Play(play) => {
                let due = running.track.as_ref().is_some_and(|track| {
                    track.len() == play.ply && track.position().turn() == running.color
                });
                let on_its_way = running
                    .sent
                    .as_ref()
                    .is_some_and(|sent| sent.ply == play.ply);
                if !due || on_its_way {
                    debug!(game = %id, ply = play.ply, "a move that is not due");
                    return;
                }
                let text = translate::move_text(&play.position, play.m);
                self.outbound.push(Lane::Move, &text);
                running.sent = Some(SentMove {
                    ply: play.ply,
                    text,
                    at: now,
                });
                if play.offer_draw {
                    self.outbound.push(Lane::Control, "draw");
                }
            }
            GameCommand::OfferDraw => self.outbound.push(Lane::Control, "draw"),
            GameCommand::Answer { offer, accept } => self.answer(offer, accept),
            GameCommand::Resign => self.outbound.push(Lane::Control, "resign"),
            GameCommand::Abort => self.outbound.push(Lane::Control, "abort"),
            GameCommand::ClaimVictory | GameCommand::ClaimDraw | GameCommand::CallFlag => {
                if running.flag_after.is_none_or(|at| at <= now) {
                    running.flag_after = Some(now + FLAG_GAP);
                    self.outbound.push(Lane::Control, "flag");
                }
            }
            GameCommand::Say { room, text } => {
                let verb = match room {
                    ChatRoom::Players => "say",
                    ChatRoom::Spectators => "whisper",
                };
                for line in chat_lines(&text, CHAT_CHARS_MAX, 2) {
                    self.outbound.push(Lane::Chat, &format!("{verb} {line}"));
                }
            }
            GameCommand::Resync => self.resync(now),
        }
    }

    fn answer(&mut self, offer: OfferKind, accept: bool) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if offer_maker(&running.open.offers, offer) != Some(!running.color) {
            return;
        }
        let number = running
            .open
            .numbers
            .iter()
            .find(|(_, kind)| *kind == offer)
            .map(|(number, _)| *number);
        self.outbound.push(
            Lane::Control,
            &translate::answer_command(offer, number, accept),
        );
        if number.is_none() {
            // Nothing else will tell that it is settled.
            set_offer(&mut running.open.offers, offer, None);
            self.tell_if_announced();
        }
    }

    fn resync(&mut self, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        running.resync_until = Some(now + RESYNC_WAIT);
        self.outbound.push(Lane::Control, "refresh");
    }

    /// Deadlines of the game.
    pub(super) fn game_tick(&mut self, now: Instant) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if let Some((board, _)) = running.held.take_if(|(_, until)| *until <= now) {
            // The holdings did not come: our own count, made from the moves, has to do.
            running.hands = None;
            self.complete_board(board, now);
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if running.list.take_if(|list| list.until <= now).is_some() && !running.announced {
            self.announce_or_tell();
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if running
            .resync_until
            .take_if(|until| *until <= now)
            .is_some()
        {
            self.tell_state(true);
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if let Some(sent) = running.sent.take_if(|sent| sent.at + ECHO_WAIT <= now) {
            let event = GameEvent::Failed {
                command: CommandKind::Play { ply: sent.ply },
                failure: CommandFailure::Unanswered,
            };
            self.outputs.push_back(Output::Game {
                id: running.id.clone(),
                event,
            });
        }
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if running
            .unplayable_until
            .take_if(|until| *until <= now)
            .is_some()
        {
            self.outbound.push(Lane::Control, "resign");
        }
    }
}

fn set_offer(offers: &mut Offers, kind: OfferKind, maker: Option<Color>) {
    let slot = match kind {
        OfferKind::Draw => &mut offers.draw,
        OfferKind::Takeback => &mut offers.takeback,
        OfferKind::Abort => &mut offers.abort,
        OfferKind::Adjourn => &mut offers.adjourn,
    };
    *slot = maker;
}

fn offer_maker(offers: &Offers, kind: OfferKind) -> Option<Color> {
    match kind {
        OfferKind::Draw => offers.draw,
        OfferKind::Takeback => offers.takeback,
        OfferKind::Abort => offers.abort,
        OfferKind::Adjourn => offers.adjourn,
    }
}

/// A move declines what was offered to the mover.
fn clear_offers_to(offers: &mut Offers, mover: Color) {
    for kind in [
        OfferKind::Draw,
        OfferKind::Takeback,
        OfferKind::Abort,
        OfferKind::Adjourn,
    ] {
        if offer_maker(offers, kind) == Some(!mover) {
            set_offer(offers, kind, None);
        }
    }
}
