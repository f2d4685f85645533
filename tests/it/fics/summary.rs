//! What the protocol says, in words that fit in a data file; and a way to feed it bytes without a socket.

use std::fmt::Write as _;
use std::time::Duration;

use seneschal::game::{
    ChatRoom, CommandFailure, GameEnd, GameEvent, GameResult, GameSource, GameState, OfferKind,
    Offers, PlayerKind, TimeControl,
};
use seneschal::lobby::{Challenge, ChallengeDirection, ColorChoice, OfferedVariant};
use seneschal::platform::AccountEvent;
use seneschal::platform::fics::FicsConfig;
use seneschal::platform::fics::protocol::{Output, Protocol};
use seneschal::rules::{CastlingMode, Color};
use tokio::time::Instant;

/// A protocol with a clock that a test moves.
pub struct Transcript {
    pub protocol: Protocol,
    pub now: Instant,
}

impl Transcript {
    pub fn new(config: FicsConfig) -> Transcript {
        let mut protocol = Protocol::new(config, Some("secret".to_owned().into()), 1);
        let now = Instant::now();
        protocol.connected(now, 1000);
        Transcript { protocol, now }
    }

    /// Logged in, set up and reconciled; what came of that is forgotten.
    pub fn ready(name: &str) -> Transcript {
        Transcript::ready_with(FicsConfig {
            handle: name.to_owned(),
            ..super::config()
        })
    }

    pub fn ready_with(config: FicsConfig) -> Transcript {
        let name = config.handle.clone();
        let mut transcript = Transcript::new(config);
        transcript.feed(b"login: ");
        transcript
            .feed(format!("**** Starting FICS session as {name}(C) ****\n\rfics% ").as_bytes());
        for _ in 0..2 {
            let marker = transcript
                .sent()
                .into_iter()
                .rfind(|line| line.starts_with("mk_"))
                .expect("a marker is sent");
            transcript.feed(format!("{marker}: Command not found.\n\rfics% ").as_bytes());
        }
        transcript.take();
        transcript.sent();
        assert!(transcript.protocol.is_ready());
        transcript
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.protocol
            .received(bytes, self.now)
            .expect("an ICS sends this");
        // The silence after it.
        self.advance(Duration::from_millis(30));
    }

    /// Lets time pass, with every deadline on its way.
    pub fn advance(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some(at) = self.protocol.wake_at().filter(|at| *at <= until) {
            self.now = at.max(self.now);
            self.protocol.tick(self.now);
        }
        self.now = until;
    }

    pub fn take(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.protocol.output()).collect()
    }

    /// Lines sent by now, with time enough for all that wait.
    pub fn sent(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(at) = self.protocol.send_at(self.now) {
            self.now = at;
            if let Some(line) = self.protocol.to_send(self.now) {
                lines.push(if line.seal_answer {
                    "(seal)".to_owned()
                } else {
                    line.text
                });
            }
        }
        lines
    }
}

/// Feeds bytes to an account that is ready, in pieces of this size, and gives the summary.
pub fn replay(own: &str, bytes: &[u8], piece: usize) -> String {
    let mut transcript = Transcript::ready(own);
    let mut summary = Summary::new(own);
    for chunk in bytes.chunks(piece) {
        transcript
            .protocol
            .received(chunk, transcript.now)
            .expect("an ICS sends this");
    }
    transcript.advance(Duration::from_secs(2));
    for output in transcript.take() {
        summary.add(&output);
    }
    summary.text()
}

/// Writes outputs as lines; consecutive moves share one.
pub struct Summary {
    own: String,
    lines: Vec<String>,
    moves: Vec<String>,
    known: Option<GameState>,
}

impl Summary {
    pub fn new(own: &str) -> Summary {
        Summary {
            own: own.to_owned(),
            lines: Vec::new(),
            moves: Vec::new(),
            known: None,
        }
    }

    fn name(&self, name: &str) -> String {
        if name.eq_ignore_ascii_case(&self.own) {
            "us".to_owned()
        } else {
            name.to_owned()
        }
    }

    fn line(&mut self, line: String) {
        if !self.moves.is_empty() {
            let moves = std::mem::take(&mut self.moves).join(" ");
            self.lines.push(format!("moves {moves}"));
        }
        self.lines.push(line);
    }

    pub fn text(mut self) -> String {
        self.line(String::new());
        self.lines.pop();
        self.lines.join("\n")
    }

