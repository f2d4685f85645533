//! Conversations written down in `tests/data/fics/scripts`, played against the protocol line by line.
//!
//! | line | meaning |
//! |---|---|
//! | `# text` | remark |
//! | `config KEY = VALUE` | a key of the account's section, as TOML |
//! | `start login` | begin before the login instead of after it |
//! | `< text` | the server sends a line; `<~ text` without its end |
//! | | (the signs ␕ ␖ ␗ stand for the control characters of block mode) |
//! | `> text` | the next line that we send; `>> text` skips lines up to this one |
//! | `= text` | the next event, in the words of `summary` |
//! | `! command` | the daemon commands: `accept`, `decline`, `cancel`, `play UCI`, `answer OFFER yes`, `resign` and so on |
//! | `@ N` | N milliseconds pass |
//!
//! At the end every event and every line sent must have been named.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use seneschal::game::{
    ChatRoom, GameCommand, GameEvent, GameStart, GameState, OfferKind, PlayMove, PlayerName,
};
use seneschal::lobby::{ChallengeId, DeclineReason};
use seneschal::platform::fics::FicsConfig;
use seneschal::platform::fics::protocol::{Next, Output};
use seneschal::platform::{AccountCommand, AccountEvent};

use super::position_of;
use super::summary::{Summary, Transcript};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/fics/scripts")
}

fn scripts() -> Vec<(String, String)> {
    let mut scripts: Vec<(String, String)> = std::fs::read_dir(folder())
        .expect("the scripts are there")
        .map(|entry| entry.expect("readable").path())
        .map(|path| {
            (
                path.file_name()
                    .expect("a file")
                    .to_string_lossy()
                    .into_owned(),
                std::fs::read_to_string(&path).expect("text"),
            )
        })
        .collect();
    scripts.sort();
    scripts
}

/// Every line that a server sends in the scripts.
pub fn server_lines() -> Vec<String> {
    let lines: Vec<String> = scripts()
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.strip_prefix("< ").or_else(|| line.strip_prefix("<~ ")))
        .map(str::to_owned)
        .collect();
    assert!(lines.len() > 200);
    lines
}

struct Run {
    transcript: Transcript,
    summary: Summary,
    events: VecDeque<String>,
    sent: VecDeque<String>,
    challenge: Option<ChallengeId>,
    start: Option<GameStart>,
    state: Option<GameState>,
}

impl Run {
    fn collect(&mut self) {
        for output in self.transcript.take() {
            match &output {
                Output::Account(AccountEvent::Challenged(offer)) => {
                    self.challenge = Some(offer.id.clone())
                }
                Output::Game {
                    event: GameEvent::Full { start, state },
                    ..
                } => {
                    self.start = Some((**start).clone());
                    self.state = Some(state.clone());
                }
                Output::Game {
                    event: GameEvent::State(state),
                    ..
                } => self.state = Some(state.clone()),
                _ => {}
            }
            self.summary.add(&output);
        }
        self.events.extend(self.summary.flush());
        self.sent.extend(self.transcript.sent());
    }

    fn command(&mut self, text: &str) {
        let words: Vec<&str> = text.split(' ').collect();
        let now = self.transcript.now;
        let challenge = self.challenge.clone();
        let account =
            |run: &mut Run, command| run.transcript.protocol.account_command(command, now);
        match words[..] {
            ["accept"] => account(self, AccountCommand::Accept(challenge.expect("challenged"))),
            ["decline"] => account(
                self,
                AccountCommand::Decline {
                    id: challenge.expect("challenged"),
                    reason: DeclineReason::Variant,
                },
            ),
            ["cancel"] => account(self, AccountCommand::Cancel(challenge.expect("challenged"))),
            ["resume", name] => account(self, AccountCommand::Resume(PlayerName::new(name))),
            ["reconcile"] => account(self, AccountCommand::Reconcile),
            ["quiesce"] => account(self, AccountCommand::Quiesce),
            ["quit"] => self.transcript.protocol.leave(),
            ["disconnect"] => {
                let next = self.transcript.protocol.disconnected(now);
                self.collect();
                self.events.push_back(match next {
                    Next::Retry => "retry".to_owned(),
                    Next::RetryAfter(pause) => format!("retry after {} s", pause.as_secs()),
                    Next::Stop { words } => format!("stop: {words}"),
                });
                self.transcript.protocol.connected(now, 2000);
            }
            _ => self.game_command(&words),
        }
    }

