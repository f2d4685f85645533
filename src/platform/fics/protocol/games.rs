//! The game being played: from the announcement to its end line.
//!
//! A board of a variant with drops is complete only with the holdings that follow it. A game that goes on after an
//! adjournment is announced when the server's move list is in, or a second later without it.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use crate::game::{
    CommandFailure, CommandKind, GameEnd, GameEvent, GameId, GameRules, GameSource, GameStart,
    GameState, OfferKind, Offers, Player, PlayerKind, PlayerName, Status,
};
use crate::lobby::{ChallengeId, OfferedVariant};
use crate::platform::{AccountEvent, GameNotice, verdict};
use crate::rules::{Color, Move};

use super::super::outbound::Lane;
use super::super::translate;
use super::super::wire::{
    GameEnded, GameInfo, GameOpened, Hand, MatchOffer, MoveRow, RatingMark, ServerLine, Style12,
    WireClock,
};
use super::track::Track;
use super::{Output, Protocol};

/// A move that shows nowhere after this long is reported as unanswered.
const ECHO_WAIT: Duration = Duration::from_secs(15);
/// The first board of an announced game comes at once; after this long it is asked for, and after as long again the game is
/// told without one.
const FIRST_BOARD_WAIT: Duration = Duration::from_secs(4);
/// Boards of a finished game are ignored for this long.
const FINISHED_MEMORY: Duration = Duration::from_secs(30);

/// A game that was on when the connection was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostGame {
    pub(super) id: GameId,
    pub(super) opponent: String,
    pub(super) color: Color,
    /// The board as we saw it last was decided by the rules.
    pub(super) decided: Option<GameEnd>,
    /// A move of ours on its way would have decided it.
    pub(super) deciding: Option<GameEnd>,
}

/// What the lines before the first board told.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) game: u32,
    pub(super) white: String,
    pub(super) black: String,
    pub(super) ratings: Option<(RatingMark, RatingMark)>,
    pub(super) unregistered: (bool, bool),
    pub(super) kind: String,
    pub(super) loaded_from: Option<String>,
    pub(super) rated: bool,
    pub(super) continued: bool,
    pub(super) no_escape: bool,
}

/// A move of ours on its way.
#[derive(Debug, Clone)]
pub(super) struct SentMove {
    pub(super) ply: usize,
    pub(super) m: Move,
    pub(super) text: String,
    pub(super) at: Instant,
}

/// What the opponent or we offered, with the server's numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenOffers {
    pub(super) offers: Offers,
    pub(super) numbers: Vec<(u32, OfferKind)>,
}

#[derive(Debug)]
pub(super) struct Running {
    pub(super) id: GameId,
    pub(super) opening: Opening,
    pub(super) color: Color,
    pub(super) challenge: Option<ChallengeId>,
    pub(super) variant: OfferedVariant,
    pub(super) track: Option<Track>,
    /// A board that waits for its holdings.
    pub(super) held: Option<(Box<Style12>, Instant)>,
    pub(super) hands: Option<(Hand, Hand)>,
    pub(super) board: Option<Box<Style12>>,
    pub(super) announced: bool,
    pub(super) list: Option<ListRequest>,
    pub(super) lists_asked: u32,
    pub(super) open: OpenOffers,
    pub(super) sent: Option<SentMove>,
    pub(super) resync_until: Option<Instant>,
    pub(super) flag_after: Option<Instant>,
    /// What is wrong with the newest board, if it could not be read.
    pub(super) unread: Option<String>,
}

/// A move list being read.
#[derive(Debug)]
pub(super) struct ListRequest {
    pub(super) until: Instant,
    pub(super) ours: bool,
    pub(super) rows: Vec<MoveRow>,
}

/// A game that is over; for a while its boards may still come, and its opponent may be spoken to.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) id: GameId,
    pub(super) game: u32,
    pub(super) white: String,
    pub(super) black: String,
    pub(super) until: Instant,
}