    /// Lines so far, moves included.
    pub fn flush(&mut self) -> Vec<String> {
        self.line(String::new());
        self.lines.pop();
        std::mem::take(&mut self.lines)
    }

    pub fn add(&mut self, output: &Output) {
        match output {
            Output::Account(event) => {
                if let Some(line) = self.account(event) {
                    self.line(line);
                }
            }
            Output::Game { event, .. } => self.game(event),
            Output::Close { words } => self.line(format!("close: {words}")),
        }
    }

    fn account(&self, event: &AccountEvent) -> Option<String> {
        Some(match event {
            AccountEvent::Online { name, is_bot } => format!(
                "online {}{}",
                self.name(name.as_str()),
                if *is_bot { " computer" } else { "" }
            ),
            AccountEvent::Reconciled(snapshot) => {
                let mut line = "reconciled".to_owned();
                for (word, count) in [
                    ("games", snapshot.games.len()),
                    ("incoming", snapshot.incoming.len()),
                    ("outgoing", snapshot.outgoing.len()),
                ] {
                    if count > 0 {
                        write!(line, " {word}={count}").expect("writing to a string");
                    }
                }
                for name in &snapshot.adjourned {
                    write!(line, " adjourned={name}").expect("writing to a string");
                }
                line
            }
            AccountEvent::Challenged(offer) => challenge(offer),
            AccountEvent::ChallengeCanceled(_) => "challenge gone".to_owned(),
            AccountEvent::ChallengeDeclined { reason, .. } => {
                format!("challenge declined ({reason:?})")
            }
            AccountEvent::ChallengeCreated {
                challenge: offer, ..
            } => format!("created {}", challenge(offer)),
            AccountEvent::ChallengeRefused { refusal, .. } => format!("not created: {refusal:?}"),
            AccountEvent::AcceptFailed { words, .. } => format!("accept failed: {words}"),
            AccountEvent::GameStarted(notice) => {
                let color = notice.color.map_or("?", color_word);
                let opponent = notice
                    .opponent
                    .as_ref()
                    .map_or("?".to_owned(), |player| player.name.as_str().to_owned());
                let source = match &notice.source {
                    GameSource::Challenge => "challenge",
                    GameSource::Seek => "seek",
                    GameSource::Resumed => "resumed",
                    _ => "other",
                };
                format!(
                    "game {color} against {opponent} ({source}){}",
                    if notice.playable { "" } else { " not playable" }
                )
            }
            AccountEvent::GameFinished { .. } => return None,
            AccountEvent::Told { from, text } => format!("told by {from}: {text}"),
            other => format!("{other:?}"),
        })
    }

    fn game(&mut self, event: &GameEvent) {
        match event {
            GameEvent::Full { start, state } => {
                let kind = format!(
                    "{}{}",
                    start.variant.uci_name(),
                    if start.castling_mode == CastlingMode::Chess960 {
                        "960"
                    } else {
                        ""
                    }
                );
                let rated = if start.rated { "rated" } else { "unrated" };
                let mut line = format!(
                    "full {kind} {} {} {rated}",
                    color_word(start.color),
                    start.time_control
                );
                if let Some(rating) = start.opponent.rating {
                    write!(line, " opponent={}", rating.points).expect("writing to a string");
                }
                if let Some(fen) = &start.initial_fen {
                    write!(line, " start={fen}").expect("writing to a string");
                }
                if start.rules.no_escape {
                    line.push_str(" noescape");
                }
                if let Some(fen) = &state.base_fen {
                    write!(line, " base={fen}").expect("writing to a string");
                }
                if !state.moves.is_empty() {
                    write!(line, " after {}", state.moves.join(" ")).expect("writing to a string");
                }
                self.line(line);
                self.known = Some(state.clone());
            }
            GameEvent::State(state) => self.state(state),
            GameEvent::Chatted(chat) => {
                let room = if chat.room == ChatRoom::Players {
                    ""
                } else {
                    " to observers"
                };
                let line = format!(
                    "{} says{room}: {}",
                    self.name(chat.from.as_str()),
                    chat.text
                );
                self.line(line);
            }
            GameEvent::OpponentLeft { .. } => self.line("opponent left".to_owned()),
            GameEvent::OpponentReturned => self.line("opponent returned".to_owned()),
            GameEvent::Accepted { .. } => {}
            GameEvent::Failed { failure, .. } => {
                let line = match failure {
                    CommandFailure::Refused { words } => format!("refused: {words}"),
                    other => format!("failed: {other:?}"),
                };
                self.line(line);
            }
            GameEvent::Unreadable { words } => self.line(format!("unreadable: {words}")),
            GameEvent::LinkLost => self.line("link lost".to_owned()),
            GameEvent::Ended(end) => {
                let line = ended(end);
                self.line(line);
                self.known = None;
            }
        }
    }

