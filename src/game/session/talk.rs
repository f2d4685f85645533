//! Greetings and the commands of chat.

use crate::engine::Score;

use super::super::command::GameCommand;
use super::super::event::{ChatLine, ChatRoom};
use super::super::facts::{GameSource, Player};
use super::super::policy::fill;
use super::super::time::Moment;
use super::GameSession;
use super::think::Thought;

/// Moves shown by `!pv`.
const PV_MOVES: usize = 8;

/// What was said so far.
#[derive(Debug)]
pub(super) struct Talk {
    greeted: bool,
    answers: u32,
    /// Last line of ours in the room of the players, and in that of the spectators.
    last: [Option<Moment>; 2],
}

impl Talk {
    pub(super) fn new(greeted: bool) -> Self {
        Self {
            greeted,
            answers: 0,
            last: [None; 2],
        }
    }

    pub(super) fn greeted(&self) -> bool {
        self.greeted
    }

    fn last(&mut self, room: ChatRoom) -> &mut Option<Moment> {
        &mut self.last[match room {
            ChatRoom::Players => 0,
            ChatRoom::Spectators => 1,
        }]
    }
}

impl GameSession {
    /// Says hello once, at the beginning of a game.
    pub(super) fn greet(&mut self, now: Moment) {
        let chat = &self.terms.policy.chat;
        let Some(game) = &mut self.game else { return };
        let begun = game.record.absolute_ply() > 1 || game.start.source == GameSource::Resumed;
        if game.talk.greeted || begun || !chat.enabled {
            return;
        }
        game.talk.greeted = true;
        let (hello, spectators) = (chat.hello.clone(), chat.hello_spectators.clone());
        self.remember();
        self.say_template(ChatRoom::Players, &hello, now);
        self.say_template(ChatRoom::Spectators, &spectators, now);
    }

    /// Says goodbye, if the game was one.
    pub(super) fn farewell(&mut self, now: Moment) {
        let chat = &self.terms.policy.chat;
        let played = self
            .game
            .as_ref()
            .is_some_and(|game| game.record.ply() > 1 && game.talk.greeted);
        if !played || !chat.enabled {
            return;
        }
        let (goodbye, spectators) = (chat.goodbye.clone(), chat.goodbye_spectators.clone());
        self.say_template(ChatRoom::Players, &goodbye, now);
        self.say_template(ChatRoom::Spectators, &spectators, now);
    }

    fn say_template(&mut self, room: ChatRoom, template: &str, now: Moment) {
        let Some(game) = &self.game else { return };
        let variant = game.start.variant.uci_name();
        let value = |name: &str| match name {
            "me" => Some(game.start.us.name.as_str()),
            "opponent" => Some(game.start.opponent.name.as_str()),
            "variant" => Some(variant),
            "engine" => Some(self.terms.engine.as_str()),
            _ => None,
        };
        // The configuration was checked when it was read; a text that slipped through is not worth a game.
        let Ok(text) = fill(template, value) else {
            return;
        };
        if !text.trim().is_empty() {
            self.say(room, &text, now);
        }
    }

    fn say(&mut self, room: ChatRoom, text: &str, now: Moment) {
        let limits = &self.terms.capabilities;
        let max = limits.chat_max_chars;
        if max == 0 || (room == ChatRoom::Spectators && !limits.spectator_chat) {
            return;
        }
        let Some(game) = &mut self.game else { return };
        *game.talk.last(room) = Some(now);
        let text = cut(text, max);
        self.send(GameCommand::Say { room, text });
    }