/// The game of the account, if any; an ICS plays one at a time.
#[derive(Debug, Default)]
pub(super) struct Games {
    pub(super) serial: u64,
    pub(super) opening: Option<Opening>,
    /// When the announced game must have shown its first board, and whether that was asked for already.
    pub(super) first_board: Option<(Instant, bool)>,
    pub(super) running: Option<Running>,
    pub(super) lost: Option<LostGame>,
    /// The last finished game.
    pub(super) finished: Option<Finished>,
    pub(super) seek_matched: bool,
}

impl Games {
    pub(super) fn is_playing(&self) -> bool {
        self.running.is_some() || self.opening.is_some()
    }

    /// The connection is gone; remembers the running game and gives it out once.
    pub(super) fn connection_lost(&mut self) -> Option<LostGame> {
        self.opening = None;
        self.first_board = None;
        let running = self.running.take()?;
        let opponent = running.opponent_name().to_owned();
        let sent = running.sent.as_ref().map(|sent| sent.m);
        let end_with = |m| {
            running
                .track
                .as_ref()
                .and_then(|track| track.end_by_rules(m))
        };
        self.lost = Some(LostGame {
            opponent,
            color: running.color,
            decided: end_with(None),
            deciding: sent.and_then(|m| end_with(Some(m))),
            id: running.id,
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
        let first_board = self.first_board.map(|(until, _)| until);
        let Some(running) = self.running.as_ref() else {
            return first_board;
        };
        let sent = running.sent.as_ref().map(|sent| sent.at + ECHO_WAIT);
        [
            running.held.as_ref().map(|(_, until)| *until),
            running.list.as_ref().map(|list| list.until),
            running.resync_until,
            first_board,
            sent,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Running {
    pub(super) fn opponent_name(&self) -> &str {
        match self.color {
            Color::White => &self.opening.black,
            Color::Black => &self.opening.white,
        }
    }

    pub(super) fn opponent(&self) -> Player {
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

    pub(super) fn source(&self, seek_matched: bool) -> GameSource {
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

    pub(super) fn notice(&self) -> GameNotice {
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
            playable: true,
        }
    }

    pub(super) fn state(&self) -> Option<GameState> {
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

    pub(super) fn time_control_clock(&self) -> Option<WireClock> {
        let board = self.board.as_ref()?;
        let clock = WireClock {
            minutes: board.initial_minutes,
            increment_seconds: board.increment_seconds,
        };
        (clock.minutes > 0 || clock.increment_seconds > 0).then_some(clock)
    }

    pub(super) fn needs_hands(&self) -> bool {
        matches!(self.variant, OfferedVariant::Known { variant, .. } if variant.has_drops())
    }

    pub(super) fn is(&self, game: u32) -> bool {
        self.opening.game == game
    }
}

impl Protocol {
    /// Lines about games. Gives back what concerns something else.
    pub(super) fn game_line(&mut self, line: ServerLine, now: Instant) -> Option<ServerLine> {
        match line {
            ServerLine::Creating(offer) => self.creating(*offer),
            ServerLine::GameOpened(opened) => self.game_opened(opened, now),
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

    fn game_opened(&mut self, opened: GameOpened, now: Instant) {
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
        self.games.first_board = Some((now + FIRST_BOARD_WAIT, false));
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

    /// Makes a game of what the opening lines told, with its first board at hand. False if the board belongs to no game.
    pub(super) fn open_game(&mut self, board: &Style12, now: Instant) -> bool {
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
        self.begin(opening, color);
        true
    }

    /// From here on the account has a game.
    fn begin(&mut self, opening: Opening, color: Color) {
        self.games.first_board = None;
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
            unread: None,
        });
    }

    pub(super) fn announce_or_tell(&mut self) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        if running.announced {
            // Who was told that the state cannot be read needs a whole one.
            let asked = running.resync_until.take().is_some();
            let full = running.unread.take().is_some() || asked;
            self.tell_state(full);
            return;
        }
        self.announce_game();
        self.tell_state(true);
    }

    fn announce_game(&mut self) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        running.announced = true;
        let mut notice = running.notice();
        notice.source = running.source(self.games.seek_matched);
        self.games.seek_matched = false;
        self.outputs
            .push_back(Output::Account(AccountEvent::GameStarted(notice)));
    }

    /// The newest board cannot be read, or there is none. The game is announced all the same, so that somebody decides what
    /// becomes of it. Between the question for a board and its answer nothing new is told.
    pub(super) fn unreadable(&mut self, words: String) {
        let Some(running) = self.games.running.as_mut() else {
            return;
        };
        warn!(game = %running.id, words, "a game that cannot be read");
        let asked = running.resync_until.take().is_some();
        let news = running.unread.replace(words.clone()).is_none();
        let id = running.id.clone();
        if !running.announced {
            self.announce_game();
        }
        if news || asked {
            let event = GameEvent::Unreadable { words };
            self.outputs.push_back(Output::Game { id, event });
        }
    }

    pub(super) fn tell_state(&mut self, full: bool) {
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

    /// What a link that is just opened begins with: the whole state, or that it cannot be read.
    #[must_use]
    pub fn first_word(&self, id: &GameId) -> Option<GameEvent> {
        let running = self
            .games
            .running
            .as_ref()
            .filter(|running| running.id == *id);
        match running.and_then(|running| running.unread.clone()) {
            Some(words) => Some(GameEvent::Unreadable { words }),
            None => self.full_state(id),
        }
    }

    fn game_ended(&mut self, ended: &GameEnded, now: Instant) {
        let is_ours = |opening: &Opening| {
            opening.game == ended.game
                && opening.white == ended.white
                && opening.black == ended.black
        };
        if self.games.opening.as_ref().is_some_and(is_ours) {
            self.games.opening = None;
            self.games.first_board = None;
        }
        let Some(running) = self
            .games
            .running
            .take_if(|running| is_ours(&running.opening))
        else {
            return;
        };
        let by_rules = running
            .track
            .as_ref()
            .and_then(|track| track.end_by_rules(None));
        let end = verdict::complete(translate::game_end(ended), by_rules);
        self.games.finished = Some(Finished {
            id: running.id.clone(),
            game: ended.game,
            white: ended.white.clone(),
            black: ended.black.clone(),
            until: now + FINISHED_MEMORY,
        });
        self.outbound.clear_moves();
        if end.termination == crate::game::Termination::Adjourned {
            self.note_adjourned(running.opponent_name(), &end.words);
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

    pub(super) fn tell_if_announced(&mut self) {
        if self
            .games
            .running
            .as_ref()
            .is_some_and(|running| running.announced)
        {
            self.tell_state(false);
        }
    }

    /// The first board of an announced game is missing: ask for it, then tell of the game without it.
    fn first_board_tick(&mut self, now: Instant) {
        let Some((_, asked)) = self.games.first_board.take_if(|(until, _)| *until <= now) else {
            return;
        };
        let Some(opening) = self.games.opening.clone() else {
            return;
        };
        if !asked {
            warn!(game = opening.game, "an announced game shows no board");
            self.games.first_board = Some((now + FIRST_BOARD_WAIT, true));
            self.outbound.push(Lane::Control, "refresh");
        } else if let Some(color) = self.color_of(&opening.white, &opening.black) {
            self.games.opening = None;
            self.begin(opening, color);
            self.unreadable("the server shows no board".to_owned());
        }
    }

    /// Deadlines of the game.
    pub(super) fn game_tick(&mut self, now: Instant) {
        self.first_board_tick(now);
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
            match running.unread.clone() {
                // The state before it is not the answer.
                Some(words) => {
                    let id = running.id.clone();
                    let event = GameEvent::Unreadable { words };
                    self.outputs.push_back(Output::Game { id, event });
                }
                None => self.tell_state(true),
            }
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
    }
}
