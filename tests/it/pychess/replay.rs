//! Feeds lines through wire and translate and tells in words what came of them. No network, no time.

use std::collections::HashMap;

use seneschal::game::{
    ChatRoom, GameResult, GameSource, GameState, PlayerKind, PlayerName, TimeControl,
};
use seneschal::lobby::{ColorChoice, OfferedVariant};
use seneschal::platform::pychess::page::GamePage;
use seneschal::platform::pychess::request::PathId;
use seneschal::platform::pychess::track::Track;
use seneschal::platform::pychess::translate::{self, KnownGame};
use seneschal::platform::pychess::wire::{AccountLine, GameLine};
use seneschal::rules::{CastlingMode, Color};

/// What has been heard so far.
pub struct Replay {
    us: PlayerName,
    known: HashMap<String, KnownGame>,
    games: HashMap<String, Track>,
    /// The state of the last line that carried one.
    pub last_state: Option<GameState>,
}

impl Replay {
    /// Nothing was heard yet.
    pub fn new(us: &str) -> Replay {
        Replay {
            us: PlayerName::new(us),
            known: HashMap::new(),
            games: HashMap::new(),
            last_state: None,
        }
    }

    /// The game as our rules see it.
    pub fn game(&self, id: &str) -> Option<&Track> {
        self.games.get(id)
    }

    fn learn(&mut self, id: &str, facts: &KnownGame) {
        self.known.entry(id.to_owned()).or_default().complete(facts);
    }

    /// A line of the account's stream.
    pub fn account(&mut self, line: &str) -> Vec<String> {
        match AccountLine::parse(line) {
            Ok(AccountLine::Ping) => Vec::new(),
            Ok(AccountLine::Terminated) => vec!["terminated".to_owned()],
            Ok(AccountLine::Other(kind)) => vec![format!("unknown {kind}")],
            Ok(AccountLine::Challenge(challenge)) => {
                self.learn(&challenge.id, &KnownGame::from_challenge(&challenge));
                match translate::challenge(&challenge, false) {
                    Ok(ours) => vec![challenge_words(&ours)],
                    Err(error) => vec![format!("error {error}")],
                }
            }
            Ok(AccountLine::GameStart(start)) => {
                self.learn(&start.id, &KnownGame::from_start(&start, false));
                let Ok(id) = PathId::new(&start.id) else {
                    return vec!["error id".to_owned()];
                };
                let notice = translate::started(&id, &self.known[&start.id]);
                let source = match notice.source {
                    GameSource::Challenge => "challenge",
                    GameSource::Rematch => "rematch",
                    _ => "?",
                };
                vec![format!("started {} by {source}", notice.id)]
            }
            Err(error) => vec![format!("error {error}")],
        }
    }

    /// A line of a game's stream.
    pub fn game_line(&mut self, id: &str, line: &str) -> Vec<String> {
        self.last_state = None;
        match GameLine::parse(line) {
            Ok(GameLine::Ping) => Vec::new(),
            Ok(GameLine::Terminated) => vec!["terminated".to_owned()],
            Ok(GameLine::Other(kind)) => vec![format!("unknown {kind}")],
            Ok(GameLine::GameFull(full)) => {
                let known = self.known.get(&full.id).cloned().unwrap_or_default();
                match translate::game_start(&full, &known, &self.us) {
                    Ok((start, notation)) => {
                        let state = translate::game_state(&full.state);
                        let words = format!(
                            "full {} {}{} as {} against {} after {} from {}",
                            start.id,
                            start.variant.uci_name(),
                            if notation == CastlingMode::Chess960 {
                                "960"
                            } else {
                                ""
                            },
                            color_word(start.color),
                            start.opponent.name,
                            state.moves.len(),
                            start.initial_fen.as_deref().unwrap_or("usual"),
                        );
                        let mut track = Track::new(start, notation);
                        track.update(&state.moves);
                        self.games.insert(full.id, track);
                        self.last_state = Some(state);
                        vec![words]
                    }
                    Err(translate::TranslateError::UnknownVariant(name)) => {
                        vec![format!("unplayable {id}: {name}")]
                    }
                    Err(error) => vec![format!("error {error}")],
                }
            }
            Ok(GameLine::GameState(state)) => {
                let state = translate::game_state(&state);
                if let Some(track) = self.games.get_mut(id) {
                    track.update(&state.moves);
                }
                self.last_state = Some(state);
                Vec::new()
            }
            Ok(GameLine::ChatLine(line)) => {
                let line = translate::chat(&line);
                let room = match line.room {
                    ChatRoom::Players => "players",
                    ChatRoom::Spectators => "spectators",
                };
                vec![format!(
                    "talk {id} {room} from {}: {}",
                    line.from, line.text
                )]
            }
            Ok(GameLine::GameEnd(end)) => vec![format!("over {}", end.id)],
            Err(error) => vec![format!("error {error}")],
        }
    }

    /// The game's page.
    pub fn page(&self, id: &str, html: &str) -> Vec<String> {
        let page = match GamePage::parse(html) {
            Ok(page) => page,
            Err(error) => return vec![format!("error {error}")],
        };
        match translate::end_of_page(&page) {
            None => vec![format!("running {id}")],
            Some(end) => {
                let result = match end.result {
                    GameResult::Decisive { winner } => color_word(winner),
                    GameResult::Draw => "draw",
                    GameResult::NoResult => "none",
                    GameResult::Unknown => "unknown",
                };
                vec![format!("ended {id} {result} {:?}", end.termination)]
            }
        }
    }
}

fn challenge_words(challenge: &seneschal::lobby::Challenge) -> String {
    let kind = match challenge.opponent.kind {
        PlayerKind::Guest => "guest",
        PlayerKind::Human => "human",
        PlayerKind::Bot => "bot",
        PlayerKind::ServerAi => "engine",
    };
    let variant = match &challenge.variant {
        OfferedVariant::Known {
            variant,
            castling_mode: CastlingMode::Standard,
        } => variant.uci_name().to_owned(),
        OfferedVariant::Known {
            variant,
            castling_mode: CastlingMode::Chess960,
        } => format!("{}960", variant.uci_name()),
        OfferedVariant::Unknown(name) => format!("unknown:{name}"),
    };
    let TimeControl::Clock { .. } = challenge.time_control else {
        return "error no clock".to_owned();
    };
    let color = match challenge.color {
        ColorChoice::White => "white",
        ColorChoice::Black => "black",
        ColorChoice::Random => "random",
    };
    format!(
        "challenged {} by {} ({kind}) {variant} {} as {color}",
        challenge.id, challenge.opponent.name, challenge.time_control
    )
}

fn color_word(color: Color) -> &'static str {
    match color {
        Color::White => "white",
        Color::Black => "black",
    }
}