    fn state(&mut self, state: &GameState) {
        let known = self.known.replace(state.clone());
        let Some(known) = known else {
            self.line("state before any full state".to_owned());
            return;
        };
        if state.base_fen != known.base_fen {
            let base = state.base_fen.as_deref().unwrap_or("the first position");
            self.line(format!("based on {base} after {}", state.moves.join(" ")));
        } else if state.moves.len() > known.moves.len() && state.moves.starts_with(&known.moves) {
            self.moves
                .extend(state.moves[known.moves.len()..].iter().cloned());
        } else if state.moves.len() < known.moves.len() {
            self.line(format!("taken back to {}", state.moves.len()));
        } else if state.moves != known.moves {
            self.line(format!("other moves {}", state.moves.join(" ")));
        } else if state.offers == known.offers {
            self.line("repeated".to_owned());
        }
        for (kind, word) in [
            (OfferKind::Draw, "draw"),
            (OfferKind::Takeback, "takeback"),
            (OfferKind::Abort, "abort"),
            (OfferKind::Adjourn, "adjourn"),
        ] {
            let (before, after) = (maker(&known.offers, kind), maker(&state.offers, kind));
            if before != after {
                let by = after.map_or("nobody", color_word);
                self.line(format!("{word} offered by {by}"));
            }
        }
    }
}

fn maker(offers: &Offers, kind: OfferKind) -> Option<Color> {
    match kind {
        OfferKind::Draw => offers.draw,
        OfferKind::Takeback => offers.takeback,
        OfferKind::Abort => offers.abort,
        OfferKind::Adjourn => offers.adjourn,
    }
}

fn color_word(color: Color) -> &'static str {
    match color {
        Color::White => "white",
        Color::Black => "black",
    }
}

pub fn ended(end: &GameEnd) -> String {
    let result = match end.result {
        GameResult::Decisive {
            winner: Color::White,
        } => "1-0",
        GameResult::Decisive {
            winner: Color::Black,
        } => "0-1",
        GameResult::Draw => "1/2-1/2",
        GameResult::NoResult => "*",
        GameResult::Unknown => "?",
    };
    format!("ended {result} {:?}", end.termination)
}

pub fn challenge(offer: &Challenge) -> String {
    let direction = if offer.direction == ChallengeDirection::Incoming {
        "from"
    } else {
        "to"
    };
    let kind = match &offer.variant {
        OfferedVariant::Known {
            variant,
            castling_mode,
        } => {
            format!(
                "{}{}",
                variant.uci_name(),
                if *castling_mode == CastlingMode::Chess960 {
                    "960"
                } else {
                    ""
                }
            )
        }
        OfferedVariant::Unknown(word) => format!("unknown:{word}"),
    };
    let mut line = format!(
        "challenge {direction} {} {kind} {}",
        offer.opponent.name, offer.time_control
    );
    if let Some(other) = offer.opponent_time_control {
        write!(
            line,
            " against {}",
            if other == TimeControl::Unlimited {
                "0+0".to_owned()
            } else {
                other.to_string()
            }
        )
        .expect("writing to a string");
    }
    line.push_str(if offer.rated { " rated" } else { " unrated" });
    match offer.color {
        ColorChoice::White => line.push_str(" white"),
        ColorChoice::Black => line.push_str(" black"),
        ColorChoice::Random => {}
    }
    match offer.opponent.kind {
        PlayerKind::Bot => line.push_str(" computer"),
        PlayerKind::Guest => line.push_str(" guest"),
        _ => {}
    }
    if let Some(rating) = offer.opponent.rating {
        write!(
            line,
            " ({}{})",
            rating.points,
            if rating.provisional { "?" } else { "" }
        )
        .expect("writing to a string");
    }
    if offer.resumes_adjourned {
        line.push_str(" adjourned");
    }
    if !offer.playable {
        line.push_str(" closed");
    }
    line
}