    fn game_command(&mut self, words: &[&str]) {
        let start = self.start.clone().expect("a game is on");
        let state = self.state.clone().expect("a game is on");
        let command = match words[..] {
            ["play", uci] => {
                let position = position_of(&start, &state);
                let m = position
                    .parse_uci(uci)
                    .expect("the script plays legal moves");
                GameCommand::Play(Box::new(PlayMove {
                    position,
                    m,
                    ply: state.moves.len(),
                    offer_draw: false,
                }))
            }
            ["answer", offer, answer] => {
                let offer = match offer {
                    "draw" => OfferKind::Draw,
                    "takeback" => OfferKind::Takeback,
                    "abort" => OfferKind::Abort,
                    _ => OfferKind::Adjourn,
                };
                GameCommand::Answer {
                    offer,
                    accept: answer == "yes",
                }
            }
            ["draw"] => GameCommand::OfferDraw,
            ["resign"] => GameCommand::Resign,
            ["abort"] => GameCommand::Abort,
            ["flag"] => GameCommand::CallFlag,
            ["resync"] => GameCommand::Resync,
            ["say", ref text @ ..] => GameCommand::Say {
                room: ChatRoom::Players,
                text: text.join(" "),
            },
            _ => panic!("no such command: {words:?}"),
        };
        self.transcript
            .protocol
            .game_command(&start.id, command, self.transcript.now);
    }
}

fn controls(text: &str) -> String {
    text.replace('\u{2415}', "\u{15}")
        .replace('\u{2416}', "\u{16}")
        .replace('\u{2417}', "\u{17}")
}

fn run(name: &str, text: &str) {
    let toml: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("config "))
        .map(|line| format!("{line}\n"))
        .collect();
    let handle = if toml.contains("handle") || toml.contains("guest") {
        String::new()
    } else {
        "handle = \"Harbor\"\n".to_owned()
    };
    let kinds = "variants = [\"standard\", \"crazyhouse\", \"suicide\", \"losers\", \"atomic\", \"fischer_random\", \"wild\"]\n";
    let kinds = if toml.contains("variants") { "" } else { kinds };
    let config: FicsConfig = toml::from_str(&format!("{kinds}{handle}{toml}"))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let own = config.handle.clone();
    let from_login = text.lines().any(|line| line == "start login");
    let transcript = if from_login {
        Transcript::new(config)
    } else {
        Transcript::ready_with(config)
    };
    let mut run = Run {
        transcript,
        summary: Summary::new(&own),
        events: VecDeque::new(),
        sent: VecDeque::new(),
        challenge: None,
        start: None,
        state: None,
    };
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            "" | "#" | "config" | "start" => {}
            "<" => run
                .transcript
                .feed(format!("{}\n\r", controls(rest)).as_bytes()),
            "<~" => run.transcript.feed(controls(rest).as_bytes()),
            "@" => run
                .transcript
                .advance(Duration::from_millis(rest.parse().expect("milliseconds"))),
            "!" => run.command(rest),
            "=" => {
                run.collect();
                assert_eq!(
                    run.events.pop_front().as_deref(),
                    Some(rest),
                    "{place}; then {:?}",
                    run.events
                );
            }
            ">" => {
                run.collect();
                assert_eq!(
                    run.sent.pop_front().as_deref(),
                    Some(rest),
                    "{place}; then {:?}",
                    run.sent
                );
            }
            ">>" => {
                run.collect();
                let skipped = run.sent.iter().position(|sent| sent == rest);
                let skipped =
                    skipped.unwrap_or_else(|| panic!("{place}: not sent; {:?}", run.sent));
                run.sent.drain(..=skipped);
            }
            _ => panic!("{place}: {line}"),
        }
    }
    run.transcript.advance(Duration::from_millis(500));
    run.collect();
    assert!(
        run.events.is_empty(),
        "{name}: events left over: {:?}",
        run.events
    );
    run.sent.retain(|line| !line.starts_with("mk_"));
    assert!(
        run.sent.is_empty(),
        "{name}: lines left over: {:?}",
        run.sent
    );
}

#[test]
fn scripts_play_as_written() {
    let scripts = scripts();
    assert!(scripts.len() >= 15);
    for (name, text) in &scripts {
        run(name, text);
    }
}