    /// Answers the commands that people type.
    pub(super) fn chatted(&mut self, line: &ChatLine, now: Moment) {
        let chat = &self.terms.policy.chat;
        let gap = self.terms.capabilities.chat_gap;
        let Some(game) = &mut self.game else { return };
        let ours = line.from == game.start.us.name;
        let Some(word) = line.text.trim().strip_prefix('!') else {
            return;
        };
        if ours || line.from_server || !chat.enabled || !chat.commands {
            return;
        }
        let too_soon = game
            .talk
            .last(line.room)
            .is_some_and(|last| now.since(last) < gap);
        if too_soon || game.talk.answers >= chat.max_answers {
            return;
        }
        let word = word
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase();
        if let Some(answer) = self.answer_to(&word, line.room) {
            if let Some(game) = &mut self.game {
                game.talk.answers += 1;
            }
            self.say(line.room, &answer, now);
        }
    }

    fn answer_to(&mut self, word: &str, room: ChatRoom) -> Option<String> {
        let spectators = room == ChatRoom::Spectators;
        let tells_eval = spectators || self.terms.policy.chat.eval_to_opponent;
        Some(match word {
            "help" | "commands" => {
                let more = if spectators { " !eval !pv" } else { " !wait" };
                format!("I answer to !help !name !variants !queue{more}")
            }
            "name" => {
                let me = self.game.as_ref()?.start.us.name.to_string();
                format!("{me} plays by {}", self.terms.engine)
            }
            "variants" => {
                let names = crate::rules::Variant::ALL.map(|variant| variant.uci_name());
                names.join(", ")
            }
            "queue" if self.waiting.is_empty() => "Nobody is waiting for a game.".to_owned(),
            "queue" => format!("Waiting: {}", self.waiting.join(", ")),
            "wait" if !spectators => {
                let span = self.terms.policy.absence.wait;
                let more = self.game.as_mut()?.absence.wait(span);
                if more {
                    format!(
                        "I will wait {} more seconds for the first move.",
                        span.as_secs()
                    )
                } else {
                    "I cannot wait any longer.".to_owned()
                }
            }
            "eval" if tells_eval => match &self.game.as_ref()?.thoughts.last {
                Some(thought) => eval_words(thought),
                None => "I have not thought yet.".to_owned(),
            },
            "eval" => "I tell that to spectators only.".to_owned(),
            "pv" if spectators => match &self.game.as_ref()?.thoughts.last {
                Some(thought) => pv_words(thought),
                None => "I have not thought yet.".to_owned(),
            },
            _ => return None,
        })
    }
}

/// Cuts a text to the platform's length, without control characters.
fn cut(text: &str, max_chars: usize) -> String {
    let clean: Vec<char> = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if clean.len() <= max_chars {
        return clean.into_iter().collect();
    }
    let kept = clean.into_iter().take(max_chars.saturating_sub(3));
    kept.chain("...".chars()).take(max_chars).collect()
}

fn score_words(score: Score) -> String {
    match score {
        Score::Cp(cp) => {
            let sign = if cp < 0 { '-' } else { '+' };
            let abs = cp.unsigned_abs();
            format!("{sign}{}.{:02}", abs / 100, abs % 100)
        }
        Score::Mate(moves) if moves > 0 => format!("mate in {moves}"),
        Score::Mate(moves) => format!("mated in {}", moves.unsigned_abs()),
    }
}

fn eval_words(thought: &Thought) -> String {
    let report = &thought.report;
    format!(
        "{} for me, depth {}, {} thousand nodes",
        score_words(report.score),
        report.depth,
        report.nodes / 1_000
    )
}

fn pv_words(thought: &Thought) -> String {
    let mut position = thought.position.clone();
    let mut words = vec![score_words(thought.report.score)];
    for &m in thought.report.pv.iter().take(PV_MOVES) {
        if !position.is_legal(m) {
            break;
        }
        words.push(position.san(m));
        position.play_unchecked(m);
    }
    words.join(" ")
}

/// A player as people write him: name, kind and rating.
pub(crate) fn player_words(player: &Player) -> String {
    let rating = player
        .rating
        .map_or_else(|| "unrated".to_owned(), |rating| rating.points.to_string());
    format!("{} ({:?}, {rating})", player.name, player.kind)
}
